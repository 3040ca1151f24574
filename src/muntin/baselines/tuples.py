"""Techniques over single tuples: a buffer of them, and a tree over the buffer (paper 1, sections 3.1 and 3.2; Table 1).

The tuples of all keys stand in one sorted array, each lifted to the partial of one event. A tuple that comes late is
inserted at its place, which moves all after it: one merge for a batch, not one for each tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.fused import Fused
from muntin.slicing.batch import Batch, Column
from muntin.slicing.slices import FIRST, LAST, N, Partials
from muntin.slicing.store_events import VALUE, EventStore
from muntin.slicing.tree import Tree
from muntin.slicing.views import bounds
from muntin.spanning.edges import Edges

__all__ = ["AggregateTree", "TupleBuffer"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class TupleBuffer:
    """Sorted tuples; a window is aggregated from those in it when it ends (section 3.1; Table 1, row 1)."""

    def __init__(self, fused: Fused, edges: Edges) -> None:
        self._fused, self.edges = fused, edges
        self._store = EventStore(1)

    def take(self, batch: Batch, order: Int64s | None, low: int, high: int, columns: Mapping[str, Column]) -> None:
        """Insert the tuples at their places."""
        self.edges.cover(low, high)
        rows = len(batch)
        lifted = self._fused.new(rows)
        self._fused.update_cells(lifted, np.arange(rows), batch.time, order, columns)
        kept = {i: column for i, column in enumerate(lifted) if i not in (FIRST, LAST)}  # a tuple has its time
        values = {str(i): Column(pa.from_numpy_dtype(column.dtype), column, None) for i, column in kept.items()}
        self._insert(replace(batch, values=values, measures={}, order=None))

    def _insert(self, batch: Batch) -> None:
        self._store.insert(batch, None, np.ones(len(batch), np.uint64))

    def extent(self) -> tuple[int, int] | None:
        """The first and the last slice with an event: which windows there are is asked over their edges."""
        if not len(self._store):
            return None
        time = self._store.time
        single = self._store.key[0] == self._store.key[-1]
        reach = (time[0], time[-1]) if single else (time.min(), time.max())
        a, b = np.searchsorted(self.edges.edges, reach, "right") - 1
        return int(max(a, self.edges.first)), int(max(b, self.edges.first))

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """The tuples of windows, combined."""
        view = self._store.view(0)
        keys = len(view.keys)
        which, rank = np.repeat(np.arange(len(start)), keys), np.tile(np.arange(keys), len(start))
        lo = bounds(view.time, view.offsets[rank], view.offsets[rank + 1], start[which])
        hi = bounds(view.time, lo, view.offsets[rank + 1], end[which])
        some = np.flatnonzero(hi > lo)
        lo, hi = lo[some], hi[some]
        if isinstance(view.index, slice):
            lo, hi = lo + view.index.start, hi + view.index.start
        elif view.index is not None:  # of each key the oldest are gone, so what is left of it stands side by side
            lo, hi = view.index[lo], view.index[hi - 1] + 1
        return which[some], view.keys[rank[some]], self._combined(lo, hi)

    def _combined(self, lo: Int64s, hi: Int64s) -> Partials:
        """Ranges of tuples, counted from the first that is held."""
        head = self._store._head
        return self._fused.merge_ranges(lo + head, hi + head, self._leaves())

    def _leaves(self) -> Partials:
        """The partials of tuples, from the first row of the store on; no times, which the tuples have themselves."""
        arrays = self._store._arrays
        return [arrays[VALUE + str(N if i in (FIRST, LAST) else i)] for i in range(len(self._fused.slots))]

    def drop(self, time: int) -> None:
        """Forget tuples before a time."""
        self.edges.need(time)
        self._store.drop_before(0, time)

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""
        return [self._store._live(VALUE + str(at))] if len(self._store) else []

    def told(self) -> list[str]:
        """Nothing is chosen."""
        return []

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return self._store.nbytes

    @property
    def turned(self) -> tuple[int, int]:
        """How many tuples were let go so far, and how many are held."""
        return self._store.dropped, len(self._store)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with tuples."""
        self._store.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        self._store.renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        return {"edges": self.edges.dump(), "store": self._store.dump()}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.edges.load(tree["edges"])
        names = [name.removeprefix(VALUE) for name in tree["store"]["arrays"] if name.startswith(VALUE)]
        nothing = np.empty(0, np.int64)
        self._store.load(tree["store"], {name: Column(pa.int64(), nothing, None) for name in names})


class AggregateTree(TupleBuffer):
    """A tree of partials over the sorted tuples: FlatFAT (section 3.2; Table 1, row 2).

    The tree is that of the eager store, with tuples in place of slices: up to date after every batch, and a window is
    combined from the few blocks that lie wholly inside of it. Where a tuple is inserted, all blocks from it on are
    combined anew.
    """

    def __init__(self, fused: Fused, edges: Edges) -> None:
        super().__init__(fused, edges)
        self._rows = _Rows(self)
        self._tree = Tree(fused, self._rows)  # type: ignore[arg-type]

    def _insert(self, batch: Batch) -> None:
        store = self._store
        before, key = len(store), batch.key_ids()
        first = before  # the first place of a new tuple, counted from the first that is held
        if before:
            at = int(np.lexsort((batch.time, key))[0])
            lo, hi = np.searchsorted(store.key, (key[at], key[at] + 1))
            first = int(lo + np.searchsorted(store.time[lo:hi], batch.time[at], "right"))
        super()._insert(batch)
        self._rows.refresh()
        self._tree.mark(self._rows.number + first, self._rows.number + len(store) - 1)
        self._tree.settle(1)

    def _combined(self, lo: Int64s, hi: Int64s) -> Partials:
        self._rows.refresh()
        head = self._store._head
        return self._tree.merged(lo + head, hi + head, 1)

    def drop(self, time: int) -> None:
        """Forget tuples before a time."""
        super().drop(time)
        self._rows.refresh()

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands: the tree is made anew after it changes."""
        self._tree.forget()
        return super().held(at)

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return super().nbytes + self._tree.nbytes


class _Rows:
    """The tuples as the tree sees slices: rows of columns, each with a running number."""

    stride = 1
    closed = 0  # none is compressed

    def __init__(self, buffer: AggregateTree) -> None:
        self._buffer = buffer
        self.columns: Partials = []
        self.number = self.first_row = self.room = self.moved = 0

    def __len__(self) -> int:
        return len(self._buffer._store)

    def refresh(self) -> None:
        """Look where the tuples stand now."""
        store = self._buffer._store
        array = store._arrays.get(VALUE + str(N))
        if array is None:
            return
        if not self.columns or self.columns[N] is not array:  # they moved to other columns: what is known is void
            self.columns = self._buffer._leaves()
        elif store._head < self.first_row:
            self.moved += 1
        # A tuple has the number of its row as long as rows stay: those that go at the front leave the others be.
        self.number = self.first_row = store._head
        self.room = len(array)
