"""Sorted runs over many slices at once: the eager store for holistic aggregates (paper 1, sections 5.3 and 5.4.1).

Runs of slices are merged into runs of blocks, and those into runs of larger blocks. A window then needs some tens of
runs per level instead of one per slice, and its quantiles are selected from these without merging them. Blocks are
cells of time, 16 times as long from level to level: a block holds the slices that start in it, and a window uses those
that lie wholly inside.

    slices      | | | | | | | | | | | | | | |
    level 1     [       |       |       )       built as far as slices are settled
    window           [--)-------)-------)-)

Values that come late go as runs of their own into their slice and into each block above it; many of them are merged.
Each level holds all values again, equal ones once: over 100,000 slices of 10 different values each, about four times
the bytes of the slices alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Bound
from muntin.slicing.bounded import BoundedRuns, cut_of
from muntin.slicing.codings import BoundedHitters
from muntin.slicing.ranges_fold import spread
from muntin.slicing.runs import Cut, RunStore, between
from muntin.slicing.runs_answers import Runs

__all__ = ["RunTree", "run_store"]

Int64s = npt.NDArray[np.int64]

FAN_SHIFT = 4
LEVELS = 5
LONG = 64  # runs of a window, on average, from which on blocks pay
FIRST = 64  # runs from which on the length of a block can be told
PATCHES = 8  # runs of one slice or block from which on they are merged


def run_store(kind: str, bound: Bound) -> RunStore:
    """The runs of the column of an aggregate, in the store of a kind; heavy hitters are never many."""
    if isinstance(bound.aggregate, BoundedHitters):
        return BoundedRuns(bound.aggregate.most)
    cut = cut_of(bound)
    return RunStore(cut) if kind == "lazy" else RunTree(kind == "eager", cut)


class Level:
    """Runs of blocks, in the order of key, then block. Blocks before `built` are complete."""

    def __init__(self) -> None:
        none = np.empty(0, np.int64)
        self.block: Int64s = none
        self.key: Int64s = none
        self.offset: Int64s = none
        self.size: Int64s = none
        self.built: int | None = None

    @property
    def columns(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Block, key, offset and size."""
        return self.block, self.key, self.offset, self.size

    def put(self, *columns: Int64s) -> None:
        """Take over other runs."""
        self.block, self.key, self.offset, self.size = columns

    def add(self, *fresh: Int64s) -> None:
        """More runs."""
        joined = [np.concatenate(pair) for pair in zip(self.columns, fresh, strict=True)]
        block, key = self.block, self.key
        if len(block) and len(fresh[0]) and (key[-1], block[-1]) > (fresh[1][0], fresh[0][0]):
            order = np.lexsort((joined[0], joined[1]))
            joined = [column[order] for column in joined]
        self.put(*joined)


