"""Edges and due windows listed by kernels, against plain NumPy."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.listing import list_due, list_edges
from muntin.kernels.naming import spell
from muntin.slicing.groups import NO_GRID
from tests.reliability.sizes import examples

GRIDS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 60)), min_size=1, max_size=6)


@examples(150)
@given(GRIDS, st.integers(-300, 300), st.integers(0, 500))
def test_edges_are_those_of_all_grids(grids: list[tuple[int, int]], low: int, stretch: int) -> None:
    high = low + stretch
    offset, step = (np.array(part, np.int64) for part in zip(*grids, strict=True))
    points = {k * s + o for o, s in grids for k in range((low - o) // s, (high - o) // s + 2)}
    first = max(point for point in points if point <= low)
    last = min(point for point in points if point > high)
    assert list_edges(offset, step, low, high).tolist() == sorted(p for p in points if first <= p <= last)


def test_edges_of_a_grid_of_ages() -> None:
    year = 365 * 86_400 * 1_000_000
    found = list_edges(np.array([5]), np.array([1_000 * year]), -62_000 * 10**12, 250_000 * 10**12)
    assert (np.diff(found) == 1_000 * year).all()
    assert found[0] <= -62_000 * 10**12
    assert found[-2] <= 250_000 * 10**12 < found[-1]


@examples(100)
@given(GRIDS, st.integers(-100, 100), st.integers(1, 200), st.sets(st.integers(-150, 350), min_size=1, max_size=40))
def test_due_windows_are_those_over_a_slice(
    grids: list[tuple[int, int]], low: int, stretch: int, starts: set[int]
) -> None:
    align, step = (np.array(part, np.int64) for part in zip(*grids, strict=True))
    size = step + 3
    slices = np.array(sorted(starts))
    high = low + stretch
    expected = {
        (q, k * s + a, k * s + a + s + 3)
        for q, (a, s) in enumerate(grids)
        for k in range(-400, 400)
        if low < k * s + a + s + 3 <= high and any(k * s + a <= start < k * s + a + s + 3 for start in starts)
    }
    found = list_due(np.arange(len(grids)), size, step, align, low, high, 10**6, slices, *NO_GRID)
    windows = list(zip(*(column.tolist() for column in found[:3]), strict=True))
    assert len(windows) == len(expected)
    assert set(windows) == expected
    for (_, start, end), a, b in zip(windows, found[3].tolist(), found[4].tolist(), strict=True):
        assert slices[a:b].tolist() == [s for s in slices.tolist() if start <= s < end]
    assert found[4].tolist() == sorted(found[4].tolist())


def test_names_are_spelt() -> None:
    names = ["a", "", "größer", "x"]
    spelt = [name.encode() for name in names]
    bounds, letters = np.cumsum([0, *map(len, spelt)]), np.frombuffer(b"".join(spelt), np.uint8)
    which = np.array([2, 2, 1, 0, 3])
    offsets, found, *_ = spell(which, bounds, letters, which)
    parts = [found[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
    assert parts == ["größer", "größer", "", "a", "x"]
    for ends, rising in (([3, 3, 4], True), ([3, 5, 4], False), ([7], True)):
        assert spell(np.zeros(len(ends), np.int64), bounds, letters, np.array(ends))[2:] == (rising, max(ends))
