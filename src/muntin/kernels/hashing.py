"""Dense ids for distinct numbers and byte strings: open addressing, linear probing, at most half full."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["intern", "lookup", "refill", "rehash"]

_i64 = types.int64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_BOOLS = types.Array(types.boolean, 1, "C", readonly=True)
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_INTS_OUT = types.Array(_i64, 1, "C")
_BYTES_OUT = types.Array(types.uint8, 1, "C")
_TABLE = types.Array(_i64, 2, "C")
_SHORT = types.Array(types.int32, 1, "C")


@njit(_i64(_i64, _i64), cache=True, error_model="numpy", inline="always")
def _place(value, places):  # type: ignore[no-untyped-def]
    """Where a value is looked for first, in a table of a power of two of places."""
    # The upper half is folded in first: pairs of ids and whole floats differ only there.
    bits = np.uint64(value)
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(32)
    return np.int64(bits) & (places - 1)


@njit(
    _i64(_INTS, _BOOLS, _i64, _i64, _SHORT, _TABLE, _INTS_OUT, _INTS_OUT, _INTS_OUT),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def lookup(values, valid, start, base, near, table, known, state, ids):  # type: ignore[no-untyped-def]
    """Write the id of each value to `ids`, from row `start` on; gives the row at which the table is full.

    A row of `table` is a value and its id + 1, side by side in one cache line; 0 is an empty place. `known` has the
    value of each id. `state` has the number of ids and the id of null (-1: none yet). `valid` is empty where no row
    is null. Ids are given by first appearance. `near` has the id + 1 of the values from `base` on, or is empty: where
    keys are numbers close together, looking there takes a quarter of the time.
    """
    places = len(table)
    limit = places >> 1
    size = state[0]
    masked = len(valid) > 0
    reach = np.uint64(len(near))
    for row in range(start, len(values)):
        if masked and not valid[row]:
            if state[1] < 0:
                if size >= limit:
                    state[0] = size
                    return row
                state[1] = size
                known[size] = 0
                size += 1
            ids[row] = state[1]
            continue
        value = values[row]
        away = np.uint64(value) - np.uint64(base)
        if away < reach:
            found = np.int64(near[away])
            if found != 0:
                ids[row] = found - 1
                continue
        at = _place(value, places)
        found = table[at, 1]
        while found != 0 and table[at, 0] != value:
            at = (at + 1) & (places - 1)
            found = table[at, 1]
        if found == 0:
            if size >= limit:
                state[0] = size
                return row
            known[size] = value
            size += 1
            found = size
            table[at, 0] = value
            table[at, 1] = found
        if away < reach:
            near[away] = found
        ids[row] = found - 1
    state[0] = size
    return len(values)


@njit(types.void(_INTS, _i64, _i64, _TABLE), cache=True, nogil=True, error_model="numpy")
def refill(known, size, null, table):  # type: ignore[no-untyped-def]
    """Fill an empty table with the first `size` values of `known`; `null` is the id of null, which has no place."""
    places = len(table)
    for i in range(size):
        if i == null:
            continue
        at = _place(known[i], places)
        while table[at, 1] != 0:
            at = (at + 1) & (places - 1)
        table[at, 0] = known[i]
        table[at, 1] = i + 1


@njit(types.void(_INTS, _INTS, _TABLE), cache=True, nogil=True, error_model="numpy")
def rehash(hashes, codes, table):  # type: ignore[no-untyped-def]
    """Fill an empty table with hashes and what stands beside them; hashes may be equal."""
    places = len(table)
    for i in range(len(hashes)):
        at = _place(hashes[i], places)
        while table[at, 1] != 0:
            at = (at + 1) & (places - 1)
        table[at, 0] = hashes[i]
        table[at, 1] = codes[i]


@njit(
    types.void(_BYTES, _INTS, _BOOLS, _TABLE, _BYTES_OUT, _INTS_OUT, _INTS_OUT, _INTS_OUT),
    cache=True,
    nogil=True,
    error_model="numpy",
)
def intern(data, ends, valid, table, known, known_ends, state, codes):  # type: ignore[no-untyped-def]
    """Write the code of each byte string to `codes`: string i is data[ends[i]:ends[i + 1]].

    A row of `table` is a hash and a code + 1. The strings of all codes lie end to end in `known`, cut by
    `known_ends`; null takes the room that it takes in `data`. `state` and `valid` are as in `lookup`. There must be
    room for all strings.
    """
    places = len(table)
    size = state[0]
    masked = len(valid) > 0
    for i in range(len(codes)):
        if masked and not valid[i]:
            if state[1] < 0:
                state[1] = size
                known_ends[size + 1] = known_ends[size] + ends[i + 1] - ends[i]
                size += 1
            codes[i] = state[1]
            continue
        begin = ends[i]
        length = ends[i + 1] - begin
        bits = np.uint64(length)
        for j in range(begin, begin + length):
            bits = (bits ^ np.uint64(data[j])) * np.uint64(0x100000001B3)
        value = np.int64(bits)
        at = _place(value, places)
        found = table[at, 1]
        while found != 0:
            if table[at, 0] == value:
                other = known_ends[found - 1]
                same = known_ends[found] - other == length
                j = 0
                while same and j < length:
                    same = known[other + j] == data[begin + j]
                    j += 1
                if same:
                    break
            at = (at + 1) & (places - 1)
            found = table[at, 1]
        if found == 0:
            end = known_ends[size]
            for j in range(length):
                known[end + j] = data[begin + j]
            known_ends[size + 1] = end + length
            size += 1
            found = size
            table[at, 0] = value
            table[at, 1] = found
        codes[i] = found - 1
    state[0] = size
