"""However Spark cuts a log, and into however many tasks and buckets: the last revisions are the reference's."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
from muntin.reference import run
from tests.conftest import Tally
from tests.reliability.cuts import at_random, check_same, last_rows, log, spec_of
from tests.reliability.sizes import SEED, SOAK, sized
from tests.spark.logs import Collected, Folder

ROWS = sized(400, 100_000)
ARROW, PARTITIONS, BUCKETS = (1, 4, 10_000), (1, 5, 64), (1, 5, 64)
# Rows per Arrow batch, shuffle partitions, buckets, zone of the session.
WAYS = [(1, 5, 1, "America/New_York"), (4, 1, 5, "UTC")]
if SOAK:
    WAYS = [(*way, "Asia/Kathmandu" if sum(way) % 2 else "UTC") for way in product(ARROW, PARTITIONS, BUCKETS)]
MOST = sized(4, 20)  # batches
FEW = 2_000  # events, where each takes an Arrow batch of its own


@contextmanager
def settings(spark: Any, **values: Any) -> Iterator[None]:
    names = {
        "arrow": "spark.sql.execution.arrow.maxRecordsPerBatch",
        "partitions": "spark.sql.shuffle.partitions",
        "zone": "spark.sql.session.timeZone",
    }
    before = {names[name]: spark.conf.get(names[name]) for name in values}
    for name, value in values.items():
        spark.conf.set(names[name], str(value))
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)


@functools.cache
def the_log(rows: int) -> pa.Table:
    return log(SEED, rows, ties=False)


@functools.cache
def wanted(kind: str, rows: int) -> dict[Any, dict[str, Any]]:
    spec = spec_of(kind)
    return last_rows(pa.concat_tables(run(spec, [(the_log(rows), None)], flush=True).results), spec)


def streamed(spark: Any, spec: mt.Spec, batches: Iterator[pa.Table], path: Path, buckets: int) -> dict[Any, Any]:
    folder, results, late = Folder(path / "in"), Collected(), Collected()
    folder.put(*(batch for batch in batches if batch.num_rows))
    spec.start(
        folder.stream(spark),
        results=results,
        late=late,
        checkpoint=str(path / "checkpoint"),
        trigger={"availableNow": True},
        flush=True,
        buckets=buckets,
    )
    assert sum(part.num_rows for part in late.tables.values()) == 0
    flush = results.tables.pop("flush")
    parts = [results.tables[number] for number in sorted(results.tables)]
    return last_rows(pa.concat_tables([*parts, flush]), spec)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_tasks_buckets_and_arrow_batches(
    spark: Any, tmp_path: Path, way: tuple[int, int, int, str], tally: Tally
) -> None:
    arrow, partitions, buckets, zone = way
    number = WAYS.index(way)
    kind, rows = ("sliced", "kept")[number % 2], min(ROWS, FEW) if arrow == 1 else ROWS
    batches = at_random(the_log(rows), SEED + number, most=min(MOST, 20))
    with settings(spark, arrow=arrow, partitions=partitions, zone=zone):
        found = streamed(spark, spec_of(kind), batches, tmp_path, buckets)
    check_same(found, wanted(kind, rows))
    tally(events=rows, cuts=1, windows=len(found))
