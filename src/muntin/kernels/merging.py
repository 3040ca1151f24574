"""Loops over sorted columns: where rows go in a merge, searches inside of ranges, running maxima."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["insertions", "lower_bounds", "running_max"]

_i64 = types.int64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_INTS_OUT = types.Array(_i64, 1, "C")


@njit(
    types.boolean(_INTS, _INTS, _INTS, _i64, _i64, _i64, _i64),
    cache=True,
    error_model="numpy",
    inline="always",
)
def _after(keys, times, orders, at, key, time, order):  # type: ignore[no-untyped-def]
    """Whether the row at a place stands after a new one; where all is equal it came earlier, so it does not."""
    if keys[at] != key:
        return keys[at] > key
    if times[at] != time:
        return times[at] > time
    return len(orders) > 0 and orders[at] > order


@njit(
    types.void(_INTS, _INTS, _INTS, _INTS, _INTS, _INTS, _INTS_OUT),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def insertions(keys, times, orders, new_keys, new_times, new_orders, out):  # type: ignore[no-untyped-def]
    """Write before which row each new row goes; both sides are sorted. `orders` are empty where there are none.

    Each search begins at the row before and doubles its stride, so that close rows cost little.
    """
    n, at = len(keys), 0
    for i in range(len(new_keys)):
        key, time = new_keys[i], new_times[i]
        order = new_orders[i] if len(new_orders) > 0 else np.int64(0)
        low, stride = at, 1
        while low + stride <= n and not _after(keys, times, orders, low + stride - 1, key, time, order):
            low += stride
            stride += stride
        high = low + stride - 1
        if high > n:
            high = n
        while low < high:
            middle = (low + high) >> 1
            if _after(keys, times, orders, middle, key, time, order):
                high = middle
            else:
                low = middle + 1
        at = low
        out[i] = at


@njit(types.void(_INTS, _INTS, _INTS, _INTS, _INTS_OUT), cache=True, nogil=True, error_model="numpy")
def lower_bounds(values, low, high, wanted, out):  # type: ignore[no-untyped-def]
    """Write the first place in low[i]..high[i] whose value is at least wanted[i]; high[i] where none is."""
    for i in range(len(wanted)):
        first, last, value = low[i], high[i], wanted[i]
        while first < last:
            middle = (first + last) >> 1
            if values[middle] < value:
                first = middle + 1
            else:
                last = middle
        out[i] = first


@njit(types.void(_INTS, _INTS, _INTS, _INTS_OUT), cache=True, nogil=True, error_model="numpy")
def running_max(values, starts, begin, out):  # type: ignore[no-untyped-def]
    """Write the largest value so far of each run; run r reaches from starts[r] to starts[r + 1], from begin[r] on."""
    for run in range(len(begin)):
        top = begin[run]
        for i in range(starts[run], starts[run + 1]):
            top = max(top, values[i])
            out[i] = top
