"""Windows along another column (`on=`): tumbling, sliding and cumulative, and sessions."""

from __future__ import annotations

import numpy as np

from muntin.layout import BoundQuery
from muntin.slicing.along.regular import Regular
from muntin.slicing.batch import Batch
from muntin.slicing.kept.base import (
    NONE,
    Bools,
    Int64s,
    Judged,
    KeptFamily,
    Said,
    Wins,
    expand,
    gather,
)
from muntin.slicing.views import View, bounds
from muntin.spec import Spec

__all__ = ["MeasuredFamily", "MeasuredSessions"]


class _Along(KeptFamily):
    """The mark of a key is how far it has come: its largest measure by the watermark less the lateness.

    An event that is let go has a measure that is no larger than the mark, so the mark is all that stays of it.
    """

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        super().__init__(query, spec)
        self.has_rows = True

    def _along(self, batch: Batch) -> Int64s:
        assert self.on is not None
        return batch.measures[self.on][0]

    def _measure(self, view: View) -> Int64s:
        assert self.on is not None
        return view.measure(self.on)

    def reach(self, view: View, until: int) -> Int64s:
        """How far each key of a view has come by a time."""
        so_far = np.where(view.time <= until, self._measure(view), NONE)
        return np.maximum(np.maximum.reduceat(so_far, view.offsets[:-1]), self.state["mark"][view.keys])

    def _reached(self, view: View, key: Int64s, until: int) -> Int64s:
        reach: Int64s = self.reach(view, until)[np.searchsorted(view.keys, key)]
        return reach


def _by_measure(view: View, measure: Int64s) -> tuple[Int64s | None, Bools]:
    """How to sort a view by key and measure, None where it is sorted; and for which keys it is not."""
    falls = measure[1:] < measure[:-1]
    falls[view.offsets[1:-1] - 1] = False
    if not falls.any():
        return None, np.zeros(len(view.keys), np.bool_)
    unsorted = np.zeros(len(view.keys), np.bool_)
    unsorted[np.searchsorted(view.offsets, np.flatnonzero(falls), "right") - 1] = True
    return np.lexsort((measure, view.key)), unsorted


def _in_order(n: int, sort: Int64s, lo: Int64s, hi: Int64s, at: Int64s) -> Int64s:
    """The events of the windows at `at`, which lie side by side by measure, put back in the order of time."""
    count = hi[at] - lo[at]
    owner, place = expand(lo[at], count)
    items = sort[place]
    return gather(n, lo, hi, at, items[np.lexsort((items, owner))], count)


class MeasuredFamily(_Along):
    """Tumbling, sliding and cumulative windows along a column.

    A window has a number: k where it starts at k * every, or for cumulative windows where it ends there. The windows
    that contain a point are numbers in a row, and so are those that are closed.
    """

    takes_late = True
    parts = 2

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        super().__init__(query, spec)
        self.regular = Regular.of(self.window)

    def _judge(self, batch: Batch) -> Judged:
        """Late where the first window that contains it is closed; the others still count it."""
        first, last = self.regular.numbers(self._along(batch))
        mark = self.state["mark"][batch.key_ids()]
        late = (first <= last) & (self.regular.bounds(first)[1] <= mark)
        return Judged(late, batch.time, batch.time, known=False)

    def _windows(self, view: View) -> Wins:
        measure = self._measure(view)
        sort, unsorted = _by_measure(view, measure)
        by_measure = measure if sort is None else measure[sort]
        first, last = self.regular.numbers(by_measure)
        mark = self.state["mark"][view.keys]
        first = np.maximum(first, view.spread(self.regular.open_from(mark)))
        # Events with a smaller measure have the windows up to their last one.
        before = np.append(NONE, last[:-1])
        before[view.offsets[:-1]] = NONE
        first = np.maximum(first, before + 1)
        owner, number = expand(first, last - first + 1)
        start, end = self.regular.bounds(number)
        key = view.key[owner]  # sorting by measure leaves each key where it is
        rank = np.searchsorted(view.keys, key)
        lo = bounds(by_measure, view.offsets[rank], view.offsets[rank + 1], start)
        hi = bounds(by_measure, lo, view.offsets[rank + 1], end)
        take = None if sort is None else _in_order(len(view), sort, lo, hi, np.flatnonzero(unsorted[rank]))
        places = (lo, hi - 1) if take is None else (take[lo], take[hi - 1])
        began, ended = view.time[places[0]], view.time[places[1]] + 1
        return Wins(key, (start, end), began, ended, (start, end), lo, hi, take, np.empty(0, np.bool_))

    def _due(self, view: View, wins: Wins, watermark: int) -> Bools:
        """The key has come to their end."""
        return wins.identity[1] <= self._reached(view, wins.key, watermark)

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        mark = self.reach(view, bound)
        self.state["mark"][view.keys] = mark
        measure, mark = self._measure(view), view.spread(mark)
        first, last = self.regular.numbers(measure)
        # An event ahead of the mark stays also in a gap between windows: the key may still come as far as it.
        keep: Bools = (measure > mark) | ((first <= last) & (self.regular.bounds(last)[1] > mark))
        return keep

    def closed(self, said: Said) -> Bools:
        """The mark has reached their end."""
        return said.identity[1] <= self.state["mark"][said.key]


