"""What queries over shared slices hold: slices, runs of values, open sessions, and how far each has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Bound
from muntin.compile import compiled
from muntin.compression import Compression
from muntin.fused import Fused, fused
from muntin.layout import BoundQuery, Layout
from muntin.slicing.bare import BareSlices
from muntin.slicing.bounded import cut_of
from muntin.slicing.codings import BoundedHitters, Sketched
from muntin.slicing.cold_runs import ColdRuns
from muntin.slicing.cold_slices import ColdSlices
from muntin.slicing.groups import groups_of
from muntin.slicing.plan import is_bare
from muntin.slicing.revisions import Reported
from muntin.slicing.runs import RunStore
from muntin.slicing.runs_tree import run_store
from muntin.slicing.session_query import SessionQuery
from muntin.slicing.sessions import Heads
from muntin.slicing.shapes import Shape, shapes
from muntin.slicing.slicer import Slicer
from muntin.slicing.slices import Slices
from muntin.slicing.store import AggregateStore
from muntin.slicing.texts import Texts
from muntin.slicing.values import Interner
from muntin.windows import Session, Window

__all__ = ["SlicedState"]

Int64s = npt.NDArray[np.int64]

# What a snapshot holds as it is: numbers.
_PLAIN = ("mark", "newest", "_touched", "_reached", "_needed", "_keys", "_runs_from", "held", "runs_held", "spans")


class SlicedState:
    """The state of all sliced queries of a spec over one set of slices."""

    def __init__(
        self,
        layout: Layout,
        queries: list[int],
        interners: Mapping[str, Interner],
        how: tuple[str, str] = ("auto", "auto"),
        updates: bool = False,
    ) -> None:
        self._lateness, self._disorder = layout.spec.lateness, layout.spec.disorder
        self._revises = updates or self._lateness > 0
        self.texts = Texts((b for i in queries for b in layout.queries[i].aggregates.values()), interners)
        found, self.bounds = shapes(((i, layout.queries[i]) for i in queries), layout.spec.time is None)
        self._compiled = [functions for bound in self.bounds if (functions := compiled(bound)) is not None]
        windows = [bound.window for shape in found for _, bound in shape.members]
        has_sessions = any(isinstance(window, Session) for window in windows)
        self.spans = has_sessions or not layout.spec.by
        """Whether each cell has the times of its first and last event; sessions need them. All slices have them."""
        self.fused: Fused = fused(self.bounds, spans=self.spans)
        self.slicer = self._slicer(windows)
        self.bare = is_bare([layout.queries[i] for i in queries], bool(layout.spec.by), layout.spec.time is None)
        """Whether all comes from kept events, so that cells would say nothing more: there are none."""
        store, final = how
        rule = layout.spec.compression
        if self.bare:
            self.slices: Slices = BareSlices(self.slicer, self.fused, bool(layout.spec.by))
        elif rule is None:
            self.slices = Slices(self.slicer, self.fused, bool(layout.spec.by))
        else:
            self.slices = ColdSlices(self.slicer, self.fused, bool(layout.spec.by), rule)
        # A result needs no first and last times. Without them, and with `spell` knowing the ends: 180 against 185 µs
        # per push with 100 windows.
        self.store = AggregateStore(store, final, fused(self.bounds, spans=False), self.slices, self._revises)
        if isinstance(self.slices, ColdSlices):
            self.slices.on_close = self.store.forget
        self.groups = [group for shape in found for group in groups_of(shape)]
        sessions = [self._session(shape, *member, rule) for shape in found for member in shape.members]
        self.sessions = sorted((query for query in sessions if query is not None), key=lambda query: query.index)
        self.runs: dict[str, RunStore] = {
            group.bound.aggregates[name].aggregate.columns[0]: self._run_store(
                store, group.bound.aggregates[name], rule
            )
            for group in self.groups
            for name in group.runs
        }
        self.sketched = Sketched(bound for shape in found for bound in shape.aggregates.values())
        for name, runs in self.runs.items():
            self.texts.watch_runs(name, runs)
        for query in self.sessions:
            for name, runs in query.stores().items():
                self.texts.watch_runs(name, runs)
        self.texts.watch(zip(self.bounds, self.fused.places, strict=True), self._holding)
        self.mark: int | None = None
        """Up to where context-free windows are closed."""
        self.held: list[int | None] = [None] * len(self.fused.slots)
        """For each column of the cells from when it holds all events; None: from the beginning."""
        self.runs_held: dict[str, int | None] = dict.fromkeys(self.runs)
        self._runs_from: int | None = None
        """Runs of slices before this are dropped."""
        self._needed: int | None = None
        self.newest: int | None = None
        """The largest time of a row in a cell."""
        self._touched: int | None = None
        self._reached: int | None = None
        self._keys = 1

    def _slicer(self, windows: Sequence[Window]) -> Slicer:
        """Where slices start and end."""
        return Slicer(windows)

    def _holding(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands; its values may change, so what was combined from them is forgotten."""
        self.store.forget()
        return [self.slices.held(at), *(query.heads.columns[at] for query in self.sessions)]

    def _session(self, shape: Shape, index: int, bound: BoundQuery, rule: Compression | None) -> SessionQuery | None:
        window = bound.window
        if not isinstance(window, Session):
            return None
        over = {name: bound.aggregates[name] for name in shape.runs}
        stores = {b.aggregate.columns[0]: self._run_store("lazy", b, rule) for b in over.values()}
        runs = {name: (b, stores[b.aggregate.columns[0]]) for name, b in over.items()}
        return SessionQuery(index, bound, window, Heads(self.fused, window.gap.amount), shape.fixed, shape.kept, runs)

    @property
    def has_runs(self) -> bool:
        """Whether some aggregate is answered from sorted runs."""
        return bool(self.runs) or any(query.runs for query in self.sessions)

    @property
    def keeping(self) -> list[int]:
        """The queries that keep events."""
        fixed = [group.members[0][0] for group in self.groups if group.kept]
        return fixed + [query.index for query in self.sessions if query.kept]

    @property
    def nbytes(self) -> int:
        """The bytes of state."""
        return self.slices.nbytes + self.store.nbytes + sum(store.nbytes for store in self._stores())

    def _stores(self) -> list[SessionQuery | Reported | RunStore]:
        """All that is kept per key beside the slices."""
        return [*self.sessions, *(group.reported for group in self.groups), *self.runs.values()]

    def _run_store(self, kind: str, bound: Bound, rule: Compression | None) -> RunStore:
        cold = isinstance(self.slices, ColdSlices) and not isinstance(bound.aggregate, BoundedHitters)
        if rule is None or not cold:
            return run_store(kind, bound)
        assert isinstance(self.slices, ColdSlices)
        return ColdRuns(cut_of(bound), rule, self.slices)

    @property
    def cold(self) -> list[ColdSlices | ColdRuns]:
        """What compresses: slices first, which know the newest time."""
        of_sessions = (store for query in self.sessions for store in query.stores().values())
        parts = (self.slices, *self.runs.values(), *of_sessions)
        return [part for part in parts if isinstance(part, ColdSlices | ColdRuns)]

    @property
    def turned(self) -> tuple[int, int]:
        """How many slices were let go so far, and how many are held."""
        return self.slices.dropped, len(self.slices)

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys with state."""
        for store in (self.slices, *self._stores()):
            store.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        for store in (self.slices, *self._stores()):
            store.renumber(moved)
        self._keys = max(int(moved.max(initial=-1)) + 1, 1)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the sliced queries."""
        columns = zip(self.bounds, self.fused.counts, self.fused.places, strict=True)
        return {
            "slices": self.slices.dump(),
            "cells": [[repr(b.aggregate), b.aggregate.version, [count, *place]] for b, count, place in columns],
            "groups": [[[i for i, _ in group.members], group.reported.dump()] for group in self.groups],
            "sessions": [[query.index, query.dump()] for query in self.sessions],
            "runs": {name: store.dump() for name, store in self.runs.items()},
            **{name: getattr(self, name) for name in _PLAIN},
        }

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.slices.load(tree["slices"])
        for group, (_, reported) in zip(self.groups, tree["groups"], strict=True):
            group.reported.load(reported)
        for query, (_, part) in zip(self.sessions, tree["sessions"], strict=True):
            query.load(part)
        for name, store in self.runs.items():
            store.load(tree["runs"][name])
        for name in _PLAIN:
            setattr(self, name, tree[name])
        self.texts.meet()

    def begin(self, since: dict[int, int]) -> None:
        """From when queries are exact that were added later."""
        for group in self.groups:
            group.begin(since)
        for query in self.sessions:
            query.since = since.get(query.index)
