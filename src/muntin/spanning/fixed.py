"""Tumbling, sliding and cumulative windows over events with a duration: judging, taking in, releasing, closing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.compile import compiled
from muntin.fused import fused
from muntin.layout import BoundQuery, Layout
from muntin.slicing.batch import Batch
from muntin.slicing.compaction import HoldsKeys
from muntin.slicing.finish import finished_all
from muntin.slicing.governor import Cold
from muntin.slicing.groups import FixedGroup, groups_of
from muntin.slicing.late import LateRows
from muntin.slicing.revisions import Report
from muntin.slicing.shapes import shapes
from muntin.slicing.slicer import Slicer
from muntin.slicing.slices import Partials
from muntin.slicing.store_events import EventStore
from muntin.slicing.texts import Texts
from muntin.slicing.values import Interner
from muntin.slicing.windower import last_end, missed_windows
from muntin.spanning.edges import Edges
from muntin.spanning.kept import found_in, kept_values, valid_counts
from muntin.spanning.ring import fits
from muntin.spanning.techniques import Technique, technique
from muntin.spans import Spans
from muntin.windows import ContextFreeWindow

__all__ = ["FixedSpans"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_PLAIN = ("mark", "_touched", "_reached")


class FixedSpans:
    """All queries of a spec whose windows are known in advance, over one set of slices."""

    def __init__(
        self, layout: Layout, queries: list[int], interners: Mapping[str, Interner], updates: bool, named: str
    ) -> None:
        spec = layout.spec
        self._lateness = spec.lateness
        self._revises = updates or spec.lateness > 0
        self.texts = Texts((b for i in queries for b in layout.queries[i].aggregates.values()), interners)
        found, self.bounds = shapes(((i, layout.queries[i]) for i in queries), False)
        for shape in found:  # runs are kept events here: slices that share events would hold them more than once
            shape.kept += shape.runs
            shape.runs = []
            if spec.order is not None:  # a cell tells events of equal times apart by their arrival, or by one number
                timed = [name for name in shape.fixed if shape.aggregates[name].aggregate.timed]
                shape.kept += timed
                shape.fixed = {name: place for name, place in shape.fixed.items() if name not in timed}
        self._compiled = [functions for bound in self.bounds if (functions := compiled(bound)) is not None]
        self.fused = fused(self.bounds, spans=False)
        self.groups: list[FixedGroup] = [group for shape in found for group in groups_of(shape)]
        self.kept: list[str] = [name for group in self.groups for name in group.kept]
        windows = [bound.window for group in self.groups for _, bound in group.members]
        spans = Spans("", "") if spec.spans is None else spec.spans  # a point is a span of no length
        plain = fits(self.fused) and not self.texts.columns  # on a circular array no ranks are looked up
        if named == "slicing" and (plain or spans.technique == "sweeping"):
            named = "auto"
        edges = Edges(Slicer(windows))
        self.cells: Technique = technique(named, self.fused, edges, spans, windows, spec.compression)
        pairs = zip(self.bounds, self.fused.places, strict=True)
        self.texts.watch(pairs, lambda at: self.cells.held(at))
        self._ordered = any(bound.aggregate.timed for bound in self.bounds)
        self._originals = {group.members[0][0]: layout.queries[group.members[0][0]] for group in self.groups}
        self.mark: int | None = None
        """Up to where windows are closed."""
        self._touched: int | None = None
        self._reached: int | None = None

    @property
    def cold(self) -> list[Cold]:
        """What compresses; techniques to compare with have nothing that does."""
        found: list[Cold] = getattr(self.cells, "cold", [])
        return found

    # -- taking rows in ------------------------------------------------------------------------------------------------

    def take(self, batch: Batch, late: LateRows) -> None:
        """Say which rows miss windows that are closed, then put each into the slices that are still needed."""
        assert batch.start is not None
        start, end = batch.start, batch.time
        self.texts.meet()
        low = int(start.min())
        self._touched = low if self._touched is None else min(self._touched, low)
        needed: int | None = None
        if self.mark is not None:
            needed = self.needed(self.mark)
            if low < self.mark:
                self._miss(batch, late, np.flatnonzero(start < self.mark))
        high = max(int(end.max()), int(start.max()))
        if needed is not None and high < needed:
            return
        order = batch.arrivals() if self._ordered and batch.order is None else batch.order
        columns = self.texts.ranked(batch.values)
        self.cells.take(batch, order, low if needed is None else max(low, needed), high, columns)

    def _miss(self, batch: Batch, late: LateRows, old: Int64s) -> None:
        assert batch.start is not None
        assert self.mark is not None
        start, rows = batch.start[old], batch.row_numbers()[old]
        until = np.maximum(batch.time[old] - 1, start)
        for group in self.groups:
            for index, bound in group.members:
                window = bound.window
                assert isinstance(window, ContextFreeWindow)
                missed, first, last = missed_windows(window, start, self.mark, None, until)
                late.missed(rows[missed], index, (first[missed], last[missed]))

    def needed(self, mark: int) -> int:
        """The start of the first window that is open."""
        return min(group.needed_from(mark) for group in self.groups)

    # -- reporting -----------------------------------------------------------------------------------------------------

    def report(self, released: int | None, flush: bool, kept: EventStore, longest: int) -> list[Report]:
        """The windows that are due and new or changed; then close what is to be closed."""
        reports: list[Report] = []
        extent = self.cells.extent()
        if extent is not None and (released is not None or flush):
            found = [self._fixed(group, released, flush, kept, longest, extent) for group in self.groups]
            reports = [report for report in found if report is not None]
        if released is not None:
            self.close(released)
        return reports

    def _fixed(
        self,
        group: FixedGroup,
        released: int | None,
        flush: bool,
        kept: EventStore,
        longest: int,
        extent: tuple[int, int],
    ) -> Report | None:
        starts = self.cells.edges.edges[extent[0] : extent[1] + 1]
        low = int(starts[0]) if self.mark is None else max(self.mark, int(starts[0]))
        if self._revises and self._reached is not None:
            low = max(low, self._reached if self._touched is None else min(self._reached, self._touched))
        if not flush and (released is None or released <= low):
            return None
        last = int(starts[-1])
        if flush:
            high: int | None = None
        else:
            assert released is not None
            tops = [last_end(b.window, last) for _, b in group.members if isinstance(b.window, ContextFreeWindow)]
            high = min(released, max(tops))
        grid = self.fused.grid(starts, int(self.cells.edges.edges[extent[1] + 1]))
        listed = group.due(low, high, starts, grid)
        if not len(listed.query):
            return None
        which, key, partials = self.cells.merged(listed.a + extent[0], listed.b + extent[0], listed.start, listed.end)
        listed = listed.take(which)
        values = self._values(group.bound, group.fixed, partials)
        events: dict[str, Int64s] = {}
        if group.kept:
            more, events = self._from_events(group, kept, (key, listed.start, listed.end), longest)
            values |= more
        report = Report(listed.query, key, (listed.start, listed.end), listed.start, listed.end, None, values)
        if not self._revises:
            return report
        report.events = {name: partials[self.fused.counts[place]] for name, place in group.fixed.items()} | events
        return group.reported.report(report, None)

    def _from_events(
        self, group: FixedGroup, kept: EventStore, windows: tuple[Int64s, Int64s, Int64s], longest: int
    ) -> tuple[dict[str, pa.Array], dict[str, Int64s]]:
        """What comes from kept events, for windows by key, start and end; those of other keys stay compressed."""
        original, names = self._originals[group.members[0][0]], group.kept
        places, values, events = [], [], []
        for view, some in kept.views(0, windows[0]):
            key, start, end = windows if some is None else (side[some] for side in windows)
            found = found_in(view, key, start, end, longest)
            values.append(kept_values(original, names, found, key, start, end))
            events.append(valid_counts(original, names, found) if self._revises else {})
            if some is None:
                return values[0], events[0]
            places.append(some)
        back = np.argsort(np.concatenate(places))
        joined = {name: pa.concat_arrays([part[name] for part in values]).take(pa.array(back)) for name in names}
        counts = {name: np.concatenate([part[name] for part in events])[back] for name in names if self._revises}
        return joined, counts

    def _values(self, bound: BoundQuery, fixed: dict[str, int], partials: Partials) -> dict[str, pa.Array]:
        return finished_all(self.fused, fixed, bound.aggregates, self._compiled, self.texts, partials)

    def close(self, released: int) -> None:
        """Windows that were released longer than the lateness ago are closed; slices that none needs are dropped."""
        mark = released - self._lateness
        self._touched, self._reached = None, released
        if self.mark is not None and mark <= self.mark:
            return
        self.mark = mark
        for group in self.groups:
            last = group.reported.last
            if last is not None and len(last):
                group.reported.forget(last.end <= mark)
        self.cells.drop(self.needed(mark))

    # -- keys and snapshots --------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The bytes of state."""
        return self.cells.nbytes + sum(group.reported.nbytes for group in self.groups)

    @property
    def turned(self) -> tuple[int, int]:
        """How many cells were let go so far, and how many are held."""
        return self.cells.turned

    def _stores(self) -> list[HoldsKeys]:
        return [self.cells, *(group.reported for group in self.groups)]

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with state."""
        for store in self._stores():
            store.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        for store in self._stores():
            store.renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        groups = [group.reported.dump() for group in self.groups]
        return {"cells": self.cells.dump(), "groups": groups, **{name: getattr(self, name) for name in _PLAIN}}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.cells.load(tree["cells"])
        for group, part in zip(self.groups, tree["groups"], strict=True):
            group.reported.load(part)
        for name in _PLAIN:
            setattr(self, name, tree[name])
        self.texts.meet()
