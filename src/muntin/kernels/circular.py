"""Loops over events with a duration on a circular array of slices: a few additions for each event, whatever its length.

Slice number s of key k has place `(s & mask) * keys + k`. Events come as runs that have the same key and the same first
and last slice: run r is rows offsets[r] to offsets[r + 1], of key owner[r], over slices a[r] to b[r], both included;
b[r] is less than a[r] where they go nowhere. In a dense stream hundreds of events are one run, so the values of a run
are added up before anything is written.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["MOST", "best_floats", "best_ints", "counted", "located_even", "runs_of", "summed"]

MOST = 1 << 18
"""Events over more slices than this have no place on the array."""

_EARLIEST = np.iinfo(np.int64).min
_POWERS = np.array([max(n.bit_length() - 1, 0) for n in range(4_096)], np.uint8)

_i64 = types.int64
_INTS, _INTS_OUT = types.Array(_i64, 1, "C", readonly=True), types.Array(_i64, 1, "C")
_FLOATS, _FLOATS_OUT = types.Array(types.float64, 1, "C", readonly=True), types.Array(types.float64, 1, "C")
_BOOLS = types.Array(types.boolean, 1, "C", readonly=True)
_RUNS = (_INTS, _INTS, _INTS, _INTS, _i64, _i64)


@njit(_i64(_i64, _i64, types.float64), nogil=True, error_model="numpy", inline="always")
def _floored(far, step, inverse):  # type: ignore[no-untyped-def]
    """How many steps there are in a time: a product, corrected, takes a third of the time of a division."""
    q = np.int64(far * inverse)
    rest = far - q * step
    if rest < 0:
        q -= 1
    elif rest >= step:
        q += 1
    return q


@njit(_i64(_INTS, _INTS, _INTS, _i64, _i64, _i64, _i64, *[_INTS_OUT] * 4), cache=True, nogil=True,
      error_model="numpy")  # fmt: skip
def located_even(start, end, key, origin, step, first, base, a, b, owner, offsets):  # type: ignore[no-untyped-def]
    """Write the runs of events, none before slice `first`, where slices are even; gives how many there are.

    Slice i begins at origin + i * step and has the number base + i. An event that ends where a slice ends, ends in it.
    """
    low = origin + first * step
    inverse = 1.0 / step
    keyed, runs = len(key) > 0, 0
    a_low, a_high, b_low, b_high, before = low, low, low, low, np.int64(0)
    for i in range(len(start)):
        begin = start[i]
        last = max(end[i] - 1, begin)
        now = key[i] if keyed else np.int64(0)
        if last >= b_low and last < b_high and begin >= a_low and begin < a_high and now == before:
            continue
        offsets[runs], owner[runs], before = i, now, now
        if last < low:
            a[runs], b[runs], b_high = 0, -1, b_low
            runs += 1
            continue
        q = _floored(last - origin, step, inverse)
        b[runs], b_low = q + base, origin + q * step
        b_high = b_low + step
        q = _floored(max(begin, low) - origin, step, inverse)
        a[runs], a_low = q + base, origin + q * step
        a_high = a_low + step
        if q == first:
            a_low = _EARLIEST
        runs += 1
    offsets[runs] = len(start)
    return runs


@njit(_i64(_INTS, _INTS, _INTS, _i64, *[_INTS_OUT] * 4), cache=True, nogil=True, error_model="numpy")
def runs_of(begins, ends, key, base, a, b, owner, offsets):  # type: ignore[no-untyped-def]
    """The same where the first and the last slice of each event are known; -1: it goes nowhere."""
    keyed, runs = len(key) > 0, 0
    for i in range(len(begins)):
        now = key[i] if keyed else np.int64(0)
        first, last = (begins[i] + base, ends[i] + base) if ends[i] >= 0 else (np.int64(0), np.int64(-1))
        if runs > 0 and a[runs - 1] == first and b[runs - 1] == last and owner[runs - 1] == now:
            continue
        a[runs], b[runs], owner[runs], offsets[runs] = first, last, now, i
        runs += 1
    offsets[runs] = len(begins)
    return runs


@njit(types.void(*_RUNS, _BOOLS, _INTS_OUT, _INTS_OUT), cache=True, nogil=True, error_model="numpy")
def counted(a, b, owner, offsets, mask, keys, valid, started, ended):  # type: ignore[no-untyped-def]
    """As many more where events start, and where they end; `valid` may be empty: all are."""
    masked = len(valid) > 0
    for r in range(len(a)):
        if b[r] < a[r]:
            continue
        n = offsets[r + 1] - offsets[r]
        if masked:
            n = 0
            for i in range(offsets[r], offsets[r + 1]):
                n += valid[i]
        started[(a[r] & mask) * keys + owner[r]] += n
        ended[(b[r] & mask) * keys + owner[r]] += n


@njit(types.void(*_RUNS, _INTS, *[_INTS_OUT] * 4), cache=True, nogil=True, error_model="numpy")
def summed(a, b, owner, offsets, mask, keys, values, started, started_low, ended, ended_low):  # type: ignore[no-untyped-def]
    """The values of events where they start and where they end, in two words: they add up without overflow."""
    for r in range(len(a)):
        if b[r] < a[r]:
            continue
        high, low = np.int64(0), np.int64(0)
        for i in range(offsets[r], offsets[r + 1]):
            high += values[i] >> 32
            low += values[i] & 0xFFFFFFFF
        at = (a[r] & mask) * keys + owner[r]
        started[at] += high
        started_low[at] += low
        at = (b[r] & mask) * keys + owner[r]
        ended[at] += high
        ended_low[at] += low


def _best(a, b, owner, offsets, mask, keys, values, valid, largest, none, table):  # type: ignore[no-untyped-def]
    """The largest value of the events over each stretch, or the smallest: two of a power of two make up any event.

    Row k of the table has the stretches of 2 ** k slices by their first one. `none` is there where there is no value.
    NaN is larger than any number, so that it stands for none among the smallest.
    """
    masked, width = len(valid) > 0, (mask + 1) * keys
    for r in range(len(a)):
        if b[r] < a[r]:
            continue
        x = none
        if largest:
            for i in range(offsets[r], offsets[r + 1]):
                v = values[i]
                if (not masked or valid[i]) and (v > x or v != v):
                    x = v
        else:
            for i in range(offsets[r], offsets[r + 1]):
                v = values[i]
                if (not masked or valid[i]) and (v < x or x != x):
                    x = v
        size = b[r] - a[r] + 1
        k = np.int64(_POWERS[size]) if size < 4_096 else 12 + np.int64(_POWERS[size >> 12])
        at = k * width + (a[r] & mask) * keys + owner[r]
        y = table[at]
        if (x > y or x != x) if largest else (x < y or y != y):
            table[at] = x
        at = k * width + ((b[r] + 1 - (1 << k)) & mask) * keys + owner[r]
        y = table[at]
        if (x > y or x != x) if largest else (x < y or y != y):
            table[at] = x


_INT_ARGS = (*_RUNS, _INTS, _BOOLS, types.boolean, _i64, _INTS_OUT)
_FLOAT_ARGS = (*_RUNS, _FLOATS, _BOOLS, types.boolean, types.float64, _FLOATS_OUT)
best_ints = njit([types.void(*_INT_ARGS)], cache=True, nogil=True, error_model="numpy")(_best)
best_floats = njit([types.void(*_FLOAT_ARGS)], cache=True, nogil=True, error_model="numpy")(_best)
