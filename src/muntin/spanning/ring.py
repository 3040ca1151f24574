"""A circular array of slices on which an event is a few additions, whatever its length (paper 3, sections 3 and 4).

Sums that are exact when subtracted go by differences: a slice has what starts in it and what ends in it, so what goes
on after it (the second partial of Definition 4) is all that has started less all that has ended. A window is what has
started before its last slice ends less what has ended before its first one begins.

Selective aggregates have levels, as in Definition 5, of 1, 2, 4, ... slices. To them it is no matter that an event
counts twice, so two stretches of one level make up any event; at release every level hands what it has down to the one
below, for all slices of all keys at once.

    slice       0   1   2   3   4   5   6
    event           [---------------)          one more has started in slice 1, one more has ended in slice 4
    longer          [-------------------)      5 slices: those of level 2 from slice 1 on, and from slice 2 on
    level 2         [---------------)
                        [---------------)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates.counting import Count
from muntin.aggregates.extremes import Max, Min
from muntin.aggregates.moments import IntegerSum
from muntin.fused import Fused
from muntin.slicing.batch import Column
from muntin.slicing.slices import Partials
from muntin.slicing.values import dtype_of

__all__ = ["Ring", "fits"]

Array = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LEAST = 256  # slices that there is room for at first
LOOKS = 64  # releases after which it is seen whether room can be given back
_WORD = 0xFFFFFFFF
_BEFORE = int(np.iinfo(np.int64).min)
_ALL: Bools = np.empty(0, np.bool_)


def fits(fused: Fused) -> bool:
    """Whether all aggregates are counts, sums of integers, minima or maxima of numbers that the loops are made for.

    >>> import muntin as mt, pyarrow as pa
    >>> from muntin.fused import fused
    >>> fits(fused([mt.max("x").bind([pa.float64()])])), fits(fused([mt.var("x").bind([pa.float64()])]))
    (True, False)
    """
    for bound in fused.bounds:
        if isinstance(bound.aggregate, Count):
            continue
        dtype = dtype_of(bound.types[0])
        if type(bound.aggregate) not in (IntegerSum, Min, Max) or dtype is None or dtype == np.uint64:
            return False
    return True


class _Best:
    """A minimum or a maximum: how two values become one, and what stands for none."""

    def __init__(self, slot: np.dtype[Any], largest: bool, column: str) -> None:
        self.column, self.largest = column, largest
        self.dtype = np.dtype(np.float64 if slot.kind == "f" else np.int64)
        self.join: Any = np.maximum if largest else np.minimum
        self.none: float
        if (
            self.dtype.kind == "f"
        ):  # NaN is larger than any number: np.maximum keeps it, np.fmin takes a number before it
            self.join, self.none = (np.maximum, -np.inf) if largest else (np.fmin, np.nan)
        else:
            self.none = np.iinfo(np.int64).min if largest else np.iinfo(np.int64).max

    def put(self, where: tuple[Any, ...], column: Column, table: Array) -> None:
        """The values of events onto the array."""
        from muntin.kernels.circular import best_floats, best_ints

        run: Any = best_floats if self.dtype.kind == "f" else best_ints
        values = np.ascontiguousarray(column.values, self.dtype)
        run(*where, values, _mask(column), self.largest, self.none, table.reshape(-1))


class Ring:
    """Slices of all keys by their numbers, from `first` on."""

    def __init__(self, fused: Fused) -> None:
        self._fused = fused
        self._sums: dict[tuple[int, int], str] = {}  # of the columns of a partial, which column of events
        self._best: dict[int, _Best] = {}
        self._counts: dict[int, str] = {}
        for bound, place, count in zip(fused.bounds, fused.places, fused.counts, strict=True):
            if count:
                self._counts[count] = bound.aggregate.columns[0]
            if isinstance(bound.aggregate, IntegerSum):
                self._sums[place[0], place[1]] = bound.aggregate.columns[0]
            elif isinstance(bound.aggregate, Min | Max):
                largest = isinstance(bound.aggregate, Max)
                self._best[place[0]] = _Best(fused.slots[place[0]], largest, bound.aggregate.columns[0])
        self.dropped = 0
        self._looks = 0
        self._empty(LEAST, 1, 1)

    def _empty(self, width: int, keys: int, levels: int) -> None:
        self._width, self.keys, self.levels = width, keys, levels
        self._until = np.full(levels, _BEFORE)  # up to which slice events may be in each level
        self.first: int | None = None
        self.top = 0
        # Counts of values are those of events until the first null comes.
        added = [0, *(at for pair in self._sums for at in pair)]
        self._started = {at: np.zeros((width, keys), np.int64) for at in added}
        self._ended = {at: np.zeros((width, keys), np.int64) for at in added}
        self._before = {at: np.zeros(keys, np.int64) for at in added}
        self._tables = {at: np.full((levels, width, keys), b.none, b.dtype) for at, b in self._best.items()}

    def __len__(self) -> int:
        return 0 if self.first is None else self.top - self.first

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        parts = [*self._started.values(), *self._ended.values(), *self._tables.values()]
        return sum(part.nbytes for part in parts)

    # -- room ----------------------------------------------------------------------------------------------------------

    def places(self, low: int, high: int, keys: int) -> int:
        """How many places there would have to be for slices from `low` to `high`, both included, and for some keys."""
        first = low if self.first is None else min(self.first, low)
        return (max(high + 1, self.top if len(self) else high) - first) * max(keys, self.keys)

    def reach(self, low: int, high: int, keys: int, longest: int) -> None:
        """Room for slices from `low` to `high`, for keys, and for events over as many as `longest` slices."""
        first = low if self.first is None else min(self.first, low)
        top = high + 1 if self.first is None else max(self.top, high + 1)
        width, levels = self._width, max(len(self._until), longest.bit_length())
        while width < top - first:
            width *= 2
        stride = self.keys if keys <= self.keys else max(keys, 2 * self.keys)
        if (width, stride, levels) != (self._width, self.keys, len(self._until)):
            self._lay_out(width, levels, np.arange(self.keys), stride)
        self.first, self.top, self.levels = first, top, max(self.levels, longest.bit_length())
        self._until[: longest.bit_length()] = top

    def _lay_out(self, width: int, levels: int, moved: Int64s, keys: int) -> None:
        """Other sizes with all that is held; key `id` is `moved[id]` from now on, -1: nothing is held of it."""
        first, top, used, until = self.first, self.top, self.levels, self._until
        old = np.flatnonzero(moved >= 0)
        held = {"started": self._started, "ended": self._ended}
        parts = {name: {at: self._linear(part)[:, old] for at, part in of.items()} for name, of in held.items()}
        tables = {at: [self._linear(level)[:, old] for level in table[:used]] for at, table in self._tables.items()}
        before = self._before
        self._empty(width, keys, levels)
        self.first, self.top, self.levels = first, top, used
        self._until[:used] = until[:used]
        for at, values in before.items():
            self._before[at] = np.zeros(keys, np.int64)
            self._before[at][moved[old]] = values[old]
        self._fill(parts["started"], parts["ended"], tables, moved[old])

    def _fill(
        self, started: dict[int, Array], ended: dict[int, Array], tables: dict[int, list[Array]], keys: Int64s
    ) -> None:
        if self.first is None:
            return
        at = (np.arange(self.first, self.top) & (self._width - 1))[:, None]
        for mine, given in ((self._started, started), (self._ended, ended)):
            for slot, values in given.items():
                mine[slot] = np.zeros((self._width, self.keys), np.int64)
                mine[slot][at, keys] = values
        for slot, levels in tables.items():
            for k, values in enumerate(levels):
                self._tables[slot][k][at, keys] = values

    def _linear(self, part: Array, low: int | None = None, high: int | None = None) -> Array:
        """Slices from a number to another, one after the other; a view where they are."""
        if self.first is None:
            return part[:0]
        low, high = self.first if low is None else low, self.top if high is None else high
        at, count = low & (self._width - 1), high - low
        if at + count <= self._width:
            return part[at : at + count]
        return np.concatenate([part[at:], part[: at + count - self._width]])

    def _clear(self, part: Array, low: int, high: int, value: float) -> None:
        at, count = low & (self._width - 1), high - low
        part[at : at + count] = value
        if at + count > self._width:
            part[: at + count - self._width] = value

    # -- events --------------------------------------------------------------------------------------------------------

    def put(self, runs: tuple[Int64s, Int64s, Int64s, Int64s], columns: Mapping[str, Column]) -> None:
        """Events as runs (`muntin.kernels.circular`), for which there is room."""
        from muntin.kernels.circular import counted, summed

        where = (*runs, self._width - 1, self.keys)
        for at, name in self._counts.items():
            if at not in self._started and columns[name].valid is not None:
                self._started[at], self._ended[at] = self._started[0].copy(), self._ended[0].copy()
                self._before[at] = self._before[0].copy()
        counted(*where, _ALL, self._started[0].reshape(-1), self._ended[0].reshape(-1))
        for at, name in self._counts.items():
            if at in self._started:
                counted(*where, _mask(columns[name]), self._started[at].reshape(-1), self._ended[at].reshape(-1))
        for pair, name in self._sums.items():
            values = np.ascontiguousarray(columns[name].values, np.int64)  # under a null it is zero
            summed(*where, values, *(part[at].reshape(-1) for part in (self._started, self._ended) for at in pair))
        for at, best in self._best.items():
            best.put(where, columns[best.column], self._tables[at])

    # -- windows -------------------------------------------------------------------------------------------------------

    def merged(self, a: Int64s, b: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slices a to b by their numbers: which window and key, and the partials; empty ones left out."""
        assert self.first is not None
        first, top = self.first, self.top
        a, b = np.clip(a, first, top) - first, np.clip(b, first, top) - first
        counts = self._difference(0, a, b).reshape(-1)
        some = np.flatnonzero(counts)
        which, key = (some, np.zeros(len(some), np.int64)) if self.keys == 1 else np.divmod(some, self.keys)
        whole = len(some) == len(counts)
        found: Partials = [np.zeros(0, slot) for slot in self._fused.slots]
        found[0] = counts if whole else counts[some]
        for at in self._counts:
            found[at] = found[0]
        for at in self._started:
            if at:
                values = self._difference(at, a, b).reshape(-1)
                found[at] = values if whole else values[some]
        for high, low in self._sums:
            found[high] += found[low] >> 32
            found[low] &= _WORD
        if self._best:
            begin, stop = a[which], b[which]
            for at in self._best:
                found[at] = self._over(at, begin, stop, key).astype(self._fused.slots[at], copy=False)
        none = np.zeros(len(some), np.int64)
        return which, key, [column if len(column) == len(some) else none for column in found]

    def _difference(self, at: int, a: Int64s, b: Int64s) -> Int64s:
        """What has started before each window ends less what has ended before it begins, for each key."""
        return self._upto(self._started[at], b) + self._before[at] - self._upto(self._ended[at], a)

    def _upto(self, part: Int64s, at: Int64s) -> Int64s:
        assert self.first is not None
        values = self._linear(part, self.first, self.first + int(at.max(initial=0)))
        sums = np.zeros((len(values) + 1, self.keys), np.int64)
        np.cumsum(values, axis=0, out=sums[1:])
        return np.take(sums, at, axis=0)  # half the time of sums[at] for one key

    def _over(self, at: int, a: Int64s, b: Int64s, key: Int64s) -> Array:
        """The best over slices a to b, each of a key: two stretches of a power of two make up any window."""
        best = self._best[at]
        found = np.empty(len(a), best.dtype)
        if not len(a):
            return found
        begin, sizes, size = int(a.min()), b - a, 1
        head, tail = (a - begin) * self.keys + key, (b - begin) * self.keys + key
        with np.errstate(invalid="ignore"):
            over = self._handed_down(at, begin, int(b.max())).reshape(-1)
            longest, done = int(sizes.max()), False
            while not done:
                done, apart = longest < 2 * size, size * self.keys  # the last size takes all windows that are left
                some = np.flatnonzero((sizes >= size) & (done | (sizes < 2 * size)))
                found[some] = best.join(over.take(head[some]), over.take(tail[some] - apart))
                over = over if done else best.join(over[:-apart], over[apart:])
                size *= 2
        return found

    def _handed_down(self, at: int, begin: int, stop: int) -> Array:
        """The best over each slice: every level hands what it has down to the one below.

        Of each level only the stretches that reach `begin` are looked at.
        """
        assert self.first is not None
        best, table = self._best[at], self._tables[at]
        over, low = np.empty((0, self.keys), best.dtype), stop
        for k in range(self.levels - 1, -1, -1):
            half = 1 << k
            before, low = low, max(begin - half + 1, 0)
            below = np.array(self._linear(table[k], self.first + low, self.first + stop))
            if len(over):
                best.join(below, over[low - before :], out=below)
                least = max(low, before + half)
                best.join(below[least - low :], over[least - half - before : -half], out=below[least - low :])
            over = below
        return over

    # -- letting go ----------------------------------------------------------------------------------------------------

    def drop(self, number: int | None) -> None:
        """Slices before a number are not needed any more; None: none that is there is."""
        if self.first is None:
            return
        while self.levels > 1 and (number is None or self._until[self.levels - 1] <= number):
            self.levels -= 1  # all that went on for so long has ended
            for at, table in self._tables.items():
                table[self.levels] = self._best[at].none
        # Stretches that begin before it may reach it.
        low = self.top if number is None or number >= self.top else number - (1 << (self.levels - 1)) + 1
        if low <= self.first:
            return
        self.dropped += (low - self.first) * self.keys
        for at, started in self._started.items():
            for sign, part in ((1, started), (-1, self._ended[at])):
                self._before[at] += sign * self._linear(part, self.first, low).sum(axis=0)
                self._clear(part, self.first, low, 0)
        for at, table in self._tables.items():
            for level in table:
                self._clear(level, self.first, low, self._best[at].none)
        self.first = low if low < self.top else None
        self._looks += 1
        if self._looks % LOOKS:
            return
        width = max(LEAST, 1 << (2 * len(self)).bit_length())
        if 4 * width <= self._width or 2 * self.levels < len(self._until):
            self._lay_out(min(width, self._width), self.levels, np.arange(self.keys), self.keys)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with events."""
        going = self._before[0] + self._linear(self._started[0]).sum(axis=0)
        live[np.flatnonzero(going)] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        moved = np.append(moved, np.full(max(self.keys - len(moved), 0), -1))[: self.keys]
        self._lay_out(self._width, self.levels, moved, max(int(moved.max(initial=0)) + 1, 1))

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        slots = list(self._started)
        added = [[self._before[at], *(self._flat(part[at]) for part in (self._started, self._ended))] for at in slots]
        tables = [[self._flat(level) for level in self._tables[at][: self.levels]] for at in self._best]
        sizes = {"first": self.first, "top": self.top, "keys": self.keys, "until": self._until[: self.levels]}
        return {**sizes, "slots": slots, "added": added, "tables": tables}

    def _flat(self, part: Array) -> Array:
        return np.ascontiguousarray(self._linear(part)).reshape(-1)

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        first, top, keys = tree["first"], tree["top"], tree["keys"]
        width = LEAST
        while first is not None and width < top - first:
            width *= 2
        self._empty(width, keys, len(tree["until"]))
        self.first, self.top, self._until = first, top, np.array(tree["until"])
        started, ended = {}, {}
        for at, (before, begun, done) in zip(tree["slots"], tree["added"], strict=True):
            self._before[at] = np.array(before)
            self._started[at], self._ended[at] = (np.zeros((width, keys), np.int64) for _ in range(2))
            started[at], ended[at] = begun.reshape(-1, keys), done.reshape(-1, keys)
        tables = {
            at: [level.reshape(-1, keys) for level in levels]
            for at, levels in zip(self._best, tree["tables"], strict=True)
        }
        self._fill(started, ended, tables, np.arange(keys))


def _mask(column: Column) -> Bools:
    return _ALL if column.valid is None else np.ascontiguousarray(column.valid)
