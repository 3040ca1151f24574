"""The first and the last time of the events of each slice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["span_slices"]

LATEST = int(np.iinfo(np.int64).max)
_IN = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.int64, 1, "C")
_BLOCK = 64


@njit(types.void(_IN, _IN, _OUT, _OUT), cache=True, nogil=True, error_model="numpy")
def span_slices(starts: Any, times: Any, first: Any, last: Any) -> None:
    """Extend the first and last time of the slice of each event; every event lies in a slice.

    Block by block: where one lies in a single slice, its smallest and largest time are enough. Others row by row.
    """
    slices = len(starts)
    s = 0
    low, high = starts[0], starts[0]  # nothing lies in the slice at hand yet
    for i0 in range(0, len(times), _BLOCK):
        block = times[i0 : i0 + _BLOCK]
        least, most = block[0], block[0]
        for j in range(len(block)):
            least, most = min(least, block[j]), max(most, block[j])
        if least >= low and most < high:
            first[s], last[s] = min(first[s], least), max(last[s], most)
            continue
        for j in range(len(block)):
            t = block[j]
            if t < low or t >= high:
                if t >= high and s + 2 < slices and t < starts[s + 2] and t >= starts[s + 1]:
                    s += 1
                else:
                    s = max(np.searchsorted(starts, t, "right") - 1, 0)
                low = starts[s]
                high = starts[s + 1] if s + 1 < slices else LATEST
            first[s], last[s] = min(first[s], t), max(last[s], t)