class MeasuredSessions(_Along):
    """Sessions along a column; how far a key has come is rounded down to a cell."""

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        super().__init__(query, spec)
        self.gap, self.cell = int(self.window.gap.amount), int(self.window.cell)

    def _rounded(self, at: Int64s) -> Int64s:
        return np.where(at > NONE, at // self.cell * self.cell, NONE)

    def _judge(self, batch: Batch) -> Judged:
        """Late before the rounded mark."""
        late = self._along(batch) < self._rounded(self.state["mark"][batch.key_ids()])
        return Judged(late, batch.time, batch.time, known=False)

    def _sessions(self, view: View) -> tuple[Int64s | None, Bools, Int64s, Int64s]:
        """The view by measure, for which keys that is another order, and where sessions start; with all measures."""
        measure = self._measure(view)
        sort, unsorted = _by_measure(view, measure)
        by_measure = measure if sort is None else measure[sort]
        cut = np.append(np.ones(1, np.bool_), np.diff(by_measure) > self.gap)
        cut[view.offsets[:-1]] = True
        return sort, unsorted, by_measure, np.append(np.flatnonzero(cut), len(view))

    def _windows(self, view: View) -> Wins:
        sort, unsorted, by_measure, starts = self._sessions(view)
        lo, hi = starts[:-1], starts[1:]
        key = view.key[lo]
        start, end = by_measure[lo], by_measure[hi - 1] + self.gap
        stay = end >= self._rounded(self.state["mark"][key])
        key, start, end, lo, hi = key[stay], start[stay], end[stay], lo[stay], hi[stay]
        take = None
        if sort is not None:
            rank = np.searchsorted(view.keys, key)
            take = _in_order(len(view), sort, lo, hi, np.flatnonzero(unsorted[rank]))
        places = (lo, hi - 1) if take is None else (take[lo], take[hi - 1])
        began, ended = view.time[places[0]], view.time[places[1]] + 1
        return Wins(key, (start,), began, ended, (start, end), lo, hi, take, np.empty(0, np.bool_))

    def _due(self, view: View, wins: Wins, watermark: int) -> Bools:
        """The key, rounded, has come past their end."""
        assert wins.rows is not None
        return wins.rows[1] < self._rounded(self._reached(view, wins.key, watermark))

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        mark = self.reach(view, bound)
        self.state["mark"][view.keys] = mark
        # No event of a closed session is left in the view before it is let go: a session is closed as a whole.
        assert wins.rows is not None
        done = wins.rows[1] < self._rounded(self.state["mark"][wins.key])
        keep = np.ones(len(view), np.bool_)
        _, places = expand(wins.lo[done], (wins.hi - wins.lo)[done])
        keep[places if wins.take is None else wins.take[places]] = False
        return keep

    def closed(self, said: Said) -> Bools:
        """The mark, rounded, is past their end."""
        assert said.rows is not None
        return said.rows[1] < self._rounded(self.state["mark"][said.key])
