"""Values of rows as integers in the same order, and how often each occurs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["PLACES", "count_values", "ordinals", "starts_of"]

_FLOATS = types.Array(types.float64, 1, "C", readonly=True)
_INTS = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.int64, 1, "C")

_TOP = int(np.iinfo(np.int64).max)
_NAN = int(np.array([np.nan]).view(np.int64)[0])
PLACES = 512  # of the table that counts the values of a stretch; it may become half full


@njit(types.void(_FLOATS, _INTS, _OUT), cache=True, nogil=True, error_model="numpy")
def ordinals(values: Any, bits: Any, out: Any) -> None:
    """Write each float as an integer in the same order: NaN the largest, -0.0 as 0.0. `bits` are the same memory."""
    for i in range(len(values)):
        value = values[i]
        found = bits[i]
        # Negative floats count down as their bits count up: turn those around.
        found = found ^ _TOP if found < 0 else found
        found = 0 if value == 0.0 else found
        out[i] = _NAN if value != value else found


@njit(types.void(_INTS, _INTS, _OUT), cache=True, nogil=True, error_model="numpy")
def starts_of(starts: Any, times: Any, out: Any) -> None:
    """Write the start of the slice of each time: most lie in the same as the one before, or in the next."""
    slices = len(starts)
    s = 0
    low, high = starts[0], starts[1] if slices > 1 else _TOP
    for i in range(len(times)):
        t = times[i]
        if t < low or t >= high:
            if t >= high and s + 2 < slices and t < starts[s + 2]:
                s += 1
            else:
                s = max(np.searchsorted(starts, t, "right") - 1, 0)
            low = starts[s]
            high = starts[s + 1] if s + 1 < slices else _TOP
        out[i] = low


@njit(types.int64(_INTS, _INTS, _INTS, _OUT, _OUT, _OUT, _OUT, _OUT), cache=True, nogil=True, error_model="numpy")
def count_values(
    values: Any, starts: Any, ends: Any, table: Any, counts: Any, distinct: Any, upto: Any, offsets: Any
) -> int:
    """Write the sorted distinct values of each stretch, and the rows up to each; gives how many, -1 where too many.

    For few distinct values: they are counted in a table of PLACES, and only they are sorted. `table` and `counts` have
    room for PLACES, and counts are zero; `upto` is written from the counts.
    """
    filled = 0
    used = np.empty(PLACES, np.int64)
    for r in range(len(starts)):
        offsets[r] = filled
        size = 0
        full = False
        for i in range(starts[r], ends[r]):
            value = values[i]
            hashed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
            at = np.int64(hashed >> np.uint64(64 - 9))
            while counts[at] != 0 and table[at] != value:
                at = (at + 1) & (PLACES - 1)
            if counts[at] == 0:
                if size >= PLACES // 2:
                    full = True
                    break
                table[at] = value
                used[size] = at
                size += 1
            counts[at] += 1
        if not full:
            found = distinct[filled : filled + size]
            for j in range(size):
                found[j] = table[used[j]]
            order = np.argsort(found)
            rows = 0
            for j in range(size):
                at = used[order[j]]
                rows += counts[at]
                upto[filled + j] = rows
                distinct[filled + j] = table[at]
            filled += size
        for j in range(size):
            counts[used[j]] = 0
        if full:
            return -1
    return filled
