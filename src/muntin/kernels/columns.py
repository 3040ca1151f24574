"""Small loops over whole columns: how large integers are, where edges lie among times."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["magnitude", "positions"]

_INTS = types.Array(types.int64, 1, "C", readonly=True)


@njit(types.int64(_INTS), cache=True, nogil=True, error_model="numpy")
def magnitude(x):  # type: ignore[no-untyped-def]
    """A number that no value is further from 0 than, at most twice too large."""
    found = np.int64(0)
    for i in range(np.uint64(len(x))):
        found |= x[i] ^ (x[i] >> 63)
    return found


@njit(types.boolean(_INTS, types.int64, types.int64, types.Array(types.int64, 1, "C")), cache=True, nogil=True,
      error_model="numpy")  # fmt: skip
def positions(x, first, every, out):  # type: ignore[no-untyped-def]
    """Write before which value each edge lies, first, first + every, ...; gives whether the values are in order.

    Values are looked at 32 at a time: whether they are in order is then a loop that LLVM vectorises.
    """
    n, back, e, edge = np.uint64(len(x)), np.int64(0), 0, first
    i = np.uint64(0)
    while i < n:
        end = min(i + np.uint64(32), n)
        if i > np.uint64(0):
            back += x[i] < x[i - np.uint64(1)]
        if end - i == np.uint64(32):
            for j in range(np.uint64(31)):
                back += x[i + j + np.uint64(1)] < x[i + j]
        else:
            for j in range(i + np.uint64(1), end):
                back += x[j] < x[j - np.uint64(1)]
        last = x[end - np.uint64(1)]
        while e < len(out) and last >= edge:
            before = np.int64(i)
            if end - i == np.uint64(32):
                # A search without branches: to count all 32 took twice as long.
                at = i
                for half in (16, 8, 4, 2, 1):
                    at += np.uint64(half) * np.uint64(x[at + np.uint64(half - 1)] < edge)
                before = np.int64(at) + np.int64(x[at] < edge)
            else:
                for j in range(i, end):
                    before += x[j] < edge
            out[e] = before
            e += 1
            edge += every
        i = end
    for k in range(e, len(out)):
        out[k] = len(x)
    return back == 0
