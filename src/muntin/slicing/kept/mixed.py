"""Sliding windows whose size and slide differ in measure: ends by the slide, contents by the size."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from muntin.layout import BoundQuery
from muntin.slicing.batch import Batch
from muntin.slicing.kept.base import (
    NONE,
    Bools,
    Int64s,
    Judged,
    KeptFamily,
    Runs,
    Wins,
    expand,
    gather,
    keep_from,
    last_of_each,
    runs_of,
)
from muntin.slicing.views import View, bounds
from muntin.spec import Spec
from muntin.units import Measure

__all__ = ["MixedFamily"]


class MixedFamily(KeptFamily):
    """One window for each end; it looks back on the events of its run before that end.

    Events are settled before a time: the last edge of the grid that the mark has passed where windows slide by time,
    else the mark, which is the last closed end. Of the settled events those stay that a window with a later end can
    still hold: the last `size` rows; those of the last `size` of time; those whose column is within `size` of the
    largest one. Together with `idle`, sizes in another column keep the whole run: events let go from its middle would
    leave silences that were none.
    """

    per_key: ClassVar[dict[str, int]] = {
        "mark": NONE,  # the last closed end, where windows do not slide by time
        "base": 0,  # how many events of the run that reaches up to the kept ones were let go
        "top": NONE,  # the largest measure among them
        "last": NONE,  # the time of the last of them
    }

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        super().__init__(query, spec)
        window = self.window
        self.size, self.every, self.align = int(window.size.amount), int(window.every.amount), int(window.align)
        self.sized, self.slid = window.size.measure, window.every.measure
        self.has_rows = self.sized is not Measure.TIME or self.slid is Measure.ROWS

    # -- judging ---------------------------------------------------------------------------------------------------

    def _judge(self, batch: Batch) -> Judged:
        """Late where the first window that would hold it is closed."""
        if self.slid is not Measure.TIME:
            return super()._judge(batch)
        assert self.bound is not None
        end = self._grid(batch.time)
        return Judged(end <= self.bound, batch.time, end)

    def marks(self, keys: Int64s) -> Int64s:
        """Where it slides by time, the watermark less the lateness, whatever the key."""
        if self.slid is not Measure.TIME:
            return super().marks(keys)
        return np.full(len(keys), NONE if self.bound is None else self.bound, np.int64)

    def _grid(self, time: Int64s) -> Int64s:
        """The first end after each time."""
        return (time - self.align) // self.every * self.every + self.align + self.every

    def _grid_before(self, time: int) -> int:
        """The last end at or before a time."""
        return (time - self.align) // self.every * self.every + self.align

    # -- finding windows -------------------------------------------------------------------------------------------

    def _windows(self, view: View) -> Wins:
        state = self.state
        runs = runs_of(view, self.idle, state["base"], state["last"])
        base = np.where(runs.carried, state["base"][runs.key], 0)
        tops = self._tops(view, runs)
        last, run, end = self._ends(view, runs, base, tops)
        key = runs.key[run]
        stay = end > self.marks(key)
        # Two runs share an end only where it slides by time: the window looks back on the later run.
        stay[:-1] &= (key[:-1] != key[1:]) | (end[:-1] != end[1:])
        last, run, end, key = last[stay], run[stay], end[stay], key[stay]
        head, hi = runs.starts[run], last + 1
        n = base[run] + hi - head  # events of the run before the end
        rows: tuple[Int64s, Int64s] | None = None
        take = None
        if self.sized is Measure.ROWS:
            lo = np.maximum(head, hi - self.size)
        elif self.sized is Measure.TIME:
            lo = bounds(view.time, head, hi, end - self.size)
        else:
            top = tops[last]
            rows = (top - self.size + 1, top + 1)
            lo = bounds(tops, head, hi, rows[0])
            take = self._within(view, lo, hi, rows[0])
        if self.sized is Measure.ROWS or (self.slid is Measure.ROWS and rows is None):
            rows = (n - (hi - lo), n)
        start = end - self.size if self.sized is Measure.TIME else view.time[lo if take is None else take[lo]]
        return Wins(key, (end,), start, end, rows, lo, hi, take, np.empty(0, np.bool_))

    def _tops(self, view: View, runs: Runs) -> Int64s:
        """The largest measure of the run up to each event; nothing where no measure is needed."""
        if self.on is None:
            return np.empty(0, np.int64)
        from muntin.kernels.merging import running_max

        begin = np.where(runs.carried, self.state["top"][runs.key], NONE)
        tops = np.empty(len(view), np.int64)
        running_max(np.ascontiguousarray(view.measure(self.on)), runs.starts, begin, tops)
        return tops

    def _ends(self, view: View, runs: Runs, base: Int64s, tops: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """The windows: the last event before their end, its run, and the end."""
        if self.idle is None and self.on is None:
            return self._later_ends(view, base)
        by_time = self.slid is Measure.TIME
        place = self._grid(view.time) if by_time else view.time
        is_last = np.append(place[1:] != place[:-1], True)
        is_last[runs.starts[1:] - 1] = True
        last = np.flatnonzero(is_last)
        run = np.searchsorted(runs.starts, last, "right") - 1
        if by_time:
            return last, run, place[last]
        begin = self._begin(view, runs, base)
        if self.slid is Measure.ROWS:
            reached = (base[run] + last + 1 - runs.starts[run]) // self.every
        else:
            reached = (tops[last] - self.align) // self.every
        before = np.append(0, reached[:-1])
        first = np.append(True, run[1:] != run[:-1])
        before[first] = begin
        more = reached > before
        return last[more], run[more], place[last[more]] + 1

    def _later_ends(self, view: View, base: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """The same for windows that are not closed, without a look at settled events: most are. A key is one run."""
        heads, tails = view.offsets[:-1], view.offsets[1:]
        by_time = self.slid is Measure.TIME
        since = self.marks(view.keys)
        if by_time and self.bound is not None:
            since = np.full(len(heads), self._grid_before(self.bound), np.int64)
        begin = bounds(view.time, heads, tails, since)
        if len(heads) == 1:
            run, at = None, slice(int(begin[0]), int(tails[0]))
            time = view.time[at]
        else:
            run, listed = expand(begin, tails - begin)
            time = view.time[listed]
        place = self._grid(time) if by_time else time
        is_last = np.append(place[1:] != place[:-1], np.ones(min(len(place), 1), np.bool_))
        if run is not None:
            is_last[:-1] |= run[1:] != run[:-1]
        some = np.flatnonzero(is_last)
        last = some + begin[0] if run is None else listed[some]
        run = np.zeros(len(some), np.int64) if run is None else run[some]
        if by_time:
            return last, run, place[some]
        reached = (base[run] + last + 1 - heads[run]) // self.every
        before = np.append(0, reached[:-1])[: len(reached)]
        first = np.append(True, run[1:] != run[:-1])[: len(run)]
        before[first] = ((base + begin - heads) // self.every)[run[first]]
        more = reached > before
        return last[more], run[more], place[some[more]] + 1

    def _begin(self, view: View, runs: Runs, base: Int64s) -> Int64s:
        """How many multiples of the slide each run had reached before its first kept event."""
        if self.slid is Measure.ROWS:
            return base // self.every
        assert self.on is not None
        below = view.measure(self.on)[runs.base] - 1  # a column begins just below its first value
        top = np.where(runs.carried, self.state["top"][runs.key], below)
        return (top - self.align) // self.every

    def _within(self, view: View, lo: Int64s, hi: Int64s, least: Int64s) -> Int64s | None:
        """Leave out, of the events at lo..hi, those whose measure is too small; None where there are none such."""
        assert self.on is not None
        measure = view.measure(self.on)
        falls = np.append(False, measure[1:] < measure[:-1])
        falls = np.append(0, np.cumsum(falls))
        # Where the measure never falls inside of lo..hi, all from the first one on are within.
        at = np.flatnonzero(falls[hi] > falls[np.minimum(lo + 1, hi)])
        if not len(at):
            return None
        owner, place = expand(lo[at], hi[at] - lo[at])
        held = measure[place] >= least[at][owner]
        return gather(len(view), lo, hi, at, place[held], np.bincount(owner[held], minlength=len(at)))

    # -- closing ---------------------------------------------------------------------------------------------------

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        settled = self._settled(view, wins, bound)
        heads, tails = view.offsets[:-1], view.offsets[1:]
        frozen = bounds(view.time, heads, tails, settled)  # the first event of each key that is not settled
        if (frozen == heads).all():
            return np.ones(len(view), np.bool_)
        if self.sized is Measure.COLUMN and self.idle is None:
            return self._close_column(view, frozen)
        return self._close_prefix(view, frozen, settled)

    def _settled(self, view: View, wins: Wins, bound: int) -> Int64s:
        """Before which time nothing can come any more, for each key of a view."""
        if self.slid is Measure.TIME:
            return np.full(len(view.keys), self._grid_before(bound), np.int64)
        done = np.flatnonzero(wins.end <= bound)
        if len(done):
            last = done[last_of_each(wins.key[done])]
            self.state["mark"][wins.key[last]] = wins.end[last]
        return self.state["mark"][view.keys]

    def _close_column(self, view: View, frozen: Int64s) -> Bools:
        """Settled events too far below the largest settled one can go, wherever they stand."""
        assert self.on is not None
        measure = view.measure(self.on)
        settled = np.arange(len(view)) < view.spread(frozen)
        top = np.maximum.reduceat(np.where(settled, measure, NONE), view.offsets[:-1])
        least = view.spread(np.where(top > NONE, top - self.size, NONE))
        keep: Bools = ~settled | (measure > least)
        gone = np.add.reduceat((~keep).astype(np.int64), view.offsets[:-1])
        self.state["base"][view.keys] += gone
        return keep

    def _close_prefix(self, view: View, frozen: Int64s, settled: Int64s) -> Bools:
        """Settled events go from the oldest on: earlier runs, then what no window of this run can hold."""
        state = self.state
        heads = view.offsets[:-1]
        some = np.flatnonzero(frozen > heads)
        runs = runs_of(view, self.idle, state["base"], state["last"])
        run = np.searchsorted(runs.starts, frozen[some] - 1, "right") - 1  # the run of the last settled event
        head, stop = runs.starts[run], frozen[some]
        if self.sized is Measure.ROWS:
            cut = np.maximum(head, stop - self.size)
        elif self.sized is Measure.TIME:
            # The next window ends no earlier than one after the mark.
            cut = bounds(view.time, head, stop, settled[some] + 1 - self.size)
        else:
            cut = head
        key, carried = view.keys[some], runs.carried[run]
        if self.on is not None:
            self._carry_top(view, key, head, cut, carried)
        state["base"][key] = np.where(carried, state["base"][key], 0) + cut - head
        gone = cut > heads[some]
        state["last"][key[gone]] = view.time[cut[gone] - 1]
        cuts = heads.copy()
        cuts[some] = cut
        return keep_from(view, cuts)

    def _carry_top(self, view: View, key: Int64s, head: Int64s, cut: Int64s, carried: Bools) -> None:
        """Remember the largest measure of the events of each run that are let go."""
        assert self.on is not None
        top = np.where(carried, self.state["top"][key], NONE)
        some = np.flatnonzero(cut > head)
        if len(some):
            edges = np.stack([head[some], cut[some]], axis=1).reshape(-1)
            measure = np.append(view.measure(self.on), NONE)  # an edge may be the end of the view
            top[some] = np.maximum(top[some], np.maximum.reduceat(measure, edges)[::2])
        self.state["top"][key] = top
