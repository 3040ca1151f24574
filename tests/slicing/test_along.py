"""Windows on another column over slices along it, row for row against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing.along.lane import Lane
from muntin.slicing.engine import Slicing
from muntin.windows import Window
from tests.reliability.sizes import examples
from tests.slicing.lanes import CELLS, check_ids_of_keys_move, check_windows_come_and_go, engine_of, lane_specs
from tests.slicing.test_engine import check, steps_of
from tests.strategies import specs, streams

COMMUTATIVE = tuple(mix for mix in CELLS if "digits" not in mix)
ALONG = ("measure", "measure tumbling", "measure cumulative")


def windows(draw: Any, size: int, every: int) -> list[Window]:
    """Windows of a size and a step on one of two columns."""
    on, align = draw(st.sampled_from(["m", "m", "m", "x"])), draw(st.integers(0, 5))
    return [
        mt.tumbling(size, on=on, align=align),
        mt.sliding(size, every=every, on=on, align=align),
        mt.cumulative(size * every, every=every, on=on, align=align),
    ]


SPECS = lane_specs(COMMUTATIVE, windows, idle=False, kept=True)


@examples(60)
@given(SPECS, st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())))


@examples(30)
@given(SPECS, st.data())
def test_equals_the_reference_with_updates_and_an_order(spec: mt.Spec, data: Any) -> None:
    spec = replace(spec, order=data.draw(st.sampled_from([None, "x"])))
    check(spec, steps_of(data, data.draw(streams())), emit="updates")


@examples(30)
@given(SPECS, st.data())
def test_a_snapshot_continues_exactly(spec: mt.Spec, data: Any) -> None:
    steps = steps_of(data, data.draw(streams()))
    check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), min_size=1, max_size=3))))


@examples(20)
@given(specs(kinds=(*ALONG, "measure session", "rows", "tumbling", "session"), mixes=COMMUTATIVE[:2]), st.data())
def test_beside_other_windows(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())))


def test_which_of_equal_times_came_first_is_told_by_arrival() -> None:
    """Slices stand in the order of the column, and the later of these two in it came first."""
    spec = mt.over("ts").window(
        "w", mt.sliding(10, every=5, on="m"), first=mt.first("x"), last=mt.last("x"), top=mt.arg_max("x", by="f")
    )
    table = pa.table({"ts": [1, 1, 2], "m": [7, 2, 20], "x": [1, 2, 3], "f": [0.5, 0.5, 0.5]})
    check(spec, [(table, 5)])


def lane_of(engine: Slicing) -> Lane:
    assert engine._along is not None
    (lane,) = engine._along.lanes
    return lane


#   slices of size 10 every 4:  [0 2)[2 4)[4 6)[6 8)[8 10)[10 12) ...   edges are starts, 4 k, and ends, 4 k + 10
def test_slices_are_cut_at_the_edges_of_the_windows_and_only_where_there_are_events() -> None:
    spec = mt.over("ts", by="key").window("w", mt.sliding(10, every=4, on="m"), n=mt.count())
    engine = engine_of(spec)
    engine._run(pa.table({"ts": [0, 1, 2, 3], "key": [0, 1, 0, 0], "m": [9, 100, 3, 8]}), None, False)
    lane = lane_of(engine)
    blocks = lane.cells.blocks
    starts = [lane.cells.start[at : at + n].tolist() for at, n in zip(blocks.at, blocks.count, strict=True)]
    assert starts == [[2, 8], [100]]
    assert engine._kept.stores == []


def test_a_float_is_not_said_again_for_its_last_digits() -> None:
    """Events come to other windows of the key, so that slices are grouped otherwise when windows are combined."""
    random = np.random.default_rng(2)
    n = 4_000
    ts = np.arange(n) * 10
    window = mt.sliding(300, every=2, on="m")
    spec = mt.over("ts", lateness="30 ms").window("w", window, total=mt.sum("f"), n=mt.count())
    m = np.arange(n) - np.where(random.random(n) < 0.1, random.integers(0, 400, n), 0)
    table = pa.table({"ts": ts, "m": m, "f": random.random(n) * 10.0 ** random.integers(-8, 8, n)})
    engine, seen, revised = engine_of(spec), dict[int, int](), 0
    for i in range(0, n, 100):
        for row in engine._run(table.slice(i, 100), int(ts[i + 99]), False).to_pylist():
            start = row["rows"]["start"]
            assert row["n"] > seen.get(start, 0)
            revised += start in seen
            seen[start] = row["n"]
    assert revised > 1_000
    # The sums of windows that got no event do come out with other last digits when all are combined anew.
    lane = lane_of(engine)
    wins = lane.due(0, lane.keys_with_cells(), False)
    last = engine._along._reported[0].last  # type: ignore[union-attr]
    assert last is not None
    said = dict(zip(last.rows[0].tolist(), last.values["total"].to_pylist(), strict=True))  # type: ignore[index]
    total = lane.cells.merged(wins.a, wins.b)[lane.cells.fused.places[0][0]]
    assert any(said[start] != value for start, value in zip(wins.start.tolist(), total.tolist(), strict=True))


def test_state_does_not_grow_with_the_rows() -> None:
    """Ten times as many rows along the same way take no more."""
    spec = mt.over("ts", by="key").window(
        "w", mt.sliding(1_000, every=100, on="m"), total=mt.sum("x"), first=mt.first("x"), high=mt.max("x")
    )
    sizes = []
    for times in (1, 10):
        engine = spec.engine()
        for i in range(20):
            at = np.arange(i * 500, (i + 1) * 500).repeat(times)
            engine.push({"ts": at * 1_000, "key": at % 3, "m": at * 2, "x": at % 7})
        assert isinstance(engine, Slicing)
        assert engine._kept.stores == []
        sizes.append(engine._along.nbytes)  # type: ignore[union-attr]
        # Of each key the slices of the last 1,000, and those that come next.
        assert 30 <= lane_of(engine).cells.held <= 40
    assert sizes[0] == sizes[1] < 30_000


@pytest.mark.parametrize("lateness", ["0 us", "30 us"])
@pytest.mark.parametrize("by", [(), "key"])
def test_windows_come_and_go(by: Any, lateness: str) -> None:
    added = [mt.tumbling(7, on="m"), mt.sliding(9, every=4, on="m"), mt.cumulative(12, every=4, on="m")]
    asked = [("total", "high"), ("first", "all"), ("high", "n")]
    check_windows_come_and_go(mt.tumbling(5, on="m"), added, asked, by, lateness)


def test_ids_of_keys_move(monkeypatch: pytest.MonkeyPatch) -> None:
    check_ids_of_keys_move(monkeypatch, mt.tumbling(9, on="m"), high=mt.max("x"), total=mt.sum("x"))


def test_explain_says_what_is_kept() -> None:
    def kept(order: str | None, **aggregates: mt.Aggregate) -> str:
        spec = mt.over("ts", by="key", order=order, disorder="1 s").window("w", mt.tumbling(10, on="m"), **aggregates)
        return next(line for line in spec.explain().splitlines() if "events kept" in line)

    assert kept(None, n=mt.count(), first=mt.first("x")).startswith("  events kept: no. ")
    assert "mid has no partial of a fixed size" in kept(None, mid=mt.median("x"), n=mt.count())
    assert "order=" in kept("seq", first=mt.first("x"))
    assert kept("seq", high=mt.max("x")).startswith("  events kept: no. ")
    spec = mt.over("ts", by="key", disorder="1 s").window("w", mt.sliding(100, every=10, on="m"), n=mt.count())
    text = spec.explain(rate=1_000, keys=50)
    assert "kept for ever" in text
    assert "slices along m: 550 of 32 bytes" in text
    assert "times and places along m: 1,000 of 24 bytes" in text
    assert "kept events" not in text
