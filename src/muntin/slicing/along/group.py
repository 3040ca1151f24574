"""All queries on another column whose aggregates need no events: judged, reported and closed over slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.layout import BoundQuery, Layout
from muntin.slicing.along.cells import FIRST, LAST, N
from muntin.slicing.along.lane import Lane, Windows
from muntin.slicing.batch import Batch, Column
from muntin.slicing.cold_keys import ColdKeys
from muntin.slicing.finish import finished, named_errors
from muntin.slicing.lanes import Lanes
from muntin.slicing.late import LateRows
from muntin.slicing.revisions import Report, Reported
from muntin.slicing.rows.arrivals import arrivals
from muntin.starting import start_after

__all__ = ["AlongGroup"]

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


class AlongGroup(Lanes[Lane]):
    """The queries of a spec over slices along a column."""

    def __init__(self, layout: Layout, queries: list[int], updates: bool = False) -> None:
        self._lateness, self._updates = layout.spec.lateness, updates
        self._rule = layout.spec.compression
        # With updates windows are reported before their end is reached, and may change.
        self._revises = updates or layout.spec.lateness > 0
        self._members: dict[int, BoundQuery] = {index: layout.queries[index] for index in queries}
        self._reported = {index: Reported() for index in queries}
        self.lanes = self._made(dict.fromkeys(queries))

    def _made(self, since: dict[int, int | None]) -> list[Lane]:
        """A lane for each column, and time from which queries count."""
        found: dict[tuple[str, int | None], list[tuple[int, BoundQuery]]] = {}
        for index, start in since.items():
            on: str = self._members[index].window.on  # type: ignore[attr-defined]
            found.setdefault((on, start), []).append((index, self._members[index]))
        return [Lane(members, on, self._lateness, start, self._rule) for (on, start), members in found.items()]

    @property
    def cold(self) -> list[ColdKeys]:
        """What compresses."""
        return [lane.cold for lane in self.lanes if lane.cold is not None]

    @property
    def turned(self) -> tuple[int, int]:
        """How many slices were let go so far, and how many there are."""
        return sum(lane.cells.dropped for lane in self.lanes), sum(lane.cells.held for lane in self.lanes)

    def _said(self) -> list[tuple[list[int], Reported]]:
        return [([index], reported) for index, reported in self._reported.items()]

    def _loaded(self, queries: list[int], tree: dict[str, Any], kinds: dict[str, Column]) -> Lane:
        members = [(i, self._members[i]) for i in queries]
        lane = Lane(members, tree["on"], self._lateness, tree["since"], self._rule)
        lane.load(tree)
        return lane

    def _start(self, query: int, seen: int) -> int:
        return start_after(self._members[query].window, seen)

    # -- a step ------------------------------------------------------------------------------------------------------

    def take(self, batch: Batch, late: LateRows, keys: int) -> None:
        """Judge the rows of a batch, and aggregate each once for all queries on its column."""
        rows = arrivals(batch, int(batch.time.min()))
        for lane in self.lanes:
            lane.grow(keys)
            lane.take(batch, rows, late)

    def report(self, watermark: int | None, flush: bool) -> list[Report]:
        """The windows that are due and new or changed; then close what is to be closed."""
        found: list[Report] = []
        for lane in self.lanes:
            lane.move(watermark)
            # With updates all that has changed was said in each step.
            keys = lane.keys_with_cells() if flush and not self._updates else lane.touched()
            if len(keys) and (watermark is not None or flush):
                found += [self._report(lane, index, query, keys, flush) for index, query in lane.members]
            if watermark is not None:
                lane.close(watermark - self._lateness)
                self._forget(lane)
            lane.rest()
        return [report for report in found if len(report)]

    def _forget(self, lane: Lane) -> None:
        """What was said of closed windows is not compared again."""
        for index, _ in lane.members:
            last = self._reported[index].last
            if last is not None and len(last):
                self._reported[index].forget(last.identity[1] <= lane.reach.mark[last.key])

    def _report(self, lane: Lane, index: int, query: BoundQuery, keys: Int64s, everything: bool) -> Report:
        wins = lane.due(index, keys, everything)
        partials = lane.cells.merged(wins.a, wins.b) if len(wins.key) else lane.cells.fused.new(0)
        due = _report(index, query, wins, partials)
        if not self._revises:
            due.values = _values(lane, query, partials)
            return due
        # Windows only ever get events, so that one with as many as before is as it was.
        fresh = self._reported[index].fresh(due)
        due = due.take(fresh)
        due.values = _values(lane, query, [column[fresh] for column in partials])
        return self._reported[index].report(due, None) if len(due) else due


def _report(index: int, query: BoundQuery, wins: Windows, partials: list[Array]) -> Report:
    events = {name: partials[N].copy() for name in query.aggregates}
    place = wins.start, wins.end
    which = np.full(len(wins.key), index)
    return Report(which, wins.key, place, partials[FIRST], partials[LAST] + 1, place, {}, None, events)


def _values(lane: Lane, query: BoundQuery, partials: list[Array]) -> dict[str, pa.Array]:
    values: dict[str, pa.Array] = {}
    for name, bound in query.aggregates.items():
        place = lane.cells.place[bound.aggregate]
        with named_errors(name, bound):
            values[name] = finished(lane.cells.fused, place, bound, lane.cells.functions[place], partials)
    return values
