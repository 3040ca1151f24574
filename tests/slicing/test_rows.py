"""Rows windows over position slices, row for row against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing.engine import Slicing
from muntin.slicing.rows.cells import RowsFused
from muntin.slicing.rows.lane import Lane
from tests.slicing.changing import Model, check_step
from tests.slicing.test_engine import check, steps_of
from tests.strategies import AGGREGATES, MIXES, rows_of, specs, streams

ROWS = ("rows", "rows tumbling", "rows cumulative")


class Spread(mt.Aggregate):
    """Sum and sum of squares, in integers: values can be taken out again."""

    partial: ClassVar = {"total": int, "squares": int}
    identity = (0, 0)

    def lift(value: Any) -> Any:
        return value, value * value

    def combine(a: Any, b: Any) -> Any:
        return a.total + b.total, a.squares + b.squares

    def invert(a: Any, b: Any) -> Any:
        return a.total - b.total, a.squares - b.squares

    def lower(p: Any) -> Any:
        return float(p.squares - p.total)


class Digits(mt.Aggregate):
    """A number from the last digits of all values in their order: not commutative, so order shows."""

    partial: ClassVar = {"number": int, "power": int}
    identity = (0, 1)
    commutative, returns = False, int

    def lift(value: Any) -> Any:
        return value & 7, 8

    def combine(a: Any, b: Any) -> Any:
        return (a.number * b.power + b.number) & 0xFFFFFF, (a.power * b.power) & 0xFFFFFF

    def lower(p: Any) -> Any:
        return p.number


INVERTED = ("n", "total", "spread")
CHOSEN = ("high", "low", "ties", "top_f", "first")
OWN = {"spread": Spread("x"), "digits": Digits("x"), "top_f": mt.arg_max("f", by="x")}
EVERY = AGGREGATES | OWN
CELLS = (
    ("n", "total", "low", "m4"),
    ("fsum", "var", "first", "high", "ties"),
    INVERTED,
    CHOSEN,
    ("total", "high", "last_x"),
    ("digits", "total"),
)
EVERY["last_x"] = mt.last("x")


@st.composite
def rows_specs(draw: Any, mixes: tuple[tuple[str, ...], ...], idle: bool = True) -> mt.Spec:
    """Up to four rows windows, larger and with more lateness than those of all kinds."""
    spec = draw(specs(kinds=ROWS, mixes=(("n",),), idle=idle))
    spec = replace(spec, queries=(), lateness=draw(st.sampled_from([0, 0, 5, 20, 80])))
    common = draw(st.sampled_from(mixes))
    for i in range(draw(st.integers(1, 4))):
        size, every = draw(st.integers(1, 12)), draw(st.integers(1, 6))
        window = draw(
            st.sampled_from(
                [
                    mt.tumbling(f"{size} rows"),
                    mt.sliding(f"{size} rows", every=f"{every} rows"),
                    mt.cumulative(f"{size * every} rows", every=f"{every} rows"),
                ]
            )
        )
        # Some ask for less: their values are found apart, from the same slices (every mix compiles its own kernels).
        mix = common[draw(st.sampled_from([0, 0, 1])) if i else 0 :]
        spec = spec.window(f"w{i}", window, **{name: EVERY[name] for name in mix})
    return spec


@settings(max_examples=80, deadline=None)
@given(rows_specs(MIXES), st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())))


@settings(max_examples=120, deadline=None)
@given(rows_specs(CELLS), st.data())
def test_equals_the_reference_from_slices_alone(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())))


@settings(max_examples=60, deadline=None)
@given(rows_specs(CELLS + MIXES), st.data())
def test_an_order_column_decides_between_equal_times(spec: mt.Spec, data: Any) -> None:
    check(replace(spec, order="m"), steps_of(data, data.draw(streams())))


@settings(max_examples=80, deadline=None)
@given(rows_specs(CELLS + MIXES), st.data())
def test_a_snapshot_continues_exactly(spec: mt.Spec, data: Any) -> None:
    steps = steps_of(data, data.draw(streams()))
    check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), min_size=1, max_size=3))))


@settings(max_examples=40, deadline=None)
@given(specs(kinds=(*ROWS, "rows by time", "tumbling", "session"), mixes=MIXES[:1]), st.data())
def test_beside_other_windows(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())))


# -- events that come late ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", [INVERTED, CHOSEN], ids=["invert", "chosen"])
@pytest.mark.parametrize("by", [(), "key"])
def test_late_events_shift_slices(mix: tuple[str, ...], by: Any) -> None:
    """Most slices only give events on; those of a maximum are made anew where it may have been one of these."""
    random = np.random.default_rng(11)
    spec = mt.over("ts", by=by, lateness="400 us")
    windows = [
        mt.tumbling("40 rows"),
        mt.sliding("50 rows", every="20 rows"),
        mt.cumulative("60 rows", every="30 rows"),
    ]
    for i, window in enumerate(windows):
        spec = spec.window(f"w{i}", window, **{name: EVERY[name] for name in mix[i % 2 :]})
    n = 600
    # Values grow for a while and then fall, so that the last event of a slice is often its largest, and often not.
    x = 60 - np.abs(np.arange(n) % 120 - 60)
    ts = np.maximum(np.arange(n) * 3 - np.where(random.random(n) < 0.2, random.integers(0, 300, n), 0), 0)
    null = random.random(n) < 0.1
    table = pa.table({"ts": ts, "key": random.integers(0, 2, n), "x": pa.array(x, mask=null), "f": x / 2})
    steps = [(table.slice(i, 10), int(ts[: i + 10].max())) for i in range(0, n, 10)]
    check(spec, steps, (5,))
    engine = engine_of(spec)
    for batch, watermark in steps:
        engine._run(batch, watermark, False)
    lane = lane_of(engine)
    assert lane.shifted > 100
    assert lane.redone > 10 if mix is CHOSEN else lane.redone == 0


def engine_of(spec: mt.Spec) -> Slicing:
    engine = spec.engine(watermark="manual")
    assert isinstance(engine, Slicing)
    return engine


def lane_of(engine: Slicing) -> Lane:
    assert engine._rows is not None
    (lane,) = engine._rows.lanes
    return lane


#   slices      [ 0  1  2  3 )[ 4  5  6  7 )[ 8 ...
#   values        5  1  2  3    9  0  0  8    1       max 5, 9; the event at 15 takes position 2
#   afterwards    5  1  x  2    3  9  0  0    8       the slices lose 3 and 8, neither is their maximum
def test_a_maximum_is_looked_for_again_only_where_it_left() -> None:
    spec = mt.over("ts", lateness="1 s").window("w", mt.tumbling("4 rows"), high=mt.max("x"), low=mt.min("x"))
    engine = engine_of(spec)
    engine._run(pa.table({"ts": range(0, 90, 10), "x": [5, 1, 2, 3, 9, 0, 0, 8, 1]}), 200, False)
    lane = lane_of(engine)
    found = engine._run(pa.table({"ts": [15], "x": [4]}), 200, False)
    assert [(r["rows"]["start"], r["high"], r["low"]) for r in found.to_pylist()] == [(0, 5, 1), (4, 9, 0)]
    assert (lane.shifted, lane.redone) == (3, 0)
    # Now 0 leaves the second slice, whose minimum it was (another 0 is there, but that is not known): made anew.
    found = engine._run(pa.table({"ts": [5], "x": [7]}), 200, False)
    assert [(r["rows"]["start"], r["high"], r["low"]) for r in found.to_pylist()] == [(0, 7, 1), (4, 9, 0)]
    assert (lane.shifted, lane.redone) == (5, 1)


def test_integers_are_taken_out_and_floats_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float sum would keep what 1e300 did to it."""
    values = [1.0, 2.0, 1e300, 3.0, 4.0, float("inf"), 5.0, 6.0, float("nan"), 7.0, 8.0, 9.0]
    for column, shifts in (("x", True), ("f", False)):
        spec = mt.over("ts", lateness="1 s").window("w", mt.tumbling("3 rows"), total=mt.sum(column))
        times = list(range(0, 120, 10))
        steps = [
            (pa.table({"ts": times, "x": range(12), "f": values}), 500),
            (pa.table({"ts": [15], "x": [100], "f": [0.5]}), 500),
        ]
        check(spec, steps)
        engine = engine_of(spec)
        for batch, watermark in steps:
            engine._run(batch, watermark, False)
        assert (lane_of(engine).shifted > 0) == shifts


