"""The tree over slices: the same as slices alone and as plain lists of events, through every change of the store."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.fused import Fused, fused
from muntin.slicing.slicer import Slicer
from muntin.slicing.slices import Slices
from muntin.slicing.tree import Tree
from tests.reliability.sizes import examples
from tests.slicing.test_engine import SESSIONS, TIME, check, steps_of
from tests.strategies import cuts, specs, streams

INT = pa.int64()
BIG = 1_000_003


class Digits(mt.Aggregate):
    """Depends on the order of its values, and has no identity."""

    partial: ClassVar = {"value": int, "power": int}
    commutative, kind, returns = False, "algebraic", int

    def lift(value):
        return int(value) % BIG, 10

    def combine(a, b):
        return (a.value * b.power + b.value) % BIG, a.power * b.power % BIG

    def lower(p):
        return p.value


@dataclass
class Values:
    values: np.ndarray
    valid: np.ndarray | None = None


@functools.cache
def cells_of(which: str) -> Fused:
    total, high = mt.sum("x").bind([INT]), mt.max("x").bind([INT])
    return fused([total, high, Digits("x").bind([INT])] if which == "own" else [total, high], spans=which == "own")


@dataclass
class Driven:
    """A store of slices of 1 µs with a tree over it, and beside it the plain events."""

    which: str
    keyed: bool
    eager: bool
    events: list[tuple[int, int, int | None]] = field(default_factory=list)
    """Time, key and value (None: null), in the order of arrival."""

    def __post_init__(self) -> None:
        self.cells = cells_of(self.which)
        self.slices = Slices(Slicer([mt.tumbling("1 us")]), self.cells)
        self.tree = Tree(self.cells, self.slices)
        self.keys, self.low, self.newest = 1, -(10**9), 0

    def push(self, times: np.ndarray, chance: np.random.Generator, keys: int) -> None:
        times = np.maximum(times, self.low)
        self.keys = max(self.keys, keys if self.keyed else 1)
        self.slices.grow(self.keys)
        low, high = int(times.min()), int(times.max())
        self.slices.cover(times, low, high)
        key = chance.integers(0, self.keys, len(times)) if self.keyed else None
        values, valid = chance.integers(-5, 9, len(times)), chance.random(len(times)) < 0.8
        rows = self.slices.cells_of(times, key)
        self.cells.update_cells(self.slices.columns, rows, times, None, {"x": Values(values, valid)})
        self.tree.touch(times, low, high)
        if self.eager:
            self.tree.settle(self.keys)
        self.newest = max(self.newest, high)
        listed = (np.zeros(len(times), np.int64) if key is None else key).tolist()
        shown = [value if ok else None for value, ok in zip(values.tolist(), valid.tolist(), strict=True)]
        self.events += zip(times.tolist(), listed, shown, strict=True)

    def drop(self, time: int) -> None:
        self.low = max(self.low, time)
        self.slices.drop_before(self.low)
        # a few slices may stay
        first = int(self.slices.starts[0]) if len(self.slices) else self.low
        self.events = [event for event in self.events if event[0] >= first]

    def restart(self) -> None:
        """From a snapshot: the tree is not part of it."""
        state = self.slices.dump()
        self.slices = Slices(Slicer([mt.tumbling("1 us")]), self.cells)
        self.slices.load(state)
        self.tree = Tree(self.cells, self.slices)

    def ask(self, chance: np.random.Generator, many: int) -> None:
        """Ranges of slices: as the tree gives them, as the slices alone do, and as the events say."""
        used = len(self.slices)
        ends = np.sort(chance.integers(0, used + 1, (many, 2)), axis=1)
        ends[0] = 0, used
        a, b = (np.ascontiguousarray(part + self.slices.first_row) for part in ends[ends[:, 0] < ends[:, 1]].T)
        found = self.tree.merged(a, b, self.keys)
        if self.slices.stride == 1:
            lazy = self.cells.merge_ranges(a, b, self.slices.columns)
        else:
            lazy = self.cells.merge_dense(a, b, self.slices.stride, self.slices.columns, self.keys)
        some = lazy[0] > 0
        assert (found[0] > 0).tolist() == some.tolist()
        spans = (1, 2) if self.which == "own" else ()
        for i in (0, *spans, *self.cells.counts):
            assert found[i][some].tolist() == lazy[i][some].tolist(), f"column {i}"
        for count, columns in zip(self.cells.counts, self.cells.places, strict=True):
            valued = some & (lazy[count] > 0)  # no values, no partial
            for i in columns:
                assert found[i][valued].tolist() == lazy[i][valued].tolist(), f"column {i}"
        starts, ends_ = self.slices.starts, self.slices.ends
        for w in {0, len(a) - 1}:
            low, high = int(starts[a[w] - self.slices.first_row]), int(ends_[b[w] - self.slices.first_row - 1])
            for key in range(self.keys):
                inside = [event for event in self.events if low <= event[0] < high and event[1] == key]
                self.equals(found, w * self.keys + key, inside)

    def equals(self, found: list[Any], row: int, inside: list[tuple[int, int, int | None]]) -> None:
        assert found[0][row] == len(inside)
        # by slices, and within a slice as they came
        values = [value for time, _, value in sorted(inside, key=lambda event: event[0]) if value is not None]
        assert found[self.cells.counts[0]][row] == len(values)
        if values:
            assert found[self.cells.places[1][0]][row] == max(values)
        if values and self.which == "own":
            number = functools.reduce(lambda so_far, value: (so_far * 10 + value) % BIG, values, 0)
            assert found[self.cells.places[2][0]][row] == number
            assert found[1][row] == min(time for time, _, _ in inside)
            assert found[2][row] == max(time for time, _, _ in inside)


STEPS = st.one_of(
    st.tuples(st.just("push"), st.sampled_from([1, 3, 40, 300]), st.sampled_from([0, 10, 400, 6000])),
    st.tuples(st.just("late"), st.sampled_from([1, 3, 40]), st.sampled_from([5, 300, 6000, 60_000])),
    st.tuples(st.just("drop"), st.sampled_from([1, 17, 300, 5000, 10**7]), st.just(0)),
    st.tuples(st.just("ask"), st.sampled_from([1, 5, 30]), st.just(0)),
    st.tuples(st.just("keys"), st.sampled_from([1, 2]), st.just(0)),
    st.tuples(st.just("restart"), st.just(0), st.just(0)),
)


@pytest.mark.parametrize("which", ["built in", "own"])
@examples(60)
@given(st.booleans(), st.booleans(), st.integers(0, 2**32), st.lists(STEPS, min_size=2, max_size=14))
def test_the_tree_equals_the_slices_and_the_events(
    which: str, keyed: bool, eager: bool, seed: int, steps: list[tuple[str, int, int]]
) -> None:
    chance = np.random.default_rng(seed)
    driven, keys = Driven(which, keyed, eager), 1
    for step, count, reach in steps:
        if step == "push":
            driven.push(driven.newest + chance.integers(0, reach + 1, count), chance, keys)
        elif step == "late":
            driven.push(driven.newest - chance.integers(0, reach + 1, count), chance, keys)
        elif step == "drop":
            driven.drop(driven.newest - 6000 + min(count, 6000) if count < 10**7 else driven.newest + 1)
        elif step == "keys":
            keys += count
        elif step == "restart":
            driven.restart()
        if len(driven.slices) and step != "keys":
            driven.ask(chance, 2 if step != "ask" else count)


def test_only_blocks_over_events_are_combined_anew() -> None:
    driven, chance = Driven("own", False, False), np.random.default_rng(1)
    driven.push(np.arange(4096), chance, 1)
    driven.ask(chance, 3)
    assert not driven.tree._dirty.any()
    driven.push(np.array([16 * 7, 16 * 200 + 3, 16 * 207]), chance, 1)
    #           blocks of 16     of 256                 of 4096
    expected = [(0, [7, 200, 207]), (1, [0, 12]), (2, [0])]
    off = driven.tree._off.tolist()
    assert np.flatnonzero(driven.tree._dirty).tolist() == [off[level] + k for level, blocks in expected for k in blocks]
    driven.ask(chance, 3)
    assert not driven.tree._dirty.any()


def test_a_float_comes_out_the_same_however_the_store_moved() -> None:
    """Blocks go by running numbers: after drops, growth and a restart, the same slices are combined in the same way."""
    cells = fused([mt.sum("x").bind([pa.float64()])], nullable=[], spans=False)
    chance = np.random.default_rng(5)
    values = chance.random(3000)
    seen = set()
    for first in (0, 7, 100, 1000):  # how many slices go before
        slices = Slices(Slicer([mt.tumbling("1 us")]), cells)
        times = np.arange(3000)
        slices.cover(times, 0, 2999)
        cells.update_cells(slices.columns, slices.cells_of(times, None), times, None, {"x": Values(values)})
        slices.drop_before(first)
        state = slices.dump()
        again = Slices(Slicer([mt.tumbling("1 us")]), cells)
        again.load(state)
        for store in (slices, again):
            a, b = store.span(np.array([1003]), np.array([2917]))
            seen.add(float(Tree(cells, store).merged(a, b, 1)[3][0]))
    assert len(seen) == 1


# -- through the engine ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["lazy", "eager", "auto"])
def test_equals_the_reference_with_each_store(store: str) -> None:
    @examples(20)
    @given(specs(kinds=TIME + SESSIONS), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        steps = steps_of(data, data.draw(streams()))
        check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2))), store=store)

    equal()


@examples(20)
@given(st.data())
def test_equals_the_reference_over_many_slices(data: Any) -> None:
    """A fine window beside makes many slices, so that blocks of blocks are used."""
    delay = {name: data.draw(st.sampled_from(["0 us", "100 us"]), name) for name in ("disorder", "lateness")}
    spec = mt.over("ts", by=data.draw(st.sampled_from([(), ("key",)])), **delay)
    spec = spec.window("fine", mt.sliding("1 us", every="1 us"), n=mt.count())
    spec = spec.window("long", mt.sliding("300 us", every="40 us"), total=mt.sum("x"), own=Digits("x"))
    table = data.draw(streams(max_rows=20))
    steps = steps_of(data, table.set_column(0, "ts", pa.array(table["ts"].to_numpy() * 7)))
    check(spec, steps, store=data.draw(st.sampled_from(["eager", "auto"])))


@pytest.mark.parametrize("store", ["lazy", "eager", "auto"])
def test_a_correction_is_one_revision_and_nothing_else(store: str) -> None:
    """Windows of many slices next to the corrected one are the same to the last bit, so they are not said again."""
    spec = mt.over("ts", lateness="500 us").window("w", mt.sliding("200 us", every="1 us"), total=mt.sum("f"))
    chance = np.random.default_rng(2)
    engine = spec.engine(store=store, watermark="manual")
    time = np.arange(1000)
    engine.push({"ts": time, "f": chance.random(1000)})
    engine.advance(700)
    engine.push({"ts": [1500], "f": [0.1]})
    assert engine.advance(701).num_rows == 1
    # Watermark 701: the windows that end at 651 to 701 hold the late event, and those after them are not due.
    again = engine.push({"ts": [650], "f": [0.1]})
    assert again["revision"].to_pylist() == [1] * 51
    # This one comes into the window that ends at 701 only; those before it were combined anew for nothing.
    again = engine.push({"ts": [700, 2000], "f": [0.1, 0.1]})
    assert again["revision"].to_pylist() == [2]
    # A value of 0 changes no window that holds it. Blocks that begin elsewhere gave other last digits here.
    again = engine.push({"ts": [600], "f": [0.0]})
    assert again["revision"].to_pylist() == []


@examples(20)
@given(st.data(), st.sampled_from([(), ("key",)]), st.booleans())
def test_slices_show_what_they_hold(data: Any, by: tuple[str, ...], session: bool) -> None:
    spec = mt.over("ts", by=by).window("w", mt.tumbling("5 us"), n=mt.count())
    spec = spec.window("s", mt.session("4 us"), n=mt.count()) if session else spec
    engine = spec.engine(watermark="manual")
    table = data.draw(streams())
    for batch in data.draw(cuts(table)):
        engine.push(batch)
    found = [
        (*(row[name] for name in by), *(_us(row[name]) for name in ("start", "end", "first", "last")), row["n"])
        for row in engine.slices().to_pylist()
    ]
    expected = []
    steps = [5, spec.queries[1].window.cell] if session else [5]
    for start in range(-100, 600):  # slices are 5 µs long, or cut at the cells of the session too
        after = [edge for edge in range(start + 1, start + 6) if any(edge % step == 0 for step in steps)]
        if all(start % step for step in steps):
            continue
        inside = [row for row in table.to_pylist() if start <= row["ts"] < after[0]]
        times = [row["ts"] for row in inside]  # of all keys: they share the slice
        for key, n in Counter(row["key"] if by else None for row in inside).items():
            expected.append((*([key] if by else []), start, after[0], min(times), max(times), n))
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def _us(time: Any) -> int | None:
    return None if time is None else int((time - datetime(1970, 1, 1)) / timedelta(microseconds=1))


def test_slices_know_their_first_and_last_times_when_windows_change() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("10 us"), n=mt.count())
    engine: Any = spec.engine(watermark="manual")
    engine.push({"ts": [1, 7, 12], "x": [1, 1, 1]})
    engine.add_window("s", mt.tumbling("20 us"), n=mt.count())
    engine.push({"ts": [13], "x": [1]})
    found = [(_us(row["first"]), _us(row["last"]), row["n"]) for row in engine.slices().to_pylist()]
    assert found == [(1, 7, 2), (12, 13, 2)]


def test_slices_before_the_first_batch_and_without_any() -> None:
    spec = mt.over("ts", by="key").window("w", mt.tumbling("5 rows"), n=mt.count())
    engine = spec.engine()
    assert engine.slices().num_rows == 0
    engine.push({"ts": [1], "key": ["a"]})
    assert engine.slices().schema.names == ["key", "start", "end", "first", "last", "n"]
    with pytest.raises(mt.SpecError, match="has no slices"):
        spec.engine(engine="reference").slices()


def test_an_unknown_store_is_named() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    with pytest.raises(mt.SpecError, match=r"store='eagre' is unknown.*'eager'"):
        spec.engine(store="eagre")
    with pytest.raises(mt.SpecError, match="latency='high' is neither 'low' nor None"):
        spec.engine(latency="high")
    with pytest.raises(mt.SpecError, match="latency='low' cannot be had"):
        spec.engine(store="lazy", latency="low")
    assert spec.engine(latency="low").store == "eager"
    assert spec.engine().store == "auto"


def test_explain_says_which_store_and_why() -> None:
    spec = mt.over("ts").window("w", mt.sliding("1 minute", every="250 ms"), n=mt.count())
    assert "Store: lazy or eager, report by report: a window has up to about 240 slices" in spec.explain()
    short = mt.over("ts").window("w", mt.sliding("1 minute", every="15 s"), n=mt.count())
    assert "Store: lazy, since no window has more than about 4 slices; a tree pays from 32 on." in short.explain()
    corrected = mt.over("ts", lateness="1 s").window("w", mt.tumbling("1 minute"), n=mt.count())
    assert "Store: eager, a tree over slices: windows may be corrected" in corrected.explain()
    session = mt.over("ts").window("w", mt.session("1 s"), n=mt.count())
    assert "Store" not in session.explain()


def test_auto_uses_the_tree_where_it_pays() -> None:
    spec = mt.over("ts").window("w", mt.sliding("3 ms", every="1 us"), total=mt.sum("x"))
    engines: dict[str, Any] = {store: spec.engine(store=store, watermark="manual") for store in ("lazy", "auto")}
    for engine in engines.values():
        engine.push({"ts": np.arange(4000), "x": np.arange(4000)})
    assert engines["auto"]._sliced.store.nbytes == 0
    # the first windows are short, and the loop is quicker; many long ones go in blocks; for a few the tree pays
    for upto, used in ((40, False), (3500, False), (3506, True)):
        found = [engine.advance(upto) for engine in engines.values()]
        assert found[0].equals(found[1])
        assert (engines["auto"]._sliced.store.nbytes > 0) == used
    assert engines["lazy"]._sliced.store.nbytes == 0


@pytest.mark.parametrize("lateness", ["0 us", "100 us"])
def test_texts_in_blocks_follow_when_their_ranks_move(lateness: str) -> None:
    """Texts stand in cells as ranks; a new one in between moves the others, and blocks hold old ranks."""
    spec = mt.over("ts", lateness=lateness)
    aggregates = {"low": mt.min("s"), "last": mt.last("s"), "kinds": mt.count_distinct("s")}
    spec = spec.window("long", mt.sliding("300 us", every="50 us"), **aggregates)
    spec = spec.window("fine", mt.tumbling("1 us"), n=mt.count())
    words = ["m", "t", "c", "x", "a", "p", "e"]
    steps = []
    for i, word in enumerate(words):
        times = np.arange(100 * i, 100 * i + 100, 3)
        steps.append((pa.table({"ts": times, "s": [word] * len(times)}), 100 * i + 90))
    for store in ("eager", "auto", "lazy"):
        check(spec, steps, (3,), store=store)