class RunTree(RunStore):
    """The values of one column in slices and in blocks of slices.

    With `eager` blocks are made as soon as their slices are settled, else when a window has many runs.
    """

    def __init__(self, eager: bool = True, cut: Cut | None = None) -> None:
        super().__init__(cut)
        self._eager = eager
        self._shift: int | None = None
        self._levels: list[Level] = []
        self._late = 0
        self._top: int | None = None
        self._low: int | None = None
        self._known: tuple[Any, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return super().nbytes + sum(column.nbytes for level in self._levels for column in level.columns)

    # -- taking in -------------------------------------------------------------------------------------------------

    def settle(self, before: int) -> None:
        """Sort the rows that wait in slices which start before a time; eager: and merge the blocks that end by it."""
        self._check()
        super().settle(before)
        if self._late > PATCHES + len(self.slice) // 8:
            self._merge_patches()
        if self._eager:
            self._build(before)
        self._note()

    def prepare(self, before: int) -> None:
        """Do now, at leisure, what windows that end by a time would have to wait for."""
        if self._eager:
            self.settle(before)

    def _sort(self, slices: Int64s, keys: Int64s | None, values: Int64s, sorted_slices: bool = False) -> None:
        have, newest, low, high = len(self.slice), self._top, int(slices.min()), int(slices.max())
        self._top = high if newest is None else max(newest, high)
        super()._sort(slices, keys, values, sorted_slices)
        if newest is not None and low <= newest:
            self._late += len(self.slice) - have
        for i, level in enumerate(self._levels):
            # Late for a block may also be what is newer than all values: a block is built when its time is over.
            if level.built is not None and low >> self._width(i) < level.built:
                block = slices >> self._width(i)
                late = np.flatnonzero(block < level.built)
                runs = RunStore()  # sorts and counts them; its slices are blocks here
                runs._sort(block[late], None if keys is None else keys[late], values[late])
                level.add(runs.slice, runs.key, runs._offset + len(self._values), runs._size)
                self._keep(runs._values, runs._upto)

    def take(self, slices: Int64s, keys: Int64s | None, sizes: Int64s, values: Int64s, upto: Int64s) -> None:
        """Runs that were made elsewhere; where a block was built, they go into it as well."""
        self._check()
        super().take(slices, keys, sizes, values, upto)
        self._note()

    def _came(self, slices: Int64s, keys: Int64s, offsets: Int64s, sizes: Int64s) -> None:
        low, high = int(slices.min()), int(slices.max())
        if self._top is not None and low <= self._top:
            self._late += len(slices)
        self._top = high if self._top is None else max(self._top, high)
        for i, level in enumerate(self._levels):
            block = slices >> self._width(i)
            if level.built is not None and (late := block < level.built).any():
                level.add(block[late], keys[late], offsets[late], sizes[late])

    def _summarise(self, more: int) -> None:
        self._check()
        super()._summarise(more)
        self._note()

    def _width(self, level: int) -> int:
        assert self._shift is not None
        return self._shift + FAN_SHIFT * level

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _build(self, before: int) -> None:
        """Merge the blocks that end by a time, level by level from the runs below."""
        if self._shift is None:
            if len(self.slice) < FIRST:
                return
            # Blocks of about 16 runs of a key: its slices without a value do not count.
            low, high = int(self.slice.min()), int(self.slice.max())
            many = max(len(self.slice) // (int(self.key.max()) + 1), 1)
            self._shift = max((max(high - low, 1) * (1 << FAN_SHIFT) // many).bit_length() - 1, 0)
            self._levels = [Level() for _ in range(LEVELS)]
        below: tuple[Int64s, ...] = (self.slice, self.key, self._offset, self._size)
        for i, level in enumerate(self._levels):
            upto = before >> self._width(i)
            narrower = self._width(0) if i == 0 else FAN_SHIFT
            if level.built is None:
                if not len(below[0]):
                    return
                # Blocks before have no slices with values; if some come yet, they come late.
                level.built = int(below[0].min()) >> narrower
            if upto <= level.built:
                return
            block = below[0] >> narrower
            some = np.flatnonzero((block >= level.built) & (block < upto))
            level.add(*self._merged(block[some], *(column[some] for column in below[1:])))
            level.built = upto
            below = level.columns

    def _merge_patches(self) -> None:
        """Slices and blocks with many runs get one."""
        self._late = 0
        joined = self._joined_runs((self.slice, self.key, self._offset, self._size), PATCHES)
        if joined is not None:
            self.slice, self.key, self._offset, self._size = joined
        for level in self._levels:
            joined = self._joined_runs(level.columns, PATCHES)
            if joined is not None:
                level.put(*joined)

    # -- answering -------------------------------------------------------------------------------------------------

    def _runs(self, key: Int64s, start: Int64s, end: Int64s) -> Runs:
        self._check()
        plain = super()._runs(key, start, end)
        if not len(key) or int((plain.hi - plain.lo).sum()) < LONG * len(key):
            return plain
        if not self._eager:
            self._build(int(end.max()))
            self._note()
        if not self._levels:
            return plain
        return self._covered(key, start, end)

    def _covered(self, key: Int64s, start: Int64s, end: Int64s) -> Runs:
        """Runs of slices up to a block's edge, of blocks, of blocks of blocks, and down again, for each window."""
        which: list[Int64s] = []
        offsets: list[Int64s] = []
        sizes: list[Int64s] = []

        def take(columns: tuple[Int64s, ...], window: Int64s, low: Int64s, high: Int64s) -> None:
            lo, hi = (between(columns[1], columns[0], key[window], place) for place in (low, high))
            index, _ = spread(lo, np.maximum(hi - lo, 0))
            which.append(np.repeat(window, np.maximum(hi - lo, 0)))
            offsets.append(columns[2][index])
            sizes.append(columns[3][index])

        window, low, high = np.arange(len(key)), start, end
        columns: tuple[Int64s, ...] = (self.slice, self.key, self._offset, self._size)
        for i, level in enumerate(self._levels):
            if level.built is None or not len(level.block):
                break
            narrower = self._width(0) if i == 0 else FAN_SHIFT
            a, b = -(-low >> narrower), np.minimum(high >> narrower, level.built)
            up = a < b
            take(columns, window[~up], low[~up], high[~up])
            window, low, high, a, b = window[up], low[up], high[up], a[up], b[up]
            take(columns, window, low, a << narrower)
            take(columns, window, b << narrower, high)
            low, high, columns = a, b, level.columns
        take(columns, window, low, high)
        order = np.argsort(np.concatenate(which), kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(np.concatenate(which), minlength=len(key)))])
        offset, size = np.concatenate(offsets)[order], np.concatenate(sizes)[order]
        return Runs(self._values, self._upto, offset, size, ends[:-1], ends[1:])

    # -- keeping order ---------------------------------------------------------------------------------------------

    def _note(self) -> None:
        self._known = (self.slice, self.key, len(self._values))

    def _check(self) -> None:
        """Begin anew where slices or keys were changed from outside: merged, or numbered afresh."""
        known = self._known
        if known and (known[0] is not self.slice or known[1] is not self.key or known[2] != len(self._values)):
            self._begin()

    def _begin(self) -> None:
        self._shift, self._levels, self._late, self._known = None, [], 0, ()
        self._top = int(self.slice.max()) if len(self.slice) else None

    def drop_before(self, time: int | Int64s) -> None:
        """Forget the slices that start before a time, now or when there are more of them."""
        first = int(np.min(time))
        if self._low is not None and self._top is not None and 4 * (first - self._low) < self._top - self._low:
            return
        self._low = first
        self._check()
        for i, level in enumerate(self._levels):
            stay = level.block >= first >> self._width(i)
            level.put(*(column[stay] for column in level.columns))
        super().drop_before(time)
        self._note()

    def _live(self) -> int:
        return super()._live() + sum(int(level.size.sum()) for level in self._levels)

    def _compact(self) -> None:
        sizes = np.concatenate([self._size, *(level.size for level in self._levels)])
        index, offsets = spread(np.concatenate([self._offset, *(level.offset for level in self._levels)]), sizes)
        self._values, self._upto = self._values[index], self._upto[index]
        end = len(self._offset)
        self._offset = offsets[:end].copy()
        for level in self._levels:
            end, begin = end + len(level.offset), end
            level.offset = offsets[begin:end].copy()

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds: the runs of slices, as of any other store."""
        index, offsets = spread(self._offset, self._size)
        runs = [self.slice, self.key, offsets[:-1].copy(), self._size, self._values[index], self._upto[index]]
        return {"waiting": [list(row) for row in self._waiting], "runs": runs}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the runs of a snapshot."""
        super().load(tree)
        self._begin()
