"""Queries over shared slices: context-free windows on time and sessions (paper 1, section 5.3; Figure 7).

Every event is aggregated once, into one cell; every window of every query is combined from slices. Aggregates whose
partial has no fixed size are computed from sorted runs, or from kept events, for the windows that the slices give.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.fused import EARLIEST
from muntin.kernels.values import starts_of
from muntin.layout import BoundQuery
from muntin.slicing.batch import Batch, Column
from muntin.slicing.finish import finished_all
from muntin.slicing.groups import NO_GRID, FixedGroup, Listed
from muntin.slicing.kept_values import KeptValues
from muntin.slicing.late import LateRows
from muntin.slicing.revisions import Report, named
from muntin.slicing.session_query import SessionQuery
from muntin.slicing.sessions import Groups
from muntin.slicing.sliced_state import SlicedState
from muntin.slicing.slices import FIRST, N, Partials
from muntin.units import MIN_TIME

__all__ = ["Sliced"]

Int64s = npt.NDArray[np.int64]

_ALL: Int64s = np.empty(0, np.int64)  # stands for every window


class Sliced(SlicedState):
    """All sliced queries of a spec over one set of slices."""

    # -- taking rows in ----------------------------------------------------------------------------------------------

    def take_straight(
        self, time: Int64s, columns: dict[str, Column], end: int, late: LateRows
    ) -> tuple[int, int | None]:
        """Rows of one key into their cells, their times not looked at yet; gives how many, and the largest time.

        It goes as far as no row is out of range (later than `end`, or before the first year), or too old for any
        window; the others are left.
        """
        slices, done, rows = self.slices, 0, len(time)
        newest_here: int | None = None
        marks = self._marks()
        suspect = max(marks) if marks else EARLIEST
        while done < rows:
            if not slices.meet:
                break
            top = min(int(slices.ends[-1]), end + 1) if len(slices) else None
            if top is None or not slices.starts[0] <= time[done] < top:
                rest = time[done:]
                low, high = int(rest.min()), int(rest.max())
                if low < MIN_TIME or high > end or (self._needed is not None and low < self._needed):
                    break
                slices.cover(rest, low, high)
                continue
            newest = 0 if self.newest is None else int(slices.starts.searchsorted(self.newest, "right")) - 1
            taken = self.fused.update_one(
                slices.columns, slices.starts, top, time, None, columns,
                head=slices.first_row, cur=max(newest, 0), suspect=suspect, i0=done,
            )  # fmt: skip
            if len(taken.late):
                self._miss(taken.late, time[taken.late], late)
            if taken.stop > done:
                low = int(slices.starts[taken.lowest])
                self._touched = low if self._touched is None else min(self._touched, low)
                newest_here = taken.newest if newest_here is None else max(newest_here, taken.newest)
                self.newest = newest_here if self.newest is None else max(self.newest, newest_here)
                self.store.touch(time[done : taken.stop], low, taken.newest, 1)
            done = taken.stop
        return done, newest_here

    def take(self, batch: Batch, late: LateRows, keys: int, kept: KeptValues) -> None:
        """Judge the rows of a batch, then put each that some window still needs into its cell."""
        assert batch.newest is not None
        low, high = int(batch.time.min()), batch.newest
        self._keys = keys
        self.texts.meet()
        self.slices.grow(keys)
        self._touched = low if self._touched is None else min(self._touched, low)
        marks = self._marks()
        if marks and low < max(marks):
            old = np.flatnonzero(batch.time < max(marks))
            self._miss(batch.row_numbers()[old], batch.time[old], late)
        for group in self.groups:
            if group.kept:
                needed = None if self.mark is None else group.needed_from(self.mark)
                kept.take(group.members[0][0], None if needed is None or low >= needed else batch.time >= needed)
        for query in self.sessions:
            query.heads.grow(keys)
            if query.kept:
                kept.take(query.index, None if query.mark is None or low >= query.mark else batch.time >= query.mark)
        needed = self._needed
        index: Int64s | None = None
        times = batch.time
        if needed is not None and low < needed:
            index = np.flatnonzero(times >= needed)
            times = times[index]
            if not len(times):
                return
            low = int(times.min())
        self.slices.cover(times, low, high)
        if self.bare:
            assert self.slices.spans is not None
            self.slices.spans.take(self.slices.starts, times)
        else:
            self._update(batch, times, index)
            self.store.touch(times, low, high, keys)
        self.newest = high if self.newest is None else max(self.newest, high)
        for runs in self.runs.values():
            runs.prepare(self.slices.start_of(self.newest - self._disorder))

    def _marks(self) -> list[int]:
        """Up to where windows are closed, for all that have come so far."""
        found = [query.mark for query in self.sessions if query.mark is not None]
        return found if self.mark is None else [self.mark, *found]

    def _needed_from(self) -> int | None:
        """Events before this are in no open window; None: all are needed."""
        marks = [query.heads.folded for query in self.sessions]
        if None in marks or (self.groups and self.mark is None):
            return None
        found = [mark for mark in marks if mark is not None]
        if self.mark is not None:
            found += [group.needed_from(self.mark) for group in self.groups]
        return min(found)

    def _miss(self, rows: Int64s, times: Int64s, late: LateRows) -> None:
        """Rows of these numbers and times may miss closed windows."""
        if self.mark is not None:
            for group in self.groups:
                for index, missed, starts, ends in group.missed(times, self.mark):
                    late.missed(rows[missed], index, (starts[missed], ends[missed]))
        for query in self.sessions:
            if query.mark is not None:
                old = times < query.mark
                if query.since is not None:  # sessions that start before are none of its
                    old &= times >= query.since
                late.missed(rows[old], query.index, (times[old], times[old] + query.window.gap.amount))

    def _update(self, batch: Batch, times: Int64s, index: Int64s | None) -> None:
        slices, key = self.slices, batch.key
        if key is not None and index is not None:
            key = key[index]
        values = batch.values if index is None else {name: c.take(index) for name, c in batch.values.items()}
        columns = self.sketched.added(values, self.texts.ranked(values))
        order = batch.order if batch.order is None or index is None else batch.order[index]
        if key is None:
            top = int(slices.ends[-1])
            newest = 0 if self.newest is None else int(slices.starts.searchsorted(self.newest, "right")) - 1
            taken = self.fused.update_one(
                slices.columns, slices.starts, top, times, order, columns, head=slices.first_row, cur=max(newest, 0)
            )
            assert taken.stop == len(times)
        elif slices.sparse is not None:
            slices.sparse.update(slices.starts, times, key, order, columns)
        elif slices.meet:
            top, stride, head = int(slices.ends[-1]), slices.stride, slices.first_row
            self.fused.update_keyed(slices.columns, slices.starts, top, times, order, columns, key, stride, head)
        else:
            self.fused.update_cells(slices.columns, slices.cells_of(times, key), times, order, columns)
        if slices.spans is not None:
            slices.spans.take(slices.starts, times)
        if self.has_runs:
            starts = np.empty(len(times), np.int64)
            starts_of(slices.starts, times, starts)
            for name, store in self.runs.items():
                store.add(starts, key, columns[name].values, columns[name].valid)
            for query in self.sessions:
                query.add(starts, key, times, columns)

    # -- reporting ---------------------------------------------------------------------------------------------------

    def report(self, watermark: int | None, flush: bool, kept: KeptValues) -> list[Report]:
        """The windows that are due and new or changed; then close what is to be closed."""
        reports = []
        if (watermark is not None or flush) and len(self.slices):
            reports = [self._fixed(group, watermark, flush, kept) for group in self.groups]
        if watermark is not None or flush:
            reports += [self._sessions(query, watermark, flush, kept) for query in self.sessions]
        if watermark is not None:
            self.close(watermark, kept)
        return [report for report in reports if report is not None]

    def _fixed(self, group: FixedGroup, watermark: int | None, flush: bool, kept: KeptValues) -> Report | None:
        slices = self.slices
        low = int(slices.starts[0]) if self.mark is None else max(self.mark, int(slices.starts[0]))
        if self._revises and self._reached is not None:
            # Of the windows reported before only those that got an event can have changed.
            unchanged = self._reached if self._touched is None else min(self._reached, self._touched)
            low = max(low, unchanged)
        if not flush and (watermark is None or watermark <= low):
            return None
        grid = self.fused.grid(slices.starts, int(slices.ends[-1])) if slices.meet else NO_GRID
        listed = group.due(low, None if flush else watermark, slices.starts, grid)
        if group.since:
            listed = group.begun(listed)
        if not len(listed.query):
            return None
        if self.bare:
            return self._from_events(group, listed, kept)
        if slices.closed:
            slices.need(int(listed.a.min()))
        which, key, partials = self._merged(listed.a + slices.first_row, listed.b + slices.first_row)
        if which is not _ALL:
            listed = listed.take(which)
        values = self._values(group.bound, group.fixed, partials)
        values |= self._from_runs(group, key, listed)
        if group.kept:
            values |= kept.between(group.members[0][0], group.bound, group.kept, key, listed.start, listed.end)
        identity = (listed.start, listed.end)
        report = Report(listed.query, key, identity, listed.start, listed.end, None, values)
        if not self._revises:
            return report
        report.events = self._events(group.fixed, partials)
        if group.kept:
            where = (key, listed.start, listed.end)
            report.events |= kept.events_between(group.members[0][0], group.bound, group.kept, *where)
        return group.reported.report(report, None)

    def _from_events(self, group: FixedGroup, listed: Listed, kept: KeptValues) -> Report | None:
        """The windows of a group that keeps the events of all that it computes: the events say which there are."""
        index, bound = group.members[0]
        found = kept.existing(index, bound, group.kept, listed.start, listed.end, self._revises)
        listed = listed.take(found.which)
        identity = (listed.start, listed.end)
        report = Report(listed.query, found.key, identity, listed.start, listed.end, None, found.values)
        if not self._revises:
            return report
        report.events = found.events
        return group.reported.report(report, None)

    def _merged(self, a: Int64s, b: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slice rows a to b: which window and key, and the combined partials; empty ones left out."""
        slices = self.slices
        if slices.sparse is not None:
            return slices.sparse.merged(a, b, self._keys)
        partials = self.store.merged(a, b, self._keys)
        if self._keys == 1 and partials[N].all():
            return _ALL, np.zeros(len(a), np.int64), partials
        some = np.flatnonzero(partials[N])
        return some // self._keys, some % self._keys, [column[some] for column in partials]

    def _values(self, bound: BoundQuery, fixed: dict[str, int], partials: Partials) -> dict[str, pa.Array]:
        return finished_all(self.fused, fixed, bound.aggregates, self._compiled, self.texts, partials)

    def _events(self, fixed: dict[str, int], partials: Partials) -> dict[str, Int64s]:
        """What stands for the events behind each value: how many they are, since a window only ever gets more."""
        return {name: partials[self.fused.counts[place]] for name, place in fixed.items()}

    def _from_runs(self, group: FixedGroup, key: Int64s, listed: Listed) -> dict[str, pa.Array]:
        values = {}
        for name in group.runs:
            bound = group.bound.aggregates[name]
            store = self.runs[bound.aggregate.columns[0]]
            if len(key):
                store.settle(int(listed.end.max()))
            values[name] = self.texts.shown(bound, store.answer(bound, key, listed.start, listed.end))
        return values

    def _sessions(self, query: SessionQuery, watermark: int | None, flush: bool, kept: KeptValues) -> Report | None:
        heads, gap = query.heads, query.window.gap.amount
        groups = heads.groups(self.slices)
        if query.since is not None:
            groups = groups.take(np.flatnonzero(groups.first >= query.since))
        if not len(groups.key) and (query.since is None or not self._revises):
            return None  # else one that was reported may have grown to before the start of the query
        due = groups
        if not flush:
            assert watermark is not None
            due = self._due_sessions(groups, query, query.rounded(watermark))
        if not len(due.key) and not self._revises:
            return None
        partials = heads.partials(due, self.slices)
        values = self._values(query.bound, query.fixed, partials)
        values |= {name: self.texts.shown(*found) for name, found in query.answers(due).items()}
        if query.kept:
            values |= kept.between(query.index, query.bound, query.kept, due.key, due.first, due.last + 1)
        which = np.full(len(due.key), query.index)
        report = Report(which, due.key, (due.first,), due.first, due.last + gap, None, values)
        if not self._revises:
            return report
        report.events = self._events(query.fixed, partials)
        if query.kept:
            where = (due.key, due.first, due.last + 1)
            report.events |= kept.events_between(query.index, query.bound, query.kept, *where)
        return query.reported.report(report, named(np.full(len(groups.key), query.index), groups.key, (groups.first,)))

    def _due_sessions(self, groups: Groups, query: SessionQuery, watermark: int) -> Groups:
        """Sessions whose end the watermark has passed; of those reported before only the ones that may have changed."""
        end = groups.last + query.window.gap.amount
        due = end < watermark
        if self._revises and self._reached is not None:
            new = end >= query.rounded(self._reached)
            due &= new if self._touched is None else new | (end >= self._touched)
        return groups.take(np.flatnonzero(due))

    # -- closing -----------------------------------------------------------------------------------------------------

    def close(self, watermark: int, kept: KeptValues) -> None:
        """Move the marks; slices and events that no open window needs go."""
        self._reached, self._touched = watermark, None
        self.mark = mark = watermark - self._lateness
        for group in self.groups:
            if group.reported.last is not None:
                group.reported.forget(group.reported.last.end <= mark)
            if group.kept:
                kept.drop_before(group.members[0][0], group.needed_from(mark))
        for query in self.sessions:
            query.mark = query.rounded(mark)
            query.heads.fold(self.slices, query.mark)
            if query.reported.last is not None and len(query.reported.last):
                open_ = query.heads.groups(self.slices)
                which = np.full(len(open_.key), query.index)
                query.reported.forget(query.reported.last.end < query.mark, named(which, open_.key, (open_.first,)))
            if query.kept or query.runs:
                heads = query.heads.columns
                needed = np.where(heads[N] > 0, heads[FIRST], query.mark)
                if query.kept:
                    kept.drop_before(query.index, needed)
                for store in query.stores().values():
                    store.drop_before(needed // query.window.cell * query.window.cell)
        self.drop()

    def drop(self) -> None:
        """Slices, and runs of values, that no open window needs go."""
        self._needed = self._needed_from()
        if self._needed is not None:
            self.slices.drop_before(self._needed)
        if self.runs and self.mark is not None:
            self._runs_from = first = min(group.needed_from(self.mark) for group in self.groups if group.runs)
            for store in self.runs.values():
                store.drop_before(first)
