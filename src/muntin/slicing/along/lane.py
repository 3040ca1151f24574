"""Queries on one column that have seen the same events: one set of slices, and how far each key has come.

The window of an event follows from its measure alone, so no event moves another, and with commutative aggregates of a
fixed size none is kept (paper 1, Figure 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import Compression
from muntin.layout import BoundQuery
from muntin.slicing.along.cells import Cells
from muntin.slicing.along.reach import Reach
from muntin.slicing.along.regular import Regular, edges_along, slice_starts
from muntin.slicing.batch import Batch
from muntin.slicing.cold_keys import ColdKeys
from muntin.slicing.compaction import kept_ids
from muntin.slicing.kept.base import expand
from muntin.slicing.late import LateRows
from muntin.slicing.rows.arrivals import Arrivals
from muntin.slicing.rows.blocks import spread
from muntin.slicing.views import bounds

__all__ = ["Lane", "Windows"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NO = np.empty(0, np.int64)


@dataclass
class Windows:
    """Windows of one query as columns: key, from where to where, and the slices a to b that they are made of."""

    key: Int64s
    start: Int64s
    end: Int64s
    a: Int64s
    b: Int64s


class Lane:
    """Slices and marks of some queries on one column, for all keys."""

    def __init__(
        self,
        members: list[tuple[int, BoundQuery]],
        on: str,
        lateness: int,
        since: int | None = None,
        rule: Compression | None = None,
    ) -> None:
        self.members, self.on, self.since = members, on, since
        self.windows = {index: Regular.of(query.window) for index, query in members}
        self.cells = Cells([bound for _, query in members for bound in query.aggregates.values()])
        self.reach = Reach(lateness)
        self.cold = None if rule is None else ColdKeys(rule, lambda: (self.cells.blocks,))
        self._lateness = lateness
        self._edges = edges_along(list(self.windows.values()))
        self._changed = self._moved = _NO
        self.fresh = True
        """Whether no row was looked at yet."""

    @property
    def nbytes(self) -> int:
        """The bytes of state."""
        return self.cells.blocks.nbytes + self.reach.nbytes + (0 if self.cold is None else self.cold.extra)

    def grow(self, keys: int) -> None:
        """Make room for key ids below `keys`."""
        self.cells.blocks.keys(keys)
        self.reach.grow(keys)

    # -- taking rows in ----------------------------------------------------------------------------------------------

    def take(self, batch: Batch, rows: Arrivals, late: LateRows) -> None:
        """Say which rows miss a window that is closed, and aggregate each row once, into its slice.

        A row without a measure is not taken; one that misses some windows still counts in the others.
        """
        self.fresh = False
        measure, null = batch.measures[self.on]
        seen = np.ones(len(batch), np.bool_) if self.since is None else batch.time >= self.since
        if null is not None:
            none = batch.row_numbers()[null & seen]
            for index, _ in self.members:
                late.missed(none, index, None, "null measure")
            seen &= ~null
        taken = np.flatnonzero(seen)
        if not len(taken):
            return
        whole = len(taken) == len(batch)
        self.reach.add(rows if whole else rows.only(seen), measure)
        keys, starts, which = _pairs(batch.key_ids()[taken], slice_starts(self._edges, measure[taken]))
        needed = self._judge(keys, starts, which, batch.row_numbers()[taken], late)
        if self.cold is not None:
            self.cold.touch(np.unique(keys[needed]), int(batch.time.max()), len(self.reach.mark))
        places = np.full(len(keys), -1, np.int64)
        places[needed] = self.cells.of(keys[needed], starts[needed])
        cells = np.full(len(batch), -1, np.int64)
        cells[taken] = places[which]
        # Where a value depends on which of two events came first, arrival decides: slices do not stand in its order.
        order = batch.arrivals() if batch.order is None else batch.order
        self.cells.fused.update_cells(self.cells.state, cells, batch.time, order, batch.values)
        self._changed = np.union1d(self._changed, keys[needed])

    def _judge(self, keys: Int64s, starts: Int64s, which: Int64s, rows: Int64s, late: LateRows) -> Int64s:
        """Say which rows are late; gives the slices that some open window has."""
        mark, needed = self.reach.mark[keys], np.zeros(len(keys), np.bool_)
        for index, windows in self.windows.items():
            first, last = windows.numbers(starts)
            some = first <= last
            needed |= some & (windows.bounds(last)[1] > mark)
            missed = some & (windows.bounds(first)[1] <= mark)
            if missed.any():
                late.missed(rows[missed[which]], index, None)
        return np.flatnonzero(needed)

    # -- windows -----------------------------------------------------------------------------------------------------

    def move(self, watermark: int | None) -> None:
        """The watermark moves."""
        self._moved = _NO if watermark is None else self.reach.move(watermark)

    def touched(self) -> Int64s:
        """The keys that got events or came further in this step."""
        return np.union1d(self._changed, self._moved)

    def keys_with_cells(self) -> Int64s:
        """All keys that have slices."""
        self._open_all()
        return np.flatnonzero(self.cells.blocks.count)

    def due(self, index: int, keys: Int64s, everything: bool) -> Windows:
        """The open windows of a query that these keys have come to the end of; or all that are open."""
        windows, blocks = self.windows[index], self.cells.blocks
        if self.cold is not None:
            self.cold.open(keys)
        keys = keys[blocks.count[keys] > 0]
        counts = blocks.count[keys]
        cells = spread(blocks.at[keys], counts) if len(keys) else _NO
        start, ends = self.cells.start[cells], np.cumsum(counts)
        rank = np.repeat(np.arange(len(keys)), counts)
        first, last = windows.numbers(start)
        # Slices with a smaller start have the windows up to their last one.
        before = np.append(-(2**62), last[:-1])
        before[ends - counts] = -(2**62)
        first = np.maximum(np.maximum(first, before + 1), windows.open_from(self.reach.mark[keys])[rank])
        if not everything:
            last = np.minimum(last, (windows.open_from(self.reach.reached[keys]) - 1)[rank])
        owner, number = expand(first, last - first + 1)
        low, high = windows.bounds(number)
        b = bounds(start, owner, ends[rank[owner]], high)
        return Windows(keys[rank[owner]], low, high, cells[owner], cells[b - 1] + 1)

    def close(self, bound: int) -> None:
        """Close windows by the watermark less the lateness, and let go of slices that no open one has."""
        if self._lateness:
            keys = self.reach.close(bound)
        else:
            keys = self._moved
            self.reach.close_reached(keys)
        if len(keys):
            if self.cold is not None:
                self.cold.open(keys)
            self.cells.let_go(keys, self.reach.mark, list(self.windows.values()))

    def rest(self) -> None:
        """The step is over."""
        self.reach.rest()
        self._changed = self._moved = _NO

    # -- state -------------------------------------------------------------------------------------------------------

    def _open_all(self) -> None:
        if self.cold is not None:
            self.cold.open_all()

    def live_keys(self, live: Bools) -> None:
        """Mark the keys that something is known of."""
        self.reach.live_keys(live)
        self.cells.blocks.live_keys(live)
        if self.cold is not None:
            self.cold.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        if self.cold is not None:
            self.cold.open_all()
            self.cold.renumber(kept_ids(moved))
        self.reach.renumber(moved)
        self.cells.blocks.renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds; there is one only between steps."""
        self._open_all()
        return {
            "queries": [index for index, _ in self.members],
            "on": self.on,
            "since": self.since,
            "reach": self.reach.dump(),
            "cells": self.cells.dump(),
        }

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.fresh = False
        self.reach.load(tree["reach"])
        self.cells.load(tree["cells"])
        if self.cold is not None:
            self.cold.reset(len(self.cells.blocks.count))


def _pairs(key: Int64s, start: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The pairs of key and start in order, each once, and which of them each row has.

    >>> _pairs(np.array([0, 0, 1, 0]), np.array([5, 5, 2, 3]))
    (array([0, 0, 1]), array([3, 5, 2]), array([1, 1, 2, 0]))
    """
    # Most rows have the pair of the row before, or else are few for each key: stretches of equal ones are one.
    heads = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (start[1:] != start[:-1])))
    stretch = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, len(key))))
    key, start = key[heads], start[heads]
    low, high, most = int(start.min()), int(start.max()), int(key.max())
    span = high - low + 1
    if most * span < 2**62:
        packed, which = np.unique(key * span + (start - low), return_inverse=True)
        return packed // span, packed % span + low, which.reshape(-1)[stretch]
    order = np.lexsort((start, key))
    key, start = key[order], start[order]
    new = np.append(True, (key[1:] != key[:-1]) | (start[1:] != start[:-1]))
    which = np.empty(len(order), np.int64)
    which[order] = np.cumsum(new) - 1
    return key[new], start[new], which[stretch]
