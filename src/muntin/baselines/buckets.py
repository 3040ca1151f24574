"""Buckets: what a window holds is kept for each window of its own (paper 3, section 5.3.3; Table 4).

Aggregate buckets hold a partial for each window and key, tuple buckets the events. Nothing is shared between windows:
an event counts as often as windows overlap, and a window is read in one look (aggregates) or event by event (tuples).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.fused import Fused
from muntin.slicing.batch import Batch, Column
from muntin.slicing.kept.base import expand
from muntin.slicing.slices import Partials
from muntin.spanning.each import Each
from muntin.spanning.edges import Edges
from muntin.spans import Spans
from muntin.windows import Cumulative, Sliding, Window

__all__ = ["AggregateBuckets", "TupleBuckets"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass
class Family:
    """All windows of one length and step: window k is [k * step + align, k * step + align + size)."""

    size: int
    step: int
    align: int
    first: int | None = None
    """The first window that there is a bucket for."""
    columns: Partials = field(default_factory=list)
    windows: int = 0
    stride: int = 1

    def numbers(self, start: Int64s, until: Int64s, needed: int | None) -> tuple[Int64s, Int64s]:
        """The first window that each event is in, and the one after the last; none that starts before `needed`."""
        stop = (until - self.align) // self.step + 1
        if start is until and self.size % self.step == 0:  # points: one division for both, they take half of the time
            first = stop - self.size // self.step
        else:
            first = (start - self.align - self.size) // self.step + 1
        if needed is not None:
            first = np.maximum(first, -((self.align - needed) // self.step))
        return first, np.maximum(stop, first)

    def of(self, start: Int64s) -> Int64s:
        """The numbers of windows by their starts."""
        return (start - self.align) // self.step


def families(windows: Sequence[Window]) -> dict[tuple[int, int, int], Family]:
    """Windows by their lengths: those of a cumulative window are as many families as it has lengths."""
    made: dict[tuple[int, int, int], Family] = {}
    for window in windows:
        if isinstance(window, Cumulative):
            size, align = window.size.amount, window.align
            for length in range(window.every.amount, size + 1, window.every.amount):
                made[length, size, align % size] = Family(length, size, align % size)
        else:
            assert isinstance(window, Sliding)
            step = window.every.amount
            made[window.size.amount, step, window.align % step] = Family(window.size.amount, step, window.align % step)
    return made


def last_moments(batch: Batch) -> Int64s:
    """The last moment of each event; of a point its time."""
    assert batch.start is not None
    return batch.start if batch.start is batch.time else np.maximum(batch.time - 1, batch.start)


class _Buckets:
    """What both kinds of buckets share."""

    def __init__(self, fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window]) -> None:
        self._fused, self.edges = fused, edges
        self._families = list(families(windows).values())
        self._extent: list[int] | None = None  # the times of the first and the last moment of an event
        self._needed: int | None = None
        self._keys = 1
        self._gone = 0

    def extent(self) -> tuple[int, int] | None:
        """The first and the last slice with an event."""
        if self._extent is None or not len(self.edges):
            return None
        a, b = np.searchsorted(self.edges.edges, self._extent, "right") - 1
        return int(max(a, self.edges.first)), int(max(b, self.edges.first))

    def _reach(self, low: int, high: int) -> None:
        self.edges.cover(low, high)
        self._extent = [low, high] if self._extent is None else [min(low, self._extent[0]), max(high, self._extent[1])]

    def _windows(self, start: Int64s, end: Int64s) -> list[tuple[Family, Int64s]]:
        """Which windows that are due are of which family."""
        found, left = [], np.ones(len(start), np.bool_)
        for family in self._families:
            fits = left & (end - start == family.size) & ((start - family.align) % family.step == 0)
            left &= ~fits  # a window of two families is the same in both
            found.append((family, np.flatnonzero(fits)))
        return found

    def _joined(
        self, which: list[Int64s], keys: list[Int64s], parts: list[Partials]
    ) -> tuple[Int64s, Int64s, Partials]:
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64), self._fused.new(0)
        joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        return np.concatenate(which), np.concatenate(keys), joined

    def _shorten(self, time: int) -> None:
        """Events before a time are not needed any more."""
        if self._extent is not None:
            self._extent = [max(self._extent[0], time), self._extent[1]] if self._extent[1] >= time else None

    def told(self) -> list[str]:
        """Nothing is chosen."""
        return []


class AggregateBuckets(_Buckets):
    """A table of windows times keys, for each family of windows."""

    def take(self, batch: Batch, order: Int64s | None, low: int, high: int, columns: Mapping[str, Column]) -> None:
        """Each event into the buckets of all windows that it overlaps."""
        assert batch.start is not None
        self._reach(low, high)
        until = last_moments(batch)
        if batch.key is not None:
            self._keys = max(self._keys, int(batch.key.max()) + 1)
        for family in self._families:
            first, stop = family.numbers(batch.start, until, self._needed)
            self._room(family, int(first.min()), int(stop.max()))
            assert family.first is not None
            lo, hi = first - family.first, stop - family.first
            if family.stride > 1:
                lo, hi = lo * family.stride, hi * family.stride
                if batch.key is not None:
                    lo, hi = lo + batch.key, hi + batch.key
            self._fused.update_ranges(family.columns, lo, hi, family.stride, batch.time, order, columns)

    def _room(self, family: Family, first: int, stop: int) -> None:
        """Buckets for windows from `first` to `stop`, and for all keys."""
        if family.first is None:
            family.first, family.stride, family.columns = first, self._keys, self._fused.new(0)
        enough = family.first <= first and stop <= family.first + family.windows
        if enough and self._keys <= family.stride:
            return
        low, high = min(first, family.first), max(stop, family.first + family.windows)
        stride = family.stride if self._keys <= family.stride else 2 * self._keys
        count = high - low + max((stop - first) // 2, 64)
        columns = self._fused.new(count * stride)
        for new, old in zip(columns, family.columns, strict=True):
            place = new.reshape(count, stride)[family.first - low : family.first - low + family.windows]
            place[:, : family.stride] = old.reshape(family.windows, family.stride)
        family.first, family.windows, family.stride, family.columns = low, count, stride, columns

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """The buckets of windows that are due."""
        which, keys, parts = [], [], []
        for family, some in self._windows(start, end):
            if family.first is None or not len(some):
                continue
            at = family.of(start[some]) - family.first
            here = np.flatnonzero((at >= 0) & (at < family.windows))
            rows = (at[here, None] * family.stride + np.arange(self._keys)).reshape(-1)
            full = np.flatnonzero(family.columns[0][rows])
            which.append(np.repeat(some[here], self._keys)[full])
            keys.append(np.tile(np.arange(self._keys), len(here))[full])
            parts.append([column[rows[full]] for column in family.columns])
        return self._joined(which, keys, parts)

    def drop(self, time: int) -> None:
        """Forget the buckets of windows that start before a time."""
        self.edges.need(time)
        self._needed = time
        for family in self._families:
            if family.first is None:
                continue
            gone = min(-((family.align - time) // family.step) - family.first, family.windows)
            if 2 * gone > family.windows:
                family.columns = [column[gone * family.stride :].copy() for column in family.columns]
                family.first, family.windows = family.first + gone, family.windows - gone
                self._gone += gone
        self._shorten(time)

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""
        return [family.columns[at] for family in self._families if family.first is not None]

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return self.edges.nbytes + sum(column.nbytes for family in self._families for column in family.columns)

    @property
    def turned(self) -> tuple[int, int]:
        """How many windows were let go so far, and how many are held."""
        return self._gone, sum(family.windows for family in self._families)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys of buckets that hold something."""
        for family in self._families:
            if family.first is not None:
                found = np.flatnonzero(family.columns[0]) % family.stride
                live[found] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        keys = int(moved.max(initial=-1)) + 1
        for family in self._families:
            if family.first is None:
                continue
            stride = max(keys, 1)
            columns = self._fused.new(family.windows * stride)
            old = np.flatnonzero(moved[: family.stride] >= 0)
            # By both sides: there may be no window, where all events lay in the gaps between them.
            before, after = (family.windows, family.stride), (family.windows, stride)
            for new, column in zip(columns, family.columns, strict=True):
                new.reshape(after)[:, moved[old]] = column.reshape(before)[:, old]
            family.columns, family.stride = columns, stride
        self._keys = max(keys, 1)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        parts = [[f.first, f.windows, f.stride, f.columns] for f in self._families]
        return {
            "edges": self.edges.dump(),
            "needed": self._needed,
            "extent": self._extent,
            "keys": self._keys,
            "families": parts,
        }

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.edges.load(tree["edges"])
        self._needed = tree["needed"]
        self._extent, self._keys = tree["extent"], tree["keys"]
        for family, part in zip(self._families, tree["families"], strict=True):
            family.first, family.windows, family.stride = part[:3]
            family.columns = [column.copy() for column in part[3]]


