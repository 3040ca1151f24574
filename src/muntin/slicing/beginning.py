"""From when a query that is added to a running engine is exact, where it can use the slices that are there.

It can use them from a time on if since then every event is in a slice, every edge of its windows is an edge of slices
(a slice that holds events cannot be cut; paper 1, section 5.2), and the cells hold its aggregates. Its windows may not
have been due yet: what it reports is then what it would have reported anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.slicing.groups import FixedGroup
from muntin.slicing.session_query import SessionQuery
from muntin.slicing.sliced import Sliced
from muntin.slicing.slicer import Slicer
from muntin.slicing.slices import FIRST, LAST, N
from muntin.slicing.windower import due_from
from muntin.starting import first_start, start_after
from muntin.windows import ContextFreeWindow, Window

__all__ = ["LOWEST", "Beginning", "Present", "cells_of", "columns_from"]

Int64s = npt.NDArray[np.int64]

LOWEST = int(np.iinfo(np.int64).min)
"""Stands for "from the beginning"."""


@dataclass
class Beginning:
    """From when a new query is exact, from where on it reads slices and kept events, and whose events these are."""

    since: int | None
    read: int | None
    near: int | None = None
    """A query whose kept events it shares; None: it begins without any."""


@dataclass
class Present:
    """What is there for a new query: the old state, and what of it the new cells take over."""

    new: Sliced
    tree: dict[str, Any] | None
    """The old slices; None where there are none."""
    source: Sequence[int | None]
    """For each column of the new cells the old one that holds the same."""
    newest: int
    watermark: int | None
    lateness: int
    columns: frozenset[str]
    """The columns that kept events have."""
    providers: list[tuple[int, int]] = field(default_factory=list)
    """Queries that go on and keep events, and from when on they have all of them; the earliest first."""

    def fixed(self, group: FixedGroup, index: int) -> Beginning:
        """When a query of a group of context-free windows begins."""
        window = next(bound.window for i, bound in group.members if i == index)
        assert isinstance(window, ContextFreeWindow)
        after = self.newest + 1
        if self.tree is None:
            return Beginning(start_after(window, self.newest), after)
        low = [self._held(group.fixed.values()), self._complete(), self._cut(window), self._runs(group)]
        near, kept = self._provider(group, group.kept)
        low.append(kept)
        if self.watermark is not None:
            low.append(due_from(window, self.watermark))
        if max(low) == LOWEST:
            return Beginning(None, None, near)
        since = first_start(window, min(max(low), after))
        return Beginning(since, since, near if since < after else None)

    def session(self, query: SessionQuery) -> Beginning:
        """When a session query begins: it reads from a cell on, and is exact once the gap has passed."""
        gap, cell, after = query.window.gap.amount, query.window.cell, self.newest + 1
        low = [after]
        near = None
        if self.tree is not None and not query.runs:  # its runs are its own, and begin empty
            near, kept = self._provider(query, query.kept)
            # One key has first and last times without a session too; a first session still begins with new events.
            spans = max(self._column(FIRST), self._column(LAST)) if self.tree["sessions"] else self.newest + 1
            low = [self._held(query.fixed.values()), spans, self._complete(), self._cut(query.window), kept]
            if self.watermark is not None:  # what came late for it is in slices that other queries needed
                low.append(query.rounded(self.watermark - self.lateness))
        if max(low) == LOWEST:
            return Beginning(None, None, near)
        if max(low) >= after:
            since = start_after(query.window, self.newest)
            return Beginning(since, since - gap)
        read = max(low) + -max(low) % cell
        since = read + gap
        if self.watermark is not None:
            since = max(since, query.rounded(self.watermark) - gap)
        return Beginning(since, read, near)

    # -- what it depends on ------------------------------------------------------------------------------------------

    def _column(self, column: int) -> int:
        """From when a column of the new cells is right."""
        assert self.tree is not None
        source = self.source[column]
        if source is None:
            return self.newest + 1
        held = self.tree["held"][source]
        return LOWEST if held is None else int(held)

    def _held(self, places: Any) -> int:
        """From when the cells hold some aggregates."""
        fused = self.new.fused
        columns = {N} | {c for place in places for c in (fused.counts[place], *fused.places[place])}
        return max(self._column(column) for column in columns)

    def _complete(self) -> int:
        """From when slices have all events."""
        assert self.tree is not None
        return LOWEST if self.tree["_needed"] is None else int(self.tree["_needed"])

    def _cut(self, window: Window) -> int:
        """From when slices have all edges of a window: the end of the last one with events that would be cut."""
        assert self.tree is not None
        slices = self.tree["slices"]
        used = np.unique(cells_of(slices)[0])
        starts, ends = slices["starts"][used], slices["ends"][used]
        edges = Slicer([window]).around(starts)[1]
        inside = edges <= np.minimum(ends - 1, self.newest)
        return int(ends[inside].max()) if inside.any() else LOWEST

    def _runs(self, group: FixedGroup) -> int:
        """From when sorted runs have all values."""
        assert self.tree is not None
        found = [LOWEST]
        for name in group.runs:
            column = group.bound.aggregates[name].aggregate.columns[0]
            if column not in self.tree["runs_held"]:
                return self.newest + 1
            found += [t for t in (self.tree["runs_held"][column], self.tree["_runs_from"]) if t is not None]
        return max(found)

    def _provider(self, query: FixedGroup | SessionQuery, kept: list[str]) -> tuple[int | None, int]:
        """A query that keeps all events that a new one needs, and from when on."""
        if not kept:
            return None, LOWEST
        read = {column for name in kept for column in query.bound.aggregates[name].aggregate.columns}
        if not self.providers or not read <= self.columns:
            return None, self.newest + 1
        return self.providers[0]


def cells_of(slices: dict[str, Any]) -> tuple[Int64s, Int64s, list[npt.NDArray[Any]]]:
    """The cells with events of slices as they were saved, slice by slice: their slices, their keys, their columns."""
    if "sparse" in slices:
        sparse = slices["sparse"]
        return sparse["slice"], sparse["key"], sparse["columns"]
    columns = [column.reshape(-1, slices["stride"]) for column in slices["columns"]]
    at, key = np.nonzero(columns[N])
    return at, key, [column[at, key] for column in columns]


def columns_from(new: Sliced, tree: dict[str, Any], same: dict[str, Any] | None) -> list[int | None]:
    """For each column of the new cells the old one that holds the same.

    Aggregates are told by how they are written and by their version; `same` are the old ones themselves, where they
    are at hand.
    """
    source: list[int | None] = [None] * len(new.fused.slots)
    source[N] = N
    if new.spans and tree["spans"]:
        source[FIRST], source[LAST] = FIRST, LAST
    known = {(shown, version): columns for shown, version, columns in tree["cells"]}
    for bound, count, place in zip(new.bounds, new.fused.counts, new.fused.places, strict=True):
        aggregate = bound.aggregate
        columns = known.get((repr(aggregate), aggregate.version))
        if columns is not None and (same is None or same.get(repr(aggregate)) == aggregate):
            for mine, other in zip((count, *place), columns, strict=True):
                source[mine] = other
    return source
