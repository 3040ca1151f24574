"""How high slices should be: the costs of paper 3, section 5.3.2, for the lengths of events that come.

An event goes into one level for every `height` slices that it covers, and a window reads all levels of its slices and
some of later ones. So higher slices make taking in cheaper and release dearer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.spanning.edges import Edges
from muntin.spans import AUTO, Spans
from muntin.windows import Cumulative, Sliding, Window

__all__ = ["Heights", "best", "cost"]

Int64s = npt.NDArray[np.int64]

WEIGHT = 2.5
"""What it costs to put an event into a level, where reading a level at release costs 1."""
SAMPLE = 1_024  # events of a batch whose lengths are looked at
CANDIDATES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 32, 40, 50, 64, 80, 100, 128, 192, 256, 384, 512)


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
    """The height with the least cost; of equal ones the smaller.

    >>> best([6], 100, 50, (1, 2, 3, 5, 7, 10, 15, 20)), best([51], 100, 50, (1, 2, 3, 5, 7, 10, 15, 20))
    (7, 15)
    """
    return min(heights, key=lambda height: cost(height, slices, events, size))


class Heights:
    """The height that events go by now; where it is chosen, it follows their lengths."""

    def __init__(self, spans: Spans, windows: Sequence[Window]) -> None:
        self.height = 1
        self._fixed = spans.height != AUTO or spans.technique == "single"
        if spans.height != AUTO:
            self.height = spans.height
        self._windows = windows
        self._slices = np.ones(1, np.int64)
        self._per_slice = 0.0

    def before(self, start: Int64s, end: Int64s, edges: Edges) -> None:
        """Look at some events of a batch before they are taken in."""
        if self._fixed:
            return
        some = slice(None, None, max(len(start) // SAMPLE, 1))
        a = np.searchsorted(edges.edges, start[some], "right")
        b = np.searchsorted(edges.edges, np.maximum(end[some] - 1, start[some]), "right")
        slices = np.maximum(b - np.maximum(a, edges.first + 1) + 1, 1)
        per_slice = len(start) / max(int(b.max() - b.min()), 1)
        if self._alike(slices, per_slice):
            return
        self._slices, self._per_slice = slices, per_slice
        width = float(edges.edges[-1] - edges.edges[0]) / len(edges)
        sizes = [w.size.amount / width for w in self._windows if isinstance(w, Sliding | Cumulative)]
        self.height = best(slices, per_slice, max(sizes))

    def _alike(self, slices: Int64s, per_slice: float) -> bool:
        """Whether events are as they were when the height was chosen: looking again costs more than it gains."""
        before = self._slices
        means = sorted((float(slices.mean()), float(before.mean())))
        rates = sorted((per_slice, self._per_slice))
        return means[1] < 1.1 * means[0] and int(slices.max()) == int(before.max()) and rates[1] < 1.3 * rates[0]

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
