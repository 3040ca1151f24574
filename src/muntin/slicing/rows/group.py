"""All rows queries of a spec as one: one judgement, one set of slices, one listing of windows, one let-go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.compile import compiled
from muntin.layout import BoundQuery, Layout
from muntin.slicing.batch import Batch, Column
from muntin.slicing.cold_keys import ColdKeys
from muntin.slicing.finish import finished, named_errors
from muntin.slicing.kept_values import values_of
from muntin.slicing.lanes import Lanes
from muntin.slicing.late import LateRows
from muntin.slicing.revisions import Report, Reported
from muntin.slicing.rows.arrivals import Arrivals, arrivals
from muntin.slicing.rows.cells import FIRST, LAST, Cells, RowsFused
from muntin.slicing.rows.events import Events
from muntin.slicing.rows.lane import Judged, Lane, Windows

__all__ = ["RowsGroup"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass
class Alike:
    """Queries with the same aggregates under the same names: their values are found in one go."""

    members: list[tuple[int, BoundQuery]]
    fixed: list[str]
    """Aggregates in the slices."""
    kept: list[str]
    """Aggregates that are computed from kept events."""
    reported: Reported = field(default_factory=Reported)

    @property
    def bound(self) -> BoundQuery:
        """One of the queries."""
        return self.members[0][1]


class RowsGroup(Lanes[Lane]):
    """The rows queries of a spec."""

    def __init__(self, layout: Layout, queries: list[int], updates: bool = False, final: str = "auto") -> None:
        spec = layout.spec
        self._lateness, self._idle, self._ordered = spec.lateness, spec.idle, spec.order is not None
        # With updates windows are reported before the watermark has passed them, and may change.
        self._revises = updates or spec.lateness > 0
        self._final, self._rule = final, spec.compression
        members = [(index, layout.queries[index]) for index in queries]
        self._members = dict(members)
        self._alike = _grouped(members)
        self._keeps = {index for alike in self._alike if alike.kept for index, _ in alike.members}
        self._fused: dict[object, RowsFused] = {}
        self.lanes = [self._lane(queries)]

    def _lane(self, queries: list[int], since: int | None = None) -> Lane:
        """Some queries in a lane of their own, with cells of just their aggregates."""
        members = [(index, self._members[index]) for index in queries]
        bounds = [bound for _, query in members for bound in query.aggregates.values()]
        # One update for equal aggregates, however many queries ask for them.
        in_cells = {bound.aggregate: bound for bound in bounds if compiled(bound) is not None}
        fused = self._fused.get(tuple(in_cells))
        if fused is None:
            fused = self._fused[tuple(in_cells)] = RowsFused(list(in_cells.values()))
        events = Events(list(dict.fromkeys(name for b in bounds for name in b.aggregate.columns)), self._ordered)
        return Lane(
            members,
            self._keeps,
            Cells(fused, self._final, self._revises),
            events,
            self._idle,
            self._revises,
            since,
            self._rule,
        )

    @property
    def keeping(self) -> list[int]:
        """The queries that keep events: all, since an event may come that shifts those that came before it."""
        return list(self._members)

    @property
    def cold(self) -> list[ColdKeys]:
        """What compresses."""
        return [lane.cold for lane in self.lanes if lane.cold is not None]

    @property
    def turned(self) -> tuple[int, int]:
        """How many events were let go so far, and how many are kept."""
        return sum(lane.dropped for lane in self.lanes), sum(lane.held for lane in self.lanes)

    @property
    def texts(self) -> RowsGroup:
        """What holds texts."""
        return self

    def _said(self) -> list[tuple[list[int], Reported]]:
        return [([index for index, _ in alike.members], alike.reported) for alike in self._alike]

    def _made(self, since: dict[int, int | None]) -> list[Lane]:
        starts: dict[int | None, list[int]] = {}
        for index, start in since.items():
            starts.setdefault(start, []).append(index)
        return [self._lane(queries, start) for start, queries in starts.items()]

    def _loaded(self, queries: list[int], tree: dict[str, Any], kinds: dict[str, Column]) -> Lane:
        lane = self._lane(queries, tree["since"])
        lane.load(tree, kinds)
        return lane

    def _start(self, query: int, seen: int) -> int:
        return seen + 1

    def live_codes(self, column: str, live: npt.NDArray[np.bool_]) -> None:
        """Mark the texts of a column that events have."""
        for lane in self.lanes:
            lane.open_all()
            lane.events.live_codes(column, live)
            lane.waiting.live_codes(column, live)

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of a column."""
        for lane in self.lanes:
            lane.open_all()
            lane.events.renumber_codes(column, moved)
            lane.waiting.renumber_codes(column, moved)

    # -- taking rows in ----------------------------------------------------------------------------------------------

    def take(self, batch: Batch, late: LateRows, keys: int, watermark: int | None) -> None:
        """Judge the rows of a batch, as of the last watermark, and take those not late; each lane takes its own."""
        bound = None if watermark is None else watermark - self._lateness
        low = int(batch.time.min())
        rows = arrivals(batch, low)
        for lane in list(self.lanes):
            lane.grow(keys)
            if lane.cold is not None:
                assert batch.newest is not None
                lane.cold.touch(batch.key, batch.newest, keys)
            seen = None if lane.since is None or low >= lane.since else batch.time >= lane.since
            judged = lane.judge(batch, low, seen, bound)
            if judged is None:
                lane.insert(rows if seen is None else rows.only(seen), bound)
            else:
                self._say_late(lane, judged, batch, late)
                self._divide(lane, judged, seen, rows, bound)

    def _say_late(self, lane: Lane, judged: Judged, batch: Batch, late: LateRows) -> None:
        numbers, time = batch.row_numbers()[judged.rows], batch.time[judged.rows]
        for (index, _), missed, marks in zip(lane.members, judged.late, judged.marks, strict=True):
            some = np.flatnonzero(missed)
            late.missed(numbers[some], index, (time[some], marks[some] + 1))

    def _divide(self, lane: Lane, judged: Judged, seen: Bools | None, rows: Arrivals, bound: int | None) -> None:
        """Queries for which the same rows are late stay together."""
        alike: dict[bytes, list[int]] = {}
        for place, missed in enumerate(np.packbits(judged.late, axis=1)):  # np.unique takes 8 ms for a row of thousands
            alike.setdefault(missed.tobytes(), []).append(place)
        parts = [lane]
        if len(alike) > 1:
            indexes = [index for index, _ in lane.members]
            parts = [self._lane([indexes[place] for place in places], lane.since) for places in alike.values()]
            state = lane.dump()
            for part in parts:
                part.load(state, lane.events.kinds)
            at = self.lanes.index(lane)
            self.lanes[at : at + 1] = parts
        for part, places in zip(parts, alike.values(), strict=True):
            taken = np.ones(len(rows.batch), np.bool_) if seen is None else seen.copy()
            taken[judged.rows[judged.late[places[0]]]] = False
            part.insert(rows.only(taken), bound)

    # -- reporting ---------------------------------------------------------------------------------------------------

    def report(self, watermark: int | None, flush: bool) -> list[Report]:
        """The windows that are due and new or changed; then close what is to be closed."""
        if watermark is None and not flush:
            for lane in self.lanes:
                lane.rest()
            return []
        settled = [lane.settle(None if flush else watermark) for lane in self.lanes]
        reports = [self._report(alike, settled) for alike in self._alike]
        for lane, keys in zip(self.lanes, settled, strict=True):
            lane.reported(keys)
            lane.rest()
            if watermark is not None:
                lane.close(keys, watermark - self._lateness)
        if self._revises and watermark is not None:
            for alike in self._alike:
                last = alike.reported.last
                if last is not None and len(last):
                    alike.reported.forget(last.end <= watermark - self._lateness)
        return [report for report in reports if report is not None]

    def _report(self, alike: Alike, settled: list[Int64s]) -> Report | None:
        # Where runs can grow together, windows can cease to exist: then all that are open are looked at.
        everything = self._idle is not None and self._revises
        found = []
        for lane, keys in zip(self.lanes, settled, strict=True):
            here = [index for index, _ in alike.members if index in lane.queries]
            if here:
                wins = lane.windows(here, lane.keys_with_cells() if everything else keys, everything)
                if len(wins.key):
                    found.append(self._valued(alike, lane, wins))
        if not found and not everything:
            return None
        due = _joined(found, alike)
        if not self._revises:
            return due
        return alike.reported.report(due, due.names() if everything else None)

    def _valued(self, alike: Alike, lane: Lane, wins: Windows) -> Report:
        partials = lane.cells.merged(wins.a, wins.b, wins.order)
        bound = alike.bound
        values: dict[str, pa.Array] = {}
        fused = lane.cells.fused
        for name in alike.fixed:
            aggregate = bound.aggregates[name]
            place = fused.place[aggregate.aggregate]
            with named_errors(name, aggregate):
                values[name] = finished(fused, place, aggregate, fused.functions[place], partials)
        if alike.kept:
            values |= values_of(bound, alike.kept, lane.events, *lane.places(wins), None)
        identity = (wins.start, wins.end) if self._idle is None else (wins.run, wins.start, wins.end)
        rows = (wins.start, wins.end)
        return Report(wins.query, wins.key, identity, partials[FIRST], partials[LAST] + 1, rows, values)


