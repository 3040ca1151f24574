"""Slices with levels whose cells are compressed once they were not touched for a while (paper 5 over paper 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import NEVER, Compression
from muntin.fused import Fused
from muntin.metrics import Held
from muntin.slicing.slices import Partials
from muntin.spanning.cold import SOME, Columns, Parts, together
from muntin.spanning.edges import Edges
from muntin.spanning.levels import LEAST, LEVEL_BITS, Levels
from muntin.spanning.release import Cells, merged
from muntin.state.codecs import Codec

__all__ = ["ColdLevels"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class ColdLevels(Levels):
    """The cells of all keys over the slices that are held, of which silent ones are compressed."""

    def __init__(self, fused: Fused, edges: Edges, rule: Compression) -> None:
        self.after = rule.after
        self._parts = Parts(rule, self._joined)
        self.writer = self._parts.writer
        self._latest: int | None = None
        self._last: Int64s = np.empty(0, np.int64)
        super().__init__(fused, edges)

    # -- what is held --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.count + len(self._parts)

    @property
    def nbytes(self) -> int:
        """The bytes of cells, compressed or not, and of what finds them."""
        return super().nbytes + self._last.nbytes + self._parts.nbytes

    @property
    def chosen(self) -> tuple[int, str | None]:
        """The D in use, and the codec; None: nothing was compressed yet."""
        return self.after, self._parts.codec

    @property
    def silence(self) -> int:
        """For how long the cell that is open and longest silent has been so."""
        if self._latest is None or not self.count:
            return 0
        return self._latest - int(self._last[: self.count].min())

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""
        return self._parts.compressed()

    # -- events --------------------------------------------------------------------------------------------------------

    def _touch(self, cells: Int64s, newest: int) -> None:
        self._latest = newest if self._latest is None else max(self._latest, newest)
        self._last[cells[cells >= 0]] = self._latest

    def _reset(self) -> None:
        super()._reset()
        self._last = np.zeros(len(self._ends), np.int64)

    def _compact(self, stay: Int64s) -> None:
        self._last[: len(stay)] = self._last[stay]
        super()._compact(stay)

    def _resize(self, size: int, stay: Int64s) -> None:
        last = np.full(size, 0 if self._latest is None else self._latest)
        known = stay[stay < len(self._last)]
        last[: len(known)] = self._last[known]
        super()._resize(size, stay)
        self._last = last

    # -- compressing ---------------------------------------------------------------------------------------------------

    def compress(self, time: int | None) -> None:
        """The end of a step, at a time: cells that were not touched for D are compressed."""
        if time is not None:
            self._latest = time if self._latest is None else max(self._latest, time)
        if self._latest is None or self.after >= NEVER or not self.count:
            return
        silent = self._last[: self.count] <= self._latest - self.after
        some = np.flatnonzero(silent)
        if not len(some) or (self.after and SOME * len(some) < self.count):
            return
        columns = self._rows(some)
        cells = self._cells_of(columns["ends"], columns["places"], 0)
        self._parts.put(columns, int(cells.lo.min()), int(cells.hi.max()), len(np.unique(cells.key)))
        stay, size = np.flatnonzero(~silent), LEAST
        while size // 4 < len(stay):
            size *= 2
        self._clear_ring()
        self._resize(min(size, len(self._ends)), stay)

    def _rows(self, some: Int64s) -> Columns:
        partials = {str(i): column[some] for i, column in enumerate(self.columns)}
        return {"ends": self._ends[some], "places": self._places[some], **partials}

    def _joined(self, columns: Columns) -> Columns:
        """Cells of the same place as one."""
        ends, places = columns["ends"], columns["places"]
        order = np.lexsort((places, ends))
        ends, places = ends[order], places[order]
        first = np.flatnonzero(np.append(True, (ends[1:] != ends[:-1]) | (places[1:] != places[:-1])))
        partials = [columns[str(i)] for i in range(len(self.columns))]
        found = self._fused.merge_gather(first, np.append(first[1:], len(order)), order, partials)
        return {"ends": ends[first], "places": places[first], **{str(i): column for i, column in enumerate(found)}}

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed once more, with another codec, and what comes with it too."""
        self._parts.rewrite(codec)

    # -- windows -------------------------------------------------------------------------------------------------------

    def bounds(self) -> tuple[int, int] | None:
        """The first and the last slice with an event."""
        open_, reach = super().bounds(), self._parts.reach
        if reach is None:
            return open_
        low, high = (place - self.edges.base for place in reach)
        low = max(low, self.edges.first)
        if high < low:
            return open_
        return (low, high) if open_ is None else (min(open_[0], low), max(open_[1], high))

    def merged(self, a: Int64s, b: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slices a to b: which window and key, and the partials; those without events left out."""
        parts = self._parts.reaching(int(a.min()) + self.edges.base, int(b.max()) + self.edges.base)
        if not parts:
            return super().merged(a, b)
        rows = together([self._rows(np.arange(self.count)), *parts])
        cells: Cells = self._cells_of(rows["ends"], rows["places"], self.edges.base)
        return merged(self._fused, [rows[str(i)] for i in range(len(self.columns))], cells, a, b)

    def drop(self, time: int) -> None:
        """Forget the cells of slices that end by a time."""
        super().drop(time)
        self.dropped += self._parts.drop(self.edges.base + self.edges.first)

    # -- what needs all cells ------------------------------------------------------------------------------------------

    def _open_all(self) -> None:
        parts = self._parts.taken_out()
        if not parts:
            return
        here = self._rows(np.arange(self.count))
        rows = self._joined(together([here, *parts]))
        self._ends, self._places = rows["ends"], rows["places"]
        self.columns = [rows[str(i)] for i in range(len(self.columns))]
        size = LEAST
        while size // 2 < len(self._ends):
            size *= 2
        # When each was touched is not known any more: as long ago as can be, so that they are compressed again.
        self._last = np.full(len(self._ends), np.iinfo(np.int64).min)
        self._resize(size, np.arange(len(self._ends)))

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""
        self._open_all()
        return super().held(at)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with cells."""
        super().live_keys(live)
        for places in self._parts.column("places"):
            live[places >> LEVEL_BITS] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self._open_all()
        super().renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        self._open_all()
        return super().dump()

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self._parts.taken_out()
        super().load(tree)
