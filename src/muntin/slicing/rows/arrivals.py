"""The rows of a batch by time, order and arrival, sorted once for all queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from muntin.kernels.rows_events import merge_packed, split_packed
from muntin.slicing.batch import Batch

__all__ = ["NO_INTS", "Arrivals", "arrivals"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NO_INTS: Int64s = np.empty(0, np.int64)


@dataclass
class Arrivals:
    """Sorted rows of a batch: which they are, and their times and orders."""

    batch: Batch
    rows: Int64s
    """Their places in the batch; empty where it is sorted as it is."""
    time: Int64s
    order: Int64s
    """Empty where there is no order column."""

    def __len__(self) -> int:
        return len(self.time)

    def only(self, taken: Bools) -> Arrivals:
        """Those rows of the batch that were taken."""
        stay = np.flatnonzero(taken[self.rows] if len(self.rows) else taken)
        rows = self.rows[stay] if len(self.rows) else stay
        return Arrivals(self.batch, rows, self.time[stay], self.order[stay] if len(self.order) else self.order)


def arrivals(batch: Batch, low: int) -> Arrivals:
    """Sort the rows of a batch, the earliest of which has the time `low`.

    Only the stragglers are sorted, and merged with the others: half the time of sorting all where 20 % straggle.

    >>> batch = Batch(None, None, np.array([5, 7, 6, 9]), None, None, {}, {}, 9)
    >>> arrivals(batch, 5).rows.tolist()
    [0, 2, 1, 3]
    """
    time, order = np.require(batch.time, requirements=["C", "A"]), batch.order
    assert batch.newest is not None
    if order is not None:
        rows: Int64s = np.lexsort((order, time))
        return Arrivals(batch, rows, time[rows], order[rows])
    bits = len(time).bit_length()
    if (batch.newest - low).bit_length() + bits > 62:
        rows = np.argsort(time, kind="stable")
        return Arrivals(batch, rows, time[rows], NO_INTS)
    n = len(time)
    ahead, behind = np.empty(n + 2, np.int64), np.empty(n + 2, np.int64)
    first = split_packed(time, low, bits, ahead, behind)
    if first == n:
        return Arrivals(batch, NO_INTS, time, NO_INTS)
    behind[1 : n - first + 1].sort()  # packed numbers, since that is vectorised: argsort takes ten times as long
    rows, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    merge_packed(ahead[: first + 2], behind[: n - first + 2], low, bits, rows, merged)
    return Arrivals(batch, rows, merged, NO_INTS)
