"""Slices without cells: where all aggregates come from kept events, these say which windows keys have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.kernels.existing import windows_with_events
from muntin.slicing.bare import BareSlices, counted
from muntin.slicing.views import NO_INTS
from tests.reliability.sizes import examples
from tests.slicing.test_compaction import passing
from tests.slicing.test_engine import TIME, check, steps_of
from tests.strategies import KEPT, specs, streams

KEYED = specs(TIME, (KEPT,)).filter(lambda spec: spec.by)


@examples(25)
@given(KEYED, st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    steps = steps_of(data, passing(data.draw(streams(max_rows=80)), data.draw(st.sampled_from([10, 1_000]))))
    restarts = tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2)))
    threads = data.draw(st.sampled_from([1, 1, 2]))
    emit = data.draw(st.sampled_from(["final", "final", "updates"]))
    check(spec, steps, restarts if threads == 1 else (), threads=threads, emit=emit)


bounds = st.lists(st.tuples(st.integers(-5, 25), st.integers(1, 9)), max_size=8)


@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), max_size=4), bounds, st.booleans())
def test_windows_with_events_are_those_that_have_one(keys: list[list[int]], windows: Any, rising: bool) -> None:
    time = np.array([t for key in keys for t in sorted(key)], np.int64)
    offsets = np.cumsum([0, *map(len, keys)])
    starts, sizes = (np.array([w[i] for w in windows], np.int64) for i in (0, 1))
    ends = starts + sizes
    if rising:
        starts, ends = np.sort(starts), np.sort(ends)
    expected = []
    for rank, key in enumerate(keys):
        for which, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            inside = [i for i, t in enumerate(sorted(key)) if start <= t < end]
            if inside:
                expected.append((which, rank, offsets[rank] + inside[0], offsets[rank] + inside[-1] + 1))
    given_ = (time, offsets, starts, ends, rising)
    assert windows_with_events(*given_, NO_INTS, NO_INTS, NO_INTS, NO_INTS) == len(expected)
    out = [np.empty(len(expected), np.int64) for _ in range(4)]
    windows_with_events(*given_, *out)
    assert list(zip(*(part.tolist() for part in out), strict=True)) == expected


def events(n: int) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table({"ts": np.sort(rng.integers(0, 60_000_000, n)), "key": rng.integers(0, 500, n), "x": np.arange(n)})


def test_state_is_the_events_and_slices_are_shown_as_ever() -> None:
    over = mt.over("ts", by="key", max_ahead=None, disorder="1 s")
    window = mt.sliding("1 hour", every="1 second")
    bare = over.window("w", window, all=mt.collect("x")).engine()
    full = over.window("w", window, all=mt.collect("x"), n=mt.count()).engine()
    for first in range(0, 20_000, 500):
        for engine in (bare, full):
            engine.push(events(20_000).slice(first, 500))
    assert isinstance(bare._sliced.slices, BareSlices)
    assert not isinstance(full._sliced.slices, BareSlices)
    assert bare.nbytes - bare._kept.nbytes - bare._decoder.nbytes < 8 * 1024
    assert bare.nbytes < full.nbytes / 2
    assert bare.slices().equals(full.slices())


@pytest.mark.parametrize("rule", [None, "10 seconds"])
def test_a_window_with_cells_is_added_and_removed(rule: str | None) -> None:
    spec = mt.over("ts", by="key", max_ahead=None).window("w", mt.tumbling("1 minute"), all=mt.collect("x"))
    engine = (spec if rule is None else spec.compress(rule)).engine()
    table = events(5_000)
    engine.push(table.slice(0, 3_000))
    engine.add_window("n", mt.tumbling("1 minute"), n=mt.count())  # how many there were is in the kept events
    assert engine.starts["n"].timestamp() == 0
    engine.push(table.slice(3_000))
    assert not isinstance(engine._sliced.slices, BareSlices)
    found = engine.advance(60_000_000)
    counts = {row["key"]: row["n"] for row in found.to_pylist() if row["query"] == "n"}
    assert counts == {row["key"]: len(row["all"]) for row in found.to_pylist() if row["query"] == "w"}
    assert sum(counts.values()) == 5_000
    engine.remove_window("n")
    assert isinstance(engine._sliced.slices, BareSlices)


def test_events_of_several_stores_are_counted_once() -> None:
    one = np.array([0, 0, 3]), np.array([1, 12, 14])
    other = np.array([0, 3, 3]), np.array([12, 14, 15])
    found = counted(np.array([0, 10]), np.array([10, 20]), [one, other])
    assert [part.tolist() for part in found] == [[0, 1, 1], [0, 0, 3], [1, 1, 2]]
