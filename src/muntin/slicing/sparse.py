"""Sparse cells: where slices hold few of the keys, only those that have an event get a cell.

Cells stand in the order in which they came up; a hash table finds the cell of a slice and a key, and each slice has a
list of its cells. A window walks the lists of its slices and puts cells of the same key together (paper 1, section 5.2:
slices are combined, whichever keys they hold). Cells of slices that are gone stay until they are as many as the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Cells", "Partials", "Sparse"]

Int64s = npt.NDArray[np.int64]
Partials = list[npt.NDArray[Any]]

_NOTHING = np.empty(0, np.int32)
_NO_MASK = np.empty(0, np.bool_)
_KEY = 0xFFFFFFFF  # a pair is the serial number of a slice and below it, in 32 bits, a key
LEAST = 1_024  # places of the table at first
AT_ONCE = 1 << 20  # cells of windows that are put together at once: 48 MB


class Cells(Protocol):
    """What stores of cells need of the compiled update."""

    def new(self, cells: int) -> Partials:
        """Columns of empty partials."""

    def update_cells(
        self, state: Partials, cells: Int64s, time: Int64s, order: Int64s | None, columns: Mapping[str, Any]
    ) -> None:
        """Each row into its cell."""

    def merge_gather(self, lo: Int64s, hi: Int64s, index: Int64s, state: Partials) -> Partials:
        """Cells index[lo] to index[hi] as one, for each range."""


class Sparse:
    """Cells of some slices, which are known by their places; slices come and go with `put` and `drop`."""

    def __init__(self, cells: Cells, slices: int) -> None:
        self._cells = cells
        self._serials = np.arange(slices)
        self._reset(slices)

    def _reset(self, slices: int) -> None:
        """No cells; slices have serial numbers that do not change when others are put before them."""
        self._next = slices
        self._heads, self._tails = np.full(slices, -1), np.full(slices, -1)
        self._counts = np.zeros(slices, np.int64)
        self._state = np.array([0, -1])
        self._table = np.zeros((LEAST, 2), np.int64)
        self._pairs = np.zeros(LEAST // 2, np.int64)
        self._following = np.zeros(LEAST // 2, np.int64)
        self._dead = 0
        self._slots, self._base = np.empty(0, np.int64), 0
        self.columns: Partials = self._cells.new(0)

    def __len__(self) -> int:
        """How many cells there are in slices that are not gone."""
        return int(self._state[0]) - self._dead

    @property
    def filled(self) -> int:
        """How many slices have a cell."""
        return int(np.count_nonzero(self._counts[self._serials]))

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        lists = [self._serials, self._heads, self._tails, self._counts, self._following, self._slots]
        return sum(part.nbytes for part in (*lists, self._table, self._pairs, *self.columns))

    # -- slices ------------------------------------------------------------------------------------------------------

    def put(self, at: int, count: int) -> None:
        """Slices come at a place."""
        fresh = np.arange(self._next, self._next + count)
        self._serials = np.concatenate([self._serials[:at], fresh, self._serials[at:]])
        self._next += count
        if self._next > len(self._heads):
            room = np.full(max(len(self._heads), self._next - len(self._heads)), -1)
            self._heads, self._tails = np.append(self._heads, room), np.append(self._tails, room)
            self._counts = np.append(self._counts, np.zeros(len(room), np.int64))

    def drop(self, count: int) -> None:
        """The first slices go."""
        self._dead += int(self._counts[self._serials[:count]].sum())
        self._serials = self._serials[count:].copy()
        # Where numbers are used up that no slice has any more, they begin anew as well.
        if self._dead > len(self) or self._next > 4 * len(self._serials) + len(self) + LEAST:
            self._rebuild(None)

    def _rebuild(self, moved: Int64s | None) -> None:
        """Only cells of slices that are here, slice by slice; with other key ids where some are given."""
        cells, key, slices = self.listed(0, len(self._serials))
        columns = [column[cells] for column in self.columns]
        self.fill(slices, key if moved is None else moved[key], columns, len(self._serials))

    def fill(self, slices: Int64s, key: Int64s, columns: Partials, count: int) -> None:
        """Hold these cells of `count` slices, given by places, in this order, and no others."""
        self._serials = np.arange(count)
        self._reset(count)
        self._find((slices << 32) | key)
        size = len(key)
        for new, old in zip(self.columns, columns, strict=True):
            new[:size] = old

    # -- events ------------------------------------------------------------------------------------------------------

    def update(
        self, starts: Int64s, times: Int64s, key: Int64s, order: Int64s | None, columns: Mapping[str, Any]
    ) -> None:
        """Each event into the cell of its slice and key."""
        cells = self.cells_of(starts, times, key)  # which may move the columns
        self._cells.update_cells(self.columns, cells, times, order, columns)

    def cells_of(self, starts: Int64s, times: Int64s, key: Int64s) -> Int64s:
        """The cell of each event, made where there is none."""
        from muntin.kernels.cells import pair_up

        pairs = np.empty(len(times), np.int64)
        pair_up(np.ascontiguousarray(times), np.ascontiguousarray(key), starts, self._serials, pairs)
        return self._find(pairs)

    def _find(self, pairs: Int64s) -> Int64s:
        """The cell of each pair; new pairs get new cells."""
        from muntin.kernels.cells import link
        from muntin.kernels.hashing import lookup, refill

        ids = np.empty(len(pairs), np.int64)
        before, done = int(self._state[0]), 0
        while done < len(pairs):
            done = lookup(pairs, _NO_MASK, done, 0, _NOTHING, self._table, self._pairs, self._state, ids)
            if done < len(pairs):
                size = int(self._state[0])
                self._table = np.zeros((2 * len(self._table), 2), np.int64)
                self._pairs = _longer(self._pairs, len(self._table) // 2)
                refill(self._pairs, size, -1, self._table)
        after = int(self._state[0])
        if after > len(self.columns[0]):
            fresh = self._cells.new(max(after, 2 * len(self.columns[0])))
            for new, old in zip(fresh, self.columns, strict=True):
                new[: len(old)] = old
            self.columns = fresh
        self._following = _longer(self._following, after)
        link(self._pairs, before, after, self._following, self._heads, self._tails, self._counts)
        return ids

    # -- reading -----------------------------------------------------------------------------------------------------

    def merged(self, a: Int64s, b: Int64s, keys: int) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slices a to b: which window and key, and the combined partials, for all keys that have any."""
        if not len(a):
            none = np.empty(0, np.int64)
            return none, none, self._cells.merge_gather(none, none, none, self.columns)
        if len(self._slots) < keys:
            self._slots, self._base = np.full(max(keys, 2 * len(self._slots)), -1), 0
        upto = np.concatenate([[0], np.cumsum(self._counts[self._serials])])
        visits = upto[b] - upto[a]
        ends = np.cumsum(visits)
        parts: list[Partials] = []
        room = [np.empty(min(max(AT_ONCE, int(visits.max())), int(ends[-1])), np.int64) for _ in range(6)]
        first = 0
        while first < len(a):
            done = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, done + AT_ONCE, "right")), first + 1)
            parts.append(self._together(a[first:last], b[first:last], first, int(ends[last - 1]) - done, room))
            first = last
        if len(parts) == 1:
            which, key, *partials = parts[0]
        else:
            which, key, *partials = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
        return which, key, partials

    def _together(self, a: Int64s, b: Int64s, first: int, visits: int, room: list[Int64s]) -> Partials:
        """Some of the windows, counted from `first`: which, key, and the partials."""
        from muntin.kernels.cells import group, place

        cells, rows, which, key, counts, index = (part[:visits] for part in room)
        found = group(
            a, b, self._serials, self._heads, self._following, self._pairs, self._base, self._slots, cells, rows, which,
            key, counts,
        )  # fmt: skip
        self._base += found
        hi = np.cumsum(counts[:found])
        lo = hi - counts[:found]
        place(cells, rows, lo.copy(), index)
        return [which[:found] + first, key[:found].copy(), *self._cells.merge_gather(lo, hi, index, self.columns)]

    def held(self, column: int) -> npt.NDArray[Any]:
        """A column of all cells, those of slices that are gone included."""
        return self.columns[column][: int(self._state[0])]

    def listed(self, low: int, high: int) -> tuple[Int64s, Int64s, Int64s]:
        """The cells of some slices, slice by slice: where they stand, their keys and their slices."""
        from muntin.kernels.cells import walk

        serials = self._serials[low:high]
        counts = self._counts[serials]
        cells = np.empty(int(counts.sum()), np.int64)
        walk(np.ascontiguousarray(serials), self._heads, self._following, cells)
        return cells, self._pairs[cells] & _KEY, np.repeat(np.arange(low, low + len(serials)), counts)

    # -- keys --------------------------------------------------------------------------------------------------------

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys that have an event in some slice."""
        live[self.listed(0, len(self._serials))[1]] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self._rebuild(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the cells."""
        cells, key, slices = self.listed(0, len(self._serials))
        return {"slice": slices, "key": key, "columns": [column[cells] for column in self.columns]}

    def load(self, tree: dict[str, Any], slices: int) -> None:
        """Take over the cells of a snapshot."""
        self.fill(tree["slice"], tree["key"], tree["columns"], slices)


def _longer(array: Int64s, size: int) -> Int64s:
    """The array, or a longer copy of it where it has no room for this many."""
    if size <= len(array):
        return array
    longer = np.zeros(max(size, 2 * len(array)), np.int64)
    longer[: len(array)] = array
    return longer
