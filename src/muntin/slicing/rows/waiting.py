"""Events that the watermark has not passed yet: sorted chunks, from which it takes a prefix each time it moves.

A chunk is what came at once, sorted on its own, so that nothing that waits is moved when more comes. Chunks of like
size are merged, so that there are few of them however small the batches are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.kernels.rows_events import merge_places, scatter_wide
from muntin.slicing.rows.arrivals import NO_INTS

__all__ = ["VALID", "VALUE", "Chunk", "Sorted", "Waiting"]

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[Any]
Columns = dict[str, Array]

VALUE, VALID = "value ", "valid "
"""Before the name of a column of values, and of the mask of those that are there, among the other columns."""


@dataclass
class Chunk:
    """Rows sorted by time, order and arrival."""

    time: Int64s
    order: Int64s
    """Empty where there is no order column."""
    rows: Int64s
    """Where in the columns each row is; empty where they are sorted as well."""
    columns: Columns

    def __len__(self) -> int:
        return len(self.time)

    def part(self, rows: slice) -> Chunk:
        """Some rows, one after the other."""
        order = self.order[rows] if len(self.order) else self.order
        if len(self.rows):
            return Chunk(self.time[rows], order, self.rows[rows], self.columns)
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Chunk(self.time[rows], order, NO_INTS, columns)

    def settled(self) -> Chunk:
        """The same rows in columns of their own, which hold nothing else and are sorted."""
        columns = {name: _gathered(column, self.rows) for name, column in self.columns.items()}
        return Chunk(self.time.copy(), self.order.copy(), NO_INTS, columns)


def _gathered(column: Array, rows: Int64s) -> Array:
    """Some rows of a column, all of them where none are named."""
    if not len(rows):
        return column.copy()
    if column.dtype.itemsize != 8:
        return column[rows]
    found = np.empty(len(rows), column.dtype)
    wide = np.require(column, requirements=["C", "A"]).view(np.uint64)
    scatter_wide(found.view(np.uint64), wide, rows, NO_INTS, 0)
    return found


@dataclass
class Sorted:
    """Rows of several chunks as one sequence: each chunk's rows go to its places."""

    time: Int64s
    order: Int64s
    parts: list[tuple[Chunk, Int64s | None]]
    """None: there is one chunk only, which stays as it is."""

    def __len__(self) -> int:
        return len(self.time)

    def keys(self) -> Int64s:
        """The key of each row, in any order; of one key alone only that."""
        if "key" not in self.names():
            return np.zeros(1, np.int64)
        found: list[Array] = [c.columns["key"][c.rows] if len(c.rows) else c.columns["key"] for c, _ in self.parts]
        return np.concatenate(found)

    def names(self) -> dict[str, np.dtype[Any]]:
        """The columns that some chunk has."""
        return {name: column.dtype for chunk, _ in self.parts for name, column in chunk.columns.items()}

    def write(self, name: str, column: Array, first: int = 0, places: Int64s | None = None) -> None:
        """Write a column to its places from `first` on, or where these places are; a chunk without it is all true."""
        for chunk, where in self.parts:
            to = where if places is None else places if where is None else places[where]
            values = chunk.columns.get(name)
            if values is not None and column.dtype.itemsize == 8 and (to is not None or len(chunk.rows)):
                wide = np.require(values, requirements=["C", "A"]).view(np.uint64)
                scatter_wide(column.view(np.uint64), wide, chunk.rows, NO_INTS if to is None else to, first)
                continue
            if values is not None and len(chunk.rows):
                values = values[chunk.rows]
            at = slice(first, first + len(chunk)) if to is None else first + to
            column[at] = True if values is None else values

    def chunk(self) -> Chunk:
        """All rows as one chunk."""
        columns = {}
        for name, dtype in self.names().items():
            columns[name] = np.empty(len(self), dtype)
            self.write(name, columns[name])
        return Chunk(self.time, self.order, NO_INTS, columns)


def _merged(chunks: list[Chunk]) -> Sorted:
    """Chunks as one sequence; of equal rows those of an earlier chunk come first."""
    last = chunks[-1]
    time, order = last.time, last.order
    parts: list[tuple[Chunk, Int64s | None]] = [(last, None)]
    for chunk in reversed(chunks[:-1]):  # sizes grow this way, so that each row is looked at only a few times
        size = len(chunk) + len(time)
        mine, others = np.empty(len(chunk), np.int64), np.empty(len(time), np.int64)
        both, orders = np.empty(size, np.int64), np.empty(size if len(order) else 0, np.int64)
        merge_places(chunk.time, chunk.order, time, order, mine, others, both, orders)
        parts = [(chunk, mine), *((part, others if at is None else others[at]) for part, at in parts)]
        time, order = both, orders
    return Sorted(time, order, parts)


class Waiting:
    """The chunks of one lane, in the order in which they came."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    @property
    def nbytes(self) -> int:
        """The bytes of the columns."""
        arrays = [array for c in self.chunks for array in (c.time, c.order, c.rows, *c.columns.values())]
        return sum(array.nbytes for array in arrays)

    def add(self, chunk: Chunk) -> None:
        """Rows that came; they stay in the memory of their batch until `rest`."""
        if len(chunk):
            self.chunks.append(chunk)

    def take(self, watermark: int | None) -> Sorted | None:
        """The rows before a watermark, all of them without one; they no longer wait."""
        due, left = [], []
        for chunk in self.chunks:
            at = len(chunk) if watermark is None else int(chunk.time.searchsorted(watermark))
            if at:
                due.append(chunk.part(slice(0, at)))
            if at < len(chunk):
                left.append(chunk.part(slice(at, len(chunk))) if at else chunk)
        self.chunks = left
        return _merged(due) if due else None

    def rest(self) -> None:
        """The step is over: what waits moves to columns of its own, and chunks of like size become one."""
        found: list[Chunk] = []
        for chunk in self.chunks:
            found.append(chunk if chunk.time.base is None and not len(chunk.rows) else chunk.settled())
            while len(found) > 1 and len(found[-2]) <= 2 * len(found[-1]):
                found[-2:] = [_merged(found[-2:]).chunk()]
        self.chunks = found

    def live_codes(self, column: str, live: npt.NDArray[np.bool_]) -> None:
        """Mark the texts of a column that rows have."""
        for chunk in self.chunks:
            if VALUE + column in chunk.columns:
                live[chunk.columns[VALUE + column]] = True

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of a column."""
        for chunk in self.chunks:
            if VALUE + column in chunk.columns:
                codes = chunk.columns[VALUE + column]
                codes[...] = np.maximum(moved[codes], 0)

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys of rows."""
        for chunk in self.chunks:
            live[chunk.columns.get("key", 0)] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        for chunk in self.chunks:
            if "key" in chunk.columns:
                chunk.columns["key"] = moved[chunk.columns["key"]]

    def dump(self) -> list[Any]:
        """What a snapshot holds."""
        return [{"time": chunk.time, "order": chunk.order, "columns": chunk.columns} for chunk in self.chunks]

    def load(self, tree: list[Any], names: list[str]) -> None:
        """Take over what a snapshot holds, of some columns of values."""
        known = {"key", *(kind + name for name in names for kind in (VALUE, VALID))}
        for part in tree:
            columns = {name: column.copy() for name, column in part["columns"].items() if name in known}
            self.chunks.append(Chunk(part["time"].copy(), part["order"].copy(), NO_INTS, columns))
