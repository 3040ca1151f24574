"""Sessions over slices: runs of slices with no gap longer than the limit (paper 1, section 5.2; design, Session).

No slice is longer than the gap, so all its events belong to one session. Slices that no event can reach any more are
folded into one head per key, so that a session that never ends does not grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.fused import Fused
from muntin.kernels.grouping import list_sessions
from muntin.slicing.compaction import kept_ids
from muntin.slicing.slices import FIRST, LAST, N, Partials, Slices

__all__ = ["Groups", "Heads"]

Int64s = npt.NDArray[np.int64]


@dataclass
class Groups:
    """Sessions as columns: key, first and last event, and which cells they are made of."""

    key: Int64s
    first: Int64s
    last: Int64s
    lo: Int64s
    hi: Int64s
    headed: Int64s
    """1 where the head of the key is its beginning."""
    cells: Int64s

    def take(self, index: Int64s) -> Groups:
        """Some of the sessions."""
        return Groups(
            self.key[index], self.first[index], self.last[index], self.lo[index], self.hi[index], self.headed[index],
            self.cells,
        )  # fmt: skip


class Heads:
    """The beginnings of open sessions, one per key: what was folded and is not closed."""

    def __init__(self, fused: Fused, gap: int) -> None:
        self._fused, self._gap = fused, gap
        self.columns: Partials = fused.new(1)
        self.folded: int | None = None
        """Up to where slices are folded."""

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return sum(column.nbytes for column in self.columns)

    def grow(self, keys: int) -> None:
        """Room for more keys."""
        have = len(self.columns[N])
        if keys > have:
            fresh = self._fused.new(max(keys, 2 * have) - have)
            self.columns = [np.concatenate(pair) for pair in zip(self.columns, fresh, strict=True)]

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys with an open session."""
        n = self.columns[N][: len(live)]
        live[: len(n)] |= n > 0

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        stay = kept_ids(moved[: len(self.columns[N])])
        self.columns = [column[stay] for column in self.columns] if len(stay) else self._fused.new(1)

    def groups(self, slices: Slices, before: int | None = None) -> Groups:
        """All sessions of the heads and of the slices not folded, or of those slices that start before a time."""
        low = 0 if self.folded is None else int(np.searchsorted(slices.starts, self.folded, "left"))
        high = len(slices) if before is None else int(np.searchsorted(slices.starts, before, "left"))
        key, cells = slices.occupied(low, high)
        heads, columns = self.columns, slices.columns
        key, first, last, lo, hi, headed = list_sessions(
            key, cells, columns[FIRST], columns[LAST], self._gap, heads[N], heads[FIRST], heads[LAST]
        )
        return Groups(key, first, last, lo, hi, headed, cells)

    def partials(self, groups: Groups, slices: Slices) -> Partials:
        """The combined partials of some sessions."""
        lo, hi, headed = groups.lo, groups.hi, groups.headed
        return self._fused.merge_headed(groups.key, headed, lo, hi, groups.cells, self.columns, slices.columns)

    def fold(self, slices: Slices, mark: int) -> None:
        """Fold the slices before a mark into heads; heads that are closed by it go."""
        if self.folded is not None and mark <= self.folded:
            return
        groups = self.groups(slices, mark)
        stay = np.flatnonzero(groups.last + self._gap >= mark)
        if len(stay) > 1:  # of each key the last session only can be open: keep it
            order = stay[np.lexsort((groups.first[stay], groups.key[stay]))]
            key = groups.key[order]
            stay = order[np.append(key[1:] != key[:-1], True)]
        kept = groups.take(stay)
        partials = self.partials(kept, slices)
        columns = self._fused.new(len(self.columns[N]))
        for column, values in zip(columns, partials, strict=True):
            column[kept.key] = values
        self.columns, self.folded = columns, mark

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the heads."""
        return {"columns": self.columns, "folded": self.folded}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the heads of a snapshot."""
        self.columns, self.folded = tree["columns"], tree["folded"]
