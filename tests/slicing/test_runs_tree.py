"""Runs over blocks of slices: the same answers as runs of slices alone and as plain sorted lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.kernels.selection import merge_runs
from muntin.slicing import runs, runs_tree
from muntin.slicing.runs import RunStore
from muntin.slicing.runs_tree import RunTree
from muntin.state.blob import pack, unpack
from tests.reliability.sizes import examples

INT = pa.int64()
BOUNDS = [
    a.bind([INT])
    for a in (mt.median("x"), mt.quantile("x", 0.9), mt.nth_smallest("x", 3), mt.count_distinct("x"), mt.mode("x"))
]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks from the beginning, and patches merged soon."""
    for name, value in (("LONG", 1), ("FIRST", 2), ("PATCHES", 2)):
        monkeypatch.setattr(runs_tree, name, value)
    monkeypatch.setattr(runs, "WAITING", 3)


class Driven:
    """Slices of 10 µs in both stores, and all values beside.

    "summed": rows do not wait in the tree. "taken": runs that were made elsewhere come in place of rows.
    """

    def __init__(self, eager: bool, keyed: bool, how: str = "") -> None:
        self.eager, self.keyed, self.how = eager, keyed, how
        self.lazy, self.tree = RunStore(), self._tree()
        self.rows: list[tuple[int, int, int]] = []
        self.newest, self.low = 0, -(10**9)

    def _tree(self) -> RunTree:
        return RunTree(self.eager, (lambda *runs: runs) if self.how else None)

    def add(self, times: np.ndarray, chance: np.random.Generator, distinct: int) -> None:
        times = np.maximum(times, self.low)
        slices = times // 10 * 10
        key = chance.integers(0, 3, len(times)) if self.keyed else None
        values = chance.integers(0, distinct, len(times))
        valid = chance.random(len(times)) < 0.9
        self.lazy.add(slices, key, values, valid)
        if self.how == "taken":
            cells, at = np.unique(slices * 3 + (0 if key is None else key), return_inverse=True)
            starts, owner = np.divmod(cells, 3)
            self.tree.take(
                starts, owner if self.keyed else None, *RunStore().counted(at.ravel(), len(cells), values, valid)
            )
        else:
            self.tree.add(slices, key, values, valid)
        keys = np.zeros(len(times), np.int64) if key is None else key
        self.rows += [*zip(slices[valid].tolist(), keys[valid].tolist(), values[valid].tolist(), strict=True)]
        self.newest = max(self.newest, int(times.max()))
        self.tree.prepare(self.newest // 10 * 10 - 30)

    def drop(self, time: int) -> None:
        self.low = max(self.low, time // 10 * 10)
        for store in (self.lazy, self.tree):
            store.drop_before(self.low)
        self.rows = [row for row in self.rows if row[0] >= self.low]

    def restart(self) -> None:
        state = unpack(pack(self.tree.dump()))
        assert pack(state) == pack(self.tree.dump())
        self.tree = self._tree()
        self.tree.load(state)

    def ask(self, chance: np.random.Generator, windows: int) -> None:
        low, high = max(self.low, -2000) // 10, self.newest // 10 + 3
        edges = np.sort(chance.integers(low, high + 1, (windows, 2)), axis=1) * 10
        edges[0] = low * 10, high * 10
        start, end = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
        key = chance.integers(0, 3, windows) if self.keyed else np.zeros(windows, np.int64)
        for store in (self.lazy, self.tree):
            store.settle(int(end.max()))
        for bound in BOUNDS:
            found = self.tree.answer(bound, key, start, end).to_pylist()
            assert found == self.lazy.answer(bound, key, start, end).to_pylist(), bound.aggregate
        medians = self.tree.answer(BOUNDS[0], key, start, end).to_pylist()
        for k, a, b, found in zip(key.tolist(), start.tolist(), end.tolist(), medians, strict=True):
            inside = [value for time, of, value in self.rows if of == k and a <= time < b]
            assert found == (float(np.median(inside)) if inside else None)


STEPS = st.one_of(
    st.tuples(st.just("push"), st.sampled_from([1, 5, 200]), st.sampled_from([0, 30, 3000])),
    st.tuples(st.just("late"), st.sampled_from([1, 5, 30]), st.sampled_from([40, 500, 4000])),
    st.tuples(st.just("drop"), st.sampled_from([0, 200, 3000]), st.just(0)),
    st.tuples(st.just("ask"), st.sampled_from([1, 4]), st.just(0)),
    st.tuples(st.just("restart"), st.just(0), st.just(0)),
)


@examples(100)
@given(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from(["", "", "summed", "taken"])),
    st.sampled_from([4, 10**6]),
    st.integers(0, 2**32),
    st.lists(STEPS, max_size=14),
)
def test_blocks_answer_as_slices_do(
    stores: tuple[bool, bool, str], distinct: int, seed: int, steps: list[tuple[str, int, int]]
) -> None:
    chance = np.random.default_rng(seed)
    driven = Driven(*stores)
    for step, count, reach in steps:
        if step == "push":
            driven.add(driven.newest + chance.integers(0, reach + 1, count), chance, distinct)
        elif step == "late":
            driven.add(driven.newest - chance.integers(0, reach + 1, count), chance, distinct)
        elif step == "drop":
            driven.drop(driven.newest - count)
        elif step == "restart":
            driven.restart()
        if step in ("ask", "late", "drop"):
            driven.ask(chance, count if step == "ask" else 2)


def test_a_long_window_needs_few_runs() -> None:
    tree, chance = RunTree(), np.random.default_rng(3)
    slices = np.arange(0, 50_000, 10)
    tree.add(slices, None, chance.random(5000), None)
    tree.settle(50_000)
    found = tree._runs(np.zeros(1, np.int64), np.array([130]), np.array([49_930]))
    assert found.rows().tolist() == [4980]
    assert len(found.offset) < 120
    # A value that comes late is a run of its own, in its slice and in each block above.
    tree.add(np.array([20_000]), None, np.array([-1.0]), None)
    tree.settle(50_000)
    found = tree._runs(np.zeros(1, np.int64), np.array([130]), np.array([49_930]))
    assert found.rows().tolist() == [4981]
    assert len(found.offset) < 120


def test_a_value_may_come_late_for_its_block_and_yet_be_the_newest() -> None:
    tree = RunTree()
    tree.add(np.arange(0, 1000, 10), None, np.zeros(100, np.int64), None)
    tree.settle(5000)
    tree.add(np.array([2000, 3000]), None, np.array([7, 8]), None)
    tree.settle(5000)
    found = tree.answer(BOUNDS[0], np.zeros(2, np.int64), np.array([990, 0]), np.array([4000, 5000]))
    assert found.to_pylist() == [7.0, 0.0]


def test_no_windows_have_no_answers() -> None:
    tree, none = RunTree(False), np.empty(0, np.int64)
    tree.add(np.arange(0, 1000, 10), None, np.arange(100), None)
    tree.settle(1000)
    assert tree.answer(BOUNDS[0], none, none, none).to_pylist() == []


def test_what_others_change_is_noticed() -> None:
    """Keys numbered afresh and slices merged: blocks begin anew."""
    tree = RunTree()
    slices = np.repeat(np.arange(0, 1000, 10), 2)
    tree.add(slices, np.tile([0, 1], 100), np.arange(200), None)
    tree.settle(1000)
    tree._runs(np.zeros(1, np.int64), np.array([0]), np.array([1000]))
    tree.key = 1 - tree.key
    order = np.lexsort((tree.slice, tree.key))
    tree.slice, tree.key = tree.slice[order], tree.key[order]
    tree._offset, tree._size = tree._offset[order], tree._size[order]
    found = tree.answer(BOUNDS[0], np.array([0, 1]), np.array([0, 0]), np.array([1000, 1000]))
    assert found.to_pylist() == [100.0, 99.0]


@given(st.lists(st.lists(st.lists(st.integers(0, 8), max_size=6), max_size=7), max_size=4))
def test_merged_runs_are_the_sorted_values(groups: list[list[list[int]]]) -> None:
    runs: list[Any] = [np.unique(run, return_counts=True) for group in groups for run in group]
    sizes = np.array([len(run[0]) for run in runs], np.int64)
    values = np.concatenate([run[0] for run in runs] or [[]]).astype(np.int64)
    upto = np.concatenate([np.cumsum(run[1]) for run in runs] or [[]]).astype(np.int64)
    offset = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
    ends = np.cumsum([len(group) for group in groups], dtype=np.int64)
    lo = ends - np.array([len(group) for group in groups], np.int64)
    out, rows, at = np.empty(len(values), np.int64), np.empty(len(values), np.int64), np.empty(len(lo), np.int64)
    filled = merge_runs(values, upto, offset, sizes, lo, ends, out, rows, at)
    bounds = [*at.tolist(), filled]
    for g, group in enumerate(groups):
        a, b = bounds[g], bounds[g + 1]
        found = np.repeat(out[a:b], np.diff(rows[a:b], prepend=0)).tolist()
        assert found == sorted(value for run in group for value in run)
