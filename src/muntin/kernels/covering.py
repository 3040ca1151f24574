"""Loops over the marks of kept events: which events begin slices, and where they stand after others have come."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["LEVELS", "SHIFT", "STEP", "levels", "moved"]

SHIFT, STEP, LEVELS = 5, 2, 4
"""Slices of level l hold 2 ** (SHIFT + STEP * (l - 1)) events on average: 32, 128, 512 and 2048."""

_i64 = types.int64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_INTS_OUT = types.Array(_i64, 1, "C")
_BOOLS = types.Array(types.boolean, 1, "C", readonly=True)
_BOOLS_OUT = types.Array(types.boolean, 1, "C")
_BYTES_OUT = types.Array(types.uint8, 1, "C")


@njit(types.void(_INTS, _BYTES_OUT), cache=True, nogil=True, error_model="numpy")
def levels(seq, out):  # type: ignore[no-untyped-def]
    """Write the level of each event, by its arrival number, scrambled (the finalizer of splitmix64)."""
    for i in range(len(seq)):
        bits = np.uint64(seq[i]) + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        level, low = 0, np.uint64((1 << SHIFT) - 1)
        while level < LEVELS and bits & low == np.uint64(0):
            level += 1
            low = (low << np.uint64(STEP)) | np.uint64((1 << STEP) - 1)
        out[i] = level


@njit(types.void(_INTS, _BOOLS, _INTS, _INTS, _INTS_OUT, _INTS_OUT, _BOOLS_OUT), cache=True, nogil=True,
      error_model="numpy")  # fmt: skip
def moved(rows, whole, at, fresh, out_rows, source, out_whole):  # type: ignore[no-untyped-def]
    """Write where marks stand after new events have come, with the marks among these; all are sorted.

    `at` says before which of the rows so far each new event goes, `fresh` in which rows the new marks stand now.
    `source` is which mark it was before, -1 for a new one. A slice into which an event came is not whole any more.
    """
    k, f, o, marks, new = 0, 0, 0, len(rows), len(at)
    for i in range(marks):
        while k < new and at[k] <= rows[i]:
            k += 1
        place = rows[i] + k
        while f < len(fresh) and fresh[f] < place:
            out_rows[o], source[o], out_whole[o] = fresh[f], -1, False
            f += 1
            o += 1
        out_rows[o], source[o] = place, i
        out_whole[o] = whole[i] and i + 1 < marks and (k == new or at[k] > rows[i + 1])
        o += 1
    while f < len(fresh):
        out_rows[o], source[o], out_whole[o] = fresh[f], -1, False
        f += 1
        o += 1
