"""The aggregate store, lazy: slices with their partials (paper 1, sections 5.2 and 5.3; Table 1, row 5).

A slice holds its start and end and the times of its first and last event, and for each key the number of its events
and the partials of all aggregates, as columns. All keys share the slices; cell `slice * stride + key` is one key in one
slice. Where slices hold few of the keys, only the cells that have an event exist (`sparse.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.slicing.compaction import kept_ids
from muntin.slicing.slicer import Slicer
from muntin.slicing.spans import Spans
from muntin.slicing.sparse import Cells, Partials, Sparse

__all__ = ["FIRST", "LAST", "Cells", "N", "Partials", "Slices"]

Int64s = npt.NDArray[np.int64]

N, FIRST, LAST = 0, 1, 2  # the columns that every store of cells begins with
SMALL = 1 << 17  # cells up to which they are dense, however empty
# The share of the keys in a slice below which cells turn sparse, above which they turn dense. 20 tumbling windows,
# 20,000 keys, M rows per second dense and sparse: at 5 % 0.36 and 0.94, at 18 % 1.0 and 1.4, at 33 % 2.0 and 1.7, at
# 55 % 3.0 and 2.0.
FEW, MOST = 0.2, 0.4
AHEAD = 16  # how many times the longest stretch of a batch so far
MANY = 16_384  # cells made ahead at the most
SOME = 8_192  # cells that may stay although no window needs them any more


class Slices:
    """Slices in the order of time, and the cells of all keys in them.

    Slices need not meet: where no event came for long there are none.
    """

    def __init__(self, slicer: Slicer, cells: Cells, keyed: bool = False) -> None:
        self._slicer, self._cells = slicer, cells
        self.spans = Spans() if keyed else None
        """The times of the first and last events of slices, where they have cells of several keys."""
        self.starts: Int64s = np.empty(0, np.int64)
        self.ends: Int64s = np.empty(0, np.int64)
        self.stride = 1
        self._room = 0
        self._head = 0
        self._stretch = 0
        self.meet = True
        """Whether each slice ends where the next one starts."""
        self.dropped = 0
        """How many slices were let go."""
        self._dense: Partials = cells.new(0)
        self.sparse: Sparse | None = None
        """The cells, where slices hold few of the keys."""
        self._keys = 1
        self._checked = self._coming = self._new = self._high = 0
        self.number = 0
        """The running number of the first slice: a slice keeps its number while others come after it or go before."""
        self.moved = 0
        """How often slices moved to other rows of the same columns."""
        self.closed = 0
        """How many of the first slices have no cells here: theirs are compressed (`muntin.slicing.cold_slices`)."""

    @property
    def columns(self) -> Partials:
        """The cells as columns."""
        return self._dense if self.sparse is None else self.sparse.columns

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        """The bytes that the store holds."""
        cells = sum(column.nbytes for column in self._dense) if self.sparse is None else self.sparse.nbytes
        return self.starts.nbytes + self.ends.nbytes + cells + (0 if self.spans is None else self.spans.nbytes)

    # -- making room -----------------------------------------------------------------------------------------------

    def cover(self, times: Int64s, low: int, high: int) -> None:
        """Make sure that every time lies in a slice; `low` and `high` are the smallest and largest of them."""
        if len(self) and self.meet and self.starts[0] <= low and high < self.ends[-1]:
            return
        self._stretch = max(self._stretch, high - low)
        self._coming, self._high = len(times), high
        if not len(self):
            self._put(0, *self._between(low, high, times))
            return
        if high >= self.ends[-1]:
            top = int(self.ends[-1])
            # Making slices costs the same for few and for many: make those of the next batches too.
            for batches in (AHEAD, AHEAD // 2, AHEAD // 4, AHEAD // 8):
                ahead = high + batches * self._stretch
                if self._slicer.count(top, ahead) * self.stride <= MANY:
                    high = ahead
                    break
            self._put(len(self), *self._between(top, high, times, above=top))
        if low < self.starts[0]:
            bottom = int(self.starts[0])
            starts, ends = self._between(low, bottom - 1, times, below=bottom)
            inside = starts < bottom
            self._put(0, starts[inside], np.minimum(ends[inside], bottom))
        if not self.meet:
            self._fill_gaps(times)

    def _between(
        self, low: int, high: int, times: Int64s, above: int | None = None, below: int | None = None
    ) -> tuple[Int64s, Int64s]:
        """Slices from low to high: all of them where they are not too many, else those with an event."""
        if self._slicer.count(low, high) <= max(4 * len(times) + 4096, MANY // self.stride):
            edges = self._slicer.edges(low, high)
            if above is not None:
                edges = edges[edges >= above]
            return edges[:-1], edges[1:]
        self.meet = False
        some = times
        if above is not None:
            some = some[some >= above]
        if below is not None:
            some = some[some < below]
        starts, ends = self._slicer.slices_of(some)
        if above is not None:
            starts = np.maximum(starts, above)
        return starts, ends

    def _fill_gaps(self, times: Int64s) -> None:
        place = np.searchsorted(self.starts, times, "right") - 1
        outside = times >= self.ends[place]
        if not outside.any():
            return
        starts, ends = self._slicer.slices_of(times[outside])
        for start, end in zip(starts, ends, strict=True):  # rare: an event in a gap where none had been
            at = int(np.searchsorted(self.starts, start))
            after = int(self.starts[at]) if at < len(self) else int(end)
            before = int(self.ends[at - 1]) if at else int(start)
            self._put(at, np.array([max(start, before)]), np.array([min(end, after)]))

    def _put(self, at: int, starts: Int64s, ends: Int64s) -> None:
        """Add slices with empty cells at a place."""
        count = len(starts)
        if not count:
            return
        used = len(self)
        self._new = int(np.count_nonzero(starts <= self._high))
        if at < used:
            self.moved += 1
            self.number -= 0 if at else count
        self._put_cells(at, count)
        if self.spans is not None:
            self.spans.put(at, count)
        self.starts = np.insert(self.starts, at, starts) if at < used else np.concatenate([self.starts, starts])
        self.ends = np.insert(self.ends, at, ends) if at < used else np.concatenate([self.ends, ends])

    def _put_cells(self, at: int, count: int) -> None:
        used = len(self)
        if self.sparse is None and self._head + used + count > self._room:
            self._resize(used + count, self.stride)
        if self.sparse is not None:
            self.sparse.put(at, count)
            return
        if at < used:  # not at the end: what follows moves up
            for column in self._dense:
                rows = column.reshape(self._room, self.stride)
                rows[self._head + at + count : self._head + used + count] = rows[
                    self._head + at : self._head + used
                ].copy()
        fresh = self._cells.new(count * self.stride)
        first = (self._head + at) * self.stride
        for column, empty in zip(self._dense, fresh, strict=True):
            column[first : first + len(empty)] = empty

    def _resize(self, slices: int, stride: int, keys: Int64s | None = None) -> None:
        """Room for slices and keys; `keys` are the places of those that stay, None: all of them."""
        if keys is None and self._to_sparse(slices, stride):
            return
        used, opened = len(self) - self.closed, slices - self.closed
        room = max(2 * opened, min(64, MANY // stride))
        if stride == self.stride and 1.5 * opened <= self._room <= room:
            # How many slices there are when room runs out depends on how batches fall. Twice that, each time anew, let
            # the state of a steady stream rise and fall by 9 %: it keeps the least that it has come along with.
            room = self._room
        columns = self._cells.new(room * stride)
        for i, new in enumerate(columns):
            if used:
                rows = self._here(i) if keys is None else self._here(i)[:, keys]
                new.reshape(room, stride)[:used, : rows.shape[1]] = rows
        self._dense, self._room, self._head, self.stride = columns, room, -self.closed, stride

    def grow(self, keys: int) -> None:
        """Room for more keys."""
        self._keys, self._coming, self._new = keys, 0, 0
        if keys > self.stride:
            if self.sparse is not None:
                self.stride = keys
            else:
                self._resize(len(self), max(2 * self.stride, 1 << (keys - 1).bit_length()))

    # -- dense or sparse ---------------------------------------------------------------------------------------------

    def _to_sparse(self, slices: int, stride: int) -> bool:
        """Turn sparse where dense cells would be many, and mostly empty; before room is made for them."""
        if stride == 1 or (slices - self.closed) * stride <= SMALL:
            return False
        n = self._here(0)
        some = int(np.count_nonzero(n.any(axis=1)))
        have = int(np.count_nonzero(n)) + self._coming
        # Slices that are made ahead do not count: they have no events yet.
        if have >= FEW * (some + self._new) * self._keys:
            return False
        self._turn_sparse()
        return True

    def _turn_sparse(self) -> None:
        slices, key = np.nonzero(self._here(0))
        columns = [self._here(i)[slices, key] for i in range(len(self._dense))]
        sparse = Sparse(self._cells, len(self))
        sparse.fill(slices + self.closed, key, columns, len(self))
        self.sparse, self._dense = sparse, self._cells.new(0)
        self.stride, self._room, self._head = max(self._keys, 2), 0, 0

    def _turn_dense(self) -> None:
        assert self.sparse is not None
        cells, key, slices = self.sparse.listed(0, len(self))
        values = [column[cells] for column in self.sparse.columns]
        self.stride = 1 << (max(self._keys, 2) - 1).bit_length()
        self._room, self._head = max(2 * (len(self) - self.closed), 1), -self.closed
        self.sparse, self._dense = None, self._cells.new(self._room * self.stride)
        for column, part in zip(self._dense, values, strict=True):
            column[(slices - self.closed) * self.stride + key] = part

    def _check(self) -> None:
        """Change the layout where slices have become fuller, or emptier; looked at as slices go."""
        self._checked = self.dropped
        if not len(self):
            return
        if self.sparse is None:
            if self.stride > 1 and len(self) * self.stride > SMALL:
                n = self._here(0)
                some = int(np.count_nonzero(n.any(axis=1)))
                if some and np.count_nonzero(n) < FEW * some * self._keys:
                    self._turn_sparse()
        elif len(self) * self._keys <= SMALL // 16 or len(self.sparse) > MOST * self.sparse.filled * self._keys:
            self._turn_dense()

    # -- reading -----------------------------------------------------------------------------------------------------

    def cells_of(self, times: Int64s, keys: Int64s | None) -> Int64s:
        """The cell of each event."""
        rows = np.searchsorted(self.starts, times, "right") - 1 + self._head
        return rows if keys is None else rows * self.stride + keys

    @property
    def room(self) -> int:
        """How many slices the columns have room for, those that are gone included."""
        return self._room

    @property
    def first_row(self) -> int:
        """Where the first slice stands in the columns, or would stand if it had cells there."""
        return self._head

    def event_times(self) -> tuple[Int64s, Int64s]:
        """The times of the first and the last event of each slice that has one."""
        if self.spans is not None:
            return self.spans.first, self.spans.last
        return self.rows(FIRST)[:, 0], self.rows(LAST)[:, 0]

    def start_of(self, time: int) -> int:
        """The start of the slice that holds a time, or of the first one after it."""
        return int(self.starts[max(int(self.starts.searchsorted(time, "right")) - 1, 0)])

    def span(self, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s]:
        """The rows of the slices that make up some windows, from and up to."""
        return (
            np.searchsorted(self.starts, starts, "left") + self._head,
            np.searchsorted(self.starts, ends, "left") + self._head,
        )

    def occupied(self, low: int, high: int) -> tuple[Int64s, Int64s]:
        """Keys and cells of slices low to high that hold events, by key and within a key by time."""
        if self.sparse is not None:
            cells, key, _ = self.sparse.listed(low, high)
            by_key = np.argsort(key, kind="stable")
            return key[by_key], cells[by_key]
        n = self._here(0)[low - self.closed : high - self.closed]
        if self.stride == 1:
            index = np.flatnonzero(n.reshape(-1))
            return np.zeros(len(index), np.int64), index + (low + self._head)
        key, index = np.nonzero(n.T)
        return np.ascontiguousarray(key), (index + (low + self._head)) * self.stride + key

    def rows(self, column: int) -> npt.NDArray[Any]:
        """A column of dense cells as a matrix of the slices in use and the keys."""
        return self._here(column)

    def _here(self, column: int) -> npt.NDArray[Any]:
        """The same of those slices that are not compressed."""
        return self._dense[column].reshape(self._room, self.stride)[self._head + self.closed : self._head + len(self)]

    def need(self, first: int) -> None:
        """The cells of slices from a place on are about to be read."""

    def held(self, column: int) -> npt.NDArray[Any]:
        """All that a column holds, to be looked at or changed in place."""
        return self.rows(column) if self.sparse is None else self.sparse.held(column)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the slices: those in use."""
        tree = self._bounds()
        if self.sparse is not None:
            return tree | {"sparse": self.sparse.dump()}
        return tree | {"columns": [np.ascontiguousarray(self.rows(i)) for i in range(len(self._dense))]}

    def _bounds(self) -> dict[str, Any]:
        """What a snapshot holds beside the cells."""
        tree = {"starts": self.starts, "ends": self.ends, "stride": self.stride, "meet": self.meet, "keys": self._keys}
        return tree | {"number": self.number, "spans": None if self.spans is None else self.spans.dump()}

    def _load_bounds(self, tree: dict[str, Any]) -> None:
        self.starts, self.ends = tree["starts"], tree["ends"]
        self.meet, self._keys, self.number = tree["meet"], tree["keys"], tree["number"]
        self.spans = None if tree["spans"] is None else Spans.load(tree["spans"])

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the slices of a snapshot."""
        self._load_bounds(tree)
        self.stride, self._head = tree["stride"], 0
        if "sparse" in tree:
            self._room = 0
            self.sparse = Sparse(self._cells, len(self))
            self.sparse.load(tree["sparse"], len(self))
        else:
            self._room = len(self.starts)
            self._dense = [column.reshape(-1) for column in tree["columns"]]

    # -- keys --------------------------------------------------------------------------------------------------------

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys that have an event in some slice."""
        if self.sparse is not None:
            self.sparse.live_keys(live)
            return
        for row in self._here(0):  # slice by slice: a mask of all cells would be as large as a column
            live |= row[: len(live)] > 0

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        stay = kept_ids(moved)
        self._keys = max(len(stay), 1)
        if self.sparse is not None:
            self.sparse.renumber(moved)
            self.stride = max(self._keys, 2)
        else:
            self._resize(len(self), 1 << (self._keys - 1).bit_length(), stay)
        self._check()  # of fewer keys slices hold more

    # -- letting go --------------------------------------------------------------------------------------------------

    def drop_before(self, time: int) -> None:
        """Forget the slices that end at or before a time."""
        gone = int(self.ends.searchsorted(time, "right"))
        # A few at a time cost more than they weigh: what is made for the slices (see Fused.grid) is made again.
        if gone < len(self) and gone * 4 < len(self) and gone * self.stride < SOME:
            return
        # Views: to copy 100,000 of them took longer than to answer a window. The next slices put behind let them go.
        self.starts, self.ends = self.starts[gone:], self.ends[gone:]
        self.dropped += gone
        self.number += gone
        if self.spans is not None:
            self.spans.drop(gone)
        if self.sparse is not None:
            self.sparse.drop(gone)
        else:
            self._head += gone
        self.closed = max(self.closed - gone, 0)
        if not len(self):
            self._head, self.meet = 0, True
            self.moved += 1
        if self.dropped - self._checked >= max(len(self), 1):
            self._check()
