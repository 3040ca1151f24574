"""Queries that compute the same over different windows, handled as one: their windows are listed in one go."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from muntin.kernels.listing import first_open, list_due
from muntin.layout import BoundQuery
from muntin.slicing.revisions import Reported
from muntin.slicing.shapes import Shape
from muntin.slicing.windower import due_windows, last_end, missed_windows, needed_from
from muntin.windows import ContextFreeWindow, Session, Sliding

__all__ = ["FixedGroup", "Listed", "groups_of"]

Int64s = npt.NDArray[np.int64]

Grid = tuple[npt.NDArray[np.int32], int, int]
NO_GRID: Grid = (np.empty(0, np.int32), 0, 0)
LATEST, EARLIEST = int(np.iinfo(np.int64).max), int(np.iinfo(np.int64).min)


@dataclass
class Listed:
    """Windows as columns: which query, from when to when, and over which slices."""

    query: Int64s
    start: Int64s
    end: Int64s
    a: Int64s
    b: Int64s

    def columns(self) -> tuple[Int64s, ...]:
        """All columns."""
        return self.query, self.start, self.end, self.a, self.b

    def take(self, index: Int64s | npt.NDArray[np.bool_]) -> Listed:
        """Some of them."""
        return Listed(*(column[index] for column in self.columns()))


@dataclass
class FixedGroup:
    """Context-free windows on time with the same aggregates under the same names."""

    members: list[tuple[int, BoundQuery]]
    fixed: dict[str, int]
    """Aggregates in the cells: their place among those of the fused update."""
    runs: list[str]
    """Aggregates over sorted runs of values."""
    kept: list[str]
    """Aggregates computed from kept events; then there is one member only."""
    reported: Reported = field(default_factory=Reported)

    def __post_init__(self) -> None:
        self.since: dict[int, int] = {}
        """From when queries are exact that were added later: they have no window that starts before."""
        sliding = [(i, bound.window) for i, bound in self.members if isinstance(bound.window, Sliding)]
        self._sliding = np.array([i for i, _ in sliding], np.int64)
        self._size = np.array([window.size.amount for _, window in sliding], np.int64)
        self._step = np.array([window.every.amount for _, window in sliding], np.int64)
        self._align = np.array([window.align for _, window in sliding], np.int64)
        self._others: list[tuple[int, ContextFreeWindow]] = [
            (i, bound.window)  # type: ignore[misc]
            for i, bound in self.members
            if not isinstance(bound.window, Sliding)
        ]

    @property
    def bound(self) -> BoundQuery:
        """One of the queries: all compute the same."""
        return self.members[0][1]

    def due(self, low: int, high: int | None, slices: Int64s, grid: Grid = NO_GRID) -> Listed:
        """Windows with `low < end <= high` over at least one slice, by their ends; without `high` all later ones.

        `slices` are the starts of the slices, and `grid` may be one over them.
        """
        last = int(slices[-1])
        if not self._others:
            found = list_due(
                self._sliding,
                self._size,
                self._step,
                self._align,
                low,
                LATEST if high is None else high,
                (4 * len(slices) + 1000) * len(self._step),
                slices,
                *grid,
            )
            if not len(found[0]) or found[0][0] >= 0:
                return Listed(*found)
        parts = []
        for i, bound in self.members:
            window = bound.window
            assert isinstance(window, ContextFreeWindow)
            top = last_end(window, last)
            starts, ends = due_windows(window, low, top if high is None else min(high, top), slices)
            a, b = slices.searchsorted(starts), slices.searchsorted(ends)
            parts.append(Listed(np.full(len(starts), i), starts, ends, a, b).take(a < b))
        listed = Listed(*(np.concatenate(columns) for columns in zip(*map(Listed.columns, parts), strict=True)))
        return listed.take(np.argsort(listed.end, kind="stable"))

    def begin(self, since: dict[int, int]) -> None:
        """From when queries are exact that were added later."""
        self.since = {i: since[i] for i, _ in self.members if i in since}
        self._starts = np.full(max(i for i, _ in self.members) + 1, EARLIEST)
        self._starts[list(self.since)] = list(self.since.values())

    def begun(self, listed: Listed) -> Listed:
        """Without windows that start before their query."""
        return listed.take(listed.start >= self._starts[listed.query])

    def needed_from(self, mark: int) -> int:
        """The start of the first window that is open, where windows that end by the mark are closed."""
        found = [max(needed_from(window, mark), self.since.get(i, EARLIEST)) for i, window in self._others]
        if len(self._step) and self.since:
            first = ((mark - self._size - self._align) // self._step + 1) * self._step + self._align
            found.append(int(np.maximum(first, self._starts[self._sliding]).min()))
        elif len(self._step):
            found.append(first_open(self._size, self._step, self._align, mark))
        return min(found)

    def missed(self, times: Int64s, mark: int) -> list[tuple[int, npt.NDArray[np.bool_], Int64s, Int64s]]:
        """For each query the events that miss a closed window, and from where to where those reach."""
        return [
            (i, *missed_windows(bound.window, times, mark, self.since.get(i)))  # type: ignore[arg-type]
            for i, bound in self.members
        ]


def groups_of(shape: Shape) -> list[FixedGroup]:
    """The context-free queries of a shape as one group; where they keep events, each as one of its own."""
    members = [(i, bound) for i, bound in shape.members if not isinstance(bound.window, Session)]
    parts = [[member] for member in members] if shape.kept else [members] if members else []
    return [FixedGroup(part, shape.fixed, shape.runs, shape.kept) for part in parts]
