"""A session query over shared slices: its open sessions, and the runs of values for its holistic aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.layout import BoundQuery
from muntin.slicing.revisions import Reported
from muntin.slicing.runs import RunStore
from muntin.slicing.sessions import Groups, Heads
from muntin.slicing.values import Column
from muntin.windows import Session

__all__ = ["SessionQuery"]

Int64s = npt.NDArray[np.int64]


@dataclass
class SessionQuery:
    """A session query: the heads of its open sessions, and up to where sessions are closed."""

    index: int
    bound: BoundQuery
    window: Session
    heads: Heads
    fixed: dict[str, int]
    kept: list[str]
    runs: dict[str, tuple[Bound, RunStore]]
    """Aggregates over sorted runs of values. Their stores are this query's own: it misses events that others take."""
    mark: int | None = None
    reported: Reported = field(default_factory=Reported)
    since: int | None = None
    """From when it is exact, where it was added later: it has no session that starts before."""

    def rounded(self, time: int) -> int:
        """A watermark as a session sees it: down to the edge of a cell."""
        return time // self.window.cell * self.window.cell

    def add(self, starts: Int64s, key: Int64s | None, times: Int64s, columns: Mapping[str, Column]) -> None:
        """Rows of a batch into the runs."""
        taken = None if self.mark is None else times >= self.mark
        for name, store in self.stores().items():
            values, valid = columns[name].values, columns[name].valid
            if taken is not None and not taken.all():
                valid = taken if valid is None else taken & valid
            store.add(starts, key, values, valid)

    def stores(self) -> dict[str, RunStore]:
        """The runs by their columns: one store serves all aggregates of a column."""
        return {bound.aggregate.columns[0]: store for bound, store in self.runs.values()}

    def answers(self, groups: Groups) -> dict[str, tuple[Bound, pa.Array]]:
        """Aggregates over the runs of some sessions. A cell is no longer than the gap: all of it is in one session."""
        cell, found = self.window.cell, {}
        for name, (bound, store) in self.runs.items():
            if len(groups.key):
                store.settle(int(groups.last.max()) + 1)
            found[name] = bound, store.answer(bound, groups.key, groups.first // cell * cell, groups.last + 1)
        return found

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return sum(store.nbytes for store in self._all())

    def _all(self) -> list[Heads | Reported | RunStore]:
        return [self.heads, self.reported, *self.stores().values()]

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys with an open session, or one that may still be corrected."""
        for store in self._all():
            store.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        for store in self._all():
            store.renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the sessions."""
        runs = {name: store.dump() for name, store in self.stores().items()}
        return {"heads": self.heads.dump(), "mark": self.mark, "reported": self.reported.dump(), "runs": runs}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.heads.load(tree["heads"])
        self.mark = tree["mark"]
        self.reported.load(tree["reported"])
        for name, store in self.stores().items():
            store.load(tree["runs"][name])
