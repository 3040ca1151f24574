"""Loops over events with a duration: which slices each covers, and into which cells it goes (paper 3, section 5.2).

A cell is a stretch of slices that ends with slice `hi`: a level of that slice in the words of the paper. It holds the
events that end in `hi` (part 0, the paper's first partial) or those that go on after it (part 1). Levels up to the
height cover as many slices; a code from `DYADIC` on stands for 2 ** (code - DYADIC) slices, aligned.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["DYADIC", "HOPS", "assign", "differences", "located", "overlapping", "placed", "sizes_of"]

DYADIC = 8_192
"""Codes of levels from here on are powers of two."""
HOPS = 64
"""An event that would take more hops than this goes into aligned stretches instead: a few for any length."""

_i64 = types.int64
_i32 = types.int32
_INTS = types.Array(_i64, 1, "C", readonly=True)
_INTS_OUT = types.Array(_i64, 1, "C")
_SMALL = types.Array(_i32, 1, "C", readonly=True)
_SMALL_OUT = types.Array(_i32, 1, "C")


@njit(types.void(_INTS, _INTS, _INTS, _SMALL, _i64, _i64, _i64, _INTS_OUT, _INTS_OUT, _INTS_OUT), cache=True,
      nogil=True, error_model="numpy")  # fmt: skip
def located(start, end, edges, tab, shift, first, height, a, b, info):  # type: ignore[no-untyped-def]
    """Write the first and the last slice of each event, none before slice `first`; -1 where it ends before that.

    Slice i is edges[i] to edges[i + 1]; `tab` says in which slice each stretch of 2 ** shift begins. An event that ends
    where a slice ends, ends in it; one without length takes up a microsecond. `info` gets the number of cells that all
    of them go into with a height, at the most, and the number of slices that they cover.
    """
    low = edges[first]
    base = edges[0]
    cells, covered = 0, 0
    # Most events begin and end in the same slices as the one before: its bounds stay in registers.
    j, j_low, j_high = first, low, low
    k, k_low, k_high = first, low, low
    for i in range(len(start)):
        begin = start[i]
        last = end[i] - 1
        if last < begin:
            last = begin
        if last < j_low or last >= j_high:
            if last < low:
                a[i], b[i] = -1, -1
                continue
            j = np.int64(tab[(last - base) >> shift])
            while edges[j + 1] <= last:
                j += 1
            j_low, j_high = edges[j], edges[j + 1]
        b[i] = j
        if begin >= j_low:
            a[i] = j
            covered += 1
            continue
        if begin < k_low or begin >= k_high:
            if begin < low:
                k, k_low, k_high = first, edges[first], edges[first]
            else:
                k = np.int64(tab[(begin - base) >> shift])
                while edges[k + 1] <= begin:
                    k += 1
                k_low, k_high = edges[k], edges[k + 1]
        a[i] = k
        n = j - k + 1
        covered += n
        if n > height:
            hops = (n - 1) // height
            cells += hops if hops <= HOPS else 132
    info[0], info[1] = cells + len(start), covered


@njit(_i64(_i64, _i64), nogil=True, error_model="numpy", inline="always")
def _hashed(k1, k2):  # type: ignore[no-untyped-def]
    bits = np.uint64(k1) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(k2) * np.uint64(0xC2B2AE3D27D4EB4F)
    return np.int64((bits ^ (bits >> np.uint64(29))) & np.uint64(0x7FFFFFFFFFFFFFFF))


@njit(_i64(_INTS, _INTS, _INTS, _i64, _i64, _i64, _SMALL_OUT, _i64, _i64, _SMALL_OUT, *[_INTS_OUT] * 5), cache=True,
      nogil=True, error_model="numpy")  # fmt: skip
def assign(a, b, key, base, height, begin, ring, width, deep, table, ends, places, state, rows, ids):  # type: ignore[no-untyped-def]
    """The cells of each event from row `begin` on: Algorithms 3 and 7; gives the row at which there is no room.

    Cell c has the names `ends[c]` (twice the number of its last slice, and its part) and `places[c]` (its key and
    level). `ring` is the circular array (`placed`); where it is empty, and for aligned stretches, `table` finds a cell
    by both names. `state` holds how many cells there are and how many pairs of row and cell were written. Without
    `rows`, one cell is written for each event.
    """
    count, pairs = state[0], state[1]
    mask = len(table) - 1
    room = min(len(ends), len(table) // 2) - 132
    aligned = len(rows) == 0
    power = 0
    while (2 << power) <= height:
        power += 1
    last_end, last_place, last_cell = np.int64(-1), np.int64(-1), np.int64(-1)
    keyed, circular = len(key) > 0, len(ring) > 0
    for i in range(begin, len(a)):
        if count >= room:
            state[0], state[1] = count, pairs
            return i
        hi = b[i]
        if hi < 0:
            if aligned:
                ids[i] = -1
            continue
        lo, part = a[i], np.int64(0)
        owner = key[i] << 14 if keyed else np.int64(0)
        if aligned and (hi + base) * 2 == last_end and (owner | (hi - lo + 1)) == last_place:
            ids[i] = last_cell
            continue
        long = hi - lo >= height and (hi - lo) // height > HOPS
        while hi >= lo:
            level = hi - lo + 1
            if long and part == 1 and level > height:
                at = hi + 1 + base
                level = at & ((1 << power) - 1)
                if level == 0:  # the longest aligned stretch that ends here and does not begin too early
                    k = power
                    while (at >> k) & 1 == 0 and (2 << k) <= hi - lo + 1:
                        k += 1
                    level = DYADIC + k
            elif level > height:
                level = height
            name, place = (hi + base) * 2 + part, owner | level
            if name == last_end and place == last_place:
                cell = last_cell
            elif circular and level < DYADIC:
                slot = ((owner >> 14) * width + ((hi + base) & (width - 1))) * deep + 2 * level - 2 + part
                cell = np.int64(ring[slot])
                if cell < 0:
                    cell = count
                    ring[slot] = cell
                    ends[cell], places[cell] = name, place
                    count += 1
                last_end, last_place, last_cell = name, place, cell
            else:
                slot = _hashed(name, place) & mask
                cell = np.int64(table[slot])
                while cell >= 0 and (ends[cell] != name or places[cell] != place):
                    slot = (slot + 1) & mask
                    cell = np.int64(table[slot])
                if cell < 0:
                    cell = count
                    table[slot] = cell
                    ends[cell], places[cell] = name, place
                    count += 1
                last_end, last_place, last_cell = name, place, cell
            if aligned:
                ids[i] = cell
            else:
                rows[pairs], ids[pairs] = i, cell
                pairs += 1
            hi -= level if level < DYADIC else np.int64(1) << (level - DYADIC)
            part = np.int64(1)
    state[0], state[1] = count, pairs
    return len(a)


@njit(types.void(_INTS, _INTS, _i64, _SMALL_OUT, _i64, _i64, _SMALL_OUT), cache=True, nogil=True, error_model="numpy")
def placed(ends, places, first, ring, width, deep, table):  # type: ignore[no-untyped-def]
    """Fill an empty circular array, and an empty table, with all cells; of slices before a number none has a place.

    Slice number s of key k has `deep` places in the array from `(k * width + (s & (width - 1))) * deep` on: two parts
    of each level, one after the other. It may have none at all; then all cells are in the table.
    """
    mask, circular = len(table) - 1, len(ring) > 0
    for cell in range(len(ends)):
        level, number = places[cell] & 16_383, ends[cell] >> 1
        if circular and level < DYADIC:
            if number >= first:
                at = (places[cell] >> 14) * width + (number & (width - 1))
                ring[at * deep + 2 * level - 2 + (ends[cell] & 1)] = cell
            continue
        slot = _hashed(ends[cell], places[cell]) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = cell


@njit(types.void(_INTS, _INTS_OUT), cache=True, nogil=True, error_model="numpy")
def sizes_of(places, sizes):  # type: ignore[no-untyped-def]
    """How many slices each cell covers."""
    for i in range(len(places)):
        level = places[i] & 16_383
        sizes[i] = level if level < DYADIC else np.int64(1) << (level - DYADIC)


@njit(types.void(_INTS, _INTS, _INTS, _INTS, _INTS, _INTS, _INTS_OUT, _INTS_OUT), cache=True, nogil=True,
      error_model="numpy")  # fmt: skip
def overlapping(lo, hi, start, end, begins, stops, counts, index):  # type: ignore[no-untyped-def]
    """Of the events lo[i] to hi[i] those that overlap window i: how many they are, and, where there is room, which."""
    n = 0
    for i in range(len(lo)):
        before = n
        for j in range(lo[i], hi[i]):
            if start[j] < stops[i] and (end[j] > begins[i] or start[j] >= begins[i]):
                if len(index) > 0:
                    index[n] = j
                n += 1
        counts[i] = n - before


@njit(types.void(_INTS, _INTS, _INTS, _INTS, _i64, _i64, _INTS, _INTS_OUT), cache=True, nogil=True,
      error_model="numpy")  # fmt: skip
def differences(row, lo, hi, items, rows, width, values, out):  # type: ignore[no-untyped-def]
    """The sum of all items that cover each place of a table, by differences: each is added once and taken away once.

    Item i has the value values[items[i]] and covers columns lo[i] to hi[i] of its row; `out` begins as zeros and has
    one place more.
    """
    for i in range(len(row)):
        value = values[items[i]]
        at = row[i] * width
        out[at + lo[i]] += value
        out[at + hi[i]] -= value
    # What ends with a row is taken away where the next one begins, so the sum runs on through all rows.
    total = 0
    for j in range(rows * width):
        total += out[j]
        out[j] = total
