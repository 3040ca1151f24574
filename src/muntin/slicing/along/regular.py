"""Tumbling, sliding and cumulative windows along a column: by number, so that many are found at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.windows import Cumulative

__all__ = ["NONE", "Regular", "edges_along", "slice_starts"]

Int64s = npt.NDArray[np.int64]

NONE = int(np.iinfo(np.int64).min)
"""Stands for "not yet" among measures: everything is further along."""


@dataclass(frozen=True)
class Regular:
    """The windows of one query, numbered in the order of their ends.

    >>> import muntin as mt
    >>> windows = Regular.of(mt.sliding(10, every=4, on="km"))
    >>> windows.numbers(np.array([9])), windows.bounds(np.array([2]))
    ((array([0]), array([2])), (array([8]), array([18])))
    """

    size: int
    every: int
    align: int
    cumulative: bool

    @classmethod
    def of(cls, window: Any) -> Regular:
        """Those of a window of a spec."""
        return cls(int(window.size.amount), int(window.every.amount), int(window.align), isinstance(window, Cumulative))

    def numbers(self, at: Int64s) -> tuple[Int64s, Int64s]:
        """The first and the last window that contain a point; in a gap between windows the last is before the first."""
        at = at - self.align
        if self.cumulative:
            return at // self.every + 1, (at // self.size + 1) * (self.size // self.every)
        return (at - self.size) // self.every + 1, at // self.every

    def bounds(self, number: Int64s) -> tuple[Int64s, Int64s]:
        """From where to where a window goes."""
        at = number * self.every
        if self.cumulative:
            return (at - 1) // self.size * self.size + self.align, at + self.align
        return at + self.align, at + self.align + self.size

    def open_from(self, mark: Int64s) -> Int64s:
        """The first window that ends past a mark: the first that contains it, since one that ends there is closed."""
        some = mark > NONE
        found: Int64s = np.where(some, self.numbers(np.where(some, mark, 0))[0], NONE // 2)
        return found


def edges_along(windows: Sequence[Regular]) -> list[tuple[int, int]]:
    """The edges of all windows as few progressions as do, each a step and an offset, without end on both sides.

    >>> edges_along([Regular(4, 4, 0, False), Regular(8, 2, 0, False), Regular(5, 3, 1, False)])
    [(2, 0), (3, 0), (3, 1)]
    """
    found = {(w.every, w.align % w.every) for w in windows}
    found |= {(w.every, (w.align + w.size) % w.every) for w in windows if not w.cumulative}
    needed: list[tuple[int, int]] = []
    for step, offset in sorted(found):
        if not any(step % s == 0 and (offset - o) % s == 0 for s, o in needed):
            needed.append((step, offset))
    return needed


def slice_starts(edges: Sequence[tuple[int, int]], at: Int64s) -> Int64s:
    """The last edge that is no further than each point: where its slice begins.

    >>> slice_starts([(4, 0), (3, 1)], np.array([3, 4, 9])).tolist()
    [1, 4, 8]
    """
    starts = [(at - offset) // step * step + offset for step, offset in edges]
    found: Int64s = np.maximum.reduce(starts)
    return found
