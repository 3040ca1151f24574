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
from muntin.slicing.slices import Partials, Slices

__all__ = ["Groups", "Heads"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

N, FIRST, LAST = 0, 1, 2  # the columns that every store of cells begins with


@dataclass
class Groups:
    """Sessions as columns: key, first and last event, and which cells they are made of."""

    key: Int64s
    first: Int64s
    last: Int64s
    lo: Int64s
    hi: Int64s
    cells: Int64s
    headed: Bools
    """Whether the head of the key is its beginning."""

    def take(self, index: Int64s) -> Groups:
        """Some of the sessions."""
        return Groups(
            self.key[index], self.first[index], self.last[index], self.lo[index], self.hi[index], self.cells,
            self.headed[index],
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

    def groups(self, slices: Slices, before: int | None = None) -> Groups:
        """All sessions of the heads and of the slices not folded, or of those slices that start before a time."""
        low = 0 if self.folded is None else int(np.searchsorted(slices.starts, self.folded, "left"))
        high = len(slices) if before is None else int(np.searchsorted(slices.starts, before, "left"))
        n = slices.rows(N)[low:high]
        if slices.stride == 1:
            index = np.flatnonzero(n.reshape(-1))
            key, cells = np.zeros(len(index), np.int64), index + low + slices.first_row
        else:
            key, index = np.nonzero(n.T)
            cells = (index + low + slices.first_row) * slices.stride + key
        return self._grouped(key, slices.columns[FIRST][cells], slices.columns[LAST][cells], cells)

    def _grouped(self, key: Int64s, first: Int64s, last: Int64s, cells: Int64s) -> Groups:
        has_head = self.columns[N] > 0
        opens = np.ones(len(key), np.bool_)
        if len(key):
            opens[1:] = (key[1:] != key[:-1]) | (first[1:] - last[:-1] > self._gap)
        newest = np.ones(len(key), np.bool_)
        newest[1:] = key[1:] != key[:-1]
        joins = newest & has_head[key] & (first - self.columns[LAST][key] <= self._gap) if len(key) else newest
        lo = np.flatnonzero(opens)
        hi = np.append(lo[1:], len(key))
        headed = joins[lo]
        start = np.where(headed, self.columns[FIRST][key[lo]], first[lo])
        alone = has_head.copy()
        alone[key[joins]] = False
        lonely = np.flatnonzero(alone)
        none = np.zeros(len(lonely), np.int64)
        return Groups(
            np.concatenate([key[lo], lonely]),
            np.concatenate([start, self.columns[FIRST][lonely]]),
            np.concatenate([last[hi - 1] if len(lo) else first[:0], self.columns[LAST][lonely]]),
            np.concatenate([lo, none]),
            np.concatenate([hi, none]),
            cells,
            np.concatenate([headed, np.ones(len(lonely), np.bool_)]),
        )

    def partials(self, groups: Groups, slices: Slices) -> Partials:
        """The combined partials of some sessions."""
        merged = self._fused.merge_gather(groups.lo, groups.hi, groups.cells, slices.columns)
        if not groups.headed.any():
            return merged
        count = len(groups.key)
        index = np.empty(2 * count, np.int64)
        index[1::2] = np.arange(count)
        # An empty cell at the very end stands for "no head".
        empty = self._fused.new(1)
        joined = [np.concatenate(parts) for parts in zip(merged, self.columns, empty, strict=True)]
        index[0::2] = np.where(groups.headed, groups.key + count, len(joined[0]) - 1)
        lo = np.arange(0, 2 * count, 2)
        return self._fused.merge_gather(lo, lo + 2, index, joined)

    def fold(self, slices: Slices, mark: int) -> None:
        """Fold the slices before a mark into heads; heads that are closed by it go."""
        if self.folded is not None and mark <= self.folded:
            return
        groups = self.groups(slices, mark)
        stay = np.flatnonzero(groups.last + self._gap >= mark)
        # of each key the last session only can be open: keep it
        order = stay[np.lexsort((groups.first[stay], groups.key[stay]))]
        key = groups.key[order]
        newest = order[np.append(key[1:] != key[:-1], True)] if len(order) else order
        kept = groups.take(newest)
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
