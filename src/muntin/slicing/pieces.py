"""Aggregates over ranges of kept events from cached slices (paper 1, section 4.2: split, and section 6.3.3).

A range is the whole slices in it, whose partials are cached from step to step, and two pieces at its edges, which are
aggregated anew from their events: slices are split there, but they stay in the cache, since the next range splits them
elsewhere. How large slices are follows what splits cost (`split_costs`). Results do not depend on it, nor on what is
cached: how a range is combined follows from its events alone (`muntin.kernels.source_pieces`).
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.counting import Count
from muntin.aggregates.extremes import Max, MaxCount, Min, MinCount
from muntin.layout import BoundQuery
from muntin.slicing.covered import Cover, Marks
from muntin.slicing.ranges import special
from muntin.slicing.ranges_fold import over_ranges
from muntin.slicing.split_costs import LEVELS, SplitCosts
from muntin.slicing.store_events import EventStore
from muntin.slicing.values import dtype_of
from muntin.slicing.views import View

__all__ = ["WORTH", "Pieces", "again", "asked_of", "from_pieces", "pieces_of"]

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

_OFTEN, _SELDOM = 16, 8  # costs are measured in so many steps at first, then in one of so many: to measure costs, too
WORTH = 1 << 18
"""Events that would be aggregated again in a step, times aggregates, from which on slices pay for their calls."""

_FOLDED = (Count, Min, Max, MinCount, MaxCount)  # of the built-in ones with a way of their own over ranges


def from_pieces(bound: BoundQuery) -> list[str]:
    """The aggregates of a query that are computed from slices: compiled, of fixed size, and of more than a count.

    Of the others some look at one event only (`first`), the rest need all values, or texts, or run in Python.
    """
    from muntin.compile import compiled  # here, so that Numba is loaded where it is used

    found = []
    for name, aggregate in bound.aggregates.items():
        texts = any(dtype_of(type_) is None for type_ in aggregate.types)
        other = special(aggregate) and type(aggregate.aggregate) not in _FOLDED
        if not texts and not other and compiled(aggregate) is not None:
            found.append(name)
    counted = all(isinstance(bound.aggregates[name].aggregate, Count) for name in found)
    return [] if counted else found


def again(lo: Int64s, hi: Int64s, new: int) -> int:
    """How many events some ranges hold, each counted once, beyond those that are new.

    >>> again(np.array([0, 5, 20]), np.array([10, 15, 30]), 7)
    18
    """
    order = np.argsort(lo)
    lo, reach = lo[order], np.maximum.accumulate(hi[order])
    lo[1:] = np.maximum(lo[1:], reach[:-1])
    return int(np.maximum(reach - lo, 0).sum()) - new


def asked_of(bound: BoundQuery) -> tuple[object, ...]:
    """What a query asks of its events: where it is the same, queries are answered at once."""
    return tuple((name, aggregate.aggregate) for name, aggregate in bound.aggregates.items())


def pieces_of(store: EventStore, bound: BoundQuery, names: list[str]) -> Pieces:
    """The cached slices of a store for these aggregates of a query, and of all that ask the same."""
    followers, key = store.cover.followers, asked_of(bound)
    if key not in followers:
        followers[key] = Pieces(store, {name: bound.aggregates[name] for name in names})
    found = followers[key]
    assert isinstance(found, Pieces)
    return found


@dataclass
class _Asked:
    """Ranges in rows of the store, and from which to before which slice they hold."""

    lo: Int64s
    hi: Int64s
    first: Int64s
    last: Int64s

    def work(self, rows: Int64s) -> tuple[int, int]:
        """How many events are aggregated, and how many slices combined; `rows` are those at which slices begin."""
        events, some = int((self.hi - self.lo).sum()), np.flatnonzero(self.last > self.first)
        if not len(some):
            return events, 0
        first, last = self.first[some], self.last[some]
        return events - int((rows[last] - rows[first]).sum()), int((last - first).sum())


class Pieces:
    """The cached slices of some aggregates over the events of a store.

    It is a folder of `ranges_fold`: it folds events, here over rows of the store, and merges partials.
    """

    def __init__(self, store: EventStore, bounds: dict[str, Bound]) -> None:
        from muntin.fused import fused

        self.bounds = bounds
        self._store = store
        self._fused = fused(list(bounds.values()), spans=False)
        self._empty = self._fused.new(LEVELS + 1)
        self.marks = Marks(self._fused.new(0))
        self.costs = SplitCosts(len(self._fused.slots))
        self._turn, self._look = 0, False
        self._seen = 0, self._cover.events

    @property
    def _cover(self) -> Cover:
        return self._store.cover

    @property
    def level(self) -> int:
        """The level of the slices."""
        return self.costs.level

    def nothing(self, rows: int) -> list[Array]:
        """Columns for new slices."""
        return self._fused.new(rows)

    def told(self) -> str:
        """How large slices are, and what splits were measured to cost.

        >>> import muntin as mt
        >>> Pieces(EventStore(), {"s": mt.sum("x").bind([pa.float64()])}).told()
        'nothing is cached so far.'
        """
        costs = self.costs
        _, event, piece = costs.measured
        if costs.size is None:
            made = "so far" if not costs.splits else "any more: slices cost more than they save"
            return f"nothing is cached {made}."
        return (
            f"slices of {costs.size:,} events on average, {np.count_nonzero(self.marks.whole):,} of them cached; "
            f"{costs.splits:,} splits, of {costs.events / max(costs.splits, 1):,.0f} events and "
            f"{costs.per_split:,.0f} ns each; {event:.2g} ns to aggregate an event, {piece:.2g} ns to combine a slice."
        )

    # -- ranges ----------------------------------------------------------------------------------------------------

    def values(self, lo: Int64s, hi: Int64s) -> dict[str, pa.Array]:
        """The aggregates over the rows lo[i] to hi[i] of the store; no range is empty."""
        from muntin.compile import compiled
        from muntin.slicing.finish import finished, named_errors

        view = View(self._store, None)
        partials = over_ranges(self, view, lo, hi)
        found = {}
        for place, (name, bound) in enumerate(self.bounds.items()):
            with named_errors(name, bound):
                functions = compiled(bound)
                assert functions is not None
                found[name] = finished(self._fused, place, bound, functions, partials)
        return found

    def merge(self, lo: Int64s, hi: Int64s, partials: list[Array]) -> list[Array]:
        """Partials combined over each range."""
        return self._fused.merge_ranges(lo, hi, partials)

    def fold(self, lo: Int64s, hi: Int64s, inputs: View) -> list[Array]:
        """Events lifted and combined over each range of rows."""
        costs = self.costs
        self._turn += 1
        self._look = self._turn <= _OFTEN or self._turn % _SELDOM == 0
        if self._look:
            self._asked(hi - lo)
        begins = np.flatnonzero(self._cover.level >= self.level)
        rows = self.marks.rows
        asked = _Asked(lo, hi, np.searchsorted(rows, lo), np.searchsorted(rows, hi, "right") - 1)
        self._fill(asked, begins, inputs)
        found, work = self._timed(asked, begins, inputs)
        if len(rows):
            inside = int(np.count_nonzero(rows.take(asked.first, mode="clip") != lo))
            inside += int(np.count_nonzero(rows.take(asked.last, mode="clip") != hi))
            costs.splits += inside
            costs.events += work[0]
            costs.slices += work[1]
        return found

    def _asked(self, lengths: Int64s) -> None:
        """Tell of the ranges that are asked for, and of what came since; the size of slices may follow."""
        steps, events = self._turn - self._seen[0], self._cover.events
        if self.costs.asked(lengths, (events - self._seen[1]) / steps, len(self._store)):
            self._begin()
        self._seen = self._turn, events

    def _begin(self) -> None:
        """Slices of another level: nothing is known of them yet."""
        rows = self._cover.fine.rows[self._cover.level >= self.level]
        self.marks = Marks(self.nothing(0))
        self.marks.insert(None, rows, self.nothing(len(rows)))

    def _fill(self, asked: _Asked, begins: Int64s, view: View) -> None:
        """Slices that lie wholly in a range, and are not cached, are aggregated."""
        some = asked.first < asked.last
        if not some.any():
            return
        n = len(self.marks)
        begun = np.bincount(asked.first[some], minlength=n) - np.bincount(asked.last[some], minlength=n)
        missing = np.flatnonzero((np.cumsum(begun) > 0) & ~self.marks.whole)
        if not len(missing):
            return
        rows, none = self.marks.rows, np.zeros(len(missing), np.int64)
        found, _ = self._timed(_Asked(rows[missing], rows[missing + 1], none, none), begins, view)
        for column, new in zip(self.marks.columns, found, strict=True):
            column[missing] = new
        self.marks.whole[missing] = True

    def _timed(self, asked: _Asked, begins: Int64s, view: View) -> tuple[list[Array], tuple[int, int]]:
        """The ranges folded; and how many events and slices that took, whose time is measured."""
        fine = self._cover.fine
        columns = {name: view.column(name) for name in self._fused.nullable}
        after = np.searchsorted(fine.rows, asked.lo, "right")
        ranges = [asked.lo, asked.hi, after, asked.first, asked.last, begins, fine.rows, *fine.columns]
        fold = self._fused.pieces(ranges, self.level, view.time, view.order, columns, self.marks.columns, self._empty)
        started = perf_counter_ns()
        try:
            found = fold()
        except BaseException:  # raised by a user's function: what it left half done is nobody's
            self._empty = self._fused.new(LEVELS + 1)
            raise
        ns = perf_counter_ns() - started
        work = asked.work(self.marks.rows)
        if self._look:
            self.costs.took(ns, *work)
        return found, work
