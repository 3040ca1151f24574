"""From when windows are exact that were added to a checkpoint."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from muntin.spark import checkpoint as checkpoints
from muntin.spark.saved import added_since
from muntin.spark.step import Running, Wanted
from muntin.spark.stored import each_engine, snapshots
from muntin.units import moment

__all__ = ["common_starts", "starts"]

_SCHEMA = pa.schema([("name", pa.string()), ("since", pa.int64())])
_SPARK = st.StructType([st.StructField("name", st.StringType()), st.StructField("since", st.LongType())])


def starts(spark: SparkSession, checkpoint: str) -> dict[str, dt.datetime | None]:
    """From when each window of a checkpoint is exact, in UTC; None: from the beginning.

    A window that was added starts where `engine.add_window` would start it. With `spec.start` that is one time for all
    keys. With `spec.apply` each bucket of keys begins on its own, and this is when the last of them does.

    ```
    muntin.spark.starts(spark, "/data/checkpoint")
    ```
    """
    manifest = checkpoints.read(spark, checkpoint)
    found: dict[str, int | None]
    if manifest is not None:
        found = {name: manifest.starts.get(name) for name, _, _ in manifest.spec["windows"]}
    else:
        state = snapshots(spark, checkpoint)
        found = {} if state is None else _latest(state.select("blob").mapInArrow(_told, _SPARK))
    return {name: None if since is None else moment(since) for name, since in found.items()}


def common_starts(spark: SparkSession, checkpoint: str, wanted: Wanted) -> dict[str, int]:
    """From when windows are exact once the state of all buckets is taken over by a spec with others.

    All of it is read, so that what cannot be taken over is refused before the first batch.
    """
    found = _latest(each_engine(spark, checkpoint, wanted, _since, _SPARK))
    return {name: since for name, since in found.items() if since is not None}


def _latest(frame: DataFrame) -> dict[str, Any]:
    return {row[0]: row[1] for row in frame.groupBy("name").agg(F.max("since")).collect()}


def _since(running: Running) -> pa.Table:
    engine = running.engine
    found = [(query.name, engine._since.get(query.name)) for query in engine.spec.queries]
    return pa.table([[name for name, _ in found], [since for _, since in found]], schema=_SCHEMA)


def _told(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for blob in batch.column(0):
            found = added_since(blob.as_py())
            yield pa.record_batch([list(found), list(found.values())], schema=_SCHEMA)
