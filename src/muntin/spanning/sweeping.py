"""Plane sweeping as a technique: starts and ends of events in order, gone through with those of windows.

Cumulative aggregates are what has started before a window ends less what has ended by when it begins; so they must be
exact when subtracted. Selective ones take the best of what is going on from a heap. The time that this takes does not
depend on how long events or windows are (paper 3, section 5.3.3; Figure 15).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates.counting import Count
from muntin.aggregates.extremes import Max, Min
from muntin.aggregates.moments import IntegerSum
from muntin.errors import UnsupportedAggregate
from muntin.fused import Fused
from muntin.slicing.batch import Batch, Column
from muntin.slicing.slices import Partials
from muntin.spanning.each import Each
from muntin.spanning.edges import Edges
from muntin.spans import Spans
from muntin.windows import Window

__all__ = ["Sweep", "unswept"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_WORD = 0xFFFFFFFF


def unswept(fused: Fused) -> str | None:
    """The first aggregate that cannot be swept; None where all can."""
    for bound in fused.bounds:
        if type(bound.aggregate) not in (Count, IntegerSum, Min, Max):
            return repr(bound.aggregate)
    return None


class Sweep(Each):
    """Events in the order of their ends, each with its partial."""

    def __init__(self, fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window]) -> None:
        wrong = unswept(fused)
        if wrong is not None:
            raise UnsupportedAggregate(
                f"{wrong} cannot be computed by sweeping: that subtracts what has ended, exactly (count, sums of "
                f"integers), or keeps one value (min, max). Use technique='auto'."
            )
        super().__init__(fused)
        self.edges = edges
        self._start: Int64s = np.empty(0, np.int64)
        self._stop: Int64s = np.empty(0, np.int64)

    def take(self, batch: Batch, order: Int64s | None, low: int, high: int, columns: Mapping[str, Column]) -> None:
        """Keep the events."""
        self.edges.cover(low, high)
        self.put(batch, order, columns)

    def put(self, batch: Batch, order: Int64s | None, columns: Mapping[str, Column]) -> None:
        """Keep events for which there are slices."""
        assert batch.start is not None
        self._add(batch, order, columns)
        self._start = np.concatenate([self._start, batch.start])
        self._stop = np.concatenate([self._stop, np.maximum(batch.time, batch.start + 1)])

    def extent(self) -> tuple[int, int] | None:
        """The first and the last slice with an event."""
        return self._slices(None if not len(self._stop) else (int(self._start.min()), int(self._stop.max()) - 1))

    def _slices(self, reach: tuple[int, int] | None) -> tuple[int, int] | None:
        """The slices from a time to another that are needed."""
        if reach is None or not len(self.edges):
            return None
        first, last = max(reach[0], int(self.edges.edges[0])), reach[1]
        a, b = np.searchsorted(self.edges.edges, [first, last], "right") - 1
        return (int(max(a, self.edges.first)), int(b)) if b >= self.edges.first else None

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Sweep over windows that are due; those of one length at a time, so that both bounds move forward."""
        keys, inverse = _owners(self._key)
        by_start = _sorted(inverse, self._start, len(keys))
        by_stop = _sorted(inverse, self._stop, len(keys))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(inverse, minlength=len(keys)))])
        which, owners, parts = [], [], []
        for length in np.unique(end - start):
            some = np.flatnonzero(end - start == length)
            some = some[np.argsort(start[some], kind="stable")]
            found = self._swept(by_start, by_stop, offsets, start[some], end[some])
            full = np.flatnonzero(found[0])
            which.append(np.tile(some, len(keys))[full])
            owners.append(np.repeat(keys, len(some))[full])
            parts.append([column[full] for column in found])
        joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        return np.concatenate(which), np.concatenate(owners), joined

    def _swept(self, by_start: Int64s, by_stop: Int64s, offsets: Int64s, begins: Int64s, ends: Int64s) -> Partials:
        from muntin.kernels.sweeping import swept

        starts, stops = self._start[by_start], self._stop[by_stop]
        rows = (len(offsets) - 1) * len(begins)
        started, ended = np.empty(rows, np.int64), np.empty(rows, np.int64)
        begins, ends = np.ascontiguousarray(begins), np.ascontiguousarray(ends)
        swept(starts, stops, offsets, begins, ends, started, ended)
        found: Partials = [np.zeros(rows, column.dtype) for column in self._columns]
        sums = {0, *self._fused.counts}
        for bound, place in zip(self._fused.bounds, self._fused.places, strict=True):
            if isinstance(bound.aggregate, IntegerSum):
                sums.update(place)
        for at in sums:
            found[at] = _upto(self._columns[at][by_start], started) - _upto(self._columns[at][by_stop], ended)
        for bound, place, count in zip(self._fused.bounds, self._fused.places, self._fused.counts, strict=True):
            if isinstance(bound.aggregate, IntegerSum):
                high, low = place
                found[high] = found[high] + (found[low] >> 32)
                found[low] = found[low] & _WORD
            elif isinstance(bound.aggregate, Max | Min):
                sign = 1 if isinstance(bound.aggregate, Max) else -1
                values, valid = self._columns[place[0]][by_start], self._columns[count][by_start] > 0
                stop = self._stop[by_start]
                found[place[0]] = _best(values, valid, stop, started, offsets, begins, sign)
        return found

    def drop(self, time: int) -> None:
        """Forget the events that ended by a time."""
        self.edges.need(time)
        stay = np.flatnonzero(self._stop > time)
        if len(stay) < len(self._stop):
            self._start, self._stop = self._start[stay], self._stop[stay]
            self._stay(stay)

    def told(self) -> list[str]:
        """How windows are computed."""
        return ["starts and ends of events are swept"]

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        own = [self._start, self._stop, self._key, *self._columns]
        return self.edges.nbytes + sum(column.nbytes for column in own)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        own = {"start": self._start, "stop": self._stop, "key": self._key}
        return {"edges": self.edges.dump(), "cells": self._columns, **own}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.edges.load(tree["edges"])
        self._start, self._stop, self._key = tree["start"], tree["stop"], tree["key"]
        self._columns = tree["cells"]


def _owners(key: Int64s) -> tuple[Int64s, Int64s]:
    if not len(key) or not key.any():
        return np.zeros(min(len(key), 1), np.int64), key
    keys, inverse = np.unique(key, return_inverse=True)
    return keys, inverse


def _sorted(key: Int64s, time: Int64s, keys: int) -> Int64s:
    order: Int64s = np.argsort(time, kind="stable") if keys < 2 else np.lexsort((time, key))
    return order


def _upto(values: npt.NDArray[Any], at: Int64s) -> npt.NDArray[Any]:
    """The sum of all values before each place."""
    sums: npt.NDArray[Any] = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values)])[at]
    return sums


def _best(
    values: npt.NDArray[Any], valid: Bools, stop: Int64s, started: Int64s, offsets: Int64s, begins: Int64s, sign: int
) -> npt.NDArray[Any]:
    from muntin.kernels.sweeping import best_floats, best_ints

    floats = values.dtype.kind == "f"
    wide = np.ascontiguousarray(values, np.float64 if floats else np.int64)
    places, heap = np.empty(len(started), np.int64), np.empty(max(len(values), 1), np.int64)
    out = np.zeros(len(started), wide.dtype)
    run: Any = best_floats if floats else best_ints
    run(wide, valid, stop, started, offsets, begins, sign, places, heap, out)
    return np.where(places >= 0, values[places], values.dtype.type(0)) if len(values) else out
