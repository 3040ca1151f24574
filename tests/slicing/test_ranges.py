"""Aggregates over ranges of events against the reference, which evaluates one range at a time."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.aggregates import Bound
from muntin.aggregates.types import scalars, typed
from muntin.reference.engine import evaluate as plainly
from muntin.reference.events import Event
from muntin.slicing import ranges_fold, ranges_runs
from muntin.slicing.ranges import evaluate
from muntin.slicing.values import Column, Interner, dtype_of, read_column
from tests.aggregates.cases import CASES
from tests.reliability.sizes import examples
from tests.strategies import AGGREGATES, SCHEMA, comparable, optional

REL = 1e-9


def columns_of(bound: Bound, rows: list[tuple[Any, ...]]) -> list[Column]:
    """The rows' values as an engine keeps them; all texts of a column in one interner that has seen others before."""
    made = []
    for i, type_ in enumerate(bound.types):
        interner = None
        if dtype_of(type_) is None:
            interner = Interner()
            interner.encode(pa.chunked_array([pa.array(["zz", "", "q"], type_)]))
        values = typed([row[i] for row in rows], type_)
        made.append(read_column(pa.chunked_array([values]), interner))
    return made


def events_of(bound: Bound, rows: list[tuple[Any, ...]], time: np.ndarray) -> list[Event]:
    names = bound.aggregate.columns
    stored = [scalars(typed([row[i] for row in rows], type_)) for i, type_ in enumerate(bound.types)]
    return [
        Event(int(time[i]), 0, i, {name: column[i] for name, column in zip(names, stored, strict=True)}, {})
        for i in range(len(rows))
    ]


def near(ours: Any, theirs: Any, slack: float) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float) and math.isclose(ours, theirs, abs_tol=slack, rel_tol=0):
        return True
    return comparable(ours) == comparable(theirs)


def check(bound: Bound, rows: list[tuple[Any, ...]], ranges: list[tuple[int, int]], take: Any, slack: float) -> None:
    time = np.arange(len(rows), dtype=np.int64) // 2  # with ties: then what comes first in the range is earlier
    if take is not None:
        time[take] = np.arange(len(take)) // 2
    lo = np.array([a for a, _ in ranges], np.int64)
    hi = np.array([b for _, b in ranges], np.int64)
    events = events_of(bound, rows, time)
    placed = events if take is None else [events[i] for i in take]
    expected = [plainly(bound, placed[a:b]) for a, b in ranges]
    expected = scalars(typed(expected, bound.output))
    found = evaluate(bound, columns_of(bound, rows), time, None, lo, hi, take)
    found.validate(full=True)
    assert found.type == bound.output
    assert len(found) == len(ranges)
    for ours, theirs in zip(scalars(found), expected, strict=True):
        assert near(ours, theirs, slack), (ours, theirs)


@st.composite
def some_ranges(draw: Any, n: int) -> list[tuple[int, int]]:
    """Many ranges over few events, so that they overlap; some empty, some the same, or one after the other."""
    if draw(st.booleans()):
        size, every = draw(st.integers(1, 8)), draw(st.integers(1, 8))
        return [(a, min(a + size, n)) for a in range(0, n, every)] or [(0, 0)]
    bounds = st.tuples(st.integers(0, n), st.integers(0, n)).map(lambda pair: (min(pair), max(pair)))
    return draw(st.lists(bounds, min_size=1, max_size=12))


@st.composite
def permutations(draw: Any, n: int) -> Any:
    return None if draw(st.booleans()) else np.array(draw(st.permutations(range(n))), np.int64)


@pytest.mark.parametrize("name", CASES)
@examples(20)
@given(data=st.data())
def test_every_aggregate_gives_what_the_reference_gives(name: str, data: Any) -> None:
    case = CASES[name]
    bound = case.bind()
    row = case.values
    if bound.types:  # some rows with a null
        row = st.tuples(row, st.integers(0, 7), st.integers(0, len(bound.types) - 1)).map(
            lambda drawn: tuple(None if drawn[1] == 0 and i == drawn[2] else v for i, v in enumerate(drawn[0]))
        )
    rows = data.draw(st.lists(row, max_size=24))
    if name.startswith("sum") and "float" not in name:
        bound = mt.sum("x", overflow="null").bind(case.types)
    ranges = data.draw(some_ranges(len(rows)))
    take = data.draw(permutations(len(rows)))
    sizes = [abs(v) for r in rows for v in r if isinstance(v, float | int) and math.isfinite(v)]
    slack = 0.0 if case.exact and "median" not in name and "own" not in name else REL * (1 + sum(sizes))
    if not case.exact and name.startswith(("var", "stddev")):
        slack = REL * (1 + sum(size * size for size in sizes))
    check(bound, rows, ranges, take, slack)


