"""Rows that go straight into cells: rejected, late and far-off ones in the middle of a batch are found all the same."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
from muntin.slicing.engine import Slicing
from muntin.units import MAX_TIME, MIN_TIME
from tests.slicing.test_engine import check

SPEC = (
    mt.over("ts", disorder="3 us", lateness="4 us")
    .window("w", mt.sliding("10 us", every="5 us"), n=mt.count(), total=mt.sum("x"))
    .window("s", mt.session("8 us"), total=mt.sum("x"))
)


def batch(*times: int | None) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64()), "x": pa.array(range(len(times)), pa.int64())})


def straight(spec: mt.Spec, table: pa.Table) -> bool:
    engine = spec.engine()
    assert isinstance(engine, Slicing)
    engine.push(table)
    return engine._straight is not None


@pytest.mark.parametrize(
    "steps",
    [
        [(batch(1, 2, 30, 3, 60), 50), (batch(61, 0, 58, 48, 70), 66), (batch(71), 80)],
        [(batch(1, MIN_TIME - 1, 2, None, 7), 5), (batch(8, MAX_TIME + 1, 9), 30)],
        [(batch(5), 3), (batch(6, 10**15, 7, 10**15 + 4), 10**15), (batch(10**15 + 5, 8), None)],
        [(batch(100), 120), (batch(1, 2, 3), 121), (batch(130, 1, 111, 131), 140)],
        [(batch(), None), (batch(4, -9, 4), 0), (batch(-30, 12, -4), 20)],
    ],
)
def test_the_same_rows_as_the_reference(steps: list[tuple[Any, int | None]]) -> None:
    assert straight(SPEC, batch(1))
    check(SPEC, steps)
    check(SPEC, steps, restarts=(1,))


def test_a_row_too_far_ahead_is_rejected_where_slices_reach_further() -> None:
    # Slices are made ahead of what has come; a row in one of them may still be too far ahead of the clock.
    spec = mt.over("ts", max_ahead="20 us").window("w", mt.tumbling("10 us"), n=mt.count())
    engine = spec.engine(clock=lambda: 100)
    engine.push(batch(1, 20, 40, 60, 80, 100))
    assert engine.push(batch(101, 121, 119, 500, 120)).column("n").to_pylist() == [2, 1]
    assert engine.late().column("ts").to_pylist() == [121, 500]
    assert engine.flush().column("n").to_pylist() == [1]


def test_what_does_not_go_straight() -> None:
    table = pa.table({"ts": [1], "k": ["a"], "x": [1], "t": ["b"]})
    window = mt.tumbling("1 s")
    assert straight(mt.over("ts").window("w", window, n=mt.sum("x")), table)
    assert not straight(mt.over("ts", by="k").window("w", window, n=mt.sum("x")), table)
    assert not straight(mt.over("ts").window("w", window, n=mt.median("x")), table)
    assert not straight(
        mt.over("ts").window("w", window, n=mt.sum("x")).window("r", mt.tumbling("2 rows"), n=mt.count()), table
    )
