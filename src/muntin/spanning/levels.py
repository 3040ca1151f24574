"""Slices with levels: single-level and multi-level slicing of events with a duration (paper 3, sections 3 to 5).

An event goes into the slice in which it ends, at the level that covers as many slices as it does, up to the height;
then, as one that goes on, into the slice before that level, and so on (Algorithm 7). With a height of 1 each slice has
the pair of Definition 4, and this is Algorithm 3.

Slices are on a circular array, as in section 6.1: those that go make room for those that come. A slice has a place for
both partials of each level, of each key. What is there is the number of a cell: most levels are empty, and only those
that hold events have one.

What goes on for thousands of slices takes a few cells all the same: beyond the height there are aligned stretches of
2, 4, 8, ... slices. These are found in a hash table, and so are all cells where an array would be mostly empty: with
many keys, or over very many slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.fused import Fused
from muntin.slicing.batch import Column
from muntin.slicing.slices import Partials
from muntin.spanning.edges import Edges
from muntin.spanning.release import Cells, merged

__all__ = ["Levels"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LEAST = 1_024  # places of the table at first
LOOKS = 64  # releases after which it is seen whether room can be given back
SMALL = 1 << 18  # places of the circular array that may always be there
SHARE = 8  # and beyond that, how many for each event of a batch
LEVEL_BITS = 14
_NONE: Int64s = np.empty(0, np.int64)


class Levels:
    """The cells of all keys over the slices that are held."""

    def __init__(self, fused: Fused, edges: Edges) -> None:
        self._fused, self.edges = fused, edges
        self.dropped = 0
        self._reset()

    def _reset(self) -> None:
        self.count = 0
        self._table = np.full(LEAST, -1, np.int32)
        self._ends = np.empty(LEAST, np.int64)
        self._places = np.empty(LEAST, np.int64)
        self.columns = self._fused.new(LEAST)
        self._a = self._b = self._ids = _NONE
        self._cached: Cells | None = None
        self._drops = 0
        self._clear_ring()

    def _clear_ring(self) -> None:
        """No circular array."""
        self._ring = np.empty(0, np.int32)
        self._width = self._deep = self._keys = 1
        self._bottom = 0  # the number of the first slice that has places

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """The bytes of the cells and of what finds them."""
        own = [self._ends, self._places, self._a, self._b, self._ids, *self.columns]
        return self.edges.nbytes + self._table.nbytes + self._ring.nbytes + sum(part.nbytes for part in own)

    # -- events --------------------------------------------------------------------------------------------------------

    def take(
        self,
        start: Int64s,
        end: Int64s,
        key: Int64s | None,
        order: Int64s | None,
        columns: Mapping[str, Column],
        height: int,
    ) -> tuple[int, int]:
        """Events into their cells; gives the slices that they cover and the pairs of event and cell."""
        from muntin.kernels.spanning import assign, located

        rows = len(start)
        self._cached = None
        if 4 * self.count > len(self._ends):
            stay = self._needed()
            if 2 * len(stay) < self.count:
                self._compact(stay)
        if len(self._a) < rows:
            self._a, self._b, self._ids = (np.empty(rows, np.int64) for _ in range(3))
        a, b, info = self._a[:rows], self._b[:rows], np.zeros(2, np.int64)
        edges = self.edges
        located(start, end, edges.edges, edges.tab, edges.shift, edges.first, height, a, b, info)
        room, covered = info.tolist()
        aligned = room == rows
        ids = self._ids[:rows] if aligned else np.empty(room, np.int64)
        which = _NONE if aligned else np.empty(room, np.int64)
        keys = _NONE if key is None else key
        self._reach(height, 1 if key is None else int(key.max()) + 1, SHARE * rows)
        state, done = np.array([self.count, 0]), 0
        while True:
            ring = (self._ring, self._width, self._deep)
            cells = (*ring, self._table, self._ends, self._places, state)
            done = assign(a, b, keys, edges.base, height, done, *cells, which, ids)
            self.count = int(state[0])
            if done == rows:
                break
            self._grow()
        if aligned:
            self._fused.update_cells(self.columns, ids, end, order, columns)
            self._touch(ids, int(end.max()))
            return covered, rows
        pairs = int(state[1])
        which = which[:pairs]
        times, orders = end[which], None if order is None else order[which]
        named = (*self._fused.columns, *self._fused.nullable)
        picked = {name: columns[name].take(which) for name in dict.fromkeys(named)}
        self._fused.update_cells(self.columns, ids[:pairs], times, orders, picked)
        self._touch(ids[:pairs], int(end.max()))
        return covered, pairs

    def _touch(self, cells: Int64s, newest: int) -> None:
        """Events went into cells."""

    # -- the circular array --------------------------------------------------------------------------------------------

    def _reach(self, height: int, keys: int, most: int) -> None:
        """Places for all slices that are held, for some keys; no array where these would be too many."""
        from muntin.kernels.spanning import DYADIC

        slices, room = len(self.edges) - self.edges.first, max(SMALL, most)
        self._bottom = min(self._bottom, self.edges.base + self.edges.first)  # slices may have come before the first
        if len(self._ring) and slices <= self._width and keys <= self._keys and 2 * height <= self._deep:
            return
        if not len(self._ring) and slices * keys * 2 * height > room:
            return
        # Cells that are there already may be higher than slices are now, and of other keys.
        places = self._places[: self.count]
        levels = places & ((1 << LEVEL_BITS) - 1)
        width, deep = self._width, 2 * max(height, int(levels[levels < DYADIC].max(initial=1)))
        while width < slices:
            width *= 2
        keys = max(self._keys, keys, int((places >> LEVEL_BITS).max(initial=0)) + 1)
        keys = 1 << (keys - 1).bit_length()
        if width * deep * keys > room:
            if len(self._ring):
                self._clear_ring()
                self._place()
            return
        self._ring = np.empty(width * deep * keys, np.int32)
        self._width, self._deep, self._keys = width, deep, keys
        self._place()

    def _place(self) -> None:
        """All cells to where they are found."""
        from muntin.kernels.spanning import placed

        self._bottom = self.edges.base + self.edges.first
        self._table.fill(-1)
        self._ring.fill(-1)
        ring = (self._ring, self._width, self._deep)
        placed(self._ends[: self.count], self._places[: self.count], self._bottom, *ring, self._table)

    def _pass(self) -> None:
        """Slices have gone: their places are free for those that come."""
        if not len(self._ring):
            return
        bottom = self.edges.base + self.edges.first
        gone = bottom - self._bottom if len(self.edges) else self._width
        if gone > 0:
            rows = self._ring.reshape(self._keys, self._width, self._deep)
            at = self._bottom & (self._width - 1)
            rows[:, at : at + gone] = -1
            rows[:, : max(0, min(at + gone - self._width, at))] = -1
        self._bottom = bottom

    # -- room for cells ------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Room for more, with all cells: those that events have gone to must stay where they are."""
        self._resize(2 * len(self._ends), np.arange(self.count))

    def _needed(self) -> Int64s:
        return np.flatnonzero((self._ends[: self.count] >> 1) - self.edges.base >= self.edges.first)

    def _compact(self, stay: Int64s) -> None:
        """Only some of the cells, where they are."""
        before, self.count = self.count, len(stay)
        self.dropped += before - self.count
        self._cached = None
        for column in (self._ends, self._places, *self.columns):
            column[: self.count] = column[stay]
        for column in self.columns:
            column[self.count : before] = 0
        self._place()

    def _resize(self, size: int, stay: Int64s) -> None:
        """Room for `size` cells, with only some of those that are there."""
        self._cached = None
        ends, places = np.empty(size, np.int64), np.empty(size, np.int64)
        columns = self._fused.new(size)
        ends[: len(stay)], places[: len(stay)] = self._ends[stay], self._places[stay]
        for column, before in zip(columns, self.columns, strict=True):
            column[: len(stay)] = before[stay]
        self._ends, self._places, self.columns, self.count = ends, places, columns, len(stay)
        self._table = np.empty(2 * size, np.int32)
        self._place()

    # -- windows -------------------------------------------------------------------------------------------------------

    def _cells(self) -> Cells:
        if self._cached is None:
            self._cached = self._cells_of(self._ends[: self.count], self._places[: self.count], self.edges.base)
        return self._cached

    @staticmethod
    def _cells_of(ends: Int64s, places: Int64s, base: int) -> Cells:
        """Cells by the slices that they cover, of which `base` is the first."""
        from muntin.kernels.spanning import sizes_of

        sizes = np.empty(len(places), np.int64)
        sizes_of(places, sizes)
        hi = (ends >> 1) - base
        return Cells(places >> LEVEL_BITS, hi - sizes + 1, hi, (ends & 1) == 0)

    def bounds(self) -> tuple[int, int] | None:
        """The first and the last slice with an event."""
        if not self.count:
            return None
        cells = self._cells()
        last = int(cells.hi.max())
        first = max(int(cells.lo.min()), self.edges.first)
        return (first, last) if last >= first else None

    def merged(self, a: Int64s, b: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slices a to b: which window and key, and the partials; those without events left out."""
        return merged(self._fused, self.columns, self._cells(), a, b)

    def drop(self, time: int) -> None:
        """Forget the cells of slices that end by a time."""
        self.edges.need(time)
        self._pass()
        self._cached = None
        self._drops += 1
        if self._drops % LOOKS and self.count:
            return
        stay = self._needed()
        if 8 * len(stay) < self.count or not len(stay):
            size = LEAST
            while size // 4 < len(stay):
                size *= 2
            self.dropped += self.count - len(stay)
            self._clear_ring()
            self._resize(min(size, len(self._ends)), stay)

    # -- keys and snapshots --------------------------------------------------------------------------------------------

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""
        return [self.columns[at][: self.count]]

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with cells."""
        live[self._places[: self.count] >> LEVEL_BITS] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        places = self._places[: self.count]
        places[:] = moved[places >> LEVEL_BITS] << LEVEL_BITS | places & ((1 << LEVEL_BITS) - 1)
        self._resize(len(self._ends), np.arange(self.count))

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        some = slice(0, self.count)
        columns = [column[some] for column in self.columns]
        return {"edges": self.edges.dump(), "ends": self._ends[some], "places": self._places[some], "cells": columns}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self._reset()
        self.edges.load(tree["edges"])
        count = len(tree["ends"])
        self._ends, self._places, self.columns = tree["ends"], tree["places"], tree["cells"]
        size = LEAST
        while size // 2 < count:
            size *= 2
        self._resize(size, np.arange(count))
