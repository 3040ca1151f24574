"""The state of all buckets of a checkpoint, read by Spark as a table: what a stream has committed."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from muntin.spark.saved import restored
from muntin.spark.step import Running, Wanted

__all__ = ["each_engine", "snapshots"]


def snapshots(spark: SparkSession, checkpoint: str) -> DataFrame | None:
    """The snapshot of each bucket, without the steps since; None where the stream has never had a batch."""
    try:
        return _state(spark, checkpoint, "snapshot").select("key.bucket", F.lit(-1).cast("long"), "value.blob")
    except PySparkException as error:
        if not isinstance(error, AnalysisException) and not (error.getCondition() or "").startswith("STDS_"):
            raise
        return None


def each_engine(
    spark: SparkSession,
    checkpoint: str,
    wanted: Wanted,
    call: Callable[[Running], pa.Table],
    schema: st.StructType,
) -> DataFrame:
    """A table from the engine of each bucket as it stands, all of them together."""
    found = snapshots(spark, checkpoint)
    if found is None:
        return spark.createDataFrame([], schema)
    steps = _state(spark, checkpoint, "steps").select("key.bucket", "user_map_key.number", "user_map_value.blob")

    def run(rows: pa.Table) -> pa.Table:
        blobs = dict(zip(rows.column("number").to_pylist(), rows.column("blob").to_pylist(), strict=True))
        snapshot = blobs.pop(-1)
        return call(restored(wanted, snapshot, (blobs[number] for number in sorted(blobs))))

    return found.union(steps).toDF("bucket", "number", "blob").groupBy("bucket").applyInArrow(run, schema)


def _state(spark: SparkSession, checkpoint: str, name: str) -> DataFrame:
    return spark.read.format("statestore").option("stateVarName", name).load(checkpoint)
