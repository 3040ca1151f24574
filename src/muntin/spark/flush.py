"""Flush: the windows that the watermark has not reached, from the state that a stream left in its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from muntin.spark.step import Running, Wanted
from muntin.spark.stored import each_engine

__all__ = ["flushed"]


@dataclass(frozen=True)
class _Flush:
    """What an engine still has to report."""

    results: pa.Schema

    def __call__(self, running: Running) -> pa.Table:
        return running.engine.flush().cast(self.results)


def flushed(
    spark: SparkSession, checkpoint: str, wanted: Wanted, results: pa.Schema, schema: st.StructType
) -> DataFrame:
    """All windows not yet reported."""
    return each_engine(spark, checkpoint, wanted, _Flush(results), schema)