def test_an_event_that_only_some_queries_take_parts_them() -> None:
    spec = mt.over("ts")
    for size in (2, 3, 100):
        spec = spec.window(f"r{size}", mt.tumbling(f"{size} rows"), all=mt.collect("x"), total=mt.sum("x"))
    table = pa.table({"ts": [0, 10, 20, 30, 40, 25, 50, 60, 70, 80], "x": range(10)})
    steps = [(table.slice(0, 5), 45), (table.slice(5, 1), 45), (table.slice(6), 100)]
    check(spec, steps, (2,))
    engine = engine_of(spec)
    for batch, watermark in steps:
        engine._run(batch, watermark, False)
    assert engine._rows is not None
    # Of 0 to 40 the first four are closed for r2 and three for r3; 25 is late for r2 alone.
    assert [[i for i, _ in lane.members] for lane in engine._rows.lanes] == [[0], [1, 2]]


def test_texts_of_events_that_wait_or_are_kept_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin.slicing.texts._LEAST", 4)
    spec = mt.over("ts", by="key", disorder="6 us").window("w", mt.tumbling("7 rows"), all=mt.collect("s"))
    ts = np.arange(120)
    table = pa.table({"ts": ts - ts % 5, "key": ts % 2, "s": [f"t{i * 31 % 97}" for i in range(120)]})
    steps = [(table.slice(i, 8), int(ts[i]) - 2) for i in range(0, 120, 8)]
    check(spec, steps, (4, 9))
    engine = engine_of(spec)
    for batch, watermark in steps:
        engine._run(batch, watermark, False)
    assert len(engine._decoder.interners["s"]) < 60


