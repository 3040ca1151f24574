"""Kept events of rows windows, key by key and in order (paper 1, Figure 4).

The watermark has passed them, and they are in slices. They stay as long as an event that comes late may stand before
them, and so shift them by one position, and where the values of a window are computed from its events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.kernels.rows_events import insertion_points, merge_sources, place_by_key, place_wide
from muntin.slicing.batch import Batch
from muntin.slicing.rows.arrivals import NO_INTS, Arrivals
from muntin.slicing.rows.blocks import Blocks, spread
from muntin.slicing.rows.waiting import VALID, VALUE, Chunk, Sorted
from muntin.slicing.values import Column

__all__ = ["Events", "Inserted"]

Int64s = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


@dataclass
class Inserted:
    """Where new rows went, for each key that got some."""

    keys: Int64s
    points: Int64s
    """Before which of the key's kept events the first of them went."""
    late: Int64s
    """How many of them went before an event that was here."""
    offsets: Int64s
    """Where the rows of each key begin in `spots`."""
    spots: Int64s
    """Where each late one stands now among its key's events, counted from the first that is kept."""


class Events:
    """The kept events of all keys, with the columns that some aggregate names."""

    def __init__(self, names: list[str], ordered: bool) -> None:
        self._names = names
        columns: dict[str, Any] = {"time": np.dtype(np.int64)}
        if ordered:
            columns["order"] = np.dtype(np.int64)
        self.blocks = Blocks(columns)
        self._kinds: dict[str, Column] = {}

    @property
    def time(self) -> Int64s:
        """The times; the events of a key begin at `blocks.at`."""
        return self.blocks.columns["time"]

    @property
    def order(self) -> Int64s | None:
        """What decides between equal times."""
        return self.blocks.columns.get("order")

    def orders(self) -> Int64s:
        """As `order`, but empty where there is none: what a kernel takes."""
        return self.blocks.columns.get("order", NO_INTS)

    def column(self, name: str) -> Column:
        """A column of values."""
        columns = self.blocks.columns
        return replace(self._kinds[name], values=columns[VALUE + name], valid=columns.get(VALID + name))

    def columns(self) -> dict[str, Column]:
        """All columns of values."""
        return {name: self.column(name) for name in self._kinds}

    def live_codes(self, column: str, live: npt.NDArray[np.bool_]) -> None:
        """Mark the texts of a column that events have."""
        codes = self.blocks.columns.get(VALUE + column)
        if codes is not None:
            live[codes[spread(self.blocks.at, self.blocks.count)]] = True

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of a column."""
        codes = self.blocks.columns.get(VALUE + column)
        if codes is not None:
            rows = spread(self.blocks.at, self.blocks.count)
            codes[rows] = np.maximum(moved[codes[rows]], 0)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        return self.blocks.dump()

    def load(self, tree: dict[str, Any], kinds: dict[str, Column]) -> None:
        """Take over what a snapshot holds, of the columns kept here; `kinds` are empty ones with their types."""
        known = {"time", "order", *(kind + name for name in self._names for kind in (VALUE, VALID))}
        columns = {name: column for name, column in tree["columns"].items() if name in known}
        self.blocks.load({"count": tree["count"], "columns": columns})
        self._kinds = {name: kinds[name] for name in self._names if name in kinds}

    @property
    def kinds(self) -> dict[str, Column]:
        """An empty column of each that has come."""
        return self._kinds

    @property
    def names(self) -> list[str]:
        """The columns of values that are kept, where they come."""
        return self._names

    def chunk(self, rows: Arrivals) -> Chunk:
        """Sorted rows of a batch with the columns that are kept here."""
        batch: Batch = rows.batch
        columns: dict[str, Array] = {}
        if batch.key is not None:
            columns["key"] = batch.key
        for name in self._names:
            column = batch.values[name]
            if name not in self._kinds:
                self._kinds[name] = replace(column, values=column.values[:0], valid=None)
            columns[VALUE + name] = column.values
            if column.valid is not None:
                columns[VALID + name] = column.valid
        return Chunk(rows.time, rows.order, rows.rows, columns)

    # -- taking rows in ----------------------------------------------------------------------------------------------

    def insert(self, new: Sorted) -> Inserted:
        """Merge new rows into the blocks of their keys."""
        blocks = self.blocks
        keys, offsets, places = _by_key(new)
        time, order = new.time, new.order
        if places is not None:
            time, order = _moved(time, places), _moved(order, places)
        counts = np.diff(offsets)
        for name, dtype in new.names().items():
            if name != "key" and name not in blocks.columns:
                blocks.add(name, dtype, name.startswith(VALID))
        blocks.reserve(keys, counts)
        points, late = np.empty(len(keys), np.int64), np.zeros(len(keys), np.int64)
        orders = self.orders()
        insertion_points(keys, offsets, time, order, blocks.at, blocks.count, self.time, orders, points)
        had = blocks.count[keys]
        spots = NO_INTS
        if (points == had).all():
            self._append(new, time, order, keys, counts, places)
        else:
            segments = np.append(0, np.cumsum(had - points + counts))
            source, spots = np.empty(int(segments[-1]), np.int64), np.empty(len(new), np.int64)
            merge_sources(
                keys, offsets, time, order, points, segments, blocks.at, blocks.count, self.time, orders,
                source, late, spots,
            )  # fmt: skip
            self._merge(new, time, order, places, source, segments, blocks.at[keys] + points)
        blocks.count[keys] += counts
        return Inserted(keys, points, late, offsets, spots)

    def _append(
        self, new: Sorted, time: Int64s, order: Int64s, keys: Int64s, counts: Int64s, places: Int64s | None
    ) -> None:
        blocks = self.blocks
        to = blocks.at[keys] + blocks.count[keys]
        if len(keys) == 1:
            first, end, where = int(to[0]), int(to[0] + counts[0]), None
            self.time[first:end] = time
            if len(order):
                blocks.columns["order"][first:end] = order
        else:
            first, where = 0, spread(to, counts)
            self.time[where] = time
            if len(order):
                blocks.columns["order"][where] = order
            assert places is not None
            where = where[places]
        for name, column in blocks.columns.items():
            if name not in ("time", "order"):
                new.write(name, column, first, where)

    def _merge(
        self,
        new: Sorted,
        time: Int64s,
        order: Int64s,
        places: Int64s | None,
        source: Int64s,
        segments: Int64s,
        to: Int64s,
    ) -> None:
        where: Int64s | None = None
        for name, column in self.blocks.columns.items():
            array = {"time": time, "order": order}.get(name)
            if array is None:
                array = np.empty(len(new), column.dtype)
                new.write(name, array, 0, places)
            if column.dtype.itemsize == 8:
                place_wide(column.view(np.uint64), array.view(np.uint64), source, segments, to)
                continue
            if where is None:
                where = spread(to, np.diff(segments))
            here = source >= 0
            moved = np.empty(len(source), column.dtype)
            moved[here], moved[~here] = column[source[here]], array[-1 - source[~here]]
            column[where] = moved


def _by_key(new: Sorted) -> tuple[Int64s, Int64s, Int64s | None]:
    """The keys, ascending, where the rows of each begin once sorted by key, and where each row goes then.

    None: they stay where they are.
    """
    n = len(new)
    if "key" not in new.names():
        return np.zeros(1, np.int64), np.array([0, n]), None
    key = np.empty(n, np.int64)
    new.write("key", key)
    low, high, bits = int(key.min()), int(key.max()), n.bit_length()
    if low == high:
        return key[:1].copy(), np.array([0, n]), None
    places = np.empty(n, np.int64)
    if high - low < 2 * n:
        starts = np.zeros(high - low + 2, np.int64)
        place_by_key(key, low, starts, places)
        there = np.flatnonzero(starts[1:] != starts[:-1])
        return low + there, np.append(starts[there], n), places
    # Few rows of keys far apart. Key and place as one number: NumPy's plain sort is vectorised, its stable argsort
    # is not.
    packed = np.sort((key << bits) | np.arange(n))
    rows = packed & ((1 << bits) - 1)
    key = packed >> bits
    places[rows] = np.arange(n)
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return key[first], np.append(first, n), places


def _moved(array: Int64s, places: Int64s) -> Int64s:
    if not len(array):
        return array
    moved = np.empty(len(array), np.int64)
    moved[places] = array
    return moved
