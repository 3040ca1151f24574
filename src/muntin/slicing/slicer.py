"""The stream slicer: where slices start and end (paper 1, section 5.3, step 1; Figure 7).

The edges of all context-free windows are known in advance, and sessions add a grid of cells. Their union cuts the
stream into slices once for all queries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from muntin.windows import NEVER, ContextFreeWindow, Cumulative, Session, Sliding, Window
from muntin.windows.base import edge_after

__all__ = ["Slicer"]

Int64s = npt.NDArray[np.int64]


class Slicer:
    """The union of the edges of many windows along one measure.

    >>> import muntin as mt
    >>> slicer = Slicer([mt.tumbling("10 us"), mt.sliding("6 us", every="15 us")])
    >>> slicer.edges(0, 20).tolist()
    [0, 6, 10, 15, 20, 21]
    """

    def __init__(self, windows: Sequence[Window]) -> None:
        grids: set[tuple[int, int]] = set()
        self._own: list[ContextFreeWindow] = []
        for window in windows:
            if isinstance(window, Session):
                grids.add((0, window.cell))
            elif isinstance(window, Cumulative):
                grids.add((window.align % window.every.amount, window.every.amount))
            elif isinstance(window, Sliding):
                step = window.every.amount
                grids |= {(window.align % step, step), ((window.align + window.size.amount) % step, step)}
            else:
                assert isinstance(window, ContextFreeWindow)
                self._own.append(window)
        self._offset, self._step = _without_covered(grids)

    def per_second(self) -> float:
        """How many slices a second of event time has, those of users' own windows left out."""
        return float((1e6 / self._step).sum())

    def edges(self, low: int, high: int) -> Int64s:
        """The last edge at or before `low`, every edge up to `high`, and the first one after it.

        Where a user's own window has no edge before `low`, `low` itself stands for it.
        """
        from muntin.kernels.listing import list_edges  # here: `explain` needs no Numba

        edges: Int64s = list_edges(self._offset, self._step, low, high) if len(self._step) else self._step
        if not self._own:
            return edges
        edges = np.unique(np.concatenate([edges, *(self._walk(window, low, high) for window in self._own)]))
        a = max(int(np.searchsorted(edges, low, "right")) - 1, 0)
        b = int(np.searchsorted(edges, high, "right"))
        return edges[a : b + 1]

    def _walk(self, window: ContextFreeWindow, low: int, high: int) -> Int64s:
        edge, found = low, [low]
        while edge <= high and edge < NEVER:
            edge = edge_after(window, edge)
            found.append(edge)
        return np.array(found, np.int64)

    def count(self, low: int, high: int) -> int:
        """About how many edges lie between two points."""
        return int(((high - low) // self._step + 1).sum())

    def slices_of(self, times: Int64s) -> tuple[Int64s, Int64s]:
        """The distinct slices that hold some times, as starts and ends, without those in between."""
        starts, ends = self.around(times)
        starts, index = np.unique(starts, return_index=True)
        return starts, ends[index]

    def around(self, times: Int64s) -> tuple[Int64s, Int64s]:
        """For each time the last edge at or before it and the first one after it.

        Where a user's own window has no edge before the smallest time, that time itself stands for it.
        """
        if self._own and len(times):  # a user's window only tells its next edge, so the way there must be walked
            edges = self.edges(int(times.min()), int(times.max()))
            place = np.searchsorted(edges, times, "right") - 1
            return edges[place], edges[place + 1]
        starts = np.full(len(times), np.iinfo(np.int64).min)
        ends = np.full(len(times), NEVER)
        for offset, step in zip(self._offset, self._step, strict=True):
            before = times - (times - offset) % step
            np.maximum(starts, before, out=starts)
            np.minimum(ends, before + step, out=ends)
        return starts, ends


def _without_covered(grids: set[tuple[int, int]]) -> tuple[Int64s, Int64s]:
    """The grids whose edges are not all edges of another one."""
    pairs = np.array(sorted(grids, key=lambda grid: grid[1]), np.int64).reshape(-1, 2)
    offset, step = pairs[:, 0], pairs[:, 1]
    covered = np.zeros(len(pairs), np.bool_)
    for i in range(0, len(pairs), 64):  # a few rows of the table of all pairs at a time: it fits the cache
        first = int(step.searchsorted(2 * step[i]))
        # A step that divides another one gives a whole quotient, also rounded; the few that do are looked at exactly.
        quotient = step[first:] / step[i : i + 64, None]
        finer, coarser = np.nonzero(np.rint(quotient) == quotient)
        finer, coarser = finer + i, coarser + first
        within = (step[coarser] % step[finer] == 0) & (offset[coarser] % step[finer] == offset[finer])
        covered[coarser[within & (finer != coarser)]] = True
    return offset[~covered], step[~covered]
