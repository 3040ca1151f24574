"""Sessions of events with a duration: a gap lies between the end of one and the start of the next.

Whether two events are in one session depends on all that go on between them, so sessions are found among kept events:
sorted by their starts, one begins where an event starts more than a gap after all before it have ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.layout import BoundQuery
from muntin.slicing.batch import Batch
from muntin.slicing.late import LateRows
from muntin.slicing.revisions import Report, Reported, named
from muntin.slicing.views import View
from muntin.spanning.kept import START, Found, kept_values, valid_counts
from muntin.windows import Session

__all__ = ["SpanSessions"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_BEFORE = int(np.iinfo(np.int64).min)


@dataclass
class _Sessions:
    """Sessions as columns: key, first start, last end, and which events of a view they hold, in order."""

    key: Int64s
    first: Int64s
    last: Int64s
    lo: Int64s
    hi: Int64s
    take: Int64s


@dataclass
class SpanSessions:
    """One session query over events with a duration."""

    index: int
    bound: BoundQuery
    lateness: int
    revises: bool
    reported: Reported = field(default_factory=Reported)
    mark: int | None = None

    @property
    def window(self) -> Session:
        """The window."""
        assert isinstance(self.bound.window, Session)
        return self.bound.window

    def rounded(self, time: int) -> int:
        """Down to the edge of a cell, as all sessions round watermarks."""
        return time // self.window.cell * self.window.cell

    def judge(self, batch: Batch, late: LateRows) -> Bools | None:
        """Which rows are taken; None: all. One that began before the mark might be part of a closed session."""
        assert batch.start is not None
        if self.mark is None:
            return None
        old = batch.start < self.mark
        if not old.any():
            return None
        gap = self.window.gap.amount
        late.missed(batch.row_numbers()[old], self.index, (batch.start[old], batch.time[old] + gap))
        return ~old

    def _found(self, view: View) -> _Sessions:
        from muntin.kernels.merging import running_max

        n = len(view)
        if not n:
            none = np.empty(0, np.int64)
            return _Sessions(none, none, none, none, none, none)
        order = np.lexsort((view.measure(START), view.key))
        start, end, key = view.measure(START)[order], view.time[order], view.key[order]
        tops = np.empty(n, np.int64)
        offsets = np.ascontiguousarray(view.offsets)
        running_max(np.ascontiguousarray(end), offsets, np.full(len(offsets) - 1, _BEFORE), tops)
        new = np.ones(n, np.bool_)
        new[1:] = (start[1:] - tops[:-1] > self.window.gap.amount) | (key[1:] != key[:-1])
        lo = np.flatnonzero(new)
        hi = np.append(lo[1:], n)
        # Within a session events stand in their order, which is that of the view.
        take = order[np.lexsort((order, np.cumsum(new)))]
        return _Sessions(key[lo], start[lo], tops[hi - 1], lo, hi, take)

    def report(self, view: View, released: int | None, flush: bool) -> tuple[Report | None, Bools | None]:
        """The sessions that are due and new or changed, and which events are still needed; None: all."""
        found, gap = self._found(view), self.window.gap.amount
        end = found.last + gap
        if released is None and not flush:
            return None, None
        due = np.arange(len(end))
        if not flush:
            assert released is not None
            due = np.flatnonzero(end < self.rounded(released))
        report = self._report(view, found, due)
        if released is None:
            return report, None
        mark = self.rounded(released - self.lateness)
        self.mark = mark if self.mark is None else max(self.mark, mark)
        self._forget(found)
        keep = np.ones(len(view), np.bool_)
        gone = np.repeat(end < self.mark, found.hi - found.lo)
        keep[found.take[gone]] = False
        return report, keep

    def _forget(self, found: _Sessions) -> None:
        last = self.reported.last
        if last is None or not len(last):
            return
        assert self.mark is not None
        still = np.flatnonzero(found.last + self.window.gap.amount >= self.mark)
        names = named(np.full(len(still), self.index), found.key[still], (found.first[still],))
        self.reported.forget(last.end < self.mark, names)

    def _report(self, view: View, found: _Sessions, due: Int64s) -> Report | None:
        if not len(due) and not self.revises:
            return None
        gap = self.window.gap.amount
        key, first, end = found.key[due], found.first[due], found.last[due] + gap
        events = Found(view, found.lo[due], found.hi[due], found.take)
        names = list(self.bound.aggregates)
        values = kept_values(self.bound, names, events, key, first, end)
        report = Report(np.full(len(due), self.index), key, (first,), first, end, None, values)
        if not self.revises:
            return report
        report.events = valid_counts(self.bound, names, events)
        existing = named(np.full(len(found.key), self.index), found.key, (found.first,))
        return self.reported.report(report, existing)

    @property
    def nbytes(self) -> int:
        """The bytes of what may be corrected."""
        return self.reported.nbytes

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        return {"reported": self.reported.dump(), "mark": self.mark}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.reported.load(tree["reported"])
        self.mark = tree["mark"]
