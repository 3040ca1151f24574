"""Queries in lanes: those that see the same events share slices, marks and whatever else is kept for each key.

What all groups of lanes have in common: keys that come and go, snapshots, and queries that are added or removed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from muntin.layout import BoundQuery
from muntin.slicing.batch import Column
from muntin.slicing.revisions import Reported

__all__ = ["Lanes"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class AnyLane(Protocol):
    """Some queries and what is held for them."""

    members: list[tuple[int, BoundQuery]]
    since: int | None
    """Where the queries were added later: they see no event before this."""

    @property
    def fresh(self) -> bool:
        """Whether nothing was taken yet."""

    @property
    def nbytes(self) -> int:
        """The bytes of state."""

    def live_keys(self, live: Bools) -> None:
        """Mark the keys that something is known of."""

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds: the places of the queries in the spec, and the rest."""


L = TypeVar("L", bound=AnyLane)


class Lanes(ABC, Generic[L]):
    """Some queries of a spec in lanes, and what was reported of them."""

    lanes: list[L]
    _members: dict[int, BoundQuery]

    @abstractmethod
    def _said(self) -> list[tuple[list[int], Reported]]:
        """What was reported, and of which queries."""

    @abstractmethod
    def _made(self, since: dict[int, int | None]) -> list[L]:
        """New lanes for some queries, which see no event before a time."""

    @abstractmethod
    def _loaded(self, queries: list[int], tree: dict[str, Any], kinds: dict[str, Column]) -> L:
        """A lane for some queries with the state of an old one."""

    @abstractmethod
    def _start(self, query: int, seen: int) -> int:
        """From when a query is exact that is added after an event at this time."""

    @property
    def nbytes(self) -> int:
        """The bytes of state."""
        return sum(part.nbytes for part in self._stores())

    def _stores(self) -> list[L | Reported]:
        """All that holds state per key."""
        return [*self.lanes, *(reported for _, reported in self._said())]

    # -- keys --------------------------------------------------------------------------------------------------------

    def live_keys(self, live: Bools) -> None:
        """Mark the keys that something is known of."""
        for part in self._stores():
            part.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        for part in self._stores():
            part.renumber(moved)

    # -- snapshots, and queries that come and go ---------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        said = [[queries, reported.dump()] for queries, reported in self._said()]
        return {"lanes": [lane.dump() for lane in self.lanes], "reported": said}

    def load(self, tree: dict[str, Any], kinds: dict[str, Column]) -> None:
        """Take over what a snapshot holds."""
        self.carry(tree, kinds, {index: index for index in self._members}, None)

    def carry(
        self, tree: dict[str, Any] | None, kinds: dict[str, Column], stay: dict[int, int], seen: int | None
    ) -> dict[int, int]:
        """Take over the state of the queries that stay, old numbers to new ones; the others begin with what comes.

        Gives from when those are exact: they see no event up to the newest one.
        """
        stay = {old: new for old, new in stay.items() if new in self._members}
        self.lanes = []
        for part in () if tree is None else tree["lanes"]:
            queries = [stay[index] for index in part["queries"] if index in stay]
            if queries:
                self.lanes.append(self._loaded(queries, part, kinds))
        for queries, old in () if tree is None else tree["reported"]:
            goes_on = {index: stay[index] for index in queries if index in stay}
            for mine, reported in self._said():
                if not set(mine).isdisjoint(goes_on.values()):
                    reported.load(old, goes_on)
        known = {index for lane in self.lanes for index, _ in lane.members}
        added = [index for index in self._members if index not in known]
        since = {index: None if seen is None else self._start(index, seen) for index in added}
        self.lanes += self._made(since)
        return {index: start for index, start in since.items() if start is not None}

    def begin(self, since: dict[int, int]) -> None:
        """From when queries are exact that were added later: those that have taken nothing yet begin then."""
        fresh = [(lane.since, index) for lane in self.lanes if lane.fresh for index, _ in lane.members]
        if any(since.get(index) != start for start, index in fresh):
            made = self._made({index: since.get(index) for _, index in fresh})
            self.lanes = [lane for lane in self.lanes if not lane.fresh] + made
