"""Minima as paper 4 begins with them, before its optimisations: only to measure what each of these brings.

`growing`, `in_rings` and `in_columns` are two-stacks over windows of `window` values every `every`, of which `every` is
a divisor (section 3.2, (1) and (2)); what follows from (3) and (4) is in `muntin.kernels.final`. `evicting` is
subtract-on-evict for a minimum: where the minimum leaves, the window is gone over again (sections 2.2 and 4.3).
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["BLOCK", "evicting", "growing", "in_columns", "in_rings"]

_i64 = types.int64
_VALUES = types.Array(types.int32, 1, "C", readonly=True)
_COLUMN = types.Array(types.int32, 1, "C")
_PAIRS = types.Array(types.int32, 2, "C")
_BLOCKS = types.Array(types.int32, 3, "C")
_TABLE = types.Array(_i64, 1, "C")
BLOCK = 64
"""How many pairs of a value and an aggregate are in a block of a growing stack: 512 bytes, as std::deque has."""


@njit(
    types.void(_VALUES, _i64, _i64, _BLOCKS, _BLOCKS, _TABLE, _TABLE, _COLUMN),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def growing(x, window, every, front, back, front_table, back_table, out):  # type: ignore[no-untyped-def]
    """Two stacks of pairs, in blocks that a table names: two steps to every pair. A flip moves all pairs.

    The tables hold where each block is, so that blocks may be anywhere, as with a stack that grows.
    """
    fronts = backs = done = filled = 0
    for i in range(len(x)):
        least = x[i]
        if fronts:
            least = min(least, front[front_table[(fronts - 1) // BLOCK], (fronts - 1) % BLOCK, 1])
        place = front_table[fronts // BLOCK]
        front[place, fronts % BLOCK, 0] = x[i]
        front[place, fronts % BLOCK, 1] = least
        fronts += 1
        filled += 1
        if filled < window or (filled - window) % every:
            continue
        if backs == 0:
            while fronts:
                fronts -= 1
                value = front[front_table[fronts // BLOCK], fronts % BLOCK, 0]
                least = value
                if backs:
                    least = min(least, back[back_table[(backs - 1) // BLOCK], (backs - 1) % BLOCK, 1])
                place = back_table[backs // BLOCK]
                back[place, backs % BLOCK, 0] = value
                back[place, backs % BLOCK, 1] = least
                backs += 1
        least = back[back_table[(backs - 1) // BLOCK], (backs - 1) % BLOCK, 1]
        if fronts:
            least = min(least, front[front_table[(fronts - 1) // BLOCK], (fronts - 1) % BLOCK, 1])
        out[done] = least
        done += 1
        backs -= every


@njit(types.void(_VALUES, _i64, _i64, _PAIRS, _COLUMN), cache=True, nogil=True, error_model="numpy")
def in_rings(x, window, every, ring, out):  # type: ignore[no-untyped-def]
    """Both stacks in one ring of pairs: a flip goes backwards and writes aggregates, and moves no value."""
    mask = len(ring) - 1
    lo = mid = done = 0
    running = np.int32(0)
    for i in range(len(x)):
        running = x[i] if i == mid else min(running, x[i])
        ring[i & mask, 0] = x[i]
        ring[i & mask, 1] = running
        if i + 1 < window or (i + 1 - window) % every:
            continue
        if lo >= mid:
            least = ring[i & mask, 0]
            ring[i & mask, 1] = least
            for q in range(1, i + 1 - lo):
                least = min(least, ring[(i - q) & mask, 0])
                ring[(i - q) & mask, 1] = least
            mid = i + 1
            out[done] = ring[lo & mask, 1]
        else:
            out[done] = min(ring[lo & mask, 1], running)
        done += 1
        lo += every


@njit(types.void(_VALUES, _i64, _i64, _COLUMN, _COLUMN, _COLUMN), cache=True, nogil=True, error_model="numpy")
def in_columns(x, window, every, ring, behind, out):  # type: ignore[no-untyped-def]
    """Only what is read: values in front with one running aggregate, behind one aggregate for each slide."""
    mask, slides = len(ring) - 1, window // every
    lo = mid = done = 0
    running = np.int32(0)
    for i in range(len(x)):
        running = x[i] if i == mid else min(running, x[i])
        ring[i & mask] = x[i]
        if i + 1 < window or (i + 1 - window) % every:
            continue
        if lo >= mid:
            p = i
            least = ring[p & mask]
            for s in range(slides):
                for _ in range(every):
                    least = min(least, ring[p & mask])
                    p -= 1
                behind[slides - 1 - s] = least
            mid = i + 1
            out[done] = behind[0]
        else:
            out[done] = min(behind[slides - (mid - lo) // every], running)
        done += 1
        lo += every


@njit(_i64(_VALUES, _i64, _COLUMN), cache=True, nogil=True, error_model="numpy")
def evicting(x, window, out):  # type: ignore[no-untyped-def]
    """Minima with slide 1 by subtract-on-evict; gives how often the minimum left and all was gone over again."""
    least, scans = x[0], 0
    for i in range(window):
        least = min(least, x[i])
    out[0] = least
    for i in range(window, len(x)):
        gone = x[i - window]
        if gone == least:
            scans += 1
            least = x[i]
            for p in range(i - window + 1, i):
                least = min(least, x[p])
        else:
            least = min(least, x[i])
        out[i - window + 1] = least
    return scans
