"""An aggregate that is not commutative sees its events in the order of their times, whatever order they come in."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.compile import compiled
from tests.reliability.sizes import examples
from tests.slicing.test_engine import check


class Digits(mt.Aggregate):
    """Values one after the other, as the digits of a number."""

    partial: ClassVar = {"value": int, "power": int}
    commutative, kind, returns = False, "algebraic", int

    def lift(value: Any) -> Any:
        return int(value) % 1_000_003, 10

    def combine(a: Any, b: Any) -> Any:
        return (a.value * b.power + b.value) % 1_000_003, a.power * b.power % 1_000_003

    def lower(p: Any) -> Any:
        return p.value


def batch(rows: list[tuple[int, int]]) -> pa.Table:
    times, values = ([row[i] for row in rows] for i in (0, 1))
    return pa.table({"ts": pa.array(times, pa.int64()), "x": pa.array(values, pa.int64())})


ROWS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=8)


@pytest.mark.parametrize("late", [{}, {"disorder": "5 us"}, {"lateness": "5 us"}])
@examples(20)
@given(batches=st.lists(st.tuples(ROWS, st.none() | st.integers(0, 45)), max_size=4))
def test_events_are_combined_in_the_order_of_their_times(
    late: dict[str, Any], batches: list[tuple[list[tuple[int, int]], int | None]]
) -> None:
    assert compiled(Digits("x").bind([pa.int64()])) is not None
    spec = mt.over("ts", **late).window("w", mt.sliding("10 us", every="5 us"), d=Digits("x"), n=mt.count())
    spec = spec.window("s", mt.session("4 us"), d=Digits("x"))
    check(spec, [(batch(rows), mark) for rows, mark in batches])


def test_a_straggler_in_a_stream_declared_in_order() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("10 us"), d=Digits("x"))
    engine = spec.engine()
    engine.push(batch([(1, 1), (5, 2), (3, 3)]))
    engine.push(batch([(7, 4), (4, 5)]))
    assert engine.flush()["d"].to_pylist() == [13524]
    assert "d is not commutative" in str(spec.explain(batch([(1, 1)])))