# -- how much is kept --------------------------------------------------------------------------------------------------


def state_after(spec: mt.Spec, batches: int, stray: bool) -> list[int]:
    """The bytes of state after each batch of 1,000 rows."""
    random = np.random.default_rng(5)
    engine, sizes = spec.engine(), []
    for i in range(batches):
        ts = np.arange(i * 1_000, (i + 1) * 1_000)
        if stray:
            ts = np.maximum(ts - np.where(random.random(1_000) < 0.2, random.integers(0, 500, 1_000), 0), 0)
        engine.push({"ts": ts, "key": ts % 3, "x": ts % 97})
        sizes.append(engine.nbytes)
    assert engine.late().num_rows == 0
    return sizes


@pytest.mark.parametrize("by", [(), "key"])
@pytest.mark.parametrize("stray", [False, True])
@pytest.mark.parametrize("lateness", ["0 us", "400 us"])
def test_state_does_not_grow_with_the_rows(by: Any, stray: bool, lateness: str) -> None:
    spec = mt.over("ts", by=by, disorder="500 us" if stray else "0 us", lateness=lateness)
    for size in (10, 70, 300):
        spec = spec.window(f"r{size}", mt.tumbling(f"{size} rows"), total=mt.sum("x"), high=mt.max("x"))
    spec = spec.window("slide", mt.sliding("200 rows", every="7 rows"), total=mt.sum("x"), high=mt.max("x"))
    sizes = state_after(spec, 60, stray)
    # How many rows wait differs by chance from batch to batch; a byte for each of the 40,000 rows would show.
    assert max(sizes[40:]) < max(sizes[:20]) + 5_000
    # At most 300 rows of each key can still move and 500 (900 with lateness) wait, and there is room for as many again.
    assert max(sizes) < 400_000


def test_a_window_needs_its_slices_and_not_its_events() -> None:
    """Of the last 100,000 rows only those after the last closed window can still move."""
    spec = mt.over("ts").window("w", mt.sliding("100000 rows", every="1000 rows"), total=mt.sum("x"))
    engine = engine_of(spec)
    for i in range(20):
        ts = np.arange(i * 10_000, (i + 1) * 10_000)
        engine._run(pa.table({"ts": ts, "x": ts}), int(ts[-1]) + 1, False)
    lane = lane_of(engine)
    assert int(lane.events.blocks.count[0]) == 1
    assert 99 <= int(lane.cells.blocks.count[0]) <= 101


def test_slices_are_cut_at_the_edges_of_the_windows_only() -> None:
    spec = mt.over("ts", disorder="1 s")
    spec = spec.window("a", mt.tumbling("6 rows"), n=mt.count()).window("b", mt.tumbling("4 rows"), n=mt.count())
    engine = engine_of(spec)
    engine._run(pa.table({"ts": range(30)}), 30, False)
    lane = lane_of(engine)
    cells = slice(int(lane.cells.blocks.at[0]), int(lane.cells.blocks.at[0] + lane.cells.blocks.count[0]))
    # All but the last two rows are in closed windows; 28 is where both have ended or go on.
    assert lane.cells.start[cells].tolist() == [24, 28]


