"""Due windows of many queries, listed in one call: about 10 µs where twenty calls of NumPy took 120."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["first_open", "list_due", "list_edges"]

_IN = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.int64, 1, "C")
_INT = types.int64


_TAB = types.Array(types.int32, 1, "C", readonly=True)
_FIND: Any = _INT(_INT, _IN, _TAB, _INT, _INT)
_DUE: Any = types.UniTuple(_OUT, 5)(  # type: ignore[no-untyped-call]
    _IN, _IN, _IN, _IN, _INT, _INT, _INT, _IN, _TAB, _INT, _INT
)


@njit(_FIND, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _place(time: int, slices: Any, tab: Any, top: int, shift: int) -> int:
    """The first slice that starts at or after a time."""
    if time <= slices[0]:
        return 0
    if time > slices[-1]:
        return len(slices)
    if not len(tab) or time >= top:
        return int(np.searchsorted(slices, time))
    # The grid names the last slice that starts at or before its point: the one looked for is a few further.
    s = np.int64(tab[(time - slices[0]) >> shift])
    while slices[s] < time:
        s += 1
    return int(s)


@njit(_DUE, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def list_due(
    query: Any, size: Any, step: Any, align: Any, low: int, high: int, limit: int, slices: Any, tab: Any, top: int,
    shift: int,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    """Windows with low < end <= high over at least one slice: query, start, end, first and last slice.

    `slices` are the starts of the slices; `tab`, `top` and `shift` are a grid over them, or an empty one. Windows come
    in the order of the last slice, which is the order of their ends where these are edges of slices. Where more than
    `limit` windows would have to be looked at, the result is one row with query -1: slices lie far apart, and windows
    are better found from them.
    """
    last = slices[-1]
    total = 0
    first, upto = np.empty(len(query), np.int64), np.empty(len(query), np.int64)
    for q in range(len(query)):
        first[q] = (low - align[q] - size[q]) // step[q] + 1
        upto[q] = (min(high - size[q], last) - align[q]) // step[q]
        total += max(upto[q] - first[q] + 1, 0)
    if total > limit:
        sign = np.full(1, -1, np.int64)
        return sign, sign, sign, sign, sign
    which, start, end = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    a, b = np.empty(total, np.int64), np.empty(total, np.int64)
    kept = 0
    lowest, highest = len(slices), 0
    for q in range(len(query)):
        for k in range(first[q], upto[q] + 1):
            begins = k * step[q] + align[q]
            bottom = _place(begins, slices, tab, top, shift)
            above = _place(begins + size[q], slices, tab, top, shift)
            if bottom < above:
                which[kept], start[kept], end[kept], a[kept], b[kept] = (
                    query[q],
                    begins,
                    begins + size[q],
                    bottom,
                    above,
                )
                lowest, highest = min(lowest, above), max(highest, above)
                kept += 1
    if len(query) == 1 or not kept:
        return which[:kept], start[:kept], end[:kept], a[:kept], b[:kept]
    # Sorted by counting: there are about as many places as windows.
    places = np.zeros(highest - lowest + 2, np.int64)
    for i in range(kept):
        places[b[i] - lowest + 1] += 1
    for i in range(1, len(places)):
        places[i] += places[i - 1]
    queries, starts, ends = np.empty(kept, np.int64), np.empty(kept, np.int64), np.empty(kept, np.int64)
    bottoms, tops = np.empty(kept, np.int64), np.empty(kept, np.int64)
    for i in range(kept):
        w = places[b[i] - lowest]
        places[b[i] - lowest] += 1
        queries[w], starts[w], ends[w], bottoms[w], tops[w] = which[i], start[i], end[i], a[i], b[i]
    return queries, starts, ends, bottoms, tops


@njit(_INT(_IN, _IN, _IN, _INT), cache=True, error_model="numpy")
def first_open(size: Any, step: Any, align: Any, mark: int) -> int:
    """The start of the first window that is open, where windows that end by the mark are closed."""
    found = ((mark - size[0] - align[0]) // step[0] + 1) * step[0] + align[0]
    for q in range(1, len(size)):
        found = min(found, ((mark - size[q] - align[q]) // step[q] + 1) * step[q] + align[q])
    return int(found)


@njit(_OUT(_IN, _IN, _INT, _INT), cache=True, nogil=True, error_model="numpy")
def list_edges(offset: Any, step: Any, low: int, high: int) -> Any:
    """The points of many grids, from the last at or before `low` to the first after `high`, each once, in order.

    Sorted by buckets: points of grids lie about evenly, so a bucket as wide as their mean distance holds few.
    """
    total = 0
    least, most = high, low
    for g in range(len(step)):
        first, last = (low - offset[g]) // step[g], (high - offset[g]) // step[g] + 1
        total += last - first + 1
        least, most = min(least, first * step[g] + offset[g]), max(most, last * step[g] + offset[g])
    shift = 0
    while (most - least) >> shift > total:
        shift += 1
    bounds = np.zeros(((most - least) >> shift) + 2, np.int64)
    for g in range(len(step)):
        point, last = (low - offset[g]) // step[g] * step[g] + offset[g], high + step[g]
        while point <= last:
            bounds[((point - least) >> shift) + 1] += 1
            point += step[g]
    for i in range(1, len(bounds)):
        bounds[i] += bounds[i - 1]
    points, filled = np.empty(bounds[-1], np.int64), bounds.copy()
    for g in range(len(step)):
        point, last = (low - offset[g]) // step[g] * step[g] + offset[g], high + step[g]
        while point <= last:
            bucket = (point - least) >> shift
            at = filled[bucket]
            while at > bounds[bucket] and points[at - 1] > point:
                points[at] = points[at - 1]
                at -= 1
            points[at] = point
            filled[bucket] += 1
            point += step[g]
    # Each once, without what lies before the last one at or before `low` and after the first one after `high`.
    kept = 0
    for i in range(len(points)):
        if kept and points[i] == points[kept - 1]:
            continue
        if kept and points[kept - 1] > high:
            break
        if kept and points[i] <= low:
            kept -= 1
        points[kept] = points[i]
        kept += 1
    return points[:kept]
