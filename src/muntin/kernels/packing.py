"""Numbers in few bytes: how far above the smallest, in steps, the first bytes of all of them, then the second ones."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["pack", "scan", "unpack"]

_i64 = types.int64
_IN = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 1, "C")
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_BYTES_OUT = types.Array(types.uint8, 1, "C")

EXACT = 1 << 50  # up to here a float is exact, and so is a quotient of two that divide each other


@njit(types.void(_IN, types.boolean, _OUT), cache=True, nogil=True, error_model="numpy")
def scan(values, delta, found):  # type: ignore[no-untyped-def]
    """Write the smallest and the largest of some values, or of their differences, and the step between all of them."""
    n = len(values) - 1 if delta else len(values)
    low = high = first = values[1] - values[0] if delta else values[0]
    if delta:
        for i in range(n):
            low, high = min(low, values[i + 1] - values[i]), max(high, values[i + 1] - values[i])
    else:
        for i in range(n):
            low, high = min(low, values[i]), max(high, values[i])
    step, last = np.int64(0), np.int64(0)
    for i in range(n):
        value = values[i + 1] - values[i] if delta else values[i]
        if value - first != last:
            last = value - first
            a, b = step, abs(last)
            while b:
                a, b = b, a % b
            step = a
            if step == 1:
                break
    found[0], found[1], found[2] = low, high, max(step, 1)


@njit(types.void(_IN, types.boolean, _i64, _i64, _i64, _BYTES_OUT), cache=True, nogil=True, error_model="numpy")
def pack(values, delta, low, step, width, out):  # type: ignore[no-untyped-def]
    """Write `(value - low) / step` of each value, or difference, in `width` bytes."""
    n = len(values) - 1 if delta else len(values)
    if step == 1 and not delta and width == 1:
        for i in range(n):
            out[i] = np.uint8(values[i] - low)
        return
    above = np.empty(n, np.int64)
    if delta:
        for i in range(n):
            above[i] = values[i + 1] - values[i] - low
    else:
        for i in range(n):
            above[i] = values[i] - low
    if step != 1:
        if max(above) < EXACT:  # a division of integers takes ten times as long
            by = 1.0 / step
            for i in range(n):
                above[i] = np.int64(np.float64(above[i]) * by + 0.5)
        else:
            for i in range(n):
                above[i] //= step
    for place in range(width):
        plane, shift = out[place * n : (place + 1) * n], 8 * place
        for i in range(n):
            plane[i] = np.uint8((above[i] >> shift) & 255)


@njit(
    types.void(_BYTES, types.boolean, _i64, _i64, types.uint64, _i64, _OUT), cache=True, nogil=True, error_model="numpy"
)
def unpack(data, delta, first, low, step, width, out):  # type: ignore[no-untyped-def]
    """The other way round; with `delta` the values go on from `first`. All sums wrap around."""
    n = len(out) - 1 if delta else len(out)
    at = out[1:] if delta else out
    for i in range(n):
        at[i] = data[i]
    for place in range(1, width):
        plane, shift = data[place * n : (place + 1) * n], 8 * place
        for i in range(n):
            at[i] |= np.int64(plane[i]) << shift
    by = np.int64(step)
    for i in range(n):
        at[i] = at[i] * by + low
    if delta:
        out[0] = first
        for i in range(n):
            out[i + 1] += out[i]
