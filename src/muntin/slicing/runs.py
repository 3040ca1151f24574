"""Sorted runs of values per slice, for holistic aggregates (paper 1, section 5.4.1: sorted, with run lengths).

One store serves all holistic aggregates of one column. Rows wait until a window needs their slice; then each key's
rows of a slice are sorted once, and windows are answered from the runs of their slices without merging them.

Runs of approximate aggregates are summaries of bounded size. There rows wait only until they are as many as the
summaries are long; then all keys' rows are counted at once and merged into the summaries of their slices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Median, Mode, NthSmallest, Quantile
from muntin.slicing.codings import BoundedHitters, Registers
from muntin.slicing.ordinals import Counting, ordinal
from muntin.slicing.ranges_fold import spread
from muntin.slicing.runs_answers import Runs, answered

__all__ = ["Cut", "RunStore", "by_runs"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Cut = Callable[[Int64s, Int64s, Int64s], tuple[Int64s, Int64s, Int64s]]
"""Makes runs smaller: values, rows up to each, and where each run begins."""

WAITING = 1 << 15  # rows from which on it is worth merging them into summaries; the bytes of some columns of a batch
_LATEST = np.iinfo(np.int64).max


def by_runs(bound: Bound) -> bool:
    """Whether an aggregate can be answered from sorted runs of numbers."""
    known = (Median, Quantile, NthSmallest, CountDistinct, Mode, HeavyHitters, Registers, BoundedHitters)
    type_ = bound.types[0] if bound.types else None
    numbers = type_ is not None and (pa.types.is_primitive(type_) or pa.types.is_boolean(type_))
    return type(bound.aggregate) in known and numbers and not pa.types.is_decimal(type_)


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
    """The values of one column in slices: rows that wait, and runs of those that are sorted.

    With a `cut` runs are summaries of bounded size, and rows do not wait for windows.
    """

    def __init__(self, cut: Cut | None = None) -> None:
        self._cut = cut
        self._unmerged = self._merged_size = 0
        """Rows and values of runs since runs of the same slice were merged, and how many values there were then."""
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
            self._summarise(len(slices))

    def take(self, slices: Int64s, keys: Int64s | None, sizes: Int64s, values: Int64s, upto: Int64s) -> None:
        """Runs that were made elsewhere, one after the other: the slice, the key and the size of each."""
        some = np.flatnonzero(sizes)
        if not len(some):
            return
        keys = np.zeros(len(slices), np.int64) if keys is None else keys
        offsets = np.cumsum(sizes) - sizes + len(self._values)
        order = some[np.lexsort((slices[some], keys[some]))]
        placed = slices[order], keys[order], offsets[order], sizes[order]
        self._append(*placed)
        self._keep(values, upto)
        self._came(*placed)
        self._summarise(len(values))

    def counted(
        self, cells: Int64s, many: int, values: npt.NDArray[Any], valid: Bools | None
    ) -> tuple[Int64s, Int64s, Int64s]:
        """Rows as runs, one for each of so many cells: their sizes, values, and rows up to each; none is kept."""
        ordered = ordinal(values)
        if valid is not None:
            cells, ordered = cells[valid], ordered[valid]
        sizes = np.zeros(many, np.int64)
        if not len(cells):
            return sizes, ordered, ordered
        order = np.argsort(cells, kind="stable")
        cells, ordered = cells[order], ordered[order]
        starts = np.concatenate([[0], np.flatnonzero(cells[1:] != cells[:-1]) + 1])
        found, upto, offsets = self._counted_runs(ordered, starts, np.append(starts[1:], len(cells)))
        sizes[cells[starts]] = np.diff(np.append(offsets, len(found)))
        return sizes, found, upto

    def _came(self, slices: Int64s, keys: Int64s, offsets: Int64s, sizes: Int64s) -> None:
        """Runs made elsewhere have come; a store of slices alone has nothing more to do."""

    def _summarise(self, more: int) -> None:
        """Merge what came into the summaries of its slices and keys, once it is as much as they are."""
        self._unmerged += more
        if self._cut is None or self._unmerged < max(WAITING, self._merged_size):
            return
        RunStore.settle(self, _LATEST)
        joined = self._joined_runs((self.slice, self.key, self._offset, self._size), 2)
        if joined is not None:
            self.slice, self.key, self._offset, self._size = joined
        self._unmerged, self._merged_size = 0, self._live()
        if self._merged_size < len(self._values) // 2:
            self._compact()

    def _joined_runs(self, columns: tuple[Int64s, ...], least: int) -> tuple[Int64s, ...] | None:
        """Place, key, offset and size of runs, those of one place and key as one where they are at least so many."""
        same = (columns[0][1:] == columns[0][:-1]) & (columns[1][1:] == columns[1][:-1])
        if not same.any():
            return None
        group = np.concatenate([[0], np.cumsum(~same)])
        many = np.bincount(group)[group] >= least
        if not many.any():
            return None
        one = self._merged(*(column[many] for column in columns))
        joined = [np.concatenate([column[~many], fresh]) for column, fresh in zip(columns, one, strict=True)]
        order = np.lexsort((joined[0], joined[1]))
        return tuple(column[order] for column in joined)

    def _merged(self, place: Int64s, key: Int64s, offset: Int64s, size: Int64s) -> tuple[Int64s, ...]:
        """Runs of the same place and key as one; they are in order."""
        from muntin.kernels.selection import merge_runs

        if not len(place):
            return place, key, offset, size
        starts = np.concatenate([[0], np.flatnonzero((place[1:] != place[:-1]) | (key[1:] != key[:-1])) + 1])
        ends = np.append(starts[1:], len(place))
        total = int(size.sum())
        values, upto = np.empty(total, np.int64), np.empty(total, np.int64)
        at = np.empty(len(starts), np.int64)
        filled = merge_runs(self._values, self._upto, offset, size, starts, ends, values, upto, at)
        values, upto = values[:filled], upto[:filled]
        if self._cut is not None:
            values, upto, at = self._cut(values, upto, at)
        base = len(self._values)
        self._keep(values, upto)
        return place[starts], key[starts], at + base, np.diff(np.append(at, len(values)))

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
        found = self._counting.runs(values, starts, ends)
        return found if self._cut is None else self._cut(*found)

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
        index, offsets = spread(self._offset, self._size)
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
        return answered(bound, self._runs(key, start, end))

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
