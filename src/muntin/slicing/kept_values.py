"""Kept events and what is computed from them; each query sees only the events that it has taken."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.layout import BoundQuery, Layout
from muntin.slicing.batch import Batch, Column
from muntin.slicing.cold import ColdEvents
from muntin.slicing.existing import Existing
from muntin.slicing.finish import named_errors
from muntin.slicing.kept.base import Wins
from muntin.slicing.pieces import WORTH, Pieces, again, asked_of, from_pieces, pieces_of
from muntin.slicing.plan import overlapping
from muntin.slicing.ranges import evaluate
from muntin.slicing.store_events import EventStore
from muntin.slicing.views import View

__all__ = ["KeptValues", "values_of"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_ZERO: Int64s = np.zeros(1, np.int64)
BITS = 64  # queries per store: each has a bit that says whether it took an event


@dataclass
class Found:
    """The windows of one query in a step, those that are due, and their values."""

    bound: BoundQuery
    view: View
    wins: Wins
    due: Int64s
    values: dict[str, pa.Array] = field(default_factory=dict)
    events: dict[str, Int64s] = field(default_factory=dict)
    """For each aggregate a number that stands for the events behind its value."""

    def take(self, index: Int64s) -> None:
        """Only some of the windows are to be reported."""
        self.due = self.due[index]
        self.events = {name: numbers[index] for name, numbers in self.events.items()}

    @property
    def offset(self) -> int | None:
        """Where the view begins in its store; None where it is not one stretch of it."""
        if self.view.index is None:
            return 0
        return self.view.index.start if isinstance(self.view.index, slice) and self.wins.take is None else None

    def rows(self) -> tuple[Int64s, Int64s] | None:
        """The windows that are due in rows of the store; None where one is not a stretch of it."""
        lo, hi = self.wins.lo[self.due], self.wins.hi[self.due]
        if self.wins.take is not None:
            return None
        if self.offset is not None:
            return lo + self.offset, hi + self.offset
        index = self.view.index
        assert isinstance(index, np.ndarray)
        if not len(index):
            return lo, hi
        first, last = index[np.minimum(lo, len(index) - 1)], index[hi - 1] + 1
        return (first, last) if (last - first == hi - lo).all() else None


class KeptValues:
    """The event stores of a spec: one for every 64 queries that keep events."""

    def __init__(self, layout: Layout, queries: list[int], updates: bool = False) -> None:
        self._layout, self._updates = layout, updates
        self._place = {query: divmod(i, BITS) for i, query in enumerate(queries)}
        counts = [min(BITS, len(queries) - first) for first in range(0, len(queries), BITS)]
        self.stores = [self._store(count) for count in counts]
        self._batch: Batch | None = None
        self._new = 0  # rows that came in this step
        self._folded: dict[object, list[str]] = {}
        self.worth = WORTH
        """From how many events on, times aggregates, that a step would aggregate again, slices are cached."""
        self._taken: list[npt.NDArray[np.uint64]] = []

    def _store(self, queries: int = BITS) -> EventStore:
        rule = self._layout.spec.compression
        return EventStore(queries) if rule is None else ColdEvents(rule, queries)

    @property
    def cold(self) -> list[ColdEvents]:
        """The stores that compress."""
        return [store for store in self.stores if isinstance(store, ColdEvents)]

    @property
    def nbytes(self) -> int:
        """The bytes of the kept events."""
        return sum(store.nbytes for store in self.stores)

    @property
    def turned(self) -> tuple[int, int]:
        """How many events were let go so far, and how many are held."""
        return sum(store.dropped for store in self.stores), sum(store.held for store in self.stores)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with events."""
        for store in self.stores:
            store.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        for store in self.stores:
            store.renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the events, and which bit of which store each query has."""
        places = [[query, store, bit] for query, (store, bit) in self._place.items()]
        return {"stores": [store.dump() for store in self.stores], "places": places}

    def load(self, tree: dict[str, Any], kinds: dict[str, Column], queries: dict[int, int] | None = None) -> None:
        """Take over the events of a snapshot.

        `queries` says which queries go on, and under which numbers. The bits of the others are free again, and `join`
        gives them to queries that are new.
        """
        self.stores = [self._store() for _ in tree["stores"]]
        for store, part in zip(self.stores, tree["stores"], strict=True):
            store.load(part, kinds)
        places = {query: (store, bit) for query, store, bit in tree["places"]}
        if queries is None:
            self._place = places
            return
        self._place = {queries[query]: place for query, place in places.items() if query in queries}
        for store, bit in set(places.values()) - set(self._place.values()):
            self.stores[store].let_go(bit, view := self.stores[store].view(bit), np.zeros(len(view), np.bool_))
        for events in self.stores:
            events.drop()

    def room(self, query: int) -> int:
        """How many queries can still join the store of a query."""
        return len(self._free(self._place[query][0]))

    def _free(self, store: int) -> list[int]:
        used = {bit for at, bit in self._place.values() if at == store}
        return [bit for bit in range(BITS) if bit not in used]

    def join(self, query: int, near: int | None = None, since: int | None = None) -> None:
        """Give a new query a bit; it takes the events from a time on of the query that it is to be near to."""
        found = [self._place[near][0]] if near is not None else [at for at in range(len(self.stores)) if self._free(at)]
        if not found:
            found = [len(self.stores)]
            self.stores.append(self._store(1))
        store = found[0]
        self._place[query] = store, self._free(store)[0]
        self.stores[store].widen(self._place[query][1])
        if near is not None:
            self.stores[store].share(self._place[query][1], self._place[near][1], since)

    def tidy(self, values: Collection[str], measures: Collection[str]) -> None:
        """Stores that no query uses go, and so do columns that no query reads."""
        used = sorted({store for store, _ in self._place.values()})
        self.stores = [self.stores[store] for store in used]
        self._place = {query: (used.index(store), bit) for query, (store, bit) in self._place.items()}
        for store in self.stores:
            store.keep_columns(values, measures)

    def begin(self, batch: Batch) -> None:
        """A batch comes; no query has taken a row of it yet."""
        self._batch = batch
        self._taken = [np.zeros(len(batch), np.uint64) for _ in self.stores]

    def take(self, query: int, rows: Bools | None) -> None:
        """A query takes these rows of the batch; None: all of them."""
        store, bit = self._place[query]
        flag = np.uint64(1 << bit)
        if rows is None:
            self._taken[store] |= flag
        else:
            self._taken[store][rows] |= flag

    def insert(self) -> None:
        """Put the rows that some query has taken into the stores."""
        assert self._batch is not None
        self._new = len(self._batch)
        for store, taken in zip(self.stores, self._taken, strict=True):
            some = taken != 0
            if some.all():
                store.insert(self._batch, None, taken)
            elif some.any():
                index = np.flatnonzero(some)
                store.insert(self._batch, index, taken[index])
        self._batch = None

    def end_step(self, time: int | None = None) -> None:
        """What comes next is another step; what is to be compressed by a time is."""
        self._new = 0
        for store in self.stores:
            store.compress(time)

    def view(self, query: int) -> View:
        """The events that a query has taken and still needs."""
        store, bit = self._place[query]
        return self.stores[store].view(bit)

    def release(self, query: int, view: View, keep: Bools) -> None:
        """A query needs only these events of its view any more."""
        store, bit = self._place[query]
        if not keep.all():
            self.stores[store].release(bit, view, keep)

    def release_all(self, released: list[tuple[int, View, Bools]]) -> None:
        """Several queries let events go; their views stay good until all have."""
        for query, view, keep in released:
            store, bit = self._place[query]
            self.stores[store].let_go(bit, view, keep)
        for events in self.stores:
            events.drop()

    def between(
        self, query: int, bound: BoundQuery, names: list[str], key: Int64s, start: Int64s, end: Int64s
    ) -> dict[str, pa.Array]:
        """Aggregates over the events of a key between two times, for many windows at once."""
        store, bit = self._place[query]
        found: list[dict[str, pa.Array]] = []
        places: list[Int64s] = []
        for view, some in self.stores[store].views(bit, key):
            if some is None:
                return self.values(bound, names, view, *view.ranges(key, start, end), None)
            found.append(self.values(bound, names, view, *view.ranges(key[some], start[some], end[some]), None))
            places.append(some)
        back = pa.array(np.argsort(np.concatenate(places)))
        return {name: pa.concat_arrays([part[name] for part in found]).take(back) for name in names}

    def existing(
        self, query: int, bound: BoundQuery, names: list[str], start: Int64s, end: Int64s, marked: bool
    ) -> Existing:
        """Those of some windows, given by their times, in which keys have events, by window and key; with their values.

        `marked`: also what stands for the events behind each value. All is found in one look at the events.
        """
        store, bit = self._place[query]
        parts: list[Existing] = []
        for view in self.stores[store].views_from(bit, int(start.min())):
            which, key, lo, hi = view.existing(start, end)
            if len(which):
                values = self.values(bound, names, view, lo, hi, None)
                marks = self.events(bound, names, view, lo, hi, None) if marked else {}
                parts.append(Existing(which, key, values, marks))
        return Existing.together(parts, bound, names)

    def taken_by(self, queries: list[int]) -> list[tuple[Int64s, Int64s]]:
        """Keys and times of the events that any of some queries has taken and still needs, store by store."""
        bits: dict[int, list[int]] = {}
        for query in queries:
            store, bit = self._place[query]
            bits.setdefault(store, []).append(bit)
        found = []
        for store, some in bits.items():
            views = [self.stores[store].view(bit) for bit in some]
            rows = [np.arange(len(self.stores[store]))[slice(None) if v.index is None else v.index] for v in views]
            used = np.unique(np.concatenate(rows))
            found.append((self.stores[store].key[used], self.stores[store].time[used]))
        return found

    def events_between(
        self, query: int, bound: BoundQuery, names: list[str], key: Int64s, start: Int64s, end: Int64s
    ) -> dict[str, Int64s]:
        """What stands for the events behind each value that `between` gives."""
        store, bit = self._place[query]
        found = {name: np.zeros(len(key), np.int64) for name in names}
        for view, some in self.stores[store].views(bit, key):
            if some is None:
                return self.events(bound, names, view, *view.ranges(key, start, end), None)
            part = self.events(bound, names, view, *view.ranges(key[some], start[some], end[some]), None)
            for name in names:
                found[name][some] = part[name]
        return found

    def events(
        self, bound: BoundQuery, names: list[str], view: View, lo: Int64s, hi: Int64s, take: Int64s | None
    ) -> dict[str, Int64s]:
        """For each aggregate a number that stands for the events in a range that it does not skip.

        It is the sum of their arrival numbers, each scrambled first: equal for other events once in 2 ** 64 times.
        """
        marks = scrambled(view.seq)
        sums: dict[tuple[str, ...], Int64s] = {}
        found = {}
        for name in names:
            columns = bound.aggregates[name].aggregate.columns
            masked = tuple(column for column in columns if view.column(column).valid is not None)
            if masked not in sums:
                counted = marks
                for column in masked:
                    counted = np.where(view.column(column).valid, counted, np.int64(0))  # type: ignore[arg-type]
                counted = counted if take is None else counted[take]
                sums[masked] = np.concatenate([_ZERO, np.cumsum(counted)])
            found[name] = sums[masked][hi] - sums[masked][lo]
        return found

    def evaluate(self, found: list[Found]) -> None:
        """The values of all windows that are due; queries that ask the same of the same events are answered at once."""
        alike: dict[object, list[Found]] = {}
        for part in found:
            asked = asked_of(part.bound)
            alone = part.wins.take is not None or part.offset is None
            alike.setdefault((id(part) if alone else id(part.view.store), asked), []).append(part)
        for parts in alike.values():
            covered = self._from_slices(parts)
            names = [name for name in parts[0].bound.aggregates if name not in covered]
            others = self._together(parts, names) if names else {}
            first = 0
            for part in parts:
                count = len(part.due)
                for name in part.bound.aggregates:
                    column = covered[name] if name in covered else others[name]
                    part.values[name] = column if len(parts) == 1 else column.slice(first, count)
                first += count

    def _together(self, parts: list[Found], names: list[str]) -> dict[str, pa.Array]:
        """The values of some queries, one after the other, computed from the events of their windows."""
        if len(parts) == 1:
            part = parts[0]
            lo, hi = part.wins.lo[part.due], part.wins.hi[part.due]
            return self.values(part.bound, names, part.view, lo, hi, part.wins.take)
        offsets = [part.offset or 0 for part in parts]
        lo = np.concatenate([part.wins.lo[part.due] + at for part, at in zip(parts, offsets, strict=True)])
        hi = np.concatenate([part.wins.hi[part.due] + at for part, at in zip(parts, offsets, strict=True)])
        return self.values(parts[0].bound, names, View(parts[0].view.store, None), lo, hi, None)

    def _from_slices(self, parts: list[Found]) -> dict[str, pa.Array]:
        """The values of some queries, one after the other, as far as they are computed from cached slices."""
        if not self._updates and not any(overlapping(part.bound.window) for part in parts):
            return {}
        ranges = [part.rows() for part in parts]
        some = [pair for pair in ranges if pair is not None]
        if len(some) < len(ranges):
            return {}
        lo, hi = (np.concatenate(side) for side in zip(*some, strict=True))
        bound = parts[0].bound
        names = self._names_from_slices(bound)
        if not len(lo) or again(lo, hi, self._new) * len(names) < self.worth or not names or (hi <= lo).any():
            return {}
        return pieces_of(parts[0].view.store, bound, names).values(lo, hi)

    def _names_from_slices(self, bound: BoundQuery) -> list[str]:
        asked = asked_of(bound)
        if asked not in self._folded:
            self._folded[asked] = from_pieces(bound)
        return self._folded[asked]

    def values(
        self, bound: BoundQuery, names: list[str], view: View, lo: Int64s, hi: Int64s, take: Int64s | None
    ) -> dict[str, pa.Array]:
        """Aggregates over ranges of the events of a view."""
        return values_of(bound, names, view, lo, hi, take)

    def told(self, queries: list[tuple[int, BoundQuery]]) -> list[str]:
        """What is cached for some queries, and what splits cost."""
        found: dict[tuple[int, object], list[str]] = {}
        for index, bound in queries:
            found.setdefault((self._place[index][0], asked_of(bound)), []).append(bound.name)
        lines: list[str] = []
        for (store, asked), names in found.items():
            cover = self.stores[store].covering
            pieces = None if cover is None else cover.followers.get(asked)
            if isinstance(pieces, Pieces):
                lines.append(f"{', '.join(names)}: {pieces.told()}")
        return lines

    def drop_before(self, query: int, time: Any) -> None:
        """A query needs no events before a time, or before one time per key."""
        if time is None:
            return
        store, bit = self._place[query]
        self.stores[store].drop_before(bit, time)


class EventColumns(Protocol):
    """Events in their order, as columns."""

    @property
    def time(self) -> Int64s:
        """The times."""

    @property
    def order(self) -> Int64s | None:
        """What decides between equal times."""

    def column(self, name: str) -> Column:
        """A column of values."""


def values_of(
    bound: BoundQuery, names: list[str], events: EventColumns, lo: Int64s, hi: Int64s, take: Int64s | None
) -> dict[str, pa.Array]:
    """Aggregates of a query over ranges of events."""
    found = {}
    for name in names:
        aggregate = bound.aggregates[name]
        columns = [events.column(column) for column in aggregate.aggregate.columns]
        with named_errors(name, aggregate):
            found[name] = evaluate(aggregate, columns, events.time, events.order, lo, hi, take)
    return found


def scrambled(numbers: Int64s) -> Int64s:
    """Each number as one that looks random (the finalizer of splitmix64): sums of them tell sets apart.

    >>> scrambled(np.array([1, 2])).sum() == scrambled(np.array([3])).sum()
    np.False_
    """
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).view(np.int64)
