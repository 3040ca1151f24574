"""Windows cut by the data: punctuated and frames."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from muntin.slicing.batch import Column
from muntin.slicing.kept.base import NEVER, NONE, Bools, Int64s, KeptFamily, Wins, keep_from
from muntin.slicing.views import View, bounds

__all__ = ["FrameFamily", "MarkedFamily", "PunctuatedFamily"]


class MarkedFamily(KeptFamily):
    """What windows cut by the data share: the mark is the last closed end, and while no window is open, the bound.

    A key without an open window has the mark that follows from the watermark alone, so nothing is done for keys that
    are silent.
    """

    per_key: ClassVar[dict[str, int]] = {"mark": NONE, "open": 0}

    def marks(self, keys: Int64s) -> Int64s:
        """Up to where windows are closed, as of the step before."""
        mark = self.state["mark"][keys]
        if self.bound is None:
            return mark
        return np.where(self.state["open"][keys] > 0, mark, np.maximum(mark, self.bound))

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with an open window, or a mark that does not follow from the watermark."""
        mark, is_open = self.state["mark"][: len(live)], self.state["open"][: len(live)]
        live[: len(mark)] |= (is_open > 0) | (mark > (NONE if self.bound is None else self.bound))

    def _advance(self, view: View, wins: Wins, bound: int) -> Int64s:
        """The new mark of each key of a view."""
        keys = view.keys
        mark = self.marks(keys)
        rank = np.searchsorted(keys, wins.key)
        still = wins.end > bound
        is_open = np.zeros(len(keys), np.int64)
        is_open[rank[still]] = 1
        np.maximum.at(mark, rank[~still], wins.end[~still])
        mark = np.where(is_open > 0, mark, np.maximum(mark, bound))
        self.state["mark"][keys], self.state["open"][keys] = mark, is_open
        return mark

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        """No window reaches over the mark: events before it can go."""
        mark = self._advance(view, wins, bound)
        if len(mark) > 1:
            keep: Bools = view.time >= view.spread(mark)
            return keep
        return keep_from(view, bounds(view.time, view.offsets[:-1], view.offsets[1:], mark))

    def _made(self, view: View, start: Int64s, end: Int64s, lo: Int64s, hi: Int64s, take: Int64s | None) -> Wins:
        """Windows of the events at lo..hi, without those that are closed."""
        key = view.key[lo if take is None else take[lo]]
        stay = end > self.marks(key)
        start, end = start[stay], end[stay]
        return Wins(key[stay], (start,), start, end, None, lo[stay], hi[stay], take, np.empty(0, np.bool_))


def holds(column: Column) -> Bools:
    """Where a boolean column is true; null is false."""
    true: npt.NDArray[np.bool_] = column.values.astype(np.bool_, copy=False)
    return true if column.valid is None else true & column.valid


class PunctuatedFamily(MarkedFamily):
    """Cut at each mark, or from start marks to end marks."""

    def _windows(self, view: View) -> Wins:
        # Events of one key and time are one: together they have the marks that any of them has.
        key, time, n = view.key, view.time, len(view)
        at = np.flatnonzero(np.append(True, (time[1:] != time[:-1]) | (key[1:] != key[:-1])))
        if self.window.mark is not None:
            cut = np.logical_or.reduceat(holds(view.column(self.window.mark)), at)
            cut[np.searchsorted(at, view.offsets[:-1])] = True  # the first window starts with the first event
            lo = at[cut]
            hi = np.append(lo[1:], n)
            opened, closed = lo, lo[1:]
        else:
            starts, ends = (
                np.logical_or.reduceat(holds(view.column(name)), at) for name in (self.window.start, self.window.end)
            )
            some = np.flatnonzero(starts | ends)
            if not len(some):
                return self.none()
            at, starts, ends = at[some], starts[some], ends[some]
            # A window is open after each place that has a start, and after no other: what was before does not matter.
            inside = np.append(False, starts[:-1] & (key[at[1:]] == key[at[:-1]]))
            opened, closed = at[starts & (ends | ~inside)], at[ends & inside]
            if not len(opened):
                return self.none()
            lo = opened
            hi = np.append(closed, n)[np.searchsorted(closed, opened, "right")]
        # Where nothing closes it any more, a window reaches to the last event of its key.
        stop = view.offsets[np.searchsorted(view.keys, key[lo]) + 1]
        end = np.where(hi < stop, np.append(time, NEVER)[hi], NEVER)
        return self._made(view, time[lo], end, lo, np.minimum(hi, stop), None)


class FrameFamily(MarkedFamily):
    """From the first row that holds to the first that does not; at equal times rows that do not hold come first."""

    def _windows(self, view: View) -> Wins:
        key, time = view.key, view.time
        true = holds(view.column(self.window.column))
        held, rest = np.flatnonzero(true), np.flatnonzero(~true)
        if not len(held):
            return self.none()
        # Which row that does not hold comes next: the first of the same key at a later time.
        rank = np.searchsorted(view.keys, key[held])
        first, stop = np.searchsorted(rest, view.offsets[:-1])[rank], np.searchsorted(rest, view.offsets[1:])[rank]
        following = bounds(time[rest], first, stop, time[held] + 1)
        begins = np.append(True, (key[held][1:] != key[held][:-1]) | (following[1:] != following[:-1]))
        lo = np.flatnonzero(begins)
        hi = np.append(lo[1:], len(held))
        ends = np.where(following < stop, np.append(time[rest], NEVER)[following], NEVER)
        return self._made(view, time[held[lo]], ends[lo], lo, hi, held)