def test_small_batches_wait_in_few_chunks() -> None:
    spec = mt.over("ts", disorder="1 s").window("w", mt.tumbling("10 rows"), n=mt.count(), last=mt.last("ts"))
    engine = spec.engine()
    for i in range(300):
        engine.push({"ts": [i * 7 % 300]})
    assert isinstance(engine, Slicing)
    assert len(lane_of(engine).waiting.chunks) < 12
    found = engine.flush()
    assert found.column("n").to_pylist() == [10] * 30
    assert rows_of(found) == rows_of(spec.apply({"ts": range(300)}, engine="reference"))


def test_which_aggregates_shift() -> None:
    def shifts(*aggregates: mt.Aggregate) -> bool:
        types = {"x": pa.int64(), "f": pa.float64()}
        return RowsFused([a.bind([types[name] for name in a.columns]) for a in aggregates]).shifts

    assert shifts(mt.count())
    assert shifts(mt.sum("x"), mt.max("f"), mt.min_count("f"), mt.arg_min("f", by="x"), Spread("x"))
    assert not shifts(mt.sum("x"), mt.mean("x"))
    assert not shifts(Digits("x"))
    assert not shifts(mt.m4("x"))


def test_windows_said_before_there_is_a_watermark_are_closed_by_it() -> None:
    """They were listed again, as new, with every later step: nothing had settled when the watermark came."""
    spec = mt.over("ts", idle="8 us").window("w", mt.cumulative("10 rows", every="1 row"), n=mt.count())
    check(spec, [(pa.table({"ts": [42, 67]}), None), (None, 69), (pa.table({"ts": [89]}), 94)], emit="updates")


# -- windows and keys that come and go ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lateness", ["0 us", "30 us"])
@pytest.mark.parametrize("by", [(), "key"])
def test_windows_come_and_go(by: Any, lateness: str) -> None:
    """A query that is added counts what comes after all that came; the others go on, with cells of what they need."""
    random = np.random.default_rng(3)
    asked = [("total", "high"), ("total", "all"), ("high", "n")]
    added = [mt.tumbling("3 rows"), mt.sliding("7 rows", every="2 rows"), mt.cumulative("6 rows", every="3 rows")]
    spec = mt.over("ts", by=by, lateness=lateness).window("w0", mt.tumbling("5 rows"), total=EVERY["total"])
    engine, model = spec.engine(watermark="manual"), Model(spec)
    model.add(spec.queries[0], None)
    newest = 0
    for step in range(40):
        ts = newest + random.integers(-12, 12, 8)
        newest = max(newest, int(ts.max()))
        table = pa.table({"ts": ts, "key": random.integers(0, 2, 8), "x": random.integers(0, 9, 8)})
        check_step(engine, model, (table, newest - int(random.integers(0, 9))))
        if step % 5 == 2 and step < 20:
            i = step // 5
            aggregates = {name: EVERY[name] for name in asked[i % 3]}
            since = engine.add_window(f"w{i + 1}", added[i % 3], **aggregates)
            model.add(engine.spec.queries[-1], since)
        elif step % 7 == 6 and len(model.queries) > 1:
            name = sorted(model.queries)[step % len(model.queries)]
            engine.remove_window(name)
            del model.queries[name]
        elif step % 6 == 1:
            state = engine.snapshot()
            engine = engine.spec.engine(watermark="manual")
            engine.restore(state)
            assert engine.snapshot() == state
    check_step(engine, model, (None, None), True)


def test_ids_of_keys_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that another query has held goes; how far those of the rows query have come stays."""
    monkeypatch.setattr("muntin.slicing.compaction.LEAST", 4)
    spec = mt.over("ts", by="key", disorder="5 us", lateness="4 us").window("w", mt.tumbling("4 us"), n=mt.count())
    engine, model = spec.engine(watermark="manual"), Model(spec)
    model.add(spec.queries[0], None)
    random = np.random.default_rng(8)
    assert isinstance(engine, Slicing)
    sizes = []
    for step in range(30):
        ts = step * 10 + random.integers(-4, 10, 12)
        keys = random.integers(0, 6, 12) + (0 if step > 12 else step * 6)
        check_step(engine, model, (pa.table({"ts": ts, "key": keys, "x": keys}), step * 10))
        if step == 13:
            since = engine.add_window("rows", mt.tumbling("3 rows"), all=mt.collect("x"), total=mt.sum("x"))
            model.add(engine.spec.queries[-1], since)
        sizes.append(engine._decoder.keys.size)
    assert sizes[-1] < sizes[13]
    check_step(engine, model, (None, None), True)
