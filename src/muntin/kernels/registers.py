"""HyperLogLogs of windows from the codes of their runs, without sorting them."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["count_ranks"]

_i64 = types.int64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 2, "C")


@njit(types.void(_INTS, _INTS, _INTS, _INTS, _INTS, _i64, _i64, _OUT), cache=True, nogil=True, error_model="numpy")
def count_ranks(values, offset, size, lo, hi, shift, places, counts):  # type: ignore[no-untyped-def]
    """For each window of runs lo[w] to hi[w]: how many registers have each rank; a register has its largest.

    A code is a register, and below it a rank of `shift` bits; ranks begin at 1, and 0 is an empty register.
    """
    mask = (1 << shift) - 1
    best = np.zeros(places, np.int64)
    touched = np.empty(places, np.int64)
    for w in range(len(lo)):
        many = 0
        for r in range(lo[w], hi[w]):
            for i in range(offset[r], offset[r] + size[r]):
                place, rank = values[i] >> shift, values[i] & mask
                if best[place] == 0:
                    touched[many] = place
                    many += 1
                best[place] = max(best[place], rank)
        for i in range(many):
            counts[w, best[touched[i]]] += 1
            best[touched[i]] = 0
        counts[w, 0] = places - many
