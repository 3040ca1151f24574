"""Final aggregation: Figure 5 step by step, the ring that grows, long runs, and subtraction that does not drift."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.fifo import Fifo, slid
from muntin.fused import Fused, fused
from muntin.kernels.final.lane_text import Op
from muntin.rolling_lanes import over_values
from tests.reliability.sizes import examples
from tests.strategies import Order

Ints = npt.NDArray[np.int64]


def cells_of(aggregate: mt.Aggregate, type_: pa.DataType) -> Fused:
    return fused([aggregate.bind([type_])], nullable=[], spans=False)


def state_of(cells: Fused, values: npt.ArrayLike) -> list[npt.NDArray[np.int64]]:
    values = np.asarray(values)
    state = cells.new(len(values))
    state[0].fill(1)
    state[-1][:] = values
    return state


# Figure 5: window 4, slide 1, minimum.
#
#   stream   8 2 1 5 0 7 9 3 6
#   w0      [-------)                 1   (four values in front, then the flip)
#   w1        [-------)               0
#   w2          [-------)             0
#   w3            [-------)           0
#   w4              [-------)         0   (all four of w0 are gone: flip)
#   w5                [-------)       3
def test_figure_5_step_by_step() -> None:
    cells = cells_of(mt.min("x"), pa.int64())
    state = state_of(cells, [8, 2, 1, 5, 0, 7, 9, 3, 6])
    window = Fifo(cells, "two_stacks")

    def step(lo: int, hi: int) -> int:
        return int(window.windows(np.array([lo]), np.array([hi]), 0, state)[-1][0])

    def behind() -> list[int]:
        lo, mid, _ = window._meta[:3].tolist()
        return [int(window._rings[1][-1][p & (window.room - 1)]) for p in range(lo, mid)]

    def middle() -> tuple[int, int, int]:
        lo, mid, end = window._meta[:3].tolist()
        return lo, mid, end

    # Phases 1 to 5: nothing leaves before the window is full; its first report flips all four values.
    assert step(0, 4) == 1
    assert middle() == (0, 4, 4)
    assert behind() == [1, 1, 1, 5]
    # Phase 6: 8 leaves, 0 comes. Behind only the place moves, in front one aggregate is kept.
    assert step(1, 5) == 0
    assert behind() == [1, 1, 5]
    assert int(window._front[-1][0]) == 0
    assert step(2, 6) == 0
    assert step(3, 7) == 0
    assert behind() == [5]
    # All of the first four are gone: the next four go behind.
    assert step(4, 8) == 0
    assert middle() == (4, 8, 8)
    assert behind() == [0, 3, 3, 3]
    assert step(5, 9) == 3


@pytest.mark.parametrize("final", ["two_stacks", "daba"])
def test_the_ring_grows_with_a_window_in_time(final: str) -> None:
    cells = cells_of(mt.sum("x"), pa.float64())
    values = np.arange(500.0)
    state, window = state_of(cells, values), Fifo(cells, final)
    lo = hi = 0
    for grow, shrink in ((3, 1), (200, 2), (1, 150), (250, 0), (0, 280), (20, 20)):
        lo, hi = lo + shrink, hi + grow
        found = window.windows(np.array([lo]), np.array([hi]), 0, state)[-1][0]
        assert found == values[lo:hi].sum()
    assert window.room >= 300


def shapes(steps: int) -> Iterator[tuple[str, Ints, Ints]]:
    """Windows of about a thousand values: steady, growing and falling, and falling to a third."""
    i = np.arange(steps)
    yield "steady", np.maximum(i - 999, 0), i + 1
    saw = i % 2000
    yield "sawtooth", i - np.minimum(np.where(saw < 1000, saw, 2000 - saw), i), i + 1
    third = np.where(i % 1500 < 1000, i % 1500, 333)
    yield "thirds", np.maximum.accumulate(np.maximum(i - third, 0)), i + 1


def minima(values: Ints, a: Ints, b: Ints) -> list[int]:
    """By a monotone deque: another algorithm, checked against plain recomputation in its own test."""
    found, end = [], 0
    held: deque[tuple[int, int]] = deque()
    for lo, hi in zip(a.tolist(), b.tolist(), strict=True):
        for i in range(end, hi):
            value = int(values[i])
            while held and held[-1][1] >= value:
                held.pop()
            held.append((i, value))
        end = max(end, hi)
        while held[0][0] < lo:
            held.popleft()
        found.append(held[0][1])
    return found


def test_the_deque_is_right() -> None:
    values = np.random.default_rng(3).integers(0, 50, 3_000)
    for _, a, b in shapes(3_000):
        a = np.maximum.accumulate(a)
        assert minima(values, a, b) == [int(values[lo:hi].min()) for lo, hi in zip(a, b, strict=True)]


@pytest.mark.parametrize("shape", ["steady", "sawtooth", "thirds"])
def test_a_million_steps_checked_at_every_step(shape: str) -> None:
    steps = 1_000_000
    values = np.random.default_rng(5).integers(-(2**40), 2**40, steps)
    a, b = next((np.maximum.accumulate(a), b) for name, a, b in shapes(steps) if name == shape)
    low = np.array(minima(values, a, b))
    before = np.concatenate([[0], np.cumsum(values)])
    least, total = cells_of(mt.min("x"), pa.int64()), cells_of(mt.sum("x"), pa.int64())
    state, sums = state_of(least, values), state_of(total, values & 0xFFFFFFFF)
    sums[-2][:] = values >> 32
    for final in ("blocks", "two_stacks", "daba"):
        np.testing.assert_array_equal(slid(least, final, a, b, state)[-1], low)
    for final in ("blocks", "subtract_on_evict"):
        found = slid(total, final, a, b, sums)
        np.testing.assert_array_equal((found[-2] << 32) + found[-1], before[b] - before[a])


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_subtraction_leaves_nothing_of_what_left(name: str) -> None:
    """1e16 enters and leaves, the rest is 1.0; so do a NaN and both infinities."""
    values = np.ones(60_000)
    values[[1_000, 30_000]] = 1e16, -1e16
    values[[10_000, 15_000, 20_000]] = np.nan, np.inf, -np.inf
    window = 1_000
    out = np.empty(len(values) - window + 1)
    over_values(Op(name, "float64", "float64"), values, window, 1, "subtract_on_evict", out)
    odd = np.flatnonzero(values != 1.0)
    i = np.arange(len(out))
    plain = ~np.array([(odd >= lo) & (odd < lo + window) for lo in i]).any(axis=1)
    one = window if name == "sum" else 1.0
    assert np.abs(out[plain] - one).max() <= 2 * 2**-53 * one
    assert plain.sum() > 50_000
    assert np.isnan(out[10_000])
    assert out[15_000] == np.inf
    assert out[20_000] == -np.inf


def test_the_stated_bound_of_subtraction_holds() -> None:
    random = np.random.default_rng(11)
    values = random.normal(0, 1, 50_000) * 10.0 ** random.integers(-8, 8, 50_000)
    window = 257
    out, right = np.empty(len(values) - window + 1), np.empty(len(values) - window + 1)
    over_values(Op("sum", "float64", "float64"), values, window, 1, "subtract_on_evict", out)
    for i in range(len(right)):
        right[i] = math.fsum(values[i : i + window])
    eps, fresh = 2.0**-53, 4096
    bound = 2 * eps * np.abs(right) + 4 * fresh * eps**2 * np.abs(values).max() * window
    assert (np.abs(out - right) <= bound).all()


def test_run_lengths_behind_change_no_result() -> None:
    random = np.random.default_rng(2)
    for window in (1, 2, 7, 64):
        values = random.integers(0, 5, 500).astype(np.int32)
        plain, encoded = np.empty(500 - window + 1, np.int32), np.empty(500 - window + 1, np.int32)
        op = Op("min", "int32", "int32")
        over_values(op, values, window, 1, "two_stacks", plain)
        over_values(op, values, window, 1, "two_stacks", encoded, encoded=True)
        np.testing.assert_array_equal(plain, encoded)
        np.testing.assert_array_equal(plain, np.lib.stride_tricks.sliding_window_view(values, window).min(-1))


@functools.cache
def both() -> Fused:
    return fused([mt.min("x").bind([pa.int64()]), Order("x").bind([pa.int64()])], nullable=[], spans=False)


@examples(40)
@given(
    keys=st.integers(1, 3),
    moves=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=20),
    final=st.sampled_from(["blocks", "two_stacks", "daba"]),
    seed=st.integers(0, 2**32),
)
def test_windows_of_all_keys_are_folds_in_order(keys: int, moves: list[tuple[int, int]], final: str, seed: int) -> None:
    """One key and several, empty cells and empty windows; windows only move on."""
    ends = np.cumsum([more for _, more in moves])
    starts = np.minimum(np.maximum.accumulate(np.cumsum([less for less, _ in moves])), ends)
    slices, stride = int(ends[-1]) + 1, keys + 1
    random = np.random.default_rng(seed)
    cells, order = both(), Order("x").bind([pa.int64()])
    values = random.integers(0, 1000, slices * stride)
    held = random.random(slices * stride) < 0.7
    state = cells.new(slices * stride)
    (least,), (code, scale) = cells.places
    state[0][:] = held
    state[least][:], state[code][:], state[scale][:] = values, values % 97, 31
    found = slid(cells, final, starts, ends, state, stride, keys)
    for w, (lo, hi) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        for key in range(keys):
            rows = [s * stride + key for s in range(lo, hi) if held[s * stride + key]]
            got = [int(column[w * keys + key]) for column in found]
            assert got[0] == len(rows)
            if rows:
                right = functools.reduce(order.combine, [order.lift(int(values[row])) for row in rows])
                assert (got[least], got[code], got[scale]) == (min(values[rows]), *right)
