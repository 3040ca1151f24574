"""Rows windows over position slices, row for row against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing.engine import Slicing
from muntin.slicing.rows.arrivals import NO_INTS
from muntin.slicing.rows.cells import RowsFused
from muntin.slicing.rows.events import _by_key
from muntin.slicing.rows.lane import Lane
from muntin.slicing.rows.waiting import Chunk, Sorted
from muntin.windows import Window
from tests.reliability.sizes import examples
from tests.slicing.lanes import (
    CELLS,
    CHOSEN,
    EVERY,
    INVERTED,
    Digits,
    Spread,
    check_ids_of_keys_move,
    check_windows_come_and_go,
    engine_of,
    lane_specs,
)
from tests.slicing.test_engine import check, steps_of
from tests.strategies import MIXES, rows_of, specs, streams

ROWS = ("rows", "rows tumbling", "rows cumulative")


def windows(draw: Any, size: int, every: int) -> list[Window]:
    """Rows windows of a size and a step."""
    return [
        mt.tumbling(f"{size} rows"),
        mt.sliding(f"{size} rows", every=f"{every} rows"),
        mt.cumulative(f"{size * every} rows", every=f"{every} rows"),
    ]


@examples(40)
@given(lane_specs(MIXES, windows), st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())))


@examples(60)
@given(lane_specs(CELLS, windows), st.data())
def test_equals_the_reference_from_slices_alone(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())))


@examples(30)
@given(lane_specs(CELLS + MIXES, windows), st.data())
def test_an_order_column_decides_between_equal_times(spec: mt.Spec, data: Any) -> None:
    check(replace(spec, order="m"), steps_of(data, data.draw(streams())))


@examples(40)
@given(lane_specs(CELLS + MIXES, windows), st.data())
def test_a_snapshot_continues_exactly(spec: mt.Spec, data: Any) -> None:
    steps = steps_of(data, data.draw(streams()))
    check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), min_size=1, max_size=3))))


def test_a_snapshot_of_what_was_restored_is_the_same() -> None:
    """A list that is null has other buffers once Arrow has picked it, so it is not picked without need."""
    spec = mt.over("ts", lateness="5 us").window("w", mt.tumbling("1 rows"), often=mt.heavy_hitters("s", share=0.4))
    check(spec, [(pa.table({"ts": [0], "s": pa.array([None], pa.string())}), 1)], (1,))


@examples(20)
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
    added = [mt.tumbling("3 rows"), mt.sliding("7 rows", every="2 rows"), mt.cumulative("6 rows", every="3 rows")]
    asked = [("total", "high"), ("total", "all"), ("high", "n")]
    check_windows_come_and_go(mt.tumbling("5 rows"), added, asked, by, lateness)


def test_ids_of_keys_move(monkeypatch: pytest.MonkeyPatch) -> None:
    check_ids_of_keys_move(monkeypatch, mt.tumbling("3 rows"), all=mt.collect("x"), total=mt.sum("x"))


@given(st.sampled_from([1, 3, 60, 1_000]).flatmap(lambda most: st.lists(st.integers(0, most), min_size=1, max_size=60)))
def test_rows_of_a_key_come_together_in_their_order(ids: list[int]) -> None:
    """By counting where ids lie close together, else by sorting."""
    key = np.array(ids)
    keys, offsets, places = _by_key(Sorted(np.arange(len(key)), NO_INTS, [(_chunk(key), None)]))
    found = np.empty(len(key), np.int64)
    found[np.arange(len(key)) if places is None else places] = np.arange(len(key))
    assert found.tolist() == np.argsort(key, kind="stable").tolist()
    expected, counts = np.unique(key, return_counts=True)
    assert keys.tolist() == expected.tolist()
    assert np.diff(offsets).tolist() == counts.tolist()


def _chunk(key: Any) -> Chunk:
    return Chunk(np.arange(len(key)), NO_INTS, NO_INTS, {"key": key})
