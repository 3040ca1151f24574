"""Windows over kept events from cached slices: of a few events, so that all that can happen to slices does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.kernels import covering
from muntin.slicing import kept_values
from muntin.slicing.covered import Marks
from muntin.slicing.kept_values import scrambled
from muntin.slicing.pieces import Pieces, again
from muntin.slicing.split_costs import LEVELS, OFF, SplitCosts
from muntin.slicing.store_events import EventStore
from tests.reliability.sizes import examples
from tests.slicing.test_engine import check, steps_of
from tests.slicing.test_kept import batch_of
from tests.slicing.test_stateful import Running
from tests.strategies import specs, streams

FOLDED = (("all", "n", "total", "low", "m4"), ("all", "fsum", "var", "first", "high", "ties"))
SLIDING = ("rows by time", "time by rows", "measure by time", "measure", "measure cumulative")
ANY = (*SLIDING, "time by measure", "measure by rows", "rows by measure", "punctuated", "frame", "own aware")
REAL = covering.levels
ASKED = SplitCosts.asked


def levels_of(seq: np.ndarray) -> np.ndarray:
    """One event in two begins a slice, one in four a slice of level 2, and so on."""
    bits = scrambled(seq)
    return sum((bits & ((1 << level) - 1) == 0).astype(np.uint8) for level in range(1, LEVELS + 1))


def changing(self: SplitCosts, lengths: Any, inserted: int, rows: int) -> bool:
    """Levels that stay a while, so that slices are used again, and then change."""
    self._times += 1
    level = (1, 1, 1, 2, 2, 2, 2, OFF, 1, 1, 1, 1, 3, 3, 3, 4)[self._times % 16]
    changed, self.level = level != self.level, level
    return changed


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covering, "levels", lambda seq, out: np.copyto(out, levels_of(seq)))
        patch.setattr(kept_values, "WORTH", -(10**9))
        patch.setattr(SplitCosts, "asked", changing)
        yield


# -- against the reference -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SLIDING)
def test_each_kind_equals_the_reference(kind: str) -> None:
    @examples(30)
    @given(specs(kinds=(kind,), mixes=FOLDED), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        check(spec, steps_of(data, data.draw(streams())))

    equal()


@examples(60)
@given(specs(kinds=ANY, mixes=FOLDED), st.data())
def test_any_mix_equals_the_reference_with_restarts(spec: mt.Spec, data: Any) -> None:
    steps = steps_of(data, data.draw(streams()))
    check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=3))))


@examples(40)
@given(specs(kinds=ANY, mixes=FOLDED[:1]), st.data())
def test_updates_equal_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(streams())), emit="updates")


class OverPieces(Running):
    """Windows come and go while slices are cached."""


TestOverPieces = OverPieces.TestCase
TestOverPieces.settings = examples(25, stateful_step_count=15)


class Joined(mt.Aggregate):
    """Depends on the order: the first value, the last, and how often one is above the one before it."""

    partial = {"first": float, "last": float, "rises": int}  # noqa: RUF012
    commutative, returns = False, float

    def lift(value: Any) -> Any:
        return value, value, 0

    def combine(a: Any, b: Any) -> Any:
        return a.first, b.last, a.rises + b.rises + (1 if b.first > a.last else 0)

    def lower(p: Any) -> Any:
        return p.first + 1000.0 * p.rises + 0.001 * p.last


@examples(30)
@given(specs(kinds=SLIDING, mixes=(("n",),)), st.data())
def test_an_order_is_kept(spec: mt.Spec, data: Any) -> None:
    for query in spec.queries:
        spec = spec.without(query.name).window(query.name, query.window, n=mt.count(), joined=Joined("x"))
    check(spec, steps_of(data, data.draw(streams())))


# -- the same to the last bit --------------------------------------------------------------------------------------


def run(keyed: bool, late: str, size: str, every: str, level: int | None, restarts: bool = False) -> list[pa.Table]:
    """All results of a random stream of floats; with slices of a level, or of changing ones."""
    random = np.random.default_rng(11)
    n = 1_500
    ts = np.arange(n) * 10 - np.where(random.random(n) < 0.2, random.integers(0, 900, n), 0)
    f = random.random(n)
    x = pa.array(np.round(f * 100).astype(np.int64), mask=f < 0.1)
    table = pa.table({"ts": ts, "f": f, "x": x, "key": random.integers(0, 3, n)})
    over: dict[str, Any] = {late: "900 us"}
    spec = mt.over("ts", by="key" if keyed else (), **over).window(
        "w", mt.sliding(size, every=every), s=mt.sum("f"), m=mt.mean("x"), v=mt.var("f"), l=mt.last("f")
    )
    engine: Any = spec.engine()
    found, at = [], 0
    for step in range(60):
        rows = int(random.integers(0, 2 * n // 60))
        if restarts and step % 7 == 3:
            state = engine.snapshot()
            engine = spec.engine()
            engine.restore(state)
        with pytest.MonkeyPatch.context() as patch:
            if level is not None:
                patch.setattr(SplitCosts, "asked", lambda self, *_: _to(self, level))
            found.append(engine.push(table.slice(at, rows)))
        at += rows
    return [*found, engine.flush()]


def _to(costs: SplitCosts, level: int) -> bool:
    changed, costs.level = costs.level != level, level
    return changed


@pytest.mark.parametrize("late", ["disorder", "lateness"])
@pytest.mark.parametrize("keyed", [False, True], ids=["no key", "keys"])
@pytest.mark.parametrize(("size", "every"), [("200 rows", "300 us"), ("2 ms", "7 rows")])
def test_results_do_not_depend_on_slices_or_restarts(keyed: bool, late: str, size: str, every: str) -> None:
    plain = run(keyed, late, size, every, OFF)
    assert sum(table.num_rows for table in plain) > 40
    for level in range(1, LEVELS + 1):
        assert run(keyed, late, size, every, level) == plain
    assert run(keyed, late, size, every, None) == plain
    assert run(keyed, late, size, every, None, restarts=True) == plain
    assert run(keyed, late, size, every, 1, restarts=True) == plain


# -- slices follow their events ------------------------------------------------------------------------------------


class Sums:
    """Caches the sum of arrival numbers of each slice."""

    def __init__(self, level: int) -> None:
        self.level, self.marks = level, Marks([np.empty(0, np.int64)])

    def nothing(self, rows: int) -> list[Any]:
        return [np.full(rows, -1)]

    def fill(self, seq: np.ndarray) -> None:
        rows = self.marks.rows
        for i in range(len(rows) - 1):
            self.marks.columns[0][i] = int(scrambled(seq[rows[i] : rows[i + 1]]).sum())
            self.marks.whole[i] = True


@examples(75)
@given(st.data(), st.booleans())
def test_slices_follow_the_events_of_a_store(data: Any, keyed: bool) -> None:
    store, seq = EventStore(), 0
    followers = [Sums(level) for level in (1, 2, 3)]
    store.cover.followers.update(enumerate(followers))
    row = st.tuples(st.integers(0, 3) if keyed else st.just(0), st.integers(0, 30), st.just(1))
    for _ in range(data.draw(st.integers(1, 8))):
        rows = data.draw(st.lists(row, max_size=16))
        taken = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows))), np.uint64)
        store.insert(batch_of(rows, seq, keyed), None, taken)
        seq += len(rows)
        levels = levels_of(store.seq)
        assert store.cover.fine.rows.tolist() == np.flatnonzero(levels).tolist()
        assert store.cover.level.tolist() == levels[levels > 0].tolist()
        for follower in followers:
            marks = follower.marks
            assert marks.rows.tolist() == np.flatnonzero(levels >= follower.level).tolist()
            for i in np.flatnonzero(marks.whole).tolist():
                assert marks.columns[0][i] == scrambled(store.seq[marks.rows[i] : marks.rows[i + 1]]).sum()
            if data.draw(st.booleans()):
                follower.fill(store.seq)
        for bit in (0, 1):
            view = store.view(bit)
            kept = data.draw(st.integers(0, len(view)))
            oldest = np.arange(len(view)) >= kept  # as windows do: from the oldest on
            some = np.array([data.draw(st.booleans()) for _ in range(len(view))], np.bool_)
            store.release(bit, view, oldest if data.draw(st.booleans()) else some)


def test_untouched_slices_stay_in_the_cache() -> None:
    store = EventStore()
    store.insert(batch_of([(0, t, 1) for t in range(100)], 0, False), None, np.ones(100, np.uint64))
    sums = Sums(2)
    store.cover.followers[0] = sums
    rows = store.cover.fine.rows[store.cover.level >= 2]
    sums.marks.insert(None, rows, sums.nothing(len(rows)))
    sums.fill(store.seq)
    assert len(rows) > 10
    store.insert(batch_of([(0, 50, 1), (0, 101, 1)], 100, False), None, np.ones(2, np.uint64))
    assert len(rows) - 3 <= np.count_nonzero(sums.marks.whole) < len(rows) - 1  # the last one has no end


# -- what splits cost ----------------------------------------------------------------------------------------------


def test_levels_are_as_frequent_as_they_should_be() -> None:
    found = np.empty(1 << 20, np.uint8)
    REAL(np.arange(1 << 20), found)
    for level in range(1, LEVELS + 1):
        expected = (1 << 20) / (32 << 2 * (level - 1))
        assert abs(np.count_nonzero(found >= level) - expected) < 5 * expected**0.5


def measured(event: float, piece: float, rounds: int = 200) -> SplitCosts:
    costs, random = SplitCosts(4), np.random.default_rng(3)
    for _ in range(rounds):
        events, slices = int(random.integers(100, 5_000)), int(random.integers(0, 300))
        noise = 10.0 if random.random() < 0.05 else random.uniform(0.9, 1.1)  # now and then something else runs
        costs.took((3_000 + event * events + piece * slices) * noise, events, slices)
    return costs


@pytest.mark.parametrize(("event", "piece"), [(1.0, 5.0), (40.0, 5.0), (1.0, 100.0)])
def test_costs_are_found_from_the_times_of_calls(event: float, piece: float) -> None:
    _, found_event, found_piece = measured(event, piece).measured
    assert 0.5 * event < found_event < 2 * event
    assert 0.4 * piece < found_piece < 2.5 * piece


def test_the_size_of_slices_follows_the_costs() -> None:
    sizes = {}
    for name, event, piece in (("cheap splits", 1.0, 100.0), ("dear splits", 40.0, 5.0)):
        costs = measured(event, piece)
        for _ in range(12):
            ASKED(costs, np.array([50_000]), 1_000, 60_000)
        sizes[name] = costs.size
    assert sizes["dear splits"] is not None
    assert sizes["cheap splits"] is not None
    assert sizes["dear splits"] < sizes["cheap splits"]


def test_events_that_come_again_are_counted_once() -> None:
    assert again(np.array([0, 5, 3, 40]), np.array([10, 15, 8, 50]), 5) == 20
    assert again(np.array([7]), np.array([9]), 5) == -3


def test_slices_are_used_again(monkeypatch: Any) -> None:
    """A window of many events that moves on a little aggregates what is new and two pieces."""
    folded = []
    timed = Pieces._timed

    def noted(self: Pieces, *given: Any) -> Any:
        found, work = timed(self, *given)
        folded.append(work[0])
        return found, work

    monkeypatch.setattr(Pieces, "_timed", noted)
    monkeypatch.setattr(SplitCosts, "asked", lambda self, *_: _to(self, 2))
    engine: Any = mt.over("ts").window("w", mt.sliding("1000 rows", every="10 us"), s=mt.sum("x")).engine()
    for at in range(0, 3_000, 10):
        engine.push({"ts": np.arange(at, at + 10), "x": np.arange(at, at + 10)})
    assert sum(folded[-50:]) / 50 < 60


class Fragile(mt.Aggregate):
    """A sum that fails while a value is 13."""

    partial = {"total": float}  # noqa: RUF012

    def lift(value: Any) -> Any:
        return value

    def combine(a: Any, b: Any) -> Any:
        if b.total == 13.0:
            raise ValueError("thirteen")
        return a.total + b.total

    def lower(p: Any) -> Any:
        return p.total


def test_a_function_that_fails_leaves_nothing_behind(monkeypatch: Any) -> None:
    monkeypatch.setattr(SplitCosts, "asked", lambda self, *_: _to(self, OFF))
    bad = 10 + int(np.flatnonzero(levels_of(np.arange(10, 50)) == 0)[0])  # inside of a slice, after others
    store = EventStore()
    rows = [(0, t, 13 if t == bad else 2) for t in range(60)]
    store.insert(batch_of(rows, 0, False), None, np.ones(60, np.uint64))
    pieces = Pieces(store, {"total": Fragile("x").bind([pa.int64()])})
    end = np.array([60])
    with pytest.raises(ValueError, match="thirteen"):
        pieces.values(np.array([0]), end)
    assert pieces.values(np.array([bad + 1]), end)["total"].to_pylist() == [2.0 * (59 - bad)]