class TupleBuckets(Each, _Buckets):
    """Events as partials of one, and for each family of windows which event is in which window."""

    def __init__(self, fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window]) -> None:
        _Buckets.__init__(self, fused, edges, spans, windows)
        Each.__init__(self, fused)
        self._until: Int64s = np.empty(0, np.int64)
        self._windows_of: list[list[Int64s]] = [[] for _ in self._families]
        self._events_of: list[list[Int64s]] = [[] for _ in self._families]

    def take(self, batch: Batch, order: Int64s | None, low: int, high: int, columns: Mapping[str, Column]) -> None:
        """Keep the events, and for each window which are in it."""
        assert batch.start is not None
        self._reach(low, high)
        until = last_moments(batch)
        before = len(self._key)
        self._add(batch, order, columns)
        self._until = np.concatenate([self._until, until])
        for family, windows, members in zip(self._families, self._windows_of, self._events_of, strict=True):
            first, stop = family.numbers(batch.start, until, self._needed)
            owner, number = expand(first, stop - first)
            windows.append(number)
            members.append(owner + before)

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """The events of windows that are due, aggregated."""
        which, keys, parts = [], [], []
        for i, (family, some) in enumerate(self._windows(start, end)):
            if not len(some) or not self._windows_of[i]:
                continue
            window, member = np.concatenate(self._windows_of[i]), np.concatenate(self._events_of[i])
            self._windows_of[i], self._events_of[i] = [window], [member]
            due = family.of(start[some])
            order = np.argsort(due)
            first, last = (np.searchsorted(due[order], window, side) for side in ("left", "right"))
            held, at = expand(first, last - first)  # two queries may ask for the same window
            code = order[at] * (int(self._key.max()) + 1) + self._key[member[held]]
            sort = np.argsort(code, kind="stable")
            codes, first = np.unique(code[sort], return_index=True)
            stops = np.append(first[1:], len(sort))
            parts.append(self._fused.merge_gather(first, stops, member[held][sort], self._columns))
            which.append(some[codes // (int(self._key.max()) + 1)])
            keys.append(codes % (int(self._key.max()) + 1))
        return self._joined(which, keys, parts)

    def drop(self, time: int) -> None:
        """Forget windows that start before a time, and the events that no other holds."""
        self.edges.need(time)
        self._needed = time
        stay = np.flatnonzero(self._until >= time)
        if len(stay) == len(self._until) or 4 * len(stay) > 3 * len(self._until):
            return
        moved = np.full(len(self._until), -1)
        moved[stay] = np.arange(len(stay))
        self._until = self._until[stay]
        self._stay(stay)
        for i, family in enumerate(self._families):
            if not self._windows_of[i]:
                continue
            window, member = np.concatenate(self._windows_of[i]), np.concatenate(self._events_of[i])
            least = -((family.align - time) // family.step)
            some = np.flatnonzero((window >= least) & (moved[member] >= 0))
            self._windows_of[i], self._events_of[i] = [window[some]], [moved[member[some]]]
        self._shorten(time)

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        pairs = [part.nbytes for lists in (*self._windows_of, *self._events_of) for part in lists]
        return self._key.nbytes + self._until.nbytes + sum(c.nbytes for c in self._columns) + sum(pairs)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        pairs = [[part.copy() for part in lists] for lists in (*self._windows_of, *self._events_of)]
        tree = {
            "edges": self.edges.dump(),
            "needed": self._needed,
            "extent": self._extent,
            "key": self._key,
            "until": self._until,
        }
        return tree | {"columns": self._columns, "pairs": pairs}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.edges.load(tree["edges"])
        self._needed = tree["needed"]
        self._extent, self._key, self._until = tree["extent"], tree["key"], tree["until"]
        self._columns = tree["columns"]
        half = len(self._families)
        self._windows_of, self._events_of = tree["pairs"][:half], tree["pairs"][half:]
