"""How far each key has come along a column: its largest measure by the watermark, and by that less the lateness.

A window is reported by the former and closed by the latter. Of an event whose time they have not passed, time and
measure are kept; of others only the largest measure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.kernels.along import raise_to
from muntin.slicing.along.regular import NONE
from muntin.slicing.compaction import kept_ids
from muntin.slicing.rows.arrivals import Arrivals
from muntin.slicing.rows.blocks import grown
from muntin.slicing.rows.waiting import VALUE, Chunk, Sorted, Waiting

__all__ = ["Reach"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MEASURE = VALUE + "measure"
_NO = np.empty(0, np.int64)


class Reach:
    """How far keys have come.

    >>> from muntin.slicing.batch import Batch
    >>> from muntin.slicing.rows.arrivals import arrivals
    >>> reach = Reach(lateness=5)
    >>> reach.grow(1)
    >>> batch = Batch(None, None, np.array([1, 2, 9]), None, None, {}, {}, 9)
    >>> reach.add(arrivals(batch, 1), np.array([10, 30, 20]))
    >>> reach.move(7).tolist(), reach.reached.tolist(), reach.close(2).tolist(), reach.mark.tolist()
    ([0], [30], [0], [30])
    """

    def __init__(self, lateness: int) -> None:
        self._lateness = lateness
        self.reached = np.empty(0, np.int64)
        """By the watermark: windows that end there are due."""
        self.mark = np.empty(0, np.int64)
        """By the watermark less the lateness: windows that end there are closed."""
        self._ahead, self._behind = Waiting(), Waiting()

    @property
    def nbytes(self) -> int:
        """The bytes of state."""
        return self.reached.nbytes + self.mark.nbytes + self._ahead.nbytes + self._behind.nbytes

    def grow(self, keys: int) -> None:
        """Make room for key ids below `keys`."""
        self.reached, self.mark = grown(self.reached, keys, NONE), grown(self.mark, keys, NONE)

    def add(self, rows: Arrivals, measure: Int64s) -> None:
        """Events that came; `measure` is that of all rows of their batch."""
        columns = {_MEASURE: measure}
        if rows.batch.key is not None:
            columns["key"] = rows.batch.key
        self._ahead.add(Chunk(rows.time, _NO, rows.rows, columns))

    def move(self, watermark: int) -> Int64s:
        """The watermark moves; gives the keys that may have come further."""
        found = self._ahead.take(watermark + 1)
        if found is None:
            return _NO
        if self._lateness:
            self._behind.add(found.chunk())
        return _raised(found, self.reached)

    def close(self, bound: int) -> Int64s:
        """The watermark less the lateness moves; gives the keys whose mark may have moved."""
        found = self._behind.take(bound + 1)
        return _NO if found is None else _raised(found, self.mark)

    def close_reached(self, keys: Int64s) -> None:
        """Without lateness what is due is closed."""
        self.mark[keys] = self.reached[keys]

    def rest(self) -> None:
        """The step is over."""
        self._ahead.rest()
        self._behind.rest()

    def live_keys(self, live: Bools) -> None:
        """Mark the keys that something is known of: how far they came is never forgotten."""
        for waiting in (self._ahead, self._behind):
            waiting.live_keys(live)
        for known in (self.reached[: len(live)], self.mark[: len(live)]):
            live[: len(known)] |= known > NONE

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self._ahead.renumber(moved)
        self._behind.renumber(moved)
        self.reached, self.mark = (known[kept_ids(moved[: len(known)])] for known in (self.reached, self.mark))

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        waiting = {"ahead": self._ahead.dump(), "behind": self._behind.dump()}
        return {"reached": self.reached, "mark": self.mark} | waiting

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.reached, self.mark = tree["reached"].copy(), tree["mark"].copy()
        self._ahead.load(tree["ahead"], [_MEASURE.removeprefix(VALUE)])
        self._behind.load(tree["behind"], [_MEASURE.removeprefix(VALUE)])


def _raised(found: Sorted, best: Int64s) -> Int64s:
    """Take in the measures of some events; gives their keys."""
    measure = np.empty(len(found), np.int64)
    found.write(_MEASURE, measure)
    keys = np.zeros(len(found), np.int64)
    if "key" in found.names():
        found.write("key", keys)
    raise_to(keys, measure, best)
    return np.unique(keys)
