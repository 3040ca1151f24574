"""The state of all buckets of a checkpoint, read by Spark as a table: what a stream has committed."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from muntin.spark.head import HEAD, SNAPSHOT, STATE
from muntin.spark.saved import restored
from muntin.spark.step import Running, Wanted

__all__ = ["each_engine", "snapshots"]


def snapshots(spark: SparkSession, checkpoint: str) -> DataFrame | None:
    """The snapshot of each bucket, without the steps since; None where the stream has never had a batch."""
    found = _blobs(spark, checkpoint)
    return None if found is None else found.where(F.col("number") == SNAPSHOT)


def each_engine(
    spark: SparkSession,
    checkpoint: str,
    wanted: Wanted,
    call: Callable[[Running], pa.Table],
    schema: st.StructType,
) -> DataFrame:
    """A table from the engine of each bucket as it stands, all of them together."""
    found = _blobs(spark, checkpoint)
    if found is None:
        return spark.createDataFrame([], schema)

    def run(rows: pa.Table) -> pa.Table:
        blobs = dict(zip(rows.column("number").to_pylist(), rows.column("blob").to_pylist(), strict=True))
        snapshot = blobs.pop(SNAPSHOT)
        return call(restored(wanted, snapshot, (blobs[number] for number in sorted(blobs))))

    return found.where(F.col("number") != HEAD).groupBy("bucket").applyInArrow(run, schema)


def _blobs(spark: SparkSession, checkpoint: str) -> DataFrame | None:
    try:
        state = spark.read.format("statestore").option("stateVarName", STATE).load(checkpoint)
    except PySparkException as error:
        if not isinstance(error, AnalysisException) and not (error.getCondition() or "").startswith("STDS_"):
            raise
        return None
    return state.select("key.bucket", "user_map_key.number", "user_map_value.blob")
