"""Kept events as sorted columns, shared by all queries that need them (paper 1, Figure 4).

Rows stand by key, time, order and arrival. Each row has one bit per query that has taken it and still needs it; a row
without bits is dropped. What comes is mostly newer than what is there: then it is appended, else merged into the part
of the columns that stands after the first new row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.slicing.batch import Batch, Column
from muntin.slicing.covered import Cover
from muntin.slicing.sorting import sorting
from muntin.slicing.views import NO_INTS, Measured, View, flat

__all__ = ["VALID", "VALUE", "EventStore"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]

MANY = 4_096  # rows whose room is not held for nothing

_ALL = (1 << 64) - 1

# Names of the columns of a store: the five of its own, then values, whether they are there, measures, their nulls.
VALUE, VALID, _MEASURE, _NULL = "value ", "valid ", "measure ", "null "
_OWN: dict[str, Any] = {"key": np.int64, "time": np.int64, "seq": np.int64, "taken": np.uint64}


class EventStore:
    """Events of all keys in order, as columns with room to grow at the end.

    >>> from muntin.slicing.batch import Batch
    >>> store = EventStore()
    >>> batch = Batch(None, None, np.array([5, 3]), None, None, {}, {}, 5)
    >>> store.insert(batch, None, np.array([1, 1], np.uint64))
    >>> store.view(0).time.tolist(), store.view(1).time.tolist()
    ([3, 5], [])
    """

    def __init__(self, queries: int = 64) -> None:
        self._queries = range(queries)
        self._cut = [0] * queries
        """Rows before this no longer count for a query, though they have its bit: where all rows had it, as without
        keys, letting the oldest go is a number and no pass over the rows. Counted from the head."""
        self._head = self._tail = 0
        self._inserted = 0
        self._dirty = False
        self._arrays: dict[str, npt.NDArray[Any]] = {name: np.empty(0, dtype) for name, dtype in _OWN.items()}
        self._kinds: dict[str, Column] = {}  # an empty column of each name, for its type and interner
        self._common = _ALL  # bits that all rows have: queries that see the columns as they are
        self._some = 0  # bits that a row has, or has had
        self._cover: Cover | None = None

    def __len__(self) -> int:
        return self._tail - self._head

    @property
    def nbytes(self) -> int:
        """The bytes of the columns, with the room to grow, and of the slices over them."""
        covering = 0 if self._cover is None else self._cover.nbytes
        return sum(array.nbytes for array in self._arrays.values()) + covering

    @property
    def cover(self) -> Cover:
        """The slices over the rows; from the first time that they are asked for they are kept up to date."""
        if self._cover is None:
            self._cover = Cover(self.seq)
        return self._cover

    @property
    def covering(self) -> Cover | None:
        """The slices over the rows; None where nobody has asked for them."""
        return self._cover

    @property
    def key(self) -> Int64s:
        """The key ids."""
        return self._live("key")

    @property
    def time(self) -> Int64s:
        """The times."""
        return self._live("time")

    @property
    def order(self) -> Int64s | None:
        """What decides between equal times; None where nothing but the arrival does."""
        return self._live("order") if "order" in self._arrays else None

    @property
    def seq(self) -> Int64s:
        """The arrival numbers."""
        return self._live("seq")

    @property
    def taken(self) -> Bits:
        """One bit for each query that has taken the row and still needs it."""
        return self._live("taken")

    @property
    def values(self) -> dict[str, Column]:
        """The columns that windows and aggregates name."""
        return {name: self._column(name, None) for name in self._kinds}

    @property
    def measures(self) -> dict[str, Measured]:
        """The columns of `on=`, each with its mask of nulls."""
        named = [name.removeprefix(_MEASURE) for name in self._arrays if name.startswith(_MEASURE)]
        return {name: self._measure(name, None) for name in named}

    def _live(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name][self._head : self._tail]

    def _column(self, name: str, index: Int64s | slice | None) -> Column:
        if name not in self._kinds:  # before the first row the types are not known, and nothing is asked of them
            return Column(pa.null(), np.empty(0, np.int64), None)
        values = self._live(VALUE + name)
        valid = self._live(VALID + name) if VALID + name in self._arrays else None
        if index is not None:
            values, valid = values[index], None if valid is None else valid[index]
        return replace(self._kinds[name], values=values, valid=valid)

    def _measure(self, name: str, index: Int64s | slice | None) -> Measured:
        values = self._live(_MEASURE + name)
        null = self._live(_NULL + name) if _NULL + name in self._arrays else None
        if index is None:
            return values, null
        return values[index], None if null is None else null[index]

    @property
    def dropped(self) -> int:
        """How many events were let go."""
        return self._inserted - len(self)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with events."""
        live[self.key] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self.key[:] = moved[self.key]

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the events."""
        return {"arrays": {name: self._live(name) for name in self._arrays}, "common": self._common, "cut": self._cut}

    def load(self, tree: dict[str, Any], kinds: dict[str, Column]) -> None:
        """Take over the events of a snapshot; `kinds` are empty columns with their types and interners."""
        self._arrays, self._common, self._cut = tree["arrays"], tree["common"], tree["cut"]
        self._queries = range(len(self._cut))
        self._head, self._tail = 0, len(self._arrays["key"])
        self._inserted = self._tail
        self._some = int(np.bitwise_or.reduce(self._arrays["taken"]))
        self._kinds = {name: kind for name, kind in kinds.items() if VALUE + name in self._arrays}

    def live_codes(self, column: str, live: Bools) -> None:
        """Mark the texts of a column that events have."""
        if VALUE + column in self._arrays:
            live[self._live(VALUE + column)] = True

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of a column."""
        if VALUE + column in self._arrays:
            codes = self._live(VALUE + column)
            codes[...] = np.maximum(moved[codes], 0)

    # -- other queries ---------------------------------------------------------------------------------------------

    def keep_columns(self, values: Collection[str], measures: Collection[str]) -> None:
        """Forget the columns that no query reads any more."""
        stay = {prefix + name for prefix in (VALUE, VALID) for name in values}
        stay |= {prefix + name for prefix in (_MEASURE, _NULL) for name in measures} | {*_OWN, "order"}
        self._arrays = {name: array for name, array in self._arrays.items() if name in stay}
        self._kinds = {name: kind for name, kind in self._kinds.items() if name in values}

    def widen(self, bit: int) -> None:
        """Room for a query with this bit."""
        self._cut += [0] * (bit + 1 - len(self._cut))
        self._queries = range(len(self._cut))

    def share(self, bit: int, other: int, since: int | None) -> None:
        """A query takes the rows of another one from a time on; it had none before."""
        if not len(self):
            return
        view, flag = self.view(other), np.uint64(1 << bit)
        some = np.arange(len(self))[slice(None) if view.index is None else view.index]
        some = some if since is None else some[view.time >= since]
        self._cut[bit] = 0
        self.taken[:] &= ~flag
        self.taken[some] |= flag
        self._some |= 1 << bit
        self._common = self._common & ~(1 << bit) | (1 << bit if len(some) == len(self) else 0)

    # -- taking rows in --------------------------------------------------------------------------------------------

    def insert(self, batch: Batch, index: Int64s | None, taken: Bits) -> None:
        """Merge rows of a batch into the columns; `index` None: all of them. They came after all rows that are here."""
        some = taken != 0
        if not some.all():
            index = np.flatnonzero(some) if index is None else index[some]
            taken = taken[some]
        if not len(taken):
            return
        rows = self._picked(batch, index, taken)
        sort = sorting(rows)
        if sort is not None:
            rows = {name: array[sort] for name, array in rows.items()}
        common = self._common & int(np.bitwise_and.reduce(taken))
        self._some |= int(np.bitwise_or.reduce(taken))
        n, new = len(self), len(taken)
        self._reserve(rows, new)
        at = self._insertions(rows)
        first = n if at is None else int(at[0])
        for bit in self._queries:
            if self._cut[bit] and (not common >> bit & 1 or first < self._cut[bit]):
                common &= ~self._clear(bit)
        self._common = common
        if at is None:
            for name, array in rows.items():
                self._arrays[name][self._tail : self._tail + new] = array
        else:
            moved = at + np.arange(new) - first
            old = np.ones(n - first + new, np.bool_)
            old[moved] = False
            for name, array in rows.items():
                place = self._arrays[name][self._head + first : self._tail + new]
                place[old] = place[: n - first].copy()
                place[moved] = array
        self._tail += new
        self._inserted += new
        if self._cover is not None:
            self._cover.inserted(at, n, rows["seq"])

    def _picked(self, batch: Batch, index: Int64s | None, taken: Bits) -> dict[str, npt.NDArray[Any]]:
        """The chosen rows, by the names that the columns have here."""
        columns: dict[str, npt.NDArray[Any] | None] = {"key": batch.key, "time": batch.time, "seq": batch.seq}
        if batch.order is not None:
            columns["order"] = batch.order
        for name, column in batch.values.items():
            if name not in self._kinds:
                self._kinds[name] = replace(column, values=column.values[:0], valid=None)
            columns[VALUE + name] = column.values
            if column.valid is not None:
                columns[VALID + name] = column.valid
        for name, (values, null) in batch.measures.items():
            columns[_MEASURE + name] = values
            if null is not None:
                columns[_NULL + name] = null
        where: Any = slice(None) if index is None else index
        rows = {name: array[where] for name, array in columns.items() if array is not None}
        rows["taken"] = taken
        if batch.key is None:
            rows["key"] = np.zeros(len(taken), np.int64)
        if batch.seq is None:
            rows["seq"] = batch.seq0 + (np.arange(len(taken)) if index is None else index)
        for name, array in self._arrays.items():  # a mask that this batch does without
            if name not in rows:
                rows[name] = np.full(len(taken), name.startswith(VALID), array.dtype)
        return rows

    def _reserve(self, rows: dict[str, npt.NDArray[Any]], new: int) -> None:
        """Room for new rows at the end of each column; the columns that are new begin here."""
        n = len(self)
        full = self._tail + new > len(self._arrays["key"])
        room = max(64, 2 * (n + new)) if full else len(self._arrays["key"])
        for name, array in rows.items():
            here = self._arrays.get(name)
            if here is not None and not full:
                continue
            grown = np.empty(room, array.dtype if here is None else here.dtype)
            head = 0 if full else self._head
            if here is not None:
                grown[head : head + n] = here[self._head : self._tail]
            else:
                grown[head : head + n] = name.startswith(VALID)  # so far all were valid, no measure was null
            self._arrays[name] = grown
        if full:
            self._head, self._tail = 0, n

    def _insertions(self, rows: dict[str, npt.NDArray[Any]]) -> Int64s | None:
        """Before which row here each new one goes; None where all go to the end."""
        names = ("key", "time", "order") if "order" in rows else ("key", "time")
        if not len(self) or [self._live(name)[-1] for name in names] <= [rows[name][0] for name in names]:
            return None
        from muntin.kernels.merging import insertions

        at = np.empty(len(rows["key"]), np.int64)
        old = NO_INTS if self.order is None else self.order
        key, time, order = (flat(rows.get(name, NO_INTS)) for name in ("key", "time", "order"))
        insertions(self.key, self.time, old, key, time, order, at)
        return at

    # -- looking and letting go ------------------------------------------------------------------------------------

    def view(self, bit: int) -> View:
        """The events that a query has taken and still needs."""
        if self._common >> bit & 1:
            cut = self._cut[bit]
            return View(self, slice(cut, len(self)) if cut else None)
        return View(self, np.flatnonzero(self.taken & np.uint64(1 << bit)))

    def _clear(self, bit: int) -> int:
        """Take the bit from the rows before the cut of a query; gives the bit."""
        flag = 1 << bit
        self.taken[: self._cut[bit]] &= np.uint64(_ALL ^ flag)
        self._cut[bit] = 0
        return flag

    def release(self, bit: int, view: View, keep: Bools) -> None:
        """A query needs only these rows of its view any more; rows that no query needs are dropped."""
        self.let_go(bit, view, keep)
        self.drop()

    def let_go(self, bit: int, view: View, keep: Bools) -> None:
        """A query needs only these rows of its view any more; all rows stay where they are until `drop`."""
        if keep.all():
            return
        self._dirty = True
        gone = len(keep) - int(np.count_nonzero(keep))
        if self._common >> bit & 1:
            if not keep[:gone].any() and self.key[0] == self.key[-1]:
                self._cut[bit] += gone
                return
            self._common &= ~self._clear(bit)
        taken, rest = self.taken, np.uint64(_ALL ^ (1 << bit))
        if view.index is None:
            taken[~keep] &= rest
        else:
            taken[np.arange(len(self))[view.index][~keep]] &= rest

    def drop(self) -> None:
        """Drop the rows that no query needs any more; views are no good after it."""
        if not self._dirty:
            return
        self._dirty = False
        if self._common and self._drop_cut():
            return
        # A cut that stands inside of what goes, or of what moves, is made bit by bit first.
        for bit in self._queries:
            if self._cut[bit]:
                self._clear(bit)
        used = self.taken != 0
        first = int(used.argmax()) if used.any() else len(used)
        self._head += first  # the oldest rows of the first key, all there is without keys: nothing moves
        if self._cover is not None:
            self._cover.dropped(first)
        used = used[first:]
        left = int(np.count_nonzero(used))
        if left == 0:
            self._empty()
        elif 4 * left < 3 * len(used):  # else they stay for now: moving the others costs more than they do
            if self._cover is not None:
                self._cover.kept(used)
            room = max(64, left + left // 2)
            for name in self._arrays:
                kept = np.empty(room, self._arrays[name].dtype)
                kept[:left] = self._live(name)[used]
                self._arrays[name] = kept
            self._head, self._tail = 0, left
        self._common = int(np.bitwise_and.reduce(self.taken)) if left else _ALL
        self._some = int(np.bitwise_or.reduce(self.taken))

    def _drop_cut(self) -> bool:
        """Drop the oldest rows; True where that is all there is to do, since all rows have the bits of all queries."""
        active = [bit for bit in self._queries if self._common >> bit & 1]
        others = _ALL ^ self._common
        if not active or (self._some & others and (self.taken & np.uint64(others)).any()):
            return False
        first = min(self._cut[bit] for bit in active)
        self._head += first
        if self._cover is not None:
            self._cover.dropped(first)
        for bit in active:
            self._cut[bit] -= first
        if self._head == self._tail:
            self._empty()
        return True

    def _empty(self) -> None:
        """No row is left: the room of many goes with them."""
        self._head = self._tail = 0
        if self._cover is not None:
            self._cover.cleared()
        if len(self._arrays["key"]) > MANY:
            self._arrays = {name: np.empty(0, array.dtype) for name, array in self._arrays.items()}

    def drop_before(self, bit: int, time: Any) -> None:
        """A query needs no events before a time, or before one time per key."""
        view = self.view(bit)
        keep = view.time >= (time[view.key] if isinstance(time, np.ndarray) else time)
        if not keep.all():
            self.release(bit, view, keep)

    # -- what a store that compresses does otherwise (`muntin.slicing.cold`) -----------------------------------------

    @property
    def held(self) -> int:
        """How many events are held."""
        return len(self)

    def views(self, bit: int, keys: Int64s) -> Iterator[tuple[View, Int64s | None]]:
        """Views that have the events of these keys, each with the places of its keys; None: all of them."""
        yield self.view(bit), None

    def views_from(self, bit: int, time: int) -> Iterator[View]:
        """Views that have all events of a query from a time on, and may have some before; each key is in one."""
        yield self.view(bit)

    def compress(self, time: int | None) -> None:
        """The end of a step, at a time."""
