"""Slices along a column: partials of the events of a key between two edges of windows, only where there are events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Bound
from muntin.compile import compiled
from muntin.fused import Fused
from muntin.kernels.along import find_cells, first_needed
from muntin.kernels.rows_events import insertion_points, merge_sources, place_wide
from muntin.slicing.along.regular import Regular
from muntin.slicing.ranges_fold import merged
from muntin.slicing.rows.arrivals import NO_INTS
from muntin.slicing.rows.blocks import Blocks, spread

__all__ = ["FIRST", "LAST", "Cells", "N"]

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

N, FIRST, LAST = 0, 1, 2  # columns of every cell: how many events, the first and the last time


class _Merging(Fused):
    """The fused update, as `merged` wants it."""

    def merge(self, lo: Int64s, hi: Int64s, partials: list[Array]) -> list[Array]:
        """Cells lo to hi as one, for each range."""
        return self.merge_ranges(lo, hi, partials)


class Cells:
    """The slices of all keys; those of a key in order."""

    def __init__(self, bounds: Sequence[Bound]) -> None:
        found = {bound.aggregate: bound for bound in bounds}
        self.fused = _Merging(list(found.values()), None, True)
        self.place = {aggregate: i for i, aggregate in enumerate(found)}
        """Where among those of the cells each aggregate is."""
        self.functions = [functions for bound in found.values() if (functions := compiled(bound)) is not None]
        self._slots = [f"slot {i}" for i in range(len(self.fused.slots))]
        self.blocks = Blocks({"start": np.dtype(np.int64)} | dict(zip(self._slots, self.fused.slots, strict=True)))
        self.held = self.dropped = 0
        """How many slices there are, and how many were let go so far."""

    @property
    def start(self) -> Int64s:
        """Where each begins; the cells of a key begin at `blocks.at`."""
        return self.blocks.columns["start"]

    @property
    def state(self) -> list[Array]:
        """The columns of the partials."""
        return [self.blocks.columns[name] for name in self._slots]

    def of(self, keys: Int64s, starts: Int64s) -> Int64s:
        """The cell of each key and start, given in order and each once; those that are not there yet are made."""
        found = self._find(keys, starts)
        new = np.flatnonzero(found < 0)
        if len(new):
            self._insert(keys[new], starts[new])
            found = self._find(keys, starts)
        return found

    def _find(self, keys: Int64s, starts: Int64s) -> Int64s:
        found = np.empty(len(keys), np.int64)
        find_cells(keys, starts, self.blocks.at, self.blocks.count, self.start, found)
        return found

    def _insert(self, key: Int64s, starts: Int64s) -> None:
        blocks = self.blocks
        heads = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        keys, offsets = key[heads], np.append(heads, len(key))
        counts = np.diff(offsets)
        blocks.reserve(keys, counts)
        points = np.empty(len(keys), np.int64)
        insertion_points(keys, offsets, starts, NO_INTS, blocks.at, blocks.count, self.start, NO_INTS, points)
        segments = np.append(0, np.cumsum(blocks.count[keys] - points + counts))
        source, late, spots = np.empty(int(segments[-1]), np.int64), np.empty(len(keys), np.int64), np.empty_like(key)
        merge_sources(
            keys, offsets, starts, NO_INTS, points, segments, blocks.at, blocks.count, self.start, NO_INTS,
            source, late, spots,
        )  # fmt: skip
        to = blocks.at[keys] + points
        empty = dict(zip(self._slots, self.fused.new(1), strict=True))
        where, old = spread(to, np.diff(segments)), source >= 0
        for name, column in blocks.columns.items():
            new = starts if name == "start" else np.repeat(empty[name], len(key))
            if column.dtype.itemsize == 8:
                place_wide(column.view(np.uint64), new.view(np.uint64), source, segments, to)
                continue
            moved = np.empty(len(source), column.dtype)
            moved[old], moved[~old] = column[source[old]], new[-1 - source[~old]]
            column[where] = moved
        blocks.count[keys] += counts
        self.held += len(key)

    def merged(self, a: Int64s, b: Int64s) -> list[Array]:
        """Slices a to b as one, for each window."""
        return merged(self.fused, self.state, a, b)

    def let_go(self, keys: Int64s, mark: Int64s, windows: Sequence[Regular]) -> None:
        """Let go of the first slices of keys that are in no window past the mark."""
        size, every, align, cumulative = (
            np.array([int(part) for part in column], np.int64)
            for column in zip(*((w.size, w.every, w.align, w.cumulative) for w in windows), strict=True)
        )
        blocks, gone = self.blocks, np.empty(len(keys), np.int64)
        first_needed(keys, mark, size, every, align, cumulative, blocks.at, blocks.count, self.start, gone)
        blocks.at[keys] += gone
        blocks.count[keys] -= gone
        self.held -= int(gone.sum())
        self.dropped += int(gone.sum())

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds, and which columns are whose."""
        fused = self.fused
        whose = [[repr(aggregate), fused.counts[i], *fused.places[i]] for aggregate, i in self.place.items()]
        return {"blocks": self.blocks.dump(), "aggregates": whose}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the slices of a snapshot: of the aggregates that are in these cells, which all were in those."""
        fused, old = self.fused, tree["blocks"]["columns"]
        whose = {name: slots for name, *slots in tree["aggregates"]}
        columns = {name: old[name] for name in ("start", *self._slots[: LAST + 1])}
        for aggregate, i in self.place.items():
            for slot, before in zip((fused.counts[i], *fused.places[i]), whose[repr(aggregate)], strict=True):
                columns[self._slots[slot]] = old[f"slot {before}"]
        self.blocks.load(
            {"count": tree["blocks"]["count"], "columns": {name: columns[name] for name in self.blocks.columns}}
        )
        self.held = int(self.blocks.count.sum())
