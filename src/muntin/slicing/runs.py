"""Sorted runs of values per slice, for holistic aggregates (paper 1, section 5.4.1: sorted, with run lengths).

One store serves all holistic aggregates of one column. Rows wait until a window needs their slice; then each key's
rows of a slice are sorted once, and windows are answered from the runs of their slices without merging them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Median, Mode, NthSmallest, Quantile
from muntin.aggregates.sketches import estimated
from muntin.slicing.codings import BoundedHitters, Registers
from muntin.slicing.hitters import shared, sliding
from muntin.slicing.ordinals import Counting, from_ordinal, ordinal
from muntin.slicing.values import to_arrow

__all__ = ["OTHERS", "RunStore", "by_runs"]

OTHERS = np.iinfo(np.int64).max
"""Stands behind the values of a run whose size is bounded, for the rows of those that went."""

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def by_runs(bound: Bound) -> bool:
    """Whether an aggregate can be answered from sorted runs of numbers."""
    known = (Median, Quantile, NthSmallest, CountDistinct, Mode, HeavyHitters, Registers, BoundedHitters)
    type_ = bound.types[0] if bound.types else None
    numbers = type_ is not None and (pa.types.is_primitive(type_) or pa.types.is_boolean(type_))
    return type(bound.aggregate) in known and numbers and not pa.types.is_decimal(type_)


class Runs(NamedTuple):
    """Groups of runs: group g has the runs lo[g] to hi[g], each from its offset on in values and rows up to each."""

    values: Int64s
    upto: Int64s
    offset: Int64s
    size: Int64s
    lo: Int64s
    hi: Int64s

    def rows(self) -> Int64s:
        """The number of rows in each group."""
        low, high = (int(self.lo.min()), int(self.hi.max())) if len(self.lo) else (0, 0)
        ends = np.zeros(high - low + 1, np.int64)
        np.cumsum(self.upto[self.offset[low:high] + self.size[low:high] - 1], out=ends[1:])
        return ends[self.hi - low] - ends[self.lo - low]


class Spare:
    """Room after an array, so that what is added to it now and again is not all copied each time."""

    def __init__(self) -> None:
        self._room = self._held = np.empty(0, np.int64)

    def after(self, array: Int64s, more: Int64s) -> Int64s:
        """One after the other; in the same room where `array` is what this gave last."""
        size = len(array) + len(more)
        if array is not self._held or size > len(self._room):
            self._room = np.empty(size + max(size // 2, 1024), np.int64)
            self._room[: len(array)] = array
        self._room[len(array) : size] = more
        self._held = self._room[:size]
        return self._held


class RunStore:
    """The values of one column in slices: rows that wait, and runs of those that are sorted."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Int64s, Int64s | None, Int64s]] = []
        self.slice: Int64s = np.empty(0, np.int64)
        """The start of the slice that each run belongs to; runs are in the order of key, then slice."""
        self.key: Int64s = np.empty(0, np.int64)
        self._offset: Int64s = np.empty(0, np.int64)
        self._size: Int64s = np.empty(0, np.int64)
        self._values: Int64s = np.empty(0, np.int64)
        self._upto: Int64s = np.empty(0, np.int64)
        self._spare = [Spare() for _ in range(6)]
        self._counting = Counting()

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        waiting = sum(part.nbytes for row in self._waiting for part in row if part is not None)
        return waiting + self._values.nbytes + self._upto.nbytes + 4 * self.slice.nbytes

    def add(self, slices: Int64s, key: Int64s | None, values: npt.NDArray[Any], valid: Any) -> None:
        """Rows of a batch: the start of the slice, the key and the value of each."""
        ordered = ordinal(values)
        if valid is not None:
            slices, ordered = slices[valid], ordered[valid]
            key = None if key is None else key[valid]
        if len(slices):
            self._waiting.append((slices, key, ordered))

    def settle(self, before: int) -> None:
        """Sort the rows that wait in slices which start before a time into runs."""
        if not self._waiting:
            return
        slices, keys, values = (
            self._joined(0),
            None if self._waiting[0][1] is None else self._joined(1),
            self._joined(2),
        )
        if keys is None and not (slices[1:] < slices[:-1]).any():  # then a cut will do, without a copy
            cut = int(slices.searchsorted(before))
            self._waiting = [(slices[cut:], None, values[cut:])] if cut < len(slices) else []
            if cut:
                self._sort(slices[:cut], None, values[:cut], sorted_slices=True)
            return
        later = slices >= before
        if later.all():
            self._waiting = [(slices, keys, values)]
            return
        self._waiting = []
        if later.any():
            self._waiting = [(slices[later], None if keys is None else keys[later], values[later])]
            now = ~later
            slices, values = slices[now], values[now]
            keys = None if keys is None else keys[now]
        self._sort(slices, keys, values)

    def prepare(self, before: int) -> None:
        """Windows that end by a time may be asked for soon; a store that does everything when asked does nothing."""

    def _joined(self, part: int) -> Int64s:
        parts = [row[part] for row in self._waiting]
        joined: Int64s = parts[0] if len(parts) == 1 else np.concatenate(parts)  # type: ignore[arg-type,assignment]
        return joined

    def _sort(self, slices: Int64s, keys: Int64s | None, values: Int64s, sorted_slices: bool = False) -> None:
        if keys is None:
            if not sorted_slices and (slices[1:] < slices[:-1]).any():
                order = np.argsort(slices, kind="stable")
                slices, values = slices[order], values[order]
            changes = slices[1:] != slices[:-1]
        else:
            order = np.lexsort((slices, keys))
            slices, keys, values = slices[order], keys[order], values[order]
            changes = (slices[1:] != slices[:-1]) | (keys[1:] != keys[:-1])
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
        ends = np.append(starts[1:], len(values))
        distinct, upto, offsets = self._counted_runs(values, starts, ends)
        sizes = np.diff(np.append(offsets, len(distinct)))
        self._append(
            slices[starts],
            np.zeros(len(starts), np.int64) if keys is None else keys[starts],
            offsets + len(self._values),
            sizes,
        )
        self._keep(distinct, upto)

    def _counted_runs(self, values: Int64s, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        return self._counting.runs(values, starts, ends)

    def _keep(self, values: Int64s, upto: Int64s) -> None:
        self._values = self._spare[4].after(self._values, values)
        self._upto = self._spare[5].after(self._upto, upto)

    def _append(self, slices: Int64s, keys: Int64s, offsets: Int64s, sizes: Int64s) -> None:
        fresh = (slices, keys, offsets, sizes)
        old = (self.slice, self.key, self._offset, self._size)
        joined = [spare.after(*pair) for spare, *pair in zip(self._spare[:4], old, fresh, strict=True)]
        if not len(old[0]) or (old[1][-1], old[0][-1]) <= (keys[0], slices[0]):
            self.slice, self.key, self._offset, self._size = joined
            return
        order = np.lexsort((joined[0], joined[1]))
        self.slice, self.key, self._offset, self._size = (part[order] for part in joined)

    def ordinals(self) -> list[Int64s]:
        """All values that are held."""
        return [self._values, *(values for _, _, values in self._waiting)]

    def remap(self, places: Int64s) -> None:
        """Each value becomes another, in the same order: ranks among more or fewer texts."""
        self._values = places[self._values]
        self._waiting = [(slices, keys, places[values]) for slices, keys, values in self._waiting]

    def drop_before(self, time: int | Int64s) -> None:
        """Forget the slices that start before a time, or before one time per key."""
        if isinstance(time, np.ndarray):
            self._drop(self.slice >= time[self.key], lambda s, k: s >= (time[0] if k is None else time[k]))
        else:
            self._drop(self.slice >= time, lambda s, k: s >= time)

    def _drop(self, stay: Bools, waits: Callable[[Int64s, Int64s | None], Bools]) -> None:
        if not stay.all():
            self.slice, self.key = self.slice[stay], self.key[stay]
            self._offset, self._size = self._offset[stay], self._size[stay]
            if self._live() < len(self._values) // 2:
                self._compact()
        waiting = [(row, waits(row[0], row[1])) for row in self._waiting]
        self._waiting = [
            row if m.all() else (row[0][m], None if row[1] is None else row[1][m], row[2][m])
            for row, m in waiting
            if m.any()
        ]

    def merge_slices(self, starts: Int64s) -> None:
        """Slices have become one: each run belongs to the slice, given by its start, that it now lies in.

        Open sessions have runs of slices that are gone: these stay as they are.
        """
        if not len(starts):
            return

        def merged(slices: Int64s) -> Int64s:
            place = np.searchsorted(starts, slices, "right") - 1
            return np.where(place < 0, slices, starts[place])

        self.slice = merged(self.slice)
        self._waiting = [(merged(slices), keys, values) for slices, keys, values in self._waiting]

    def _live(self) -> int:
        return int(self._size.sum())

    def _compact(self) -> None:
        offsets = np.concatenate([[0], np.cumsum(self._size)])
        index = np.repeat(self._offset - offsets[:-1], self._size) + np.arange(offsets[-1])
        self._values, self._upto, self._offset = self._values[index], self._upto[index], offsets[:-1].copy()

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys with values."""
        for keys in (self.key, *(row[1] for row in self._waiting)):
            live[0 if keys is None else keys] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self.key = moved[self.key]
        self._waiting = [(slices, None if key is None else moved[key], v) for slices, key, v in self._waiting]

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the runs."""
        self._compact()
        waiting = [list(row) for row in self._waiting]
        runs = [self.slice, self.key, self._offset, self._size, self._values, self._upto]
        return {"waiting": waiting, "runs": runs}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the runs of a snapshot."""
        self._waiting = [(slices, keys, values) for slices, keys, values in tree["waiting"]]
        self.slice, self.key, self._offset, self._size, self._values, self._upto = tree["runs"]

    # -- answering -------------------------------------------------------------------------------------------------

    def answer(self, bound: Bound, key: Int64s, start: Int64s, end: Int64s) -> pa.Array:
        """One aggregate for many windows of keys, from the runs of the slices between two times."""
        runs = self._runs(key, start, end)
        n = runs.rows()
        aggregate = bound.aggregate
        enough = n >= aggregate.least
        if isinstance(aggregate, Quantile):
            return _quantiles(bound, runs, n, enough, aggregate.share)
        if isinstance(aggregate, NthSmallest):
            found, _ = _selected(runs, np.full(len(n), aggregate.n - 1), enough)
            return to_arrow(from_ordinal(found, bound.types[0]), enough, bound.output)
        if isinstance(aggregate, HeavyHitters) and shared(runs.lo, runs.hi):
            found_hits = _sliding(runs, aggregate)
            if found_hits is not None:
                return _listed(bound, *found_hits, len(n), enough)
        return _counted(bound, runs, n, enough)

    def _runs(self, key: Int64s, start: Int64s, end: Int64s) -> Runs:
        """The runs of some windows."""
        lo, hi = between(self.key, self.slice, key, start), between(self.key, self.slice, key, end)
        return Runs(self._values, self._upto, self._offset, self._size, lo, hi)


def between(keys: Int64s, places: Int64s, key: Int64s, place: Int64s) -> Int64s:
    """How many runs lie before a place of a key, in the order of key, then place."""
    if not len(keys) or (keys[0] == keys[-1] == 0 and not key.any()):
        return places.searchsorted(place, "left").astype(np.int64)
    from muntin.kernels.selection import find_runs

    found = np.empty(len(key), np.int64)
    find_runs(keys, places, np.ascontiguousarray(key), np.ascontiguousarray(place), found)
    return found


def _selected(runs: Runs, rank: Int64s, enough: npt.NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    from muntin.kernels.selection import select

    found, following = np.zeros(len(rank), np.int64), np.zeros(len(rank), np.int64)
    some = np.flatnonzero(enough)
    low, high = np.zeros(len(some), np.int64), np.zeros(len(some), np.int64)
    lo, hi = runs.lo[some], runs.hi[some]
    select(runs.values, runs.upto, runs.offset, runs.size, lo, hi, rank[some], low, high)
    found[some], following[some] = low, high
    return found, following


def _quantiles(bound: Bound, runs: Runs, n: Int64s, enough: npt.NDArray[np.bool_], share: float) -> pa.Array:
    place = share * np.maximum(n - 1, 0)
    below = np.floor(place)
    weight = place - below
    low, high = _selected(runs, below.astype(np.int64), enough)
    a, b = (from_ordinal(part, bound.types[0]).astype(np.float64) for part in (low, high))
    with np.errstate(invalid="ignore", over="ignore"):
        mixed = a * (1 - weight) + b * weight
    return pa.array(np.where((weight == 0) | (a == b), a, mixed), pa.float64(), mask=~enough)


def _counted(bound: Bound, runs: Runs, n: Int64s, enough: npt.NDArray[np.bool_]) -> pa.Array:
    """Aggregates that look at every distinct value of a window."""
    lo, hi = runs.lo, runs.hi
    many = hi - lo
    entry = np.repeat(lo - np.concatenate([[0], np.cumsum(many)[:-1]]), many) + np.arange(int(many.sum()))
    window = np.repeat(np.arange(len(lo)), many)
    sizes = runs.size[entry]
    index = np.repeat(runs.offset[entry] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(
        int(sizes.sum())
    )
    upto = runs.upto[index]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])[sizes > 0] if len(sizes) else np.empty(0, np.int64)
    counts = np.diff(upto, prepend=0)
    counts[first] = upto[first]
    window, values = np.repeat(window, sizes), runs.values[index]
    # Window and value as one number: half the time of sorting by one, then by the other.
    back: Int64s | None = None
    low = int(values.min()) if len(values) else 0
    width = int(values.max()) - low + 1 if len(values) else 1
    if width * max(len(lo), 1) < 1 << 62:
        both = window * width + (values - low)
    else:
        back, ranks = np.unique(values, return_inverse=True)
        low, width = 0, len(back)
        both = window * width + ranks
    if isinstance(bound.aggregate, CountDistinct):
        both.sort()  # vectorised, 10 times as fast as finding the order
    else:
        order = np.argsort(both, kind="stable")  # runs are sorted already: they are merged
        both, counts = both[order], counts[order]
    opens = np.ones(len(both), np.bool_)
    opens[1:] = both[1:] != both[:-1]
    starts = np.flatnonzero(opens)
    window, values = np.divmod(both[starts], width)
    values = values + low if back is None else back[values]
    counts = np.add.reduceat(counts, starts) if len(starts) else counts
    aggregate = bound.aggregate
    if isinstance(aggregate, Registers):
        return pa.array(estimated(window, values, len(lo)), mask=~enough)
    distinct = np.bincount(window, minlength=len(lo))
    if isinstance(aggregate, CountDistinct):
        return pa.array(distinct.astype(np.int64), mask=~enough)
    if isinstance(aggregate, Mode):
        # the most frequent first, equally frequent ones by value: then the first of each window
        best = np.lexsort((values, -counts, window))
        heads = best[np.concatenate([[0], np.cumsum(distinct)[:-1]])[distinct > 0]]
        found = np.zeros(len(lo), np.int64)
        found[distinct > 0] = values[heads]
        return to_arrow(from_ordinal(found, bound.types[0]), enough, bound.output)
    assert isinstance(aggregate, HeavyHitters)
    hits = np.flatnonzero(_reach(bound, window, values, counts, len(lo)) / n[window] >= aggregate.share)
    return _listed(bound, window[hits], values[hits], counts[hits], len(lo), enough)


def _listed(bound: Bound, window: Int64s, values: Int64s, counts: Int64s, windows: int, enough: Bools) -> pa.Array:
    """Heavy hitters as lists: the most frequent first, then by value."""
    order = np.lexsort((values, -counts, window))
    window, values, counts = window[order], values[order], counts[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(window, minlength=windows))])
    shown = to_arrow(from_ordinal(values, bound.types[0]), None, bound.types[0])
    pairs = pa.StructArray.from_arrays([shown, pa.array(counts)], fields=list(bound.output.value_type))
    listed = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pairs).cast(bound.output)
    return listed.take(pa.array(np.arange(windows), mask=~enough))


def _sliding(runs: Runs, aggregate: HeavyHitters) -> tuple[Int64s, Int64s, Int64s] | None:
    """Heavy hitters of windows that have many runs in common."""
    low, high = int(runs.lo.min()), int(runs.hi.max())
    sizes, offsets = runs.size[low:high], runs.offset[low:high]
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    index = np.repeat(offsets - before, sizes) + np.arange(int(sizes.sum()))
    upto = runs.upto[index]
    counts = np.diff(upto, prepend=0)
    counts[before[sizes > 0]] = upto[before[sizes > 0]]
    return sliding(runs.values[index], counts, sizes, runs.lo - low, runs.hi - low, aggregate, OTHERS)


def _reach(bound: Bound, window: Int64s, values: Int64s, counts: Int64s, windows: int) -> npt.NDArray[Any]:
    """How often each value may have come: as counted, and in runs of bounded size as much more as may be lacking."""
    if not isinstance(bound.aggregate, BoundedHitters):
        return counts
    others = values == OTHERS
    taken = np.zeros(windows, np.int64)
    taken[window[others]] = counts[others]
    return np.where(others, -1, counts + taken[window] // (bound.aggregate.most + 1))
