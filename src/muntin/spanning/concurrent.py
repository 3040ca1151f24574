"""How many events go on at once within windows: the peak and the mean weighted by time, from starts and ends in order.

The number that go on changes only where an event starts or ends. With both kinds of times sorted, the number at any
time is how many have started less how many have ended by then, and the time that all events spent before it follows
from running sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.slicing.views import View, bounds

__all__ = ["concurrent"]

Int64s = npt.NDArray[np.int64]
_TYPE = pa.struct([("peak", pa.int64()), ("mean", pa.float64())])


def concurrent(view: View, key: Int64s, start: Int64s, end: Int64s) -> pa.Array:
    """The peak and the mean of the number of events of a key that go on, for many windows at once."""
    from muntin.kernels.peaks import peaks

    begins = view.measure("start")
    stops = np.maximum(view.time, begins + 1)
    order = np.lexsort((begins, view.key))
    begins = np.ascontiguousarray(begins[order])
    stops = np.ascontiguousarray(stops[np.lexsort((stops, view.key))])  # both by key, then by time
    rank = np.searchsorted(view.keys, key)
    low, high = view.offsets[rank], view.offsets[rank + 1]
    # Of each event that starts, how many go on from then on: those that have started with it less those that ended.
    first = np.repeat(view.offsets[:-1], np.diff(view.offsets))
    last = np.repeat(view.offsets[1:], np.diff(view.offsets))
    going = np.arange(1, len(begins) + 1) - bounds(stops, first, last, begins + 1)
    a, b = bounds(begins, low, high, start + 1), bounds(begins, low, high, end)
    found = a - bounds(stops, low, high, start + 1)  # those that go on when the window starts
    peaks(going, a, b, found)
    spent = _spent(begins, stops, low, high, end) - _spent(begins, stops, low, high, start)
    return pa.StructArray.from_arrays([pa.array(found), pa.array(spent / (end - start))], fields=list(_TYPE))


def _spent(begins: Int64s, stops: Int64s, low: Int64s, high: Int64s, time: Int64s) -> Int64s:
    """The time that all events of a key have spent before a time. Sums may wrap around: their differences do not."""
    total = np.zeros(len(time), np.int64)
    for sign, sides in ((1, begins), (-1, stops)):
        upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(sides)])
        at = bounds(sides, low, high, time)
        total += sign * ((at - low) * time - (upto[at] - upto[low]))
    return total
