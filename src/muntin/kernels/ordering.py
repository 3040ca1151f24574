"""Byte strings in order: where new ones go among those that are sorted."""

from __future__ import annotations

from numba import njit, types

__all__ = ["places"]

_i64 = types.int64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_INTS_OUT = types.Array(_i64, 1, "C")


@njit(types.boolean(_BYTES, _INTS, _i64, _i64), cache=True, error_model="numpy")
def _less(data, ends, a, b):  # type: ignore[no-untyped-def]
    """Whether string a comes before string b, byte by byte; a beginning comes before what goes on."""
    i, j = ends[a], ends[b]
    stop = i + min(ends[a + 1] - i, ends[b + 1] - j)
    while i < stop and data[i] == data[j]:
        i += 1
        j += 1
    if i < stop:
        return data[i] < data[j]
    return ends[a + 1] - ends[a] < ends[b + 1] - ends[b]


@njit(types.void(_BYTES, _INTS, _INTS, _INTS, _INTS_OUT), cache=True, error_model="numpy")
def places(data, ends, order, fresh, at):  # type: ignore[no-untyped-def]
    """Before which place of `order` each of `fresh` goes. Both are sorted; string i is data[ends[i]:ends[i + 1]]."""
    low = 0
    for i in range(len(fresh)):
        high = len(order)
        while low < high:
            middle = (low + high) >> 1
            if _less(data, ends, order[middle], fresh[i]):
                low = middle + 1
            else:
                high = middle
        at[i] = low
