"""Kept events with a duration: for aggregates that have no partial of fixed size, and for how many go on at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.concurrent import Concurrent
from muntin.layout import BoundQuery
from muntin.slicing.kept_values import values_of
from muntin.slicing.views import View, flat
from muntin.spanning.concurrent import concurrent

__all__ = ["START", "Found", "found_in", "kept_values", "valid_counts"]

Int64s = npt.NDArray[np.int64]

START = "start"
"""The measure under which a store of events has the starts of spans."""


class Found:
    """The events of some windows: range i of `take`, from lo[i] to hi[i], in the order of their ends."""

    def __init__(self, view: View, lo: Int64s, hi: Int64s, take: Int64s) -> None:
        self.view, self.lo, self.hi, self.take = view, lo, hi, take


def found_in(view: View, key: Int64s, start: Int64s, end: Int64s, longest: int) -> Found:
    """The events of a key that overlap a window, for many windows at once; none is longer than `longest`."""
    from muntin.kernels.spanning import overlapping

    lo, hi = view.ranges(key, start, end + longest + 1)
    begins, ends = flat(view.measure(START)), flat(view.time)
    counts = np.empty(len(key), np.int64)
    wanted = (flat(lo), flat(hi), begins, ends, flat(start), flat(end))
    overlapping(*wanted, counts, np.empty(0, np.int64))
    stops = np.cumsum(counts)
    take = np.empty(int(stops[-1]) if len(stops) else 0, np.int64)
    if len(take):
        overlapping(*wanted, counts, take)
    return Found(view, stops - counts, stops, take)


def kept_values(
    query: BoundQuery, names: list[str], found: Found, key: Int64s, start: Int64s, end: Int64s
) -> dict[str, pa.Array]:
    """Aggregates over the events of windows."""
    counted = [name for name in names if isinstance(query.aggregates[name].aggregate, Concurrent)]
    others = [name for name in names if name not in counted]
    values = values_of(query, others, found.view, found.lo, found.hi, found.take)
    for name in counted:
        values[name] = concurrent(found.view, key, start, end)
    return values


def valid_counts(query: BoundQuery, names: list[str], found: Found) -> dict[str, Int64s]:
    """For each aggregate how many events of each window it does not skip."""
    counts = {}
    for name in names:
        columns = [found.view.column(column) for column in query.aggregates[name].aggregate.columns]
        masks = [column.valid for column in columns if column.valid is not None]
        if not masks:
            counts[name] = found.hi - found.lo
            continue
        valid = np.logical_and.reduce(masks)[found.take]
        upto = np.concatenate([np.zeros(1, np.int64), np.cumsum(valid)])
        counts[name] = upto[found.hi] - upto[found.lo]
    return counts