VALUES = {
    "x": st.integers(-4, 9),
    "f": st.integers(-8, 8).map(lambda i: i / 2),
    "s": st.sampled_from(["p", "q", "r"]),
}
TEMPORAL = [
    pa.date32(),
    pa.date64(),
    pa.timestamp("ns", "Europe/Paris"),
    pa.timestamp("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.duration("ms"),
]


@pytest.mark.parametrize("name", AGGREGATES)
@examples(20)
@given(data=st.data())
def test_aggregates_of_the_stream_tests(name: str, data: Any) -> None:
    aggregate = AGGREGATES[name]
    bound = aggregate.bind([SCHEMA.field(column).type for column in aggregate.columns])
    row = st.tuples(*[st.one_of(VALUES[column], VALUES[column], st.none()) for column in aggregate.columns])
    rows = data.draw(st.lists(row, max_size=40))
    ranges = data.draw(some_ranges(len(rows)))
    check(bound, rows, ranges, data.draw(permutations(len(rows))), 1e-9 if name == "var" else 0.0)


@pytest.mark.parametrize("type_", TEMPORAL, ids=str)
@examples(15)
@given(data=st.data())
def test_times_keep_their_type(type_: pa.DataType, data: Any) -> None:
    rows = data.draw(st.lists(st.tuples(optional(st.integers(0, 9).map(lambda i: i * 86_400_000))), max_size=12))
    if pa.types.is_time32(type_):
        rows = [(None if row[0] is None else row[0] // 86_400_000,) for row in rows]
    if pa.types.is_date32(type_):
        rows = [(None if row[0] is None else row[0] // 86_400_000 - 4,) for row in rows]
    ranges = data.draw(some_ranges(len(rows)))
    made = [
        *[mt.min("t"), mt.max("t"), mt.min_count("t"), mt.first("t"), mt.last("t"), mt.m4("t"), mt.mode("t")],
        *[mt.nth_smallest("t", 2), mt.nth_youngest("t", 2), mt.count_distinct("t"), mt.heavy_hitters("t", share=0.3)],
        *[mt.collect("t"), mt.process(lambda t: t.max(), "t", returns=mt.VALUE)],
    ]
    for aggregate in made:
        check(aggregate.bind([type_]), rows, ranges, None, 0.0)
    for aggregate in (mt.arg_max("t", by="u"), mt.arg_min("t", by="u"), mt.collect("t", "u")):
        check(aggregate.bind([type_, type_]), [(t, t) for (t,) in rows], ranges, None, 0.0)


LONG = [(float(i * 7919 % 101), f"w{i * 31 % 17}") if i % 13 else (None, None) for i in range(1200)]
MANY = [mt.sum("f"), mt.min("f"), mt.max_count("f"), mt.median("f"), mt.quantile("f", 0.9), mt.mode("f")]
WORDS = [mt.min("s"), mt.mode("s"), mt.count_distinct("s"), mt.heavy_hitters("s", share=0.06), mt.nth_smallest("s", 9)]
WORDS += [mt.arg_min("s", by="f"), mt.concat("s"), CASES["own chain"].make()]


@pytest.mark.parametrize("aggregate", [*MANY, *WORDS], ids=repr)
def test_long_ranges_go_by_blocks_and_large_sorts_by_chunks(aggregate: mt.Aggregate, monkeypatch: Any) -> None:
    monkeypatch.setattr(ranges_runs, "CHUNK", 5_000)
    where = {"f": 0, "s": 1, "x": 1}
    bound = aggregate.bind([(pa.float64(), pa.string())[where[column]] for column in aggregate.columns])
    rows = [tuple(row[where[column]] for column in aggregate.columns) for row in LONG]
    #          0         600       1200
    # sliding  [---------)
    #             [---------)   ...
    # inside one block, empty, and everything
    ranges = [(a, a + 600) for a in range(0, 600, 7)] + [(5, 6), (17, 31), (700, 700), (0, 1200), (3, 3)]
    ranges += [(a, a + 1) for a in range(500)]
    check(bound, rows, ranges, None, 1e-6)
    check(bound, rows, [(1100, 1100), (10, 14), (1090, 1093)], None, 1e-6)  # a few events of a large store


def test_blocks_are_used(monkeypatch: Any) -> None:
    calls = []
    folder = ranges_fold.PythonFolder(mt.count().bind([]))
    merge = folder.merge

    def counted(lo: Any, hi: Any, partials: Any) -> Any:
        calls.append(int((hi - lo).sum()))
        return merge(lo, hi, partials)

    monkeypatch.setattr(folder, "merge", counted)
    lo = np.arange(1000)
    (found,) = ranges_fold.over_ranges(folder, [], lo, lo + 1000)
    assert [p.n for p in found] == [1000] * 1000
    assert sum(calls) < 1000 * 1000 / 10


def test_an_overflow_names_the_sum_and_its_value() -> None:
    rows = [(2**63 - 1,), (5,), (None,), (-7,)]
    bound = mt.sum("x").bind([pa.int64()])
    with pytest.raises(mt.SumOverflow, match=r"sum\('x'\) is 9223372036854775812, which is outside int64"):
        check_ours(bound, rows, [(1, 2), (0, 2), (0, 4)])
    check(bound, rows, [(0, 4), (1, 2), (2, 3)], None, 0.0)
    check(mt.sum("x", overflow="null").bind([pa.int64()]), rows, [(1, 2), (0, 2), (0, 4)], None, 0.0)


def check_ours(bound: Bound, rows: list[tuple[Any, ...]], ranges: list[tuple[int, int]]) -> list[Any]:
    lo, hi = np.array(ranges, np.int64).T
    return evaluate(bound, columns_of(bound, rows), np.arange(len(rows)), None, lo, hi).to_pylist()


# ---- users' own ----


class Rises(mt.Aggregate):
    """How often a value is above the one before: depends on the order, and takes times and orders."""

    partial: ClassVar = {"first": float, "last": float, "n": int, "from_": int, "to": int}
    commutative, kind, timed = False, "algebraic", True
    returns = pa.struct([("n", pa.int64()), ("per", pa.float32())])

    def lift(value, time, order):
        return value, value, 0, time, time + order

    def combine(a, b):
        return a.first, b.last, a.n + b.n + (1 if b.first > a.last else 0), a.from_, b.to

    def lower(p):
        return p.n, p.n / (p.to - p.from_ + 1)


class Parity(mt.Aggregate):
    """Whether the number of rows is odd; of no columns, and known for no rows too."""

    partial: ClassVar = {"odd": int}
    identity = (0,)
    least, returns = 0, bool

    def lift():
        return 1

    def combine(a, b):
        return (a.odd + b.odd) % 2

    def lower(p):
        return p.odd == 1


class Capped(mt.Aggregate):
    """A sum that is null above 5."""

    partial: ClassVar = {"total": int}
    identity = (0,)
    returns = pa.int8()

    def lift(value):
        return value

    def combine(a, b):
        return a.total + b.total

    def lower(p):
        return p.total

    def settle(self, value):
        return None if value > 5 else value


class Negated(type(mt.min("x"))):
    """A built-in with another meaning."""

    plain = None

    def lower(p):
        return -p.value


class Longest(mt.Aggregate):
    """The length of the longest text: numbers only, but made of texts."""

    partial: ClassVar = {"n": int}
    identity = (0,)
    takes, returns = "text", int

    def lift(value):
        return len(value)

    def combine(a, b):
        return max(a.n, b.n)

    def lower(p):
        return p.n


NUMBERS = [(3,), (None,), (1,), (2,), (2,), (5,), (None,), (1,), (0,)]
EVERY = [(a, b) for a in range(10) for b in range(a, 10)]


@pytest.mark.parametrize("aggregate", [Rises("x"), Capped("x"), Negated("x")], ids=repr)
def test_users_own(aggregate: mt.Aggregate) -> None:
    check(aggregate.bind([pa.int64()]), NUMBERS, EVERY, None, 1e-6)


def test_own_without_columns_is_known_for_no_rows() -> None:
    found = check_ours(Parity().bind([]), [() for _ in NUMBERS], [(0, 0), (0, 1), (0, 2), (3, 6)])
    assert found == [False, True, False, True]


def test_own_of_texts_takes_texts() -> None:
    check(
        Longest("x").bind([pa.string()]),
        [("ab",), (None,), ("abc",), ("",)],
        [(0, 1), (0, 4), (1, 2), (3, 4)],
        None,
        0.0,
    )


def test_a_function_that_writes_to_its_array_harms_no_other_range() -> None:
    def scribble(x: Any) -> float:
        total = float(x.sum())
        x[:] = 0
        return total

    found = check_ours(mt.process(scribble, "x").bind([pa.int64()]), [(1,), (2,), (3,)], [(0, 3), (0, 2), (1, 3)])
    assert found == [6.0, 3.0, 5.0]


def test_a_function_may_give_none() -> None:
    bound = mt.process(lambda x: None if len(x) < 2 else "two", "x", returns=str).bind([pa.string()])
    check(bound, [("a",), (None,), ("b",)], [(0, 2), (0, 3), (1, 2)], None, 0.0)


def test_no_ranges_and_no_events() -> None:
    for aggregate in AGGREGATES.values():
        bound = aggregate.bind([SCHEMA.field(column).type for column in aggregate.columns])
        none = np.zeros(0, np.int64)
        columns = columns_of(bound, [])
        assert evaluate(bound, columns, none, none, none, none).type == bound.output
        check(bound, [], [(0, 0), (0, 0)], None, 0.0)


def test_nested_values_can_be_counted() -> None:
    column = read_column(pa.chunked_array([pa.array([[1], None, [2, 3]])]), None)
    bound = mt.count("x").bind([pa.list_(pa.int64())])
    found = evaluate(bound, [column], np.arange(3), None, np.array([0, 1]), np.array([3, 2]))
    assert found.to_pylist() == [2, 0]


def test_results_do_not_share_memory_with_the_store() -> None:
    values = np.arange(4.0)
    column = Column(pa.float64(), values, None, None)
    lo, hi = np.array([0, 2]), np.array([2, 4])
    found = [evaluate(a.bind([pa.float64()]), [column], lo, None, lo, hi) for a in (mt.collect("x"), mt.first("x"))]
    values[:] = 9.0
    assert [f.to_pylist() for f in found] == [[[0.0, 1.0], [2.0, 3.0]], [0.0, 2.0]]
