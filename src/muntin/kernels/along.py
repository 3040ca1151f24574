"""Loops over slices along a column, key by key: finding them, letting them go, and how far keys have come."""

from __future__ import annotations

from numba import njit, types

__all__ = ["find_cells", "first_needed", "raise_to"]

_i64 = types.int64
_IN = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 1, "C")


@njit(types.void(_IN, _IN, _IN, _IN, _IN, _OUT), cache=True, error_model="numpy")
def find_cells(keys, starts, at, count, start, out):  # type: ignore[no-untyped-def]
    """The cell of each key that starts at a place; -1: there is none. Those of a key stand in order from `at` on."""
    for i in range(len(keys)):
        begin = at[keys[i]]
        low, high = begin, begin + count[keys[i]]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if start[middle] < starts[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low if low < end and start[low] == starts[i] else -1


@njit(types.void(_IN, _IN, _OUT), cache=True, error_model="numpy")
def raise_to(keys, values, best):  # type: ignore[no-untyped-def]
    """best[key] becomes the largest of its values and what it was."""
    for i in range(len(keys)):
        if values[i] > best[keys[i]]:
            best[keys[i]] = values[i]


@njit(types.void(_IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _OUT), cache=True, error_model="numpy")
def first_needed(keys, mark, size, every, align, cumulative, at, count, start, out):  # type: ignore[no-untyped-def]
    """How many cells of each key, from its first on, are in windows that end by the key's mark, and in no other."""
    for g in range(len(keys)):
        k = keys[g]
        cell, end = at[k], at[k] + count[k]
        while cell < end:
            needed = False
            for q in range(len(size)):
                x = start[cell] - align[q]
                if cumulative[q]:
                    last = (x // size[q] + 1) * size[q]
                else:
                    last = x // every[q] * every[q] + size[q]
                    if last <= x:
                        continue  # in a gap between windows
                if last + align[q] > mark[k]:
                    needed = True
                    break
            if needed:
                break
            cell += 1
        out[g] = cell - at[k]
