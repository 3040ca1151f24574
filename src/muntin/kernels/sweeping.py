"""Plane sweeps over starts and ends of events and of windows, in order (paper 3, section 5.3.3)."""

from __future__ import annotations

from numba import njit, types

__all__ = ["best_floats", "best_ints", "swept"]

_i64 = types.int64
_f64 = types.float64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_INTS_OUT = types.Array(_i64, 1, "C")
_FLOATS = types.Array(_f64, 1, "C", readonly=True)
_FLOATS_OUT = types.Array(_f64, 1, "C")
_BOOLS = types.Array(types.boolean, 1, "C", readonly=True)


@njit(types.void(_INTS, _INTS, _INTS, _INTS, _INTS, _INTS_OUT, _INTS_OUT), cache=True, nogil=True,
      error_model="numpy")  # fmt: skip
def swept(starts, stops, offsets, begins, ends, started, ended):  # type: ignore[no-untyped-def]
    """How many events have started before each window ends, and have ended by when it begins, key by key.

    Both kinds of times are sorted within a key, and windows move forward.
    """
    at = 0
    for key in range(len(offsets) - 1):
        i, j, top = offsets[key], offsets[key], offsets[key + 1]
        for w in range(len(begins)):
            while i < top and starts[i] < ends[w]:
                i += 1
            while j < top and stops[j] <= begins[w]:
                j += 1
            started[at], ended[at] = i, j
            at += 1


@njit(nogil=True, error_model="numpy", inline="always")
def _better(x, y, sign):  # type: ignore[no-untyped-def]
    """Whether x goes before y: NaN is larger than any number."""
    if sign > 0:
        return x > y or (x != x and y == y)
    return x < y or (y != y and x == x)


def _best(values, valid, stops, started, offsets, begins, sign, places, heap, out):  # type: ignore[no-untyped-def]
    """The largest value (smallest for a sign of -1) among the events that each window overlaps, by a heap.

    Events stand in the order of their starts. Those that have ended before the window begins are taken from the top
    when they come there; they cannot be in a later one. `places` gets the event, -1 where there is none.
    """
    windows = len(begins)
    for key in range(len(offsets) - 1):
        size, i = 0, offsets[key]
        for w in range(windows):
            at = key * windows + w
            while i < started[at]:
                if valid[i]:
                    child = size
                    size += 1
                    while child > 0:
                        parent = (child - 1) >> 1
                        p = values[heap[parent]]
                        v = values[i]
                        if not _better(v, p, sign):
                            break
                        heap[child] = heap[parent]
                        child = parent
                    heap[child] = i
                i += 1
            while size > 0 and stops[heap[0]] <= begins[w]:
                size -= 1
                last = heap[size]
                v = values[last]
                parent = 0
                while 2 * parent + 1 < size:
                    child = 2 * parent + 1
                    c = values[heap[child]]
                    if child + 1 < size:
                        d = values[heap[child + 1]]
                        if _better(d, c, sign):
                            child += 1
                            c = d
                    if not _better(c, v, sign):
                        break
                    heap[parent] = heap[child]
                    parent = child
                heap[parent] = last
            if size > 0:
                places[at] = heap[0]
                out[at] = values[heap[0]]
            else:
                places[at] = -1


_REST = (_BOOLS, _INTS, _INTS, _INTS, _INTS, _i64, _INTS_OUT, _INTS_OUT)
best_ints = njit([(_INTS, *_REST, _INTS_OUT)], cache=True, nogil=True, error_model="numpy")(_best)
best_floats = njit([(_FLOATS, *_REST, _FLOATS_OUT)], cache=True, nogil=True, error_model="numpy")(_best)
