"""Queries that have taken the same events, and so count the same positions.

All rows queries of a spec begin in one lane. An event that is late for some of them and in time for others takes a
position in the latter only: from then on they count differently, and go on in lanes of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import Compression
from muntin.kernels.rows_shift import plan_shift
from muntin.kernels.rows_slices import close_keys, cut, end_runs, list_windows, marks_of, rewind, settled_by
from muntin.layout import BoundQuery
from muntin.slicing.batch import Batch, Column
from muntin.slicing.cold_keys import ColdKeys
from muntin.slicing.compaction import kept_ids
from muntin.slicing.rows.arrivals import Arrivals
from muntin.slicing.rows.blocks import grown
from muntin.slicing.rows.cells import LAST, Cells, edges_of
from muntin.slicing.rows.events import Events
from muntin.slicing.rows.waiting import Waiting
from muntin.windows import Cumulative

__all__ = ["Judged", "Lane", "Windows"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NONE = int(np.iinfo(np.int64).min)
NEVER = 2**62
_NO = np.empty(0, np.int64)

# What is kept per key, beside its events and slices, all as ordinals but for the mark:
_PER_KEY = {
    "gone": 0,  # how many of its events were let go
    "done": 0,  # how many are in slices
    "shut": 0,  # windows that end within so many events are closed
    "clean": 0,  # windows that end within so many events were reported as they are
    "top": NONE,  # the time of the last event of a closed window of any query
    "top_order": NONE,  # and its order
    # With `idle` only:
    "over": NONE,  # up to which time runs are over; NONE: of a silent key, all of them are, up to the watermark
    "ends": NEVER,  # the time of the last event of the first run that is not over
}


@dataclass
class Judged:
    """Rows that are late for some query: which of the batch, and for each query (a row) the times of the marks."""

    rows: Int64s
    late: npt.NDArray[np.bool_]
    marks: npt.NDArray[np.int64]


@dataclass
class Windows:
    """Windows as columns: query, key, positions, the first event of their run by ordinal and time, slices a to b.

    They stand by their ends, but for the slices: these are listed key by key and query by query, so that each window
    goes on from the one before, and `order` says which of them is each window's.
    """

    query: Int64s
    key: Int64s
    start: Int64s
    end: Int64s
    zero: Int64s
    run: Int64s
    a: Int64s
    b: Int64s
    order: Int64s


class Lane:
    """Events, slices and marks of some queries, for all keys."""

    def __init__(
        self,
        members: list[tuple[int, BoundQuery]],
        keeps: set[int],
        cells: Cells,
        events: Events,
        idle: int | None,
        revises: bool,
        since: int | None = None,
        rule: Compression | None = None,
    ) -> None:
        self.members = members
        self.cells, self.events = cells, events
        self.per_key: dict[str, Int64s] = {name: np.empty(0, np.int64) for name in _PER_KEY}
        self._lagging = _NO
        self.waiting = Waiting()
        self.shifted = self.redone = 0
        """How many slices gave events on to the next, and how many of them had to be made anew from their events."""
        self._idle, self._revises = idle, revises
        self.since = since
        """Where the queries were added later: they see no event before this."""
        self.cold: ColdKeys | None = None
        if rule is not None:
            # Windows of those that lag are closed soon.
            self.cold = ColdKeys(rule, lambda: (self.events.blocks, self.cells.blocks), lambda: self._lagging)
        self.dropped = self.held = 0
        """How many events were let go so far, and how many are kept."""
        windows: list[Any] = [bound.window for _, bound in members]
        self._cumulative = np.array([isinstance(window, Cumulative) for window in windows], np.int64)
        self._size = np.array([window.size.amount for window in windows], np.int64)
        self._every = np.array([window.every.amount for window in windows], np.int64)
        self._keeps = np.array([index in keeps for index, _ in members], np.int64)
        self._asked: dict[tuple[int, ...], list[Int64s]] = {}
        self._room = 64
        self._place = {index: i for i, (index, _) in enumerate(members)}
        self._steps, self._offsets = edges_of(windows)

    @property
    def queries(self) -> dict[int, int]:
        """The place here of each query, by its place in the spec."""
        return self._place

    @property
    def nbytes(self) -> int:
        """The bytes of state."""
        per_key = sum(array.nbytes for array in self.per_key.values())
        cold = 0 if self.cold is None else self.cold.extra
        return self.waiting.nbytes + self.events.blocks.nbytes + self.cells.blocks.nbytes + per_key + cold

    @property
    def fresh(self) -> bool:
        """Whether no event was taken yet."""
        return not self.waiting.chunks and not self.held and not self.per_key["done"].any()

    def grow(self, keys: int) -> None:
        """Make room for key ids below `keys`."""
        self.events.blocks.keys(keys)
        self.cells.blocks.keys(keys)
        for name, empty in _PER_KEY.items():
            self.per_key[name] = grown(self.per_key[name], keys, empty)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        self.open_all()
        return {
            "queries": [index for index, _ in self.members],
            "keys": self.per_key,
            "waiting": self.waiting.dump(),
            "lagging": self._lagging,
            "events": self.events.dump(),
            "cells": self.cells.dump(),
            "since": self.since,
        }

    def load(self, tree: dict[str, Any], kinds: dict[str, Column]) -> None:
        """Take over what a snapshot holds."""
        self.per_key = {name: array.copy() for name, array in tree["keys"].items()}
        self._lagging = tree["lagging"]
        self.waiting.load(tree["waiting"], self.events.names)
        self.events.load(tree["events"], kinds)
        self.cells.load(tree["cells"])
        self.held = int(self.events.blocks.count.sum())
        if self.cold is not None:
            self.cold.reset(len(self.events.blocks.count))

    def live_keys(self, live: Bools) -> None:
        """Mark the keys that something is known of: how far they came is forgotten only where runs are over."""
        self.waiting.live_keys(live)
        self.events.blocks.live_keys(live)
        done = self.per_key["done"][: len(live)]
        live[: len(done)] |= done > 0

    def open_all(self) -> None:
        """Open the keys that are compressed."""
        if self.cold is not None:
            self.cold.open_all()

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        if self.cold is not None:
            self.cold.open_all()
            self.cold.renumber(kept_ids(moved))
        self.waiting.renumber(moved)
        self.events.blocks.renumber(moved)
        self.cells.blocks.renumber(moved)
        self.per_key = {name: array[kept_ids(moved[: len(array)])] for name, array in self.per_key.items()}
        self._lagging = moved[self._lagging]

    # -- taking rows in ----------------------------------------------------------------------------------------------

    def judge(self, batch: Batch, low: int, seen: Bools | None, bound: int | None) -> Judged | None:
        """The rows that are late for some query: they stand before the last event of a window that is closed.

        With `idle` all are late that would belong to a run that is over, as of the last `bound`. Of equal places the
        one that comes now is the later. Only rows that are seen are judged; None: all.
        """
        top, order = self.per_key["top"], batch.order
        if self._idle is not None and bound is not None:
            over = self._over(batch.key_ids(), bound)
            rows = np.flatnonzero(batch.time <= np.maximum(top[batch.key_ids()], over))
        elif batch.key is None:
            if low > top[0] or (order is None and low == top[0]):
                return None
            rows = np.flatnonzero(batch.time <= top[0])
        else:
            rows = np.flatnonzero(batch.time <= top[batch.key])
        if seen is not None:
            rows = rows[seen[rows]]
        if not len(rows):
            return None
        time, keys = batch.time[rows], batch.key_ids()[rows]
        marks, orders = (np.empty((len(self.members), len(rows)), np.int64) for _ in range(2))
        cells, events = self.cells, self.events
        marks_of(
            keys, self.per_key["shut"], *self._kinds(), cells.blocks.at, cells.blocks.count, cells.start, cells.zero,
            events.blocks.at, self.per_key["gone"], events.time, events.orders(), marks, orders,
        )  # fmt: skip
        late = time < marks
        if order is not None:
            late |= (time == marks) & (order[rows] < orders)
        if self._idle is not None and bound is not None:
            late |= time <= over[rows]
            marks = np.maximum(marks, over[rows])
        some = late.any(axis=0)
        return Judged(rows[some], late[:, some], marks[:, some]) if some.any() else None

    def _kinds(self) -> tuple[Int64s, Int64s, Int64s]:
        return self._cumulative, self._size, self._every

    def _over(self, keys: Int64s, bound: int) -> Int64s:
        """Up to which time runs of keys are over; with none that goes on, up to the bound."""
        over = self.per_key["over"][keys]
        return np.where(over == NONE, bound - 1, over)

    def insert(self, rows: Arrivals, bound: int | None) -> None:
        """Take rows, none of them late; they wait until the watermark has passed them."""
        if self._idle is not None and len(rows):
            keys, over = rows.batch.key_ids(), self.per_key["over"]
            keys = keys[rows.rows] if len(rows.rows) else keys
            # From here on a run goes on, so the bound no longer moves along.
            over[keys[over[keys] == NONE]] = NONE + 1 if bound is None else bound - 1
        self.waiting.add(self.events.chunk(rows))

    # -- slices ------------------------------------------------------------------------------------------------------

    def settle(self, watermark: int | None) -> Int64s:
        """Put the events that the watermark has passed into slices, all of them without one; gives their keys."""
        found = self.waiting.take(watermark)
        if found is None:
            return _NO
        if self.cold is not None:
            self.cold.open(found.keys())
        state, blocks = self.per_key, self.events.blocks
        new = self.events.insert(found)
        self.held += len(found)
        late = np.flatnonzero(new.late)
        if len(late):
            keys, points = new.keys[late], new.points[late] + state["gone"][new.keys[late]]
            state["shut"][keys] = np.minimum(state["shut"][keys], points)
            state["clean"][keys] = np.minimum(state["clean"][keys], points)
            self._shift(keys, points, new.late[late], new.offsets[late], new.spots)
        self._settle(new.keys, state["gone"][new.keys] + blocks.count[new.keys])
        return new.keys

    def rest(self) -> None:
        """The step is over."""
        self.waiting.rest()

    def _shift(self, keys: Int64s, points: Int64s, late: Int64s, offsets: Int64s, spots: Int64s) -> None:
        """Events came before settled ones: each later slice gets the last event of the one before, and loses its own.

        Paper 1, section 6.3.2: a value is taken out by `invert`, or needs not be where the partial does not come from
        it; else the slice is made anew from its events. With `idle` runs may grow together: all are made anew.
        """
        cells, events, state = self.cells, self.events, self.per_key
        if self._idle is not None or not cells.fused.shifts:
            rewind(keys, points, cells.blocks.at, cells.start, cells.held, cells.blocks.count, state["done"])
            return

        def run(write: int, columns: list[Int64s]) -> int:
            found: int = plan_shift(
                write, keys, late, offsets, spots, events.blocks.at, state["gone"], self._steps, self._offsets,
                cells.blocks.at, cells.start, cells.held, points, cells.blocks.count, state["done"], *columns,
            )  # fmt: skip
            return found

        size = np.zeros(1, np.int64)
        count = run(0, [_NO, _NO, _NO, _NO, size, _NO, _NO])
        some = [np.empty(count, np.int64) for _ in range(3)]
        plan = [*some, np.empty(int(size[0]), np.int64), *(np.empty(count + 1, np.int64) for _ in range(3))]
        run(1, plan)
        if not count:
            return
        anew = plan[4][1:] == plan[4][:-1]
        anew |= cells.fused.shift(cells.state, plan, events)
        redone = np.flatnonzero(anew)
        self.shifted += count - len(redone)
        self.redone += len(redone)
        if len(redone):
            ranges = [*(column[redone] for column in some), np.ones(len(redone), np.int64)]
            cells.fused.fold_ranges(cells.state, ranges, events)

    def _settle(self, keys: Int64s, upto: Int64s) -> None:
        events, cells, state = self.events, self.cells, self.per_key
        added = np.empty(len(keys), np.int64)
        idle = -1 if self._idle is None else self._idle

        def run(write: int, ranges: list[Int64s]) -> int:
            found: int = cut(
                write, keys, upto, events.blocks.at, state["gone"], events.time, idle, self._steps, self._offsets,
                cells.blocks.at, cells.blocks.count, cells.last, state["done"], cells.start, cells.zero, cells.first,
                added, *ranges,
            )  # fmt: skip
            return found

        count = run(0, [_NO] * 4)
        if not count:
            return
        cells.blocks.reserve(keys, added)
        ranges = [np.empty(count, np.int64) for _ in range(4)]
        run(1, ranges)
        cells.blocks.count[keys] += added
        cells.fused.fold_ranges(cells.state, ranges, events)

    # -- windows -----------------------------------------------------------------------------------------------------

    def windows(self, queries: list[int], keys: Int64s, everything: bool = False) -> Windows:
        """The windows of some queries over settled events that are new or may have changed; or all open ones."""
        state, cells = self.per_key, self.cells
        since = state["shut" if everything else "clean"][keys]
        asked = self._asked.get(tuple(queries))
        if asked is None:
            some = np.array([self._place[index] for index in queries], np.int64)
            asked = self._asked[tuple(queries)] = [np.array(queries, np.int64), *(part[some] for part in self._kinds())]
        room = self._room
        while True:
            columns = [np.empty(room, np.int64) for _ in range(8)]
            inputs = [keys, since, state["done"], *asked, cells.blocks.at, cells.blocks.count]
            listing: Any = list_windows  # mypy loses count of this many arguments
            count: int = listing(room, *inputs, cells.start, cells.zero, cells.first, *columns)
            if count <= room:
                # By their ends, as they are reported: sorting a few numbers here saves sorting a table later.
                a, b = columns[6][:count], columns[7][:count]
                by_end = np.argsort(cells.state[LAST][b - 1], kind="stable")
                return Windows(*[*(column[by_end] for column in columns[:6]), a, b, by_end])
            room = self._room = 2 * count

    def keys_with_cells(self) -> Int64s:
        """All keys that have slices."""
        self.open_all()
        return np.flatnonzero(self.cells.blocks.count)

    def places(self, wins: Windows) -> tuple[Int64s, Int64s]:
        """Where the events of windows are, for queries that keep them."""
        at = (self.events.blocks.at - self.per_key["gone"])[wins.key] + wins.zero
        return at + wins.start, at + wins.end

    def reported(self, keys: Int64s) -> None:
        """The windows over settled events of these keys were reported."""
        self.per_key["clean"][keys] = self.per_key["done"][keys]
        if self._revises:  # their windows are closed later, maybe without a watermark so far
            self._lagging = np.union1d(self._lagging, keys)

    def close(self, keys: Int64s, bound: int) -> None:
        """Close the windows that end by a time, and let go of what none that is open needs."""
        if self._revises:
            keys = self._lagging
        if len(keys):
            self._close(keys, bound)
        if self._idle is not None:
            self._end_runs(keys, bound, self._idle)

    def _close(self, keys: Int64s, bound: int) -> None:
        state, events, cells = self.per_key, self.events, self.cells
        if self._revises:
            upto = np.empty(len(keys), np.int64)
            known = state["shut"]
            settled_by(keys, bound, events.blocks.at, events.blocks.count, state["gone"], known, events.time, upto)
            upto = np.minimum(upto, state["done"][keys])
        else:
            upto = state["done"][keys]
        before = state["gone"][keys]
        close_keys(
            keys, upto, *self._kinds(), self._keeps, cells.start, cells.zero, cells.held, events.time,
            events.orders(), state["shut"], cells.blocks.at, cells.blocks.count, events.blocks.at,
            events.blocks.count, state["gone"], state["top"], state["top_order"],
        )  # fmt: skip
        self._let_go(int((state["gone"][keys] - before).sum()))
        if self._revises:
            self._lagging = keys[upto < state["done"][keys]]

    def _let_go(self, freed: int) -> None:
        self.dropped, self.held = self.dropped + freed, self.held - freed

    def _end_runs(self, keys: Int64s, bound: int, idle: int) -> None:
        """Let go of runs that are over, and of keys that have no other; what waits is at rest."""
        state, events, cells = self.per_key, self.events.blocks, self.cells
        keys = np.union1d(keys, np.flatnonzero(state["ends"] < bound - idle))
        if not len(keys):
            return
        if self.cold is not None:
            self.cold.open(keys)
        freed: int = end_runs(
            keys, bound, idle, cells.start, cells.zero, cells.last, cells.blocks.at, cells.blocks.count, events.at,
            events.count, state["gone"], state["done"], state["over"], state["ends"],
        )  # fmt: skip
        self._let_go(freed)
        ended = keys[state["done"][keys] == 0]
        if len(ended):
            for name in ("shut", "clean"):
                state[name][ended] = 0
            state["top"][ended] = NONE
            waits = np.zeros(len(state["done"]), np.bool_)
            self.waiting.live_keys(waits)
            state["over"][ended[~waits[ended]]] = NONE
            self._lagging = np.setdiff1d(self._lagging, ended)
