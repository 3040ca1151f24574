"""A user's context-aware windows: their edges per key, told of new events only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from muntin.layout import BoundQuery
from muntin.slicing.kept.base import NEVER, NONE, Bools, Int64s, Wins, keep_from
from muntin.slicing.kept.marked import MarkedFamily
from muntin.slicing.views import View, bounds
from muntin.spec import Spec
from muntin.windows import Context, Events
from muntin.windows.base import as_windows

__all__ = ["OwnFamily"]


class OwnFamily(MarkedFamily):
    """Windows between edges that a user's own code sets; it runs once for each key that has new events.

    It is promised the edge before its first new event and all events since. So one edge before the mark stays with the
    events since: more than open windows need. Without an edge before the mark all events stay.
    """

    per_key: ClassVar[dict[str, int]] = {"mark": NONE, "open": 0, "second": NEVER}
    """`second`: the second edge that is kept; once it is before the mark, the first one can go."""

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        super().__init__(query, spec)
        self._edges: dict[int, Int64s] = {}
        self._seen = NONE  # the arrival number of the last event that was told of
        empty = np.empty(0, np.int64)
        self._known = (empty, empty, empty)  # the windows of all keys: key, start, end

    @property
    def nbytes(self) -> int:
        """The bytes of what is kept per key, edges and windows included."""
        arrays = [*self._known, *self._edges.values()]
        return super().nbytes + sum(array.nbytes for array in arrays)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds: the edges of all keys one after the other."""
        keys = np.array(sorted(self._edges), np.int64)
        edges = [self._edges[int(key)] for key in keys]
        counts = np.array([len(part) for part in edges], np.int64)
        flat = np.concatenate([np.empty(0, np.int64), *edges])
        return super().dump() | {"edges": [keys, counts, flat], "seen": self._seen, "known": list(self._known)}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        super().load(tree)
        keys, counts, flat = tree["edges"]
        parts = np.split(flat, np.cumsum(counts)[:-1]) if len(keys) else []
        self._edges = dict(zip(keys.tolist(), parts, strict=True))
        self._seen = tree["seen"]
        key, start, end = tree["known"]
        self._known = (key, start, end)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with edges: the user's code is promised the last one before new events."""
        super().live_keys(live)
        live[list(self._edges)] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        super().renumber(moved)
        self._edges = {int(moved[key]): edges for key, edges in self._edges.items()}
        key, start, end = self._known
        self._known = (moved[key], start, end)

    def _windows(self, view: View) -> Wins:
        new = view.seq > self._seen
        if new.any():
            self._tell(view, new)
            self._seen = int(view.seq.max())
        key, start, end = self._known
        lo, hi = view.ranges(key, start, end)
        some = np.flatnonzero(lo < hi)
        return self._made(view, start[some], end[some], lo[some], hi[some], None)

    def _tell(self, view: View, new: Bools) -> None:
        """Tell the user's code of new events, key by key, and ask it for the windows of those keys."""
        fresh = np.flatnonzero(np.logical_or.reduceat(new, view.offsets[:-1]))
        keys, starts, ends = [], [], []
        for i in fresh.tolist():
            key, low, high = int(view.keys[i]), int(view.offsets[i]), int(view.offsets[i + 1])
            times = view.time[low:high]
            context = Context(Events(times, _Columns(view, low, high)), self._edges.get(key))
            self.window.notify_context(context, times[new[low:high]])
            start, end = as_windows(self.window.trigger(-NEVER, NEVER - 1, context))
            if self.window.tail and len(context.edges):
                start, end = np.append(start, context.edges[-1]), np.append(end, NEVER)
            self._keep_edges(key, context.edges)
            keys.append(np.full(len(start), key, np.int64))
            starts.append(start)
            ends.append(end)
        others = ~np.isin(self._known[0], view.keys[fresh])
        was = [part[others] for part in self._known]
        found = [np.concatenate([old, *parts]) for old, parts in zip(was, (keys, starts, ends), strict=True)]
        sort = np.argsort(found[0], kind="stable")
        self._known = (found[0][sort], found[1][sort], found[2][sort])

    def _keep_edges(self, key: int, edges: Int64s) -> None:
        self._edges[key] = edges
        self.state["second"][key] = edges[1] if len(edges) > 1 else NEVER

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        mark = self._advance(view, wins, bound)
        # Windows of one's own may overlap: an open one may have started before the mark.
        first = mark.copy()
        still = wins.end > bound
        np.minimum.at(first, np.searchsorted(view.keys, wins.key[still]), wins.start[still])
        cuts = view.offsets[:-1].copy()
        some = np.flatnonzero(self.state["second"][view.keys] < first)
        if len(some):
            since = np.array([self._cut_edges(int(view.keys[i]), int(first[i])) for i in some.tolist()], np.int64)
            cuts[some] = bounds(view.time, cuts[some], view.offsets[some + 1], since)
        key, start, end = self._known
        stay = end > self.state["mark"][key]
        self._known = (key[stay], start[stay], end[stay])
        return keep_from(view, cuts)

    def _cut_edges(self, key: int, first: int) -> int:
        """Drop all edges of a key before the last one that is before a time; gives that one."""
        edges = self._edges[key]
        edges = edges[int(np.searchsorted(edges, first, "left")) - 1 :]
        self._keep_edges(key, edges)
        return int(edges[0])


class _Columns(Mapping[str, npt.NDArray[Any]]):
    """The columns of the events of one key, made when the user's code asks for them."""

    def __init__(self, view: View, low: int, high: int) -> None:
        self._view, self._low, self._high = view, low, high
        self._made: dict[str, npt.NDArray[Any]] = {}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._made:
            column = self._view.column(name).take(np.arange(self._low, self._high))
            self._made[name] = column.to_arrow().to_numpy(zero_copy_only=False)
        return self._made[name]

    def __iter__(self) -> Any:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
