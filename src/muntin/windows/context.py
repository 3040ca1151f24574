"""What a context-aware window sees of one key (paper 1, section 5.4.2): its edges and the kept events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.windows.base import NEVER, Int64s

__all__ = ["Context", "Events"]


class Events:
    """Events of one key in order: `times`, and each column by name.

    >>> Events(np.array([1, 2]), {"price": np.array([10.0, 12.0])})["price"].tolist()
    [10.0, 12.0]
    """

    def __init__(self, times: Int64s, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self.times = times
        self._columns = columns

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        return self._columns[column]

    def __len__(self) -> int:
        return len(self.times)


class Context:
    """The edges and the kept events of one key; `add` and `remove` change the edges.

    >>> context = Context(Events(np.array([1, 5, 9]), {}), edges=np.array([1, 5]))
    >>> context.edge_before(7)
    5
    >>> context.add(9)
    >>> context.edges.tolist()
    [1, 5, 9]
    """

    def __init__(self, kept: Events, edges: Int64s | None = None) -> None:
        self._kept = kept
        self.edges: Int64s = np.empty(0, np.int64) if edges is None else np.asarray(edges, np.int64)

    def events(self, since: int | None = None, until: int | None = None) -> Events:
        """The kept events with `since <= time < until`, in order, the new ones included."""
        times = self._kept.times
        low = 0 if since is None else int(np.searchsorted(times, since, "left"))
        high = len(times) if until is None else int(np.searchsorted(times, until, "left"))
        return Events(times[low:high], _Sliced(self._kept, low, high))

    def edge_before(self, time: int) -> int | None:
        """The last edge before a time; None where there is none."""
        index = int(np.searchsorted(self.edges, time, "left")) - 1
        return int(self.edges[index]) if index >= 0 else None

    def next_edge(self, time: Any) -> Any:
        """The next edge after each time; NEVER where there is none."""
        return np.append(self.edges, NEVER)[np.searchsorted(self.edges, time, "right")]

    def add(self, edges: object) -> None:
        """Add one edge, or an array of them; those already there stay as they are."""
        self.edges = np.union1d(self.edges, np.asarray(edges, np.int64))

    def remove(self, edges: object) -> None:
        """Remove one edge, or an array of them."""
        self.edges = np.setdiff1d(self.edges, np.asarray(edges, np.int64))


class _Sliced(Mapping[str, npt.NDArray[Any]]):
    """The columns of a stretch of events, cut only when asked for."""

    def __init__(self, events: Events, low: int, high: int) -> None:
        self._events, self._low, self._high = events, low, high

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        return self._events[column][self._low : self._high]

    def __iter__(self) -> Any:
        return iter(self._events._columns)

    def __len__(self) -> int:
        return len(self._events._columns)
