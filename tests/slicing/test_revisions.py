"""Revisions come from events alone: sums of floats that depend on how they are grouped give none of their own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.slicing.revisions import Report, Reported
from tests.slicing.test_engine import check

LONG = {
    "tumbling": mt.tumbling("150 us"),
    "sliding": mt.sliding("120 us", every="1 us"),
    "session": mt.session("40 us"),
    "rows": mt.sliding("10 rows", every="1 row"),
    "rows by time": mt.sliding("10 rows", every="2 us"),
    "time by rows": mt.sliding("120 us", every="1 row"),
    "measure": mt.sliding(120, every=2, on="m"),
    "punctuated": mt.punctuated("mark"),
    "frame": mt.frame("mark"),
}


class Total(mt.Aggregate):
    """A sum that is not commutative, so out of order it is folded over kept events."""

    partial: ClassVar = {"total": float}
    commutative = False

    def lift(value: Any) -> Any:
        return value

    def combine(a: Any, b: Any) -> Any:
        return a.total + b.total

    def lower(p: Any) -> Any:
        return p.total


def inexact(seed: int, rows: int = 120) -> pa.Table:
    """Rows out of order with positive floats that do not add up exactly: any further one changes a sum."""
    random = np.random.default_rng(seed)
    time = np.arange(rows) * 2 - np.where(random.random(rows) < 0.2, random.integers(0, 150, rows), 0)
    columns = {
        "ts": time,
        "key": random.choice(["a", "b"], rows),
        "f": random.choice(np.array([0.1, 0.2, 0.3, 0.7, 1.1]), rows),
        "x": random.integers(0, 9, rows),
        "mark": random.random(rows) < 0.1,
        "m": time,
    }
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    nulls = pa.array(columns["f"], mask=random.random(rows) < 0.2)
    return table.set_column(2, "f", nulls)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("by", [(), ("key",)], ids=["no key", "keys"])
@pytest.mark.parametrize("kind", LONG)
def test_as_many_revisions_as_the_reference(kind: str, by: tuple[str, ...], seed: int) -> None:
    spec = mt.over("ts", by=by, lateness="1 ms")
    spec = spec.window("w", LONG[kind], total=mt.sum("f"), own=Total("f"), n=mt.count("x"))
    if kind in ("tumbling", "session"):  # more slices in a window
        spec = spec.window("fine", mt.tumbling("1 us"), n=mt.count("x"))
    table = inexact(seed)
    batches = [table.slice(i, 15) for i in range(0, table.num_rows, 15)]
    check(spec, [(batch, i * 30 + 25) for i, batch in enumerate(batches)], (4,))


def report(events: list[int], values: list[float], start: int = 0) -> Report:
    """Windows that start at 0, 1, ..."""
    place = np.arange(start, start + len(values))
    query, numbers = np.zeros(len(values), np.int64), {"v": np.array(events)}
    return Report(query, query, (place,), place, place + 1, None, {"v": pa.array(values)}, None, numbers)


def test_the_same_events_give_no_revision_whatever_the_value() -> None:
    said = Reported()
    assert len(said.report(report([3, 3], [0.6, 0.6]), None)) == 2
    found = said.report(report([3, 4, 1], [0.6000000000000001, 0.7, 0.1]), None)
    assert list(zip(found.start, found.revisions(), strict=True)) == [(1, 1), (2, 0)]
    # Other events, but the same value: no revision, and from then on these events count.
    assert not len(said.report(report([5], [0.6]), None))
    assert not len(said.report(report([5], [0.6000000000000001]), None))
    assert said.fresh(report([5, 4, 2], [0.0, 0.0, 0.0])).tolist() == [2]
