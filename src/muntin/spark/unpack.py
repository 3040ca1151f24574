"""The last stage: blobs of results or late rows become rows with typed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from muntin.spark.ipc import opened
from muntin.spark.settled import settle

__all__ = ["unpacked"]


def unpacked(frame: DataFrame, column: str, schema: st.StructType) -> DataFrame:
    """The rows that lie in a column of blobs."""

    def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob in batch.column(0):
                if blob.is_valid:
                    yield from opened(blob.as_buffer()).to_batches()
        settle()

    return frame.select(column).mapInArrow(unpack, schema)
