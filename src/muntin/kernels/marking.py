"""Which blocks of a tree over slices have changed: marked on all levels, for a range of slices or one by one."""

from __future__ import annotations

from typing import Any

from numba import njit, types

from muntin.kernels.source_tree import FAN_SHIFT

__all__ = ["mark_each", "mark_range"]

_IN = types.Array(types.int64, 1, "C", readonly=True)
_INTS = types.Array(types.int64, 1, "C")
_BOOLS = types.Array(types.boolean, 1, "C")


@njit(types.void(types.int64, types.int64, _IN, _INTS, _BOOLS), cache=True, error_model="numpy")
def mark_range(first: int, last: int, off: Any, hull: Any, dirty: Any) -> None:
    """The blocks over the slices first to last, both included."""
    for level in range(len(off)):
        first >>= FAN_SHIFT
        last >>= FAN_SHIFT
        for block in range(first, last + 1):
            dirty[off[level] + block] = True
        if hull[2 * level] < hull[2 * level + 1]:
            hull[2 * level] = min(hull[2 * level], first)
            hull[2 * level + 1] = max(hull[2 * level + 1], last + 1)
        else:
            hull[2 * level] = first
            hull[2 * level + 1] = last + 1


@njit(types.void(_IN, _IN, _INTS, _BOOLS), cache=True, error_model="numpy")
def mark_each(slices: Any, off: Any, hull: Any, dirty: Any) -> None:
    """The blocks over some slices."""
    for i in range(len(slices)):
        block = slices[i]
        for level in range(len(off)):
            block >>= FAN_SHIFT
            dirty[off[level] + block] = True
            if hull[2 * level] < hull[2 * level + 1]:
                hull[2 * level] = min(hull[2 * level], block)
                hull[2 * level + 1] = max(hull[2 * level + 1], block + 1)
            else:
                hull[2 * level] = block
                hull[2 * level + 1] = block + 1
