"""Windows in rows over a buffer of tuples: each is aggregated from its tuples when it ends (paper 1, section 3.1).

An event out of order is inserted at its place, and moves all later ones by one position; nothing is shared between
windows, and no slice has to be mended.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from muntin.baselines.refusing import Refusing
from muntin.errors import SpecError
from muntin.layout import BoundQuery, Layout
from muntin.slicing.batch import Batch
from muntin.slicing.engine import Slicing
from muntin.slicing.kept.base import NONE, Bools, Int64s, Judged, KeptFamily, Said, Wins, expand, keep_from
from muntin.slicing.views import View
from muntin.spec import Spec
from muntin.units import Measure
from muntin.windows import Cumulative, Sliding, Window

__all__ = ["RowsBuffer", "RowsFamily"]

NEVER_WORTH = 1 << 62  # events from which on slices of the buffer would be cached: never


class RowsFamily(KeptFamily):
    """Tumbling, sliding and cumulative windows over positions.

    Window number w ends at position `w * every + size`, a cumulative one at `(w + 1) * every`. Ends of windows in time
    rise with their numbers, so those that are closed come first.
    """

    parts = 2
    per_key: ClassVar[dict[str, int]] = {
        "mark": NONE,  # the time of the last event of a closed window
        "base": 0,  # how many events were let go
        "closed": 0,  # how many windows are closed
    }

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        super().__init__(query, spec)
        self.has_rows = True
        self.size, self.every = int(self.window.size.amount), int(self.window.every.amount)
        self.grows = isinstance(self.window, Cumulative)

    def _bounds(self, number: Int64s) -> tuple[Int64s, Int64s]:
        """The positions of windows by their numbers."""
        if self.grows:
            end = (number + 1) * self.every
            return (end - 1) // self.size * self.size, end
        return number * self.every, number * self.every + self.size

    def _upto(self, positions: Int64s) -> Int64s:
        """How many windows end within so many positions."""
        if self.grows:
            return positions // self.every
        return np.maximum((positions - self.size) // self.every + 1, 0)

    def _judge(self, batch: Batch) -> Judged:
        """Late before the last event of a closed window; one at its time comes after it."""
        mark = self.marks(batch.key_ids())
        return Judged(batch.time < mark, batch.time, mark + 1)

    def _windows(self, view: View) -> Wins:
        keys, state = view.keys, self.state
        base, first = state["base"][keys], state["closed"][keys]
        count = self._upto(base + np.diff(view.offsets)) - first
        rank, number = expand(first, count)
        start, end = self._bounds(number)
        offset = view.offsets[rank] - base[rank]
        lo, hi = start + offset, end + offset
        began, ended = view.time[lo], view.time[hi - 1] + 1
        return Wins(keys[rank], (start, end), began, ended, (start, end), lo, hi, None, np.empty(0, np.bool_))

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        keys, state = view.keys, self.state
        rank = np.searchsorted(keys, wins.key)
        past = np.flatnonzero(wins.end <= bound)
        state["closed"][keys] += np.bincount(rank[past], minlength=len(keys))
        np.maximum.at(state["mark"], wins.key[past], wins.end[past] - 1)
        number = state["closed"][keys]
        # Events after the last closed window may still move, also those that no window holds.
        upto = np.minimum(self._bounds(number)[0], np.where(number > 0, self._bounds(number - 1)[1], 0))
        cut = view.offsets[:-1] + np.maximum(upto - state["base"][keys], 0)
        state["base"][keys] += cut - view.offsets[:-1]
        return keep_from(view, cut)

    def closed(self, said: Said) -> Bools:
        """Their number is that of a closed one."""
        assert said.rows is not None
        return said.rows[1] <= self._bounds(self.state["closed"][said.key] - 1)[1]


class RowsBuffer(Refusing, Slicing):
    """The tuple buffer for windows in rows: the one in time has none.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling("2 rows"), total=mt.sum("x"))
    >>> spec.apply({"ts": [2, 1, 3], "x": [1, 2, 4]}, engine="tuple_buffer")["total"].to_pylist()
    [3]
    """

    technique: ClassVar[str] = "tuple_buffer"
    why: ClassVar[str] = "one buffer is in the order of time, windows in rows have another, and no spec has both."
    instead: ClassVar[str] = "Give it windows in time, or tumbling, sliding and cumulative windows in rows."
    positions: ClassVar[bool] = False

    def __init__(self, spec: Spec, *given: object, **named: object) -> None:
        super().__init__(spec, *given, **named)
        if spec.idle is not None or spec.order is not None:
            raise SpecError("engine='tuple_buffer' for windows in rows takes no idle= and no order=. Leave them out.")

    @classmethod
    def takes(cls, window: Window) -> bool:
        """Whether it computes a window."""
        return isinstance(window, Sliding | Cumulative) and window.measure is Measure.ROWS

    def _begin(self, bound: Layout) -> None:
        super()._begin(bound)
        self._kept.worth = NEVER_WORTH

    def _family(self, query: BoundQuery, spec: Spec) -> KeptFamily:
        return RowsFamily(query, spec)
