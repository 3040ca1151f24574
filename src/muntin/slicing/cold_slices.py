"""Slices whose cells are compressed once they were not touched for a while (paper 5, where all keys share slices).

A slice is touched by an event in it. D of event time after the last one, its cells, those of all keys, are compressed
with those of the slices beside it. Slices are in the order of time, so these are always the first ones: what is open
is the rest, in the columns of `Slices`.

    slices       0   1   2   3   4   5   6   7
    cells      [ part  ][ part  ][ part ]| open     `closed` is 6

An event for a slice in a part opens the parts from there on, and so does a window that is due. Parts that were only
read are still good: to close them again is to let the open cells go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import NEVER, Compression
from muntin.metrics import Held
from muntin.slicing.chunks import Packed, Writer
from muntin.slicing.slicer import Slicer
from muntin.slicing.slices import LAST, Cells, Slices
from muntin.state.codecs import Codec

__all__ = ["ColdSlices"]

Array = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]

ROWS = 1 << 16  # cells of a part, about
SOME = 8  # with a D, slices wait until one in so many of those that are open can be compressed


@dataclass
class _Part:
    """The cells of some slices, given by the numbers of the first one and of the first after them."""

    first: int
    end: int
    rows: int = 0
    packed: Packed | None = None
    """None: they are open, and have changed since they were compressed."""


class ColdSlices(Slices):
    """Slices of which the first ones are compressed."""

    def __init__(self, slicer: Slicer, cells: Cells, keyed: bool, rule: Compression) -> None:
        super().__init__(slicer, cells, keyed)
        self.after = rule.after
        self.writer = Writer(rule)
        self._parts: list[_Part] = []
        self._latest: int | None = None
        self._counted = Held()
        self.on_close: Callable[[], None] | None = None
        """Called when slices were compressed: what was combined from them goes too."""

    # -- what is held --------------------------------------------------------------------------------------------------

    @property
    def _cold(self) -> list[Packed]:
        """The parts that are compressed, and not open beside."""
        until = self.number + self.closed
        return [part.packed for part in self._parts if part.end <= until and part.packed is not None]

    @property
    def nbytes(self) -> int:
        """The bytes of open cells and of parts."""
        return super().nbytes + sum(part.packed.nbytes for part in self._parts if part.packed is not None)

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""
        sizes = [(packed.nbytes, packed.raw) for packed in self._cold]
        return self._counted + Held(bytes_compressed=sum(n for n, _ in sizes), bytes_open=sum(raw for _, raw in sizes))

    @property
    def chosen(self) -> tuple[int, str | None]:
        """The D in use, and the codec; None: nothing was compressed yet."""
        return self.after, None if self.writer.codec is None else str(self.writer.codec)

    @property
    def silence(self) -> int:
        """For how long the slice that is open and longest silent has been so."""
        last = self._last()
        some = last[last > np.iinfo(np.int64).min]
        return 0 if self._latest is None or not len(some) else self._latest - int(some.min())

    @property
    def age(self) -> int:
        """How long ago the first slice began."""
        return 0 if self._latest is None or not len(self) else max(self._latest - int(self.starts[0]), 0)

    def silent(self, after: int) -> int | None:
        """The start of the first slice that was touched within a D; None: no slice has an event."""
        last = self._last()
        if self._latest is None or not len(self):
            return None
        busy = np.flatnonzero(last > self._latest - after)
        return int(self.starts[self.closed + busy[0]]) if len(busy) else int(self.ends[-1])

    def _last(self) -> Int64s:
        """The times of the last events of the slices that are open."""
        found: Int64s = self._here(LAST)[:, 0] if self.spans is None else self.spans.last[self.closed :]
        return found

    # -- opening -------------------------------------------------------------------------------------------------------

    def cover(self, times: Int64s, low: int, high: int) -> None:
        """Make sure that every time lies in a slice that is open, and that no part has cells that change."""
        super().cover(times, low, high)
        if not self._parts:
            return
        covered = self._parts[-1].end - self.number
        if covered < len(self) and low >= self.starts[covered]:
            return
        old = times if covered >= len(self) else times[times < self.starts[covered]]
        touched = np.unique(self.starts.searchsorted(old, "right") - 1) + self.number
        self.need(int(touched[0]) - self.number)
        ends = np.array([part.end for part in self._parts])
        for at in np.unique(ends.searchsorted(touched, "right")).tolist():
            self._parts[at].packed = None

    def need(self, first: int) -> None:
        """Open the cells of slices from a place on."""
        if first >= self.closed:
            return
        until = self.number + self.closed
        opened = [p for p in self._parts if p.end > self.number + max(first, 0) and p.end <= until]
        slices, key, columns = [], [], []
        for part in opened:
            assert part.packed is not None
            slices.append(part.packed["slice"] + (part.first - self.number))
            key.append(part.packed["key"])
            columns.append([part.packed[str(i)] for i in range(len(self.columns))])
        self._counted += Held(decompressions=sum(p.end - p.first for p in opened), chunks_read=len(opened))
        closed = max(opened[0].first - self.number, 0)
        at, keys = np.concatenate(slices), np.concatenate(key)
        values = [np.concatenate(both) for both in zip(*columns, strict=True)]
        if opened[0].first < self.number:  # the first slices of a part are not needed any more
            stay = np.flatnonzero(at >= 0)
            at, keys, values = at[stay], keys[stay], [column[stay] for column in values]
        self._lay(closed, at, keys, values)

    def _lay(self, closed: int, at: Int64s, key: Int64s, values: list[Array]) -> None:
        """Only the first `closed` slices have no cells here; these cells come beside those that are here."""
        here = max(closed, self.closed)
        self.moved += 1
        if self.sparse is not None:
            cells, keys, slices = self.sparse.listed(here, len(self))
            held = [column[cells] for column in self.sparse.columns]
            both = [np.concatenate(pair) for pair in zip(values, held, strict=True)]
            self.sparse.fill(np.concatenate([at, slices]), np.concatenate([key, keys]), both, len(self))
            self.closed = closed
            return
        used = len(self) - closed
        room = max(used + used // 4, 1)
        columns = self._cells.new(room * self.stride)
        place = (at - closed) * self.stride + key
        for i, (column, part) in enumerate(zip(columns, values, strict=True)):
            rows = self._here(i)[here - self.closed :]
            column.reshape(room, self.stride)[here - closed : used] = rows
            column[place] = part
        self._dense, self._room, self._head, self.closed = columns, room, -closed, closed

    def _forget(self) -> None:
        """All cells are open, and no part holds."""
        self.need(0)
        self._parts = []

    # -- compressing ---------------------------------------------------------------------------------------------------

    def compress(self, time: int | None) -> None:
        """The end of a step, at a time: slices that were not touched for D are compressed."""
        if time is not None:
            self._latest = time if self._latest is None else max(self._latest, time)
        last = self._last()
        if not len(last):
            return
        newest = int(last.max())
        self._latest = newest if self._latest is None else max(self._latest, newest)
        if self.after >= NEVER:
            return
        busy = np.flatnonzero(last > self._latest - self.after)
        filled = int(np.flatnonzero(last > np.iinfo(np.int64).min).max(initial=-1)) + 1
        ready = self.closed + (min(int(busy[0]), filled) if len(busy) else filled)
        # Slices that are closed stay so; of the others those that were touched again are taken in with the next ones.
        until = self.number + ready
        good = [part for part in self._parts if part.end <= max(until, self.number + self.closed)]
        self._parts = good
        covered = good[-1].end - self.number if good else 0
        fresh = ready - max(covered, 0)
        if fresh > 0 and (not self.after or SOME * fresh >= filled - (covered - self.closed)):
            self._parts.append(_Part(self.number + max(covered, 0), until))
        for part in self._parts:
            if part.packed is None:
                self._pack(part, *self._cells_of(part))
        self._tidy()
        end = self._parts[-1].end - self.number if self._parts else 0
        if end > self.closed:
            none: Int64s = np.empty(0, np.int64)
            self._lay(end, none, none, self._cells.new(0))
            if self.on_close is not None:
                self.on_close()

    def _cells_of(self, part: _Part) -> tuple[Int64s, Int64s, list[Array]]:
        """The cells of open slices: their slices, counted from the first of the part, keys and partials."""
        low, high = max(part.first - self.number, 0), part.end - self.number
        shift = self.number - part.first
        if self.sparse is not None:
            cells, key, slices = self.sparse.listed(low, high)
            return slices + shift, key, [column[cells] for column in self.sparse.columns]
        some = slice(low - self.closed, high - self.closed)
        slices, key = np.nonzero(self._here(0)[some])
        values = [self._here(i)[some][slices, key] for i in range(len(self._dense))]
        return slices + (low + shift), key, values

    def _pack(self, part: _Part, slices: Int64s, key: Int64s, values: list[Array]) -> None:
        part.rows = len(key)
        part.packed = Packed(
            {"slice": slices, "key": key} | {str(i): column for i, column in enumerate(values)}, self.writer
        )
        self._counted += Held(compressions=part.end - part.first, chunks_written=1)

    def _tidy(self) -> None:
        """Parts become one where they are about as large: there are few, and each cell is moved few times.

        The last one stays as it is: the next event is most likely for its last slice, and opens only that part.
        """
        newest, parts = self._parts[-1:], self._parts[:-1]
        while len(parts) > 1 and parts[-2].rows <= 2 * parts[-1].rows and parts[-2].rows + parts[-1].rows <= ROWS:
            last, part = parts.pop(), parts[-1]
            before, after = part.packed, last.packed
            assert before is not None
            assert after is not None
            slices = np.concatenate([before["slice"], after["slice"] + (last.first - part.first)])
            key = np.concatenate([before["key"], after["key"]])
            names = [str(i) for i in range(len(self.columns))]
            part.end = last.end
            self._pack(part, slices, key, [np.concatenate([before[name], after[name]]) for name in names])
        self._parts = parts + newest

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed once more, with another codec, and what comes with it too."""
        self.writer.strong, self.writer.left = codec, 0
        for part in self._parts:
            if part.packed is not None:
                packed = part.packed
                self._pack(part, packed["slice"], packed["key"], [packed[str(i)] for i in range(len(self.columns))])

    # -- what needs all cells, and what goes ---------------------------------------------------------------------------

    def _put(self, at: int, starts: Int64s, ends: Int64s) -> None:
        if len(starts) and at < len(self):  # those after it get other numbers
            self._forget()
        super()._put(at, starts, ends)

    def occupied(self, low: int, high: int) -> tuple[Int64s, Int64s]:
        """Keys and cells of slices low to high that hold events, by key and within a key by time."""
        if low >= high:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        self.need(low)
        return super().occupied(low, high)

    def rows(self, column: int) -> Array:
        """A column of dense cells as a matrix of the slices in use and the keys."""
        self.need(0)
        return super().rows(column)

    def held(self, column: int) -> Array:
        """All that a column holds, to be looked at or changed in place."""
        self._forget()
        return super().held(column)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the slices: those in use."""
        self.need(0)
        return super().dump()

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the slices of a snapshot."""
        self._parts, self.closed = [], 0
        super().load(tree)

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys that have an event in some slice."""
        super().live_keys(live)
        for packed in self._cold:
            live[packed["key"]] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self._forget()
        super().renumber(moved)

    def drop_before(self, time: int) -> None:
        """Forget the slices that end at or before a time."""
        super().drop_before(time)
        self._parts = [part for part in self._parts if part.end > self.number]
