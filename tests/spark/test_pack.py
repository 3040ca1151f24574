"""The stage before the shuffle: rows as partials chunk by chunk, as events where they hardly share slices and keys."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as st

import muntin as mt
from muntin.crossing import Crossing
from muntin.layout import layout
from muntin.spark import ipc, pack
from muntin.spark.source import TIME, Source
from muntin.spark.types import arrow_schema
from muntin.units import MIN_TIME

GIVEN = st.StructType(
    [
        st.StructField("ts", st.TimestampType()),
        st.StructField("key", st.LongType()),
        st.StructField("x", st.LongType()),
    ]
)
CROSSING = Crossing(combine=10, give=30, take=20, row=40, pack=0)
SPEC = mt.over("ts", by="key").window("w", mt.tumbling("1 second"), n=mt.count(), total=mt.sum("x"))


def blobs(times: np.ndarray, keys: np.ndarray, batch: int) -> list[dict[str, Any]]:
    """What a task gives for these rows, all of value 1."""
    source = Source(SPEC, GIVEN, arrow_schema(GIVEN), ("key", "x"))
    bound = layout(SPEC, source.schema)
    packer = pack.Packer(source, (1, 2), late=False, ticks=True, layout=bound, crossing=CROSSING)
    rows = pa.table({TIME: times, "c0": keys, "c1": np.ones(len(times), np.int64)})
    return [row for out in packer(rows.to_batches(max_chunksize=batch)) for row in out.to_pylist()]


def events_in(found: list[dict[str, Any]], kind: int) -> int:
    """Of how many events the blobs of a kind tell, counted in them."""
    tables = [ipc.opened(row["blob"]) for row in found if row["kind"] == kind]
    return sum(int(np.sum(table["n"].to_numpy())) if kind == ipc.PARTIALS else len(table) for table in tables)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack, "_CHUNK", 100)


@pytest.mark.parametrize(
    ("keys", "seconds", "partials"),
    [
        (2, 5, 1_000),  # ten rows per slice and key in each chunk
        (1_000, 1_000, 0),  # hardly two rows anywhere
        (10, 10, 1_000),  # a chunk shares too little, all of them together enough
    ],
)
def test_rows_are_combined_where_they_share_cells(keys: int, seconds: int, partials: int) -> None:
    rng = np.random.default_rng(3)
    times = rng.integers(0, seconds * 1_000_000, 1_000)
    found = blobs(times, rng.integers(0, keys, 1_000), 100)
    assert events_in(found, ipc.PARTIALS) == partials
    assert events_in(found, ipc.EVENTS) == 1_000 - partials
    assert sum(row["size"] for row in found) == 1_000
    newest = {row["newest"] for row in found}
    assert len(newest) == 1


def test_rows_without_a_time_are_told_apart_in_every_chunk() -> None:
    times = np.arange(1_000)
    times[::10] = MIN_TIME - 1
    found = blobs(times, np.zeros(1_000, np.int64), 30)
    assert sum(row["size"] for row in found if row["kind"] == ipc.REJECTED) == 100
    assert events_in(found, ipc.PARTIALS) == 900


def test_every_bucket_is_called_once_more_if_nothing_came_for_it() -> None:
    found = blobs(np.arange(300), np.zeros(300, np.int64), 100)
    assert {row["bucket"] for row in found} == {1, 2}
