"""Slices of positions: the partials of the events between two edges of rows windows, key by key.

Paper 1, section 5.3, with the count of a key's events as the measure: slices are cut at the union of all windows'
edges, so every window of every query is a number of whole slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Bound
from muntin.aggregates.counting import Count
from muntin.aggregates.extremes import MaxCount, MinCount
from muntin.compile import compiled, inverse_of, loaded, recipe_of, run
from muntin.fifo import slid
from muntin.final import chosen_for_rows, refuse_final
from muntin.fused import Fused
from muntin.kernels import source_rows as source
from muntin.kernels.source_rows import INVERT
from muntin.slicing.ranges_fold import merged
from muntin.slicing.rows.blocks import Blocks
from muntin.slicing.rows.events import Events
from muntin.windows import Cumulative, Window

__all__ = ["FIRST", "LAST", "Cells", "N", "RowsFused", "edges_of"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

# Whether a value was the one that a partial keeps is told by so many of its fields; of the selective ones by all.
_TOLD: dict[type, int] = {MinCount: 1, MaxCount: 1}

N, FIRST, LAST = 0, 1, 2  # columns of every cell: how many events, the first and the last time


class RowsFused(Fused):
    """Cells that are filled from ranges of sorted events, and whose events move on to the next where others come late.

    >>> import muntin as mt, pyarrow as pa
    >>> RowsFused([mt.max("x").bind([pa.int64()]), mt.sum("x").bind([pa.int64()])]).shifts
    True
    >>> RowsFused([mt.sum("x").bind([pa.float64()])]).shifts  # what is added to a float does not come out exactly
    False
    """

    def __init__(self, bounds: Sequence[Bound]) -> None:
        super().__init__(bounds, None, True)
        self.place = {bound.aggregate: i for i, bound in enumerate(bounds)}
        """Where among those of the cells each aggregate is."""
        self.functions = [functions for bound in bounds if (functions := compiled(bound)) is not None]
        found: dict[object, Bound] = {}
        for bound in bounds:
            recipe = recipe_of(bound)
            if recipe is not None and not isinstance(bound.aggregate, Count):
                same = (bound.aggregate.lift, bound.aggregate.combine, recipe.part.slots, recipe.part.inputs)
                found.setdefault((*same, bound.aggregate.columns), bound)
        groups, removal = [], []
        for k, (group, bound) in enumerate(zip(self._plan.groups, found.values(), strict=True)):
            inverse = inverse_of(bound) if bound.aggregate.commutative else None
            told = _TOLD.get(type(bound.aggregate), len(group.part.slots) if bound.aggregate.selective else None)
            if inverse is not None:
                groups.append(group._replace(part=inverse.part))
                self._given |= {f"{name[:-1]}{k}": thing for name, thing in inverse.given.items()}
            elif told is not None and bound.aggregate.commutative:
                groups.append(group)
            removal.append(INVERT if inverse is not None else told)
        self.shifts = len(groups) == len(self._plan.groups)
        """Whether every aggregate can do without an event again, most of the time; else slices are made anew."""
        self._shifting = self._plan._replace(groups=tuple(groups)), tuple(removal)

    def shift(self, state: Sequence[Array], plan: list[Int64s], events: Events) -> Bools:
        """Take events out of cells and others in (`plan_shift`); gives the cells that have to be made anew."""
        columns, ordered, masked = self._events(events.time, events.order, events.columns())
        key = ("shift", ordered, masked)
        if key not in self._kernels:
            text = source.shift_cells(*self._shifting, ordered, masked)  # type: ignore[arg-type]
            self._kernels[key] = loaded(text, self._given)
        again = np.zeros(len(plan[0]), np.bool_)
        run(self._kernels[key], plan, [again, *columns, *state])
        return again

    def fold_ranges(self, state: Sequence[Array], ranges: list[Int64s], events: Events) -> None:
        """Ranges of events, none empty, into a cell each: which cell, from where to where, and whether it is new."""
        columns, ordered, masked = self._events(events.time, events.order, events.columns())
        run(self._kernel(source.fold_ranges, ordered, masked), [*ranges, *columns], state)

    def merge(self, lo: Int64s, hi: Int64s, partials: list[Array]) -> list[Array]:
        """Cells lo to hi as one, for each range."""
        return self.merge_ranges(lo, hi, partials)


def edges_of(windows: Sequence[Window]) -> tuple[Int64s, Int64s]:
    """The edges of all windows, as few progressions as do: each begins at an offset and goes on by a step.

    >>> import muntin as mt
    >>> edges_of([mt.tumbling("4 rows"), mt.tumbling("2 rows"), mt.sliding("5 rows", every="3 rows")])
    (array([2, 3, 3]), array([0, 0, 5]))
    """
    found = set()
    for window in windows:
        size, every = window.size.amount, window.every.amount  # type: ignore[attr-defined]
        found.add((every, 0))
        if not isinstance(window, Cumulative):
            found.add((every, size))
    needed: list[tuple[int, int]] = []
    for step, offset in sorted(found):
        if not any(step % s == 0 and offset >= o and (offset - o) % s == 0 for s, o in needed):
            needed.append((step, offset))
    return np.array([step for step, _ in needed], np.int64), np.array([offset for _, offset in needed], np.int64)


class Cells:
    """The slices of all keys."""

    def __init__(self, fused: RowsFused, final: str = "auto", corrected: bool = False) -> None:
        refuse_final(final, fused, corrected)
        self.fused = fused
        self._final, self._corrected = final, corrected
        own: dict[str, Any] = {name: np.dtype(np.int64) for name in ("start", "zero", "first")}
        self._slots = [f"slot {i}" for i in range(len(fused.slots))]
        self.blocks = Blocks(own | dict(zip(self._slots, fused.slots, strict=True)))

    @property
    def start(self) -> Int64s:
        """The ordinal of the first event of each slice."""
        return self.blocks.columns["start"]

    @property
    def zero(self) -> Int64s:
        """The ordinal of the first event of its run, from which positions count."""
        return self.blocks.columns["zero"]

    @property
    def first(self) -> Int64s:
        """The time of the first event of its run."""
        return self.blocks.columns["first"]

    @property
    def held(self) -> Int64s:
        """How many events each has."""
        return self.blocks.columns[self._slots[N]]

    @property
    def last(self) -> Int64s:
        """The time of the last event of each."""
        return self.blocks.columns[self._slots[LAST]]

    @property
    def state(self) -> list[Array]:
        """The columns of the partials."""
        return [self.blocks.columns[name] for name in self._slots]

    def merged(self, a: Int64s, b: Int64s, order: Int64s) -> list[Array]:
        """Slices a to b as one, for each window, in an order.

        They are listed so that a window goes on from the one before, as the algorithms of paper 4 want them.
        """
        final = self._final if self._final != "auto" else chosen_for_rows(a, b, self.fused, self._corrected)
        if final == "rescan":
            return merged(self.fused, self.state, a[order], b[order])
        state = self.state
        found = slid(self.fused, final, a, b, state)
        if final == "subtract_on_evict":  # the time of a first event that left cannot be subtracted
            found[FIRST], found[LAST] = state[FIRST][a], state[LAST][b - 1]
        return [column[order] for column in found]

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds, and which columns are whose."""
        fused = self.fused
        whose = [[repr(aggregate), fused.counts[i], *fused.places[i]] for aggregate, i in fused.place.items()]
        return {"blocks": self.blocks.dump(), "aggregates": whose}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the slices of a snapshot: of the aggregates that are in these cells, which all were in those."""
        fused, old = self.fused, tree["blocks"]["columns"]
        whose = {name: slots for name, *slots in tree["aggregates"]}
        columns = {name: old[name] for name in ("start", "zero", "first", *self._slots[: LAST + 1])}
        for aggregate, i in fused.place.items():
            for slot, before in zip((fused.counts[i], *fused.places[i]), whose[repr(aggregate)], strict=True):
                columns[self._slots[slot]] = old[f"slot {before}"]
        self.blocks.load(
            {"count": tree["blocks"]["count"], "columns": {name: columns[name] for name in self.blocks.columns}}
        )