def _grouped(members: list[tuple[int, BoundQuery]]) -> list[Alike]:
    found: dict[object, list[tuple[int, BoundQuery]]] = {}
    for index, query in members:
        asked = tuple((name, bound.aggregate) for name, bound in query.aggregates.items())
        found.setdefault(asked, []).append((index, query))
    groups = []
    for alike in found.values():
        aggregates = alike[0][1].aggregates
        fixed = [name for name, bound in aggregates.items() if compiled(bound) is not None]
        groups.append(Alike(alike, fixed, [name for name in aggregates if name not in fixed]))
    return groups


def _joined(parts: list[Report], alike: Alike) -> Report:
    """The windows of all lanes."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.empty(0, np.int64)
        values = {name: pa.nulls(0, bound.output) for name, bound in alike.bound.aggregates.items()}
        return Report(none, none, (none, none, none), none, none, (none, none), values)
    rows = [part.rows for part in parts if part.rows is not None]
    return Report(
        np.concatenate([part.query for part in parts]),
        np.concatenate([part.key for part in parts]),
        tuple(np.concatenate(column) for column in zip(*(part.identity for part in parts), strict=True)),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        (np.concatenate([start for start, _ in rows]), np.concatenate([end for _, end in rows])),
        {name: pa.concat_arrays([part.values[name] for part in parts]) for name in parts[0].values},
    )
