"""The slices that are held: their edges, and the slice of a time (paper 3, section 5.1).

Slices start at every start and at every end of a window, as pairs do: past windows can still get events, so both bounds
must be there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.errors import FrameError
from muntin.slicing.slicer import Slicer
from muntin.units import MAX_TIME, show_duration

__all__ = ["Edges"]

Int64s = npt.NDArray[np.int64]

AHEAD = 64  # slices that are made ahead of the newest event
MOST = 1 << 26
"""More slices than this are not held."""


class Edges:
    """Slices in a row, numbered from `base` on; those before `first` are not needed any more.

    >>> import muntin as mt
    >>> edges = Edges(Slicer([mt.sliding("10 us", every="4 us")]))
    >>> edges.cover(3, 7)
    >>> edges.edges.tolist(), edges.base
    ([2, 4, 6, 8], 0)
    """

    def __init__(self, slicer: Slicer) -> None:
        self._slicer = slicer
        self.edges: Int64s = np.empty(0, np.int64)
        self.base = 0
        self.first = 0
        self.tab = np.empty(0, np.int32)
        self.shift = 0
        self.even = 0
        """How long each slice is; 0 where they are not all of one length."""

    def __len__(self) -> int:
        return max(len(self.edges) - 1, 0)

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return self.edges.nbytes + self.tab.nbytes

    def cover(self, low: int, high: int) -> None:
        """Make slices from a time to another, both included; none that is not needed any more."""
        if not len(self.edges):
            self._check(low, high)
            self.edges = self._slicer.edges(low, high)
        elif low >= self.edges[0] and high < self.edges[-1]:
            return
        if high >= self.edges[-1]:
            width = max(int(self.edges[-1] - self.edges[0]) // len(self), 1)
            until = min(high + width * max(AHEAD, len(self) // 4), MAX_TIME)
            self._check(int(self.edges[-1]), until)
            self.edges = np.concatenate([self.edges, self._slicer.edges(int(self.edges[-1]), until)[1:]])
        if low < self.edges[0] and not self.first:
            self._check(low, int(self.edges[0]))
            more = self._slicer.edges(low, int(self.edges[0]) - 1)[:-1]
            self.edges = np.concatenate([more, self.edges])
            self.base -= len(more)
        self._tabulate()

    def _check(self, low: int, high: int) -> None:
        count = self._slicer.count(low, high) + len(self)
        if count > MOST:
            raise FrameError(
                f"events reach over {show_duration(high - low)}, which would take {count:,} slices of the windows in "
                f"this spec, and as many windows to report. Use larger windows, or leave such events out."
            )

    def _tabulate(self) -> None:
        lengths = np.diff(self.edges)
        self.even = int(lengths[0]) if (lengths == lengths[0]).all() else 0
        span = int(self.edges[-1] - self.edges[0])
        self.shift = max((span // (2 * len(self))).bit_length() - 1, 0)
        # Which stretches begin in each slice, rather than in which slice each begins: no search.
        begins = -((self.edges[0] - self.edges) >> self.shift)
        self.tab = np.repeat(np.arange(len(self) + 1, dtype=np.int32), np.diff(begins, append=(span >> self.shift) + 1))

    def need(self, time: int) -> None:
        """Slices that end by a time are not needed any more; there will be none before it."""
        if not len(self.edges):
            return
        if time >= self.edges[-1]:  # a silence longer than what is held is not filled with slices
            # Slices may still be made before the next ones: none of them gets a number that was there before.
            self.base += len(self) + MOST
            self.edges, self.first = self.edges[:0], 0
            return
        self.first = max(self.first, int(np.searchsorted(self.edges, time, "right")) - 1)
        if self.first > AHEAD and 2 * self.first > len(self):
            self.edges = self.edges[self.first :]
            self.base += self.first
            self.first = 0
            self._tabulate()

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        return {"edges": self.edges, "base": self.base, "first": self.first}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.edges, self.base, self.first = tree["edges"], tree["base"], tree["first"]
        if len(self.edges):
            self._tabulate()
