"""The events of one query as columns: what the families of windows look at."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from muntin.slicing.batch import Column

if TYPE_CHECKING:
    from muntin.slicing.store_events import EventStore

__all__ = ["NO_INTS", "Measured", "View", "bounds", "flat"]

Int64s = npt.NDArray[np.int64]
Measured = tuple[Int64s, npt.NDArray[np.bool_] | None]

NO_INTS: Int64s = np.empty(0, np.int64)
MANY = 1 << 16  # windows of keys from which on they are counted before there is room made for them


class View:
    """The events of one query, in order; good until the store changes."""

    def __init__(self, store: EventStore, index: Int64s | slice | None) -> None:
        self.store = store
        self._columns: dict[str, Column] = {}
        self._along: dict[str, Int64s] = {}
        self.index = index

    def _own(self, name: str) -> npt.NDArray[Any]:
        live = self.store._live(name)
        return live if self.index is None else live[self.index]

    def __len__(self) -> int:
        if isinstance(self.index, slice):
            return int(self.index.stop - self.index.start)
        return len(self.store) if self.index is None else len(self.index)

    @cached_property
    def key(self) -> Int64s:
        """The key ids."""
        return self._own("key")

    @cached_property
    def time(self) -> Int64s:
        """The times."""
        return self._own("time")

    @cached_property
    def order(self) -> Int64s | None:
        """What decides between equal times."""
        return None if self.store.order is None else self._own("order")

    @cached_property
    def seq(self) -> Int64s:
        """The arrival numbers."""
        return self._own("seq")

    @cached_property
    def measures(self) -> dict[str, Measured]:
        """The columns of `on=`; use `measure` for one of them."""
        return {name: self.store._measure(name, self.index) for name in self.store.measures}

    def measure(self, name: str) -> Int64s:
        """A column of `on=`, for a query that goes by it: none of its events has a null there."""
        if not len(self):
            return NO_INTS
        if name not in self._along:
            self._along[name] = self.store._measure(name, self.index)[0]
        return self._along[name]

    def column(self, name: str) -> Column:
        """A column of values."""
        if name not in self._columns:
            self._columns[name] = self.store._column(name, self.index)
        return self._columns[name]

    @cached_property
    def _segments(self) -> tuple[Int64s, Int64s]:
        key, n = self.key, len(self)
        if not n:
            return NO_INTS, np.zeros(1, np.int64)
        if key[0] == key[-1]:
            return key[:1], np.array([0, n])
        first = np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1])
        return key[first], np.append(first, n)

    @property
    def keys(self) -> Int64s:
        """The distinct key ids, ascending."""
        return self._segments[0]

    @property
    def offsets(self) -> Int64s:
        """Where the events of each key begin, and the end of the last."""
        return self._segments[1]

    def existing(self, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """The windows, of those given, in which keys have events: which, the key, and where its events are; by key."""
        if not len(self) or not len(starts):
            return NO_INTS, NO_INTS, NO_INTS, NO_INTS
        from muntin.kernels.existing import windows_with_events

        rising = bool((starts[1:] >= starts[:-1]).all() and (ends[1:] >= ends[:-1]).all())
        given = (flat(self.time), self.offsets, flat(starts), flat(ends), rising)
        room = len(self.keys) * len(starts)
        if room > MANY:
            room = windows_with_events(*given, NO_INTS, NO_INTS, NO_INTS, NO_INTS)
        which, rank, lo, hi = (np.empty(room, np.int64) for _ in range(4))
        found = windows_with_events(*given, which, rank, lo, hi)
        return which[:found], self.keys[rank[:found]], lo[:found], hi[:found]

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value per key, as one per event."""
        return np.repeat(values, np.diff(self.offsets))

    def ranges(self, keys: Int64s, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s]:
        """Where the events of a key with start <= time < end are; an empty range for a key that has none."""
        if not len(self):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        rank = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        low = self.offsets[rank]
        high = np.where(self.keys[rank] == keys, self.offsets[rank + 1], low)
        first = bounds(self.time, low, high, starts)
        return first, bounds(self.time, first, high, ends)


def bounds(values: Int64s, low: Int64s, high: Int64s, wanted: Int64s) -> Int64s:
    """The first place in low[i]..high[i] whose value is at least wanted[i]; values are sorted inside of each range.

    >>> bounds(np.array([1, 5, 9]), np.array([0, 1]), np.array([3, 3]), np.array([6, 2])).tolist()
    [2, 1]
    """
    from muntin.kernels.merging import lower_bounds

    found = np.empty(len(wanted), np.int64)
    lower_bounds(flat(values), flat(low), flat(high), flat(wanted), found)
    return found


def flat(values: npt.NDArray[Any]) -> Int64s:
    """What a kernel takes: int64, one after the other."""
    return np.ascontiguousarray(values, np.int64)
