"""Which windows of which keys have an event: found among sorted events, without cells that would say so."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["windows_with_events"]

_i64 = types.int64
_IN = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 1, "C")


@njit(_i64(_IN, _i64, _i64, _i64), cache=True, nogil=True, error_model="numpy")
def _least(values, low, high, wanted):  # type: ignore[no-untyped-def]
    """The first place in low..high whose value is at least `wanted`."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(
    _i64(_IN, _IN, _IN, _IN, types.boolean, _OUT, _OUT, _OUT, _OUT),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def windows_with_events(time, offsets, starts, ends, rising, which, rank, lo, hi):  # type: ignore[no-untyped-def]
    """Write, key by key, which windows have an event and from where to where they are; gives how many there are.

    `offsets` are where the times of each key begin, and the end. Only as many are written as there is room for: call
    with none to count. `rising`: neither starts nor ends go back, so a search goes on where the last one ended, and
    windows in a gap of a key are skipped.
    """
    room, found, count = len(which), 0, len(starts)
    for key in range(len(offsets) - 1):
        first, end = offsets[key], offsets[key + 1]
        if first == end:
            continue
        low, high = first, first
        window = _least(ends, 0, count, time[first] + 1) if rising else 0
        while window < count:
            if not rising:
                low, high = first, first
            low = _least(time, low, end, starts[window])
            if low == end:
                if rising:
                    break
                window += 1
                continue
            if time[low] >= ends[window]:
                window = _least(ends, window + 1, count, time[low] + 1) if rising else window + 1
                continue
            high = _least(time, max(low, high), end, ends[window])
            if found < room:
                which[found], rank[found], lo[found], hi[found] = window, key, low, high
            found += 1
            window += 1
    return np.int64(found)
