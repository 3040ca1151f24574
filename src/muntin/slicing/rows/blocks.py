"""Rows of many keys as columns: each key has a block of its own, with room at its end.

What comes for a key costs no more than what it has: no other key's rows move. A block that is full moves to the end of
the columns, twice as large; where there is no room, all blocks move to new columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.slicing.compaction import kept_ids

__all__ = ["Blocks", "grown", "spread"]

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

LEAST = 4  # rows of the smallest block


def spread(lo: Int64s, counts: Int64s) -> Int64s:
    """The rows of all ranges one after the other.

    >>> spread(np.array([3, 0]), np.array([2, 1])).tolist()
    [3, 4, 0]
    """
    if len(lo) == 1:
        return np.arange(lo[0], lo[0] + counts[0])
    offsets = np.cumsum(counts) - counts
    rows: Int64s = np.repeat(lo - offsets, counts) + np.arange(int(counts.sum()))
    return rows


def grown(array: Array, size: int, empty: int = 0) -> Array:
    """The array, or a longer copy where it has fewer entries."""
    if len(array) >= size:
        return array
    longer = np.full(max(size, 2 * len(array)), empty, array.dtype)
    longer[: len(array)] = array
    return longer


class Blocks:
    """Blocks of rows over columns.

    >>> rows = Blocks({"x": np.dtype(np.int64)})
    >>> rows.keys(2)
    >>> rows.reserve(np.array([1]), np.array([3]))
    >>> rows.columns["x"][rows.at[1] : rows.at[1] + 3] = [7, 8, 9]
    >>> rows.count[1] = 3
    >>> rows.dump()["columns"]["x"].tolist()
    [7, 8, 9]
    """

    def __init__(self, columns: dict[str, np.dtype[Any]]) -> None:
        self.columns: dict[str, Array] = {name: np.empty(0, dtype) for name, dtype in columns.items()}
        self.at = np.empty(0, np.int64)
        """Where the rows of each key begin."""
        self.count = np.empty(0, np.int64)
        """How many there are."""
        self._begin = np.empty(0, np.int64)
        self._end = np.empty(0, np.int64)
        self._room = self._used = 0

    @property
    def nbytes(self) -> int:
        """The bytes of the columns, with the room to grow, and of where each key's rows are."""
        return sum(array.nbytes for array in (*self.columns.values(), *self._per_key()))

    def _per_key(self) -> tuple[Int64s, ...]:
        return self.at, self.count, self._begin, self._end

    def keys(self, count: int) -> None:
        """Make key ids below `count` known."""
        if len(self.at) < count:
            self.at, self.count, self._begin, self._end = (grown(array, count) for array in self._per_key())

    def add(self, name: str, dtype: np.dtype[Any], value: Any) -> None:
        """One more column, the same for all rows that are here."""
        self.columns[name] = np.full(self._room, value, dtype)

    def reserve(self, keys: Int64s, more: Int64s) -> None:
        """Room for more rows at the end of the blocks of some keys, each of them named once."""
        needed = self.count[keys] + more
        short = self.at[keys] + needed > self._end[keys]
        if not short.any():
            return
        # A block whose first rows were let go has room for as much again: then its rows move to the front of it.
        roomy = 3 * needed <= 2 * (self._end - self._begin)[keys]
        slides, leaves = keys[short & roomy], short & ~roomy
        if len(slides):
            self._move(slides, self._begin[slides])
        if not leaves.any():
            return
        moved, size = keys[leaves], np.maximum(2 * needed[leaves], LEAST)
        if self._used + int(size.sum()) > self._room:
            sizes = self.count + self.count // 2
            sizes[keys] = np.maximum(2 * needed, LEAST)
            self._rebuild(sizes)
            return
        to = self._used + np.cumsum(size) - size
        self._move(moved, to)
        self._begin[moved], self._end[moved] = to, to + size
        self._used += int(size.sum())

    def _move(self, keys: Int64s, to: Int64s) -> None:
        """The rows of some keys to other places."""
        if len(keys) == 1:
            at, place, count = int(self.at[keys[0]]), int(to[0]), int(self.count[keys[0]])
            for column in self.columns.values():
                column[place : place + count] = column[at : at + count]
        else:
            source, places = spread(self.at[keys], self.count[keys]), spread(to, self.count[keys])
            for column in self.columns.values():
                column[places] = column[source]
        self.at[keys] = to

    def _rebuild(self, sizes: Int64s) -> None:
        """All blocks one after the other in new columns."""
        to = np.cumsum(sizes) - sizes
        self._used = int(sizes.sum())
        self._room = self._used if len(sizes) == 1 else self._used + self._used // 2
        source, place = spread(self.at, self.count), spread(to, self.count)
        for name, column in self.columns.items():
            # Zeros, so that what is no row is never taken for a partial.
            self.columns[name] = np.zeros(self._room, column.dtype)
            self.columns[name][place] = column[source]
        self.at, self._begin, self._end = to.copy(), to, to + sizes

    def let_go(self, keys: Int64s) -> None:
        """Forget the rows of some keys, and give back the room that they took."""
        self.count[keys] = 0
        self._rebuild(self.count + self.count // 2)

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys that have rows."""
        count = self.count[: len(live)]
        live[: len(count)] |= count > 0

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys, which have no rows, are -1."""
        stay = kept_ids(moved[: len(self.at)])
        self.at, self.count, self._begin, self._end = (array[stay] for array in self._per_key())
        if 4 * int(self.count.sum()) < self._room:  # the room was that of keys that are gone
            self._rebuild(self.count + self.count // 2)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds: the rows, key by key."""
        live = spread(self.at, self.count)
        return {"count": self.count, "columns": {name: column[live] for name, column in self.columns.items()}}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.count = tree["count"].copy()
        self.columns = {name: column.copy() for name, column in tree["columns"].items()}
        self._end = np.cumsum(self.count)
        self._begin = self._end - self.count
        self.at = self._begin.copy()
        self._room = self._used = int(self.count.sum())
