"""Flush: the windows that the watermark has not reached, from the state that a stream left in its checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from muntin.spark.bucket import new_engine, restored
from muntin.spec import Spec

__all__ = ["flushed"]


@dataclass(frozen=True)
class _Flush:
    """The engine of a bucket from its state, and what it still has to report; given to `applyInArrow`."""

    spec: Spec
    emit: str
    results: pa.Schema

    def __call__(self, rows: pa.Table) -> pa.Table:
        numbers, blobs = rows.column("number").to_pylist(), rows.column("blob").to_pylist()
        found = dict(zip(numbers, blobs, strict=True))
        snapshot = found.pop(-1)
        kept = restored(new_engine(self.spec, self.emit), self.spec, snapshot, _in_order(found))
        return kept.engine.flush().cast(self.results)


def flushed(
    spark: SparkSession, checkpoint: str, spec: Spec, emit: str, results: pa.Schema, schema: st.StructType
) -> DataFrame:
    """All windows not yet reported; `spec` is that of the buckets' engines."""
    try:
        snapshots = _state(spark, checkpoint, "snapshot").select("key.bucket", F.lit(-1).cast("long"), "value.blob")
        steps = _state(spark, checkpoint, "steps").select("key.bucket", "user_map_key.number", "user_map_value.blob")
    except PySparkException as error:
        if not _no_state(error):
            raise
        return spark.createDataFrame([], schema)
    rows = snapshots.union(steps).toDF("bucket", "number", "blob")
    run = _Flush(spec, emit, results)
    return rows.groupBy("bucket").applyInArrow(lambda table: run(table), schema)


def _state(spark: SparkSession, checkpoint: str, name: str) -> DataFrame:
    return spark.read.format("statestore").option("stateVarName", name).load(checkpoint)


def _no_state(error: PySparkException) -> bool:
    """Whether the stream has never had a batch."""
    return isinstance(error, AnalysisException) or (error.getCondition() or "").startswith("STDS_")


def _in_order(steps: dict[int, bytes]) -> Iterable[bytes]:
    return (steps[number] for number in sorted(steps))
