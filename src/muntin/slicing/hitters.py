"""Heavy hitters of windows that overlap: counts per slice, added and subtracted (paper 2, section 3.3.2).

Heavy hitters are pseudo-differential: the counts of a window are those of the window before, less those of the slices
that left it, plus those of the slices that came.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from muntin.aggregates.runs import HeavyHitters

__all__ = ["shared", "sliding"]

Int64s = npt.NDArray[np.int64]

# From how many runs in windows for each that there is. With 1,000 rows in a run and 5 runs in a window it took 1.3
# times as long as to sort them all, with 7 as long or 0.8, with 20 a fifth.
OFTEN = 6


def shared(lo: Int64s, hi: Int64s) -> bool:
    """Whether windows have so many runs in common that it is worth going from one to the next.

    >>> shared(np.arange(20), np.arange(20) + 10), shared(np.arange(20), np.arange(20) + 2)
    (True, False)
    """
    return bool(len(lo) > 1 and int((hi - lo).sum()) >= OFTEN * (int(hi.max()) - int(lo.min())))


def sliding(
    values: Int64s, counts: Int64s, sizes: Int64s, lo: Int64s, hi: Int64s, aggregate: HeavyHitters, others: int
) -> tuple[Int64s, Int64s, Int64s] | None:
    """The window, the value and the count of every hit; None where to look through all values would take longer.

    `values` and `counts` are the entries of all runs, one after the other, and `sizes` how many each run has.

    >>> import muntin as mt
    >>> values, counts, sizes = np.array([7, 8, 7, 7]), np.array([3, 1, 2, 9]), np.array([2, 1, 1])
    >>> found = sliding(values, counts, sizes, np.array([0, 1]), np.array([2, 3]), mt.heavy_hitters("x", 0.5), -1)
    >>> [part.tolist() for part in found]
    [[0, 1], [7, 7], [5, 11]]
    """
    from muntin.kernels.sliding_counts import sliding_hits

    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    distinct, ranks = np.unique(values, return_inverse=True)
    if len(distinct) * len(lo) > int((ends[hi] - ends[lo]).sum()):
        return None
    order = np.lexsort((hi, lo))
    bounded = aggregate.most > 0
    rest = len(distinct) - 1 if bounded and len(distinct) and distinct[-1] == others else -1
    # As many as can reach the share, and in runs of bounded size as many as can come near it.
    room = len(lo) * (math.ceil(1 / (aggregate.share * (0.9 if bounded else 1))) + 1)
    window, value, count = (np.empty(room, np.int64) for _ in range(3))
    table = np.zeros(len(distinct), np.int64)
    filled = sliding_hits(
        ranks.astype(np.int64, copy=False), counts, ends, lo[order], hi[order], aggregate.share, rest,
        aggregate.most + 1, table, window, value, count,
    )  # fmt: skip
    return order[window[:filled]], distinct[value[:filled]], count[:filled]
