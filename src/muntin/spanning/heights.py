"""How high slices should be: the costs of paper 3, section 5.3.2, for the lengths of events that come.

An event goes into one level for every `height` slices that it covers, and a window reads all levels of its slices and
some of later ones. So higher slices make taking in cheaper and release dearer. `cost` is the sum of both as the paper
has it. Here levels without events have no cell and cells are put over slices by halves (`muntin.kernels.source_cover`),
so `measured_cost` has other terms for release: higher slices pay more often than in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.spanning.edges import Edges
from muntin.spans import AUTO, Spans

__all__ = ["Heights", "best", "cost", "measured_cost"]

Int64s = npt.NDArray[np.int64]

WEIGHT = 2.5
"""What it costs to put an event into a level, where reading a level at release costs 1."""
SAMPLE = 512  # events of a batch whose lengths are looked at
AGAIN = 16  # batches after which lengths are looked at again
CANDIDATES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 32, 40, 50, 64, 80, 100, 128, 192, 256, 384, 512, 1024, 2048)

# In nanoseconds, of count, sum and max together: an event into a cell; its values copied where events go into several;
# each further cell; and a cell at release, for each time that the stretch under it is halved.
WRITE, COPY, HOP, READ = 12.0, 15.0, 25.0, 6.0


def cost(height: int, slices: npt.ArrayLike, events: float, size: float, weight: float = WEIGHT) -> float:
    """The cost of one slice of time: of the events that end in it, and of the window that is released with it.

    `slices` are how many slices each of some events covers, `events` how many come per slice, and `size` is how many
    slices a window has: events * ceil(slices / height) levels written, height * (size + (height - 1) / 2) read, and
    height made anew.

    >>> cost(1, [5], 100, 50), cost(5, [5], 100, 50)
    (1301.0, 515.0)
    """
    counts = np.atleast_1d(np.asarray(slices))
    hops = -(-counts // height)
    return float(weight * events * hops.mean() + height * (size + (height - 1) / 2) + height)


def best(slices: npt.ArrayLike, events: float, size: float, heights: Iterable[int] = CANDIDATES) -> int:
    """The height with the least cost as the paper has it; of equal ones the smaller.

    >>> best([6], 100, 50, (1, 2, 3, 5, 7, 10, 15, 20)), best([51], 100, 50, (1, 2, 3, 5, 7, 10, 15, 20))
    (7, 15)
    """
    return min(heights, key=lambda height: cost(height, slices, events, size))


def measured_cost(height: int, slices: Int64s, counts: Int64s, events: float) -> float:
    """What one slice of time costs here, in nanoseconds; `counts` are how many events cover each number of slices.

    >>> slices, counts = np.array([25, 26]), np.array([1, 2])
    >>> measured_cost(32, slices, counts, 200) < measured_cost(10, slices, counts, 200)
    True
    """
    hops = -(-slices // height)
    mean = float((hops * counts).sum() / counts.sum())
    longer = int(hops.max()) > 1
    kinds = int((slices < height).sum()) + 1 + (min(height, len(slices)) if longer else 0)
    cells = min(float(kinds), events * mean)
    copied = COPY * mean if longer else 0.0
    return events * (WRITE + copied + HOP * (mean - 1)) + cells * READ * (1 + math.log2(height))


class Heights:
    """The height that events go by now; where it is chosen, it follows their lengths."""

    def __init__(self, spans: Spans) -> None:
        self.height = 1
        self._fixed = spans.height != AUTO or spans.technique == "single"
        if spans.height != AUTO:
            self.height = spans.height
        self._slices: Int64s = np.ones(1, np.int64)
        self._per_slice = 0.0
        self._wait = 0

    def before(self, start: Int64s, end: Int64s, edges: Edges) -> None:
        """Look at some events of a batch before they are taken in."""
        if self._fixed or self._wait:
            self._wait -= not self._fixed
            return
        self._wait = AGAIN
        some = slice(None, None, max(len(start) // SAMPLE, 1))
        a = np.searchsorted(edges.edges, start[some], "right")
        b = np.searchsorted(edges.edges, np.maximum(end[some] - 1, start[some]), "right")
        self._slices = np.maximum(b - np.maximum(a, edges.first + 1) + 1, 1)
        self._per_slice = len(start) / max(int(b.max() - b.min()), 1)
        slices, counts = np.unique(self._slices, return_counts=True)
        most = int(slices[-1])
        heights = [height for height in CANDIDATES if height < 2 * most]
        chosen = min(heights, key=lambda height: measured_cost(height, slices, counts, self._per_slice))
        # Some that are not in the sample are a little longer.
        self.height = chosen if chosen < most else chosen + 1 + chosen // 8

    def after(self, rows: int, pairs: int) -> None:
        """So many pairs of event and cell were made: where events have become longer, look at the next batch again."""
        if pairs > rows + rows // 16:
            self._wait = 0

    def told(self) -> list[str]:
        """Which height, and why."""
        if self._fixed:
            return [f"slices have {self.height} level{'s' * (self.height > 1)}, as asked for"]
        mean = float(self._slices.mean())
        return [
            f"slices have {self.height} level{'s' * (self.height > 1)}: events cover {mean:.3g} slices on average, and "
            f"about {self._per_slice:,.3g} end in each"
        ]

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        return {"height": self.height, "slices": self._slices, "per_slice": self._per_slice}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds; what was asked for stays."""
        if not self._fixed:
            self.height, self._slices, self._per_slice = tree["height"], tree["slices"], tree["per_slice"]
