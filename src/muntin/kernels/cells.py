"""Cells of slices as lists: pairs of slice and key, a list of cells per slice, cells of windows grouped by key."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["group", "link", "pair_up", "place", "walk"]

_i64 = types.int64
_IN = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 1, "C")


@njit(types.void(_IN, _IN, _IN, _IN, _OUT), cache=True, nogil=True, error_model="numpy")
def pair_up(times, keys, starts, serials, pairs):  # type: ignore[no-untyped-def]
    """Write the serial number of its slice and the key of each event as one number.

    Events mostly lie in the slice of the one before, or in the next one; else the slice is searched for.
    """
    slices = len(starts)
    low, high, at = np.int64(1), np.int64(0), np.int64(0)
    for i in range(len(times)):
        time = times[i]
        if time < low or time >= high:
            if at + 1 < slices and time >= starts[at + 1] and (at + 2 == slices or time < starts[at + 2]):
                at += 1
            else:
                first, last = np.int64(0), np.int64(slices)
                while first < last:
                    middle = (first + last) >> 1
                    if starts[middle] <= time:
                        first = middle + 1
                    else:
                        last = middle
                at = first - 1
            low = starts[at]
            high = starts[at + 1] if at + 1 < slices else np.int64(2**63 - 1)
        pairs[i] = (serials[at] << 32) | keys[i]


@njit(types.void(_IN, _i64, _i64, _OUT, _OUT, _OUT, _OUT), cache=True, nogil=True, error_model="numpy")
def link(pairs, first, stop, following, heads, tails, counts):  # type: ignore[no-untyped-def]
    """Add the cells from `first` up to `stop` to the lists of their slices, which are given by serial number."""
    for cell in range(first, stop):
        serial = pairs[cell] >> 32
        following[cell] = -1
        if tails[serial] < 0:
            heads[serial] = cell
        else:
            following[tails[serial]] = cell
        tails[serial] = cell
        counts[serial] += 1


@njit(types.void(_IN, _IN, _IN, _OUT), cache=True, nogil=True, error_model="numpy")
def walk(serials, heads, following, cells):  # type: ignore[no-untyped-def]
    """Write the cells of some slices, slice by slice."""
    at = 0
    for i in range(len(serials)):
        cell = heads[serials[i]]
        while cell >= 0:
            cells[at] = cell
            at += 1
            cell = following[cell]


@njit(
    _i64(_IN, _IN, _IN, _IN, _IN, _IN, _i64, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def group(a, b, serials, heads, following, pairs, base, slots, cells, rows, which, keys, counts):  # type: ignore[no-untyped-def]
    """Cells of the slices a to b of each window by key: a row for each key of each window, by first appearance.

    Writes, for each cell of each window in order, the cell and its row; for each row its window, its key and how many
    cells it has. Gives the number of rows. `slots` has a place per key and is never cleared: what is in it from an
    earlier window or call is smaller than `base` and the rows before this window.
    """
    at, row = 0, 0
    for window in range(len(a)):
        begin = base + row
        for slice_ in range(a[window], b[window]):
            cell = heads[serials[slice_]]
            while cell >= 0:
                key = pairs[cell] & 0xFFFFFFFF
                slot = slots[key]
                if slot < begin:
                    slot = base + row
                    slots[key] = slot
                    which[row] = window
                    keys[row] = key
                    counts[row] = 0
                    row += 1
                slot -= base
                counts[slot] += 1
                cells[at] = cell
                rows[at] = slot
                at += 1
                cell = following[cell]
    return row


@njit(types.void(_IN, _IN, _OUT, _OUT), cache=True, nogil=True, error_model="numpy")
def place(cells, rows, places, index):  # type: ignore[no-untyped-def]
    """Write cells row by row; `places` is where the next cell of each row goes."""
    for at in range(len(cells)):
        row = rows[at]
        index[places[row]] = cells[at]
        places[row] += 1
