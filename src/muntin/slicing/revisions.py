"""Revisions: what was said of a window that may still be corrected, and what has changed since.

The first report of a window has revision 0; a change of anything but its identity gives the next one; a window that
ceases to exist is reported once more with revision -1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Report", "Reported", "same"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass
class Report:
    """Windows as columns: their query and key, what identifies them, where they lie, their values and revisions."""

    query: Int64s
    """The place of the query in the spec."""
    key: Int64s
    identity: tuple[Int64s, ...]
    start: Int64s
    end: Int64s
    rows: tuple[Int64s, Int64s] | None
    values: dict[str, pa.Array]
    revision: npt.NDArray[np.int32] | None = None
    """None: all 0."""
    events: dict[str, Int64s] = field(default_factory=dict)
    """For values that depend on how events are grouped, as sums of floats do: a number that stands for the events
    behind each of them. Where it is the same the value is, whatever its last digits are now."""

    def __len__(self) -> int:
        return len(self.key)

    def take(self, index: Int64s) -> Report:
        """Some of the windows."""
        where = pa.array(index)
        return Report(
            self.query[index],
            self.key[index],
            tuple(part[index] for part in self.identity),
            self.start[index],
            self.end[index],
            None if self.rows is None else (self.rows[0][index], self.rows[1][index]),
            {name: column.take(where) for name, column in self.values.items()},
            None if self.revision is None else self.revision[index],
            {name: numbers[index] for name, numbers in self.events.items()},
        )

    def revisions(self) -> npt.NDArray[np.int32]:
        """The revision of each."""
        return np.zeros(len(self), np.int32) if self.revision is None else self.revision

    def names(self) -> npt.NDArray[np.void]:
        """Query, key and identity of each window as one comparable value."""
        return named(self.query, self.key, self.identity)


def named(query: Int64s, key: Int64s, identity: tuple[Int64s, ...]) -> npt.NDArray[np.void]:
    """Query, key and identity as one value of fixed width: equal where all are."""
    parts = np.ascontiguousarray(np.stack([query, key, *identity], axis=1))
    whole: npt.NDArray[np.void] = parts.view(f"V{parts.shape[1] * 8}").reshape(-1)
    return whole


class Reported:
    """The windows that were reported and are not closed, as they were last reported."""

    def __init__(self) -> None:
        self._last: Report | None = None
        self._gone: Bools = np.zeros(0, np.bool_)

    def report(self, due: Report, existing: npt.NDArray[np.void] | None) -> Report:
        """What is new or changed among the windows that are due.

        `existing` names all windows that are open, due or not: a window reported before that is no longer among them
        is retracted. None: windows of this kind never cease to exist.
        """
        last = self._last
        if last is None or not len(last):
            self._last, self._gone = due, np.zeros(len(due), np.bool_)
            return due
        before, known = _matched(last, due)
        due.revision = np.where(known, last.revisions()[before] + 1, 0).astype(np.int32)
        changed = ~known | self._gone[before]
        compared = np.flatnonzero(known & ~self._gone[before])
        if len(compared):
            changed[compared] = ~_alike(due.take(compared), last.take(before[compared]))
        emitted = np.flatnonzero(changed)
        retracted = self._retracted(last, last.names(), existing)
        self._remember(last, before, known, due, changed)
        said = due.take(emitted)
        return said if retracted is None else _joined(said, retracted)

    def fresh(self, due: Report) -> Int64s:
        """Which windows may have to be said anew: not those of which all is the same that decides their values.

        `due` has no values yet, but `events` for all of them.
        """
        last = self._last
        if last is None or not len(last):
            return np.arange(len(due))
        before, known = _matched(last, due)
        fresh = ~known | self._gone[before]
        compared = np.flatnonzero(~fresh)
        now, then = due.take(compared), last.take(before[compared])
        alike = _same_place(now, then)
        for name, numbers in now.events.items():
            alike &= numbers == then.events[name]
        fresh[compared] = ~alike
        return np.flatnonzero(fresh)

    def _retracted(
        self, last: Report, names: npt.NDArray[np.void], existing: npt.NDArray[np.void] | None
    ) -> Report | None:
        if existing is None:
            return None
        gone = np.flatnonzero(~np.isin(names, existing) & ~self._gone)
        if not len(gone):
            return None
        self._gone = self._gone.copy()
        self._gone[gone] = True
        retracted = last.take(gone)
        retracted.revision = np.full(len(gone), -1, np.int32)
        retracted.values = {name: pa.nulls(len(gone), column.type) for name, column in last.values.items()}
        return retracted

    def _remember(self, last: Report, before: Int64s, known: Bools, due: Report, changed: Bools) -> None:
        """Windows that were not reported anew stay as they were last said."""
        for name, numbers in due.events.items():
            last.events[name][before[known]] = numbers[known]
        replaced = np.zeros(len(last), np.bool_)
        replaced[before[known & changed]] = True
        stay = np.flatnonzero(~replaced)
        gone = self._gone[stay]
        self._last = _joined(last.take(stay), due.take(np.flatnonzero(changed)))
        self._gone = np.concatenate([gone, np.zeros(int(changed.sum()), np.bool_)])

    def forget(self, closed: Bools, still: npt.NDArray[np.void] | None = None) -> None:
        """Windows that are closed cannot be revised.

        `still` names windows that are open: one may have grown past the end that was last said of it.
        """
        if self._last is not None and closed.any():
            if still is not None and len(still):
                closed = closed & ~np.isin(self._last.names(), still)
            stay = np.flatnonzero(~closed)
            self._last, self._gone = self._last.take(stay), self._gone[stay]

    @property
    def last(self) -> Report | None:
        """What was last said of each."""
        return self._last

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        last = self._last
        if last is None:
            return 0
        numbers = [last.query, last.key, *last.identity, last.start, last.end, *(last.rows or ()), self._gone]
        return sum(part.nbytes for part in (*numbers, *last.values.values(), *last.events.values()))

    def live_keys(self, live: Bools) -> None:
        """Mark the keys of windows that may still be corrected."""
        if self._last is not None:
            live[self._last.key] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        if self._last is not None:
            self._last = replace(self._last, key=moved[self._last.key])

    def dump(self) -> dict[str, Any] | None:
        """What a snapshot holds of them."""
        last = self._last
        if last is None:
            return None
        return {
            "query": last.query,
            "key": last.key,
            "identity": list(last.identity),
            "start": last.start,
            "end": last.end,
            "rows": None if last.rows is None else list(last.rows),
            "values": last.values,
            "revision": last.revisions(),
            "events": last.events,
            "gone": self._gone,
        }

    def load(self, tree: dict[str, Any] | None, queries: dict[int, int] | None = None) -> None:
        """Take over what a snapshot holds; `queries` says which queries go on, and under which numbers."""
        if tree is None:
            return
        fields = {name: tree[name] for name in ("query", "key", "start", "end", "values", "revision", "events")}
        rows = None if tree["rows"] is None else (tree["rows"][0], tree["rows"][1])
        self._last = Report(identity=tuple(tree["identity"]), rows=rows, **fields)
        self._gone = tree["gone"]
        if queries is not None:
            stay = np.flatnonzero(np.isin(self._last.query, list(queries)))
            if len(stay) < len(self._last):  # else as it was: Arrow writes a list of nulls otherwise after a take
                self._last, self._gone = self._last.take(stay), self._gone[stay]
            renumbered = np.full(max(queries, default=0) + 1, -1)
            renumbered[list(queries)] = list(queries.values())
            self._last.query = renumbered[self._last.query]


def _joined(a: Report, b: Report) -> Report:
    rows = None
    if a.rows is not None and b.rows is not None:
        rows = (np.concatenate([a.rows[0], b.rows[0]]), np.concatenate([a.rows[1], b.rows[1]]))
    return Report(
        np.concatenate([a.query, b.query]),
        np.concatenate([a.key, b.key]),
        tuple(np.concatenate(pair) for pair in zip(a.identity, b.identity, strict=True)),
        np.concatenate([a.start, b.start]),
        np.concatenate([a.end, b.end]),
        rows,
        {name: pa.concat_arrays([a.values[name], b.values[name]]) for name in a.values},
        np.concatenate([a.revisions(), b.revisions()]),
        {name: np.concatenate([a.events[name], b.events[name]]) for name in a.events},
    )


def _matched(last: Report, due: Report) -> tuple[Int64s, Bools]:
    """For each window that is due the one of the same name said before, and whether there is one."""
    old_names, names = last.names(), due.names()
    order = np.argsort(old_names)
    found = np.minimum(np.searchsorted(old_names[order], names), len(order) - 1)
    return order[found], old_names[order][found] == names


def _same_place(a: Report, b: Report) -> Bools:
    alike: Bools = (a.start == b.start) & (a.end == b.end)
    if a.rows is not None and b.rows is not None:
        alike &= (a.rows[0] == b.rows[0]) & (a.rows[1] == b.rows[1])
    return alike


def _alike(a: Report, b: Report) -> Bools:
    alike = _same_place(a, b)
    for name, column in a.values.items():
        equal = same(column, b.values[name])
        alike &= equal | (a.events[name] == b.events[name]) if name in a.events else equal
    return alike


def same(a: pa.Array, b: pa.Array) -> Bools:
    """Where two columns hold the same: null equals null, NaN equals NaN, lists and structs by what they hold.

    >>> same(pa.array([1.0, None, float("nan")]), pa.array([1.0, None, float("nan")])).tolist()
    [True, True, True]
    """
    valid_a, valid_b = _valid(a), _valid(b)
    both = valid_a & valid_b
    if pa.types.is_struct(a.type):
        inner = np.ones(len(a), np.bool_)
        for i in range(a.type.num_fields):
            inner &= same(pc.struct_field(a, i), pc.struct_field(b, i))
    elif pa.types.is_list(a.type):
        inner = _same_lists(a, b, both)
    else:
        equal = np.asarray(pc.fill_null(pc.equal(a, b), False).to_numpy(zero_copy_only=False), np.bool_)
        if pa.types.is_floating(a.type):
            nan = pc.and_(pc.is_nan(a), pc.is_nan(b))
            equal |= np.asarray(pc.fill_null(nan, False).to_numpy(zero_copy_only=False), np.bool_)
        inner = equal
    alike: Bools = (both & inner) | (~valid_a & ~valid_b)
    return alike


def _valid(array: pa.Array) -> Bools:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _same_lists(a: pa.Array, b: pa.Array, both: Bools) -> Bools:
    """Equal lengths, then equal values, place by place."""
    sizes_a = np.asarray(pc.fill_null(pc.list_value_length(a), 0).to_numpy(zero_copy_only=False))
    sizes_b = np.asarray(pc.fill_null(pc.list_value_length(b), 0).to_numpy(zero_copy_only=False))
    inner: Bools = both & (sizes_a == sizes_b)
    index = np.flatnonzero(inner & (sizes_a > 0))
    if len(index):
        flat_a, flat_b = (pc.list_flatten(side.take(pa.array(index))) for side in (a, b))
        matches = same(flat_a, flat_b)
        starts = np.concatenate([[0], np.cumsum(sizes_a[index])[:-1]])
        inner[index] = np.logical_and.reduceat(matches, starts)
    return inner
