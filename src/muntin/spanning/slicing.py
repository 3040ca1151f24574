"""Slicing of events with a duration: how high slices are, and when they are (paper 3, sections 5.2 and 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import Compression
from muntin.errors import SpecError
from muntin.fused import Fused
from muntin.slicing.batch import Batch, Column
from muntin.slicing.governor import Cold
from muntin.slicing.slices import Partials
from muntin.spanning.cold_levels import ColdLevels
from muntin.spanning.edges import Edges
from muntin.spanning.heights import Heights
from muntin.spanning.levels import Levels
from muntin.spans import Spans
from muntin.windows import Window

__all__ = ["SpanSlicing"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class SpanSlicing:
    """Single-level or multi-level slices, as asked for or as the lengths of events call for."""

    def __init__(
        self, fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None = None
    ) -> None:
        self.edges = edges
        self._levels = Levels(fused, edges) if rule is None else ColdLevels(fused, edges, rule)
        self._heights = Heights(spans)

    @property
    def cold(self) -> list[Cold]:
        """What compresses."""
        return [self._levels] if isinstance(self._levels, ColdLevels) else []

    @property
    def height(self) -> int:
        """The height of the slices that events go into now."""
        return self._heights.height

    def take(self, batch: Batch, order: Int64s | None, low: int, high: int, columns: Mapping[str, Column]) -> None:
        """Take rows in."""
        assert batch.start is not None
        self.edges.cover(low, high)
        self.put(batch.start, batch.time, batch.key, order, columns)

    def put(
        self, start: Int64s, end: Int64s, key: Int64s | None, order: Int64s | None, columns: Mapping[str, Column]
    ) -> None:
        """Take events in for which there are slices."""
        self._heights.before(start, end, self.edges)
        start, end = np.ascontiguousarray(start), np.ascontiguousarray(end)
        _, pairs = self._levels.take(start, end, key, order, columns, self._heights.height)
        self._heights.after(len(start), pairs)

    def extent(self) -> tuple[int, int] | None:
        """The first and the last slice with an event."""
        return self._levels.bounds()

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slices a to b."""
        return self._levels.merged(a, b)

    def drop(self, time: int) -> None:
        """Forget the slices that end by a time."""
        self._levels.drop(time)

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""
        return self._levels.held(at)

    def told(self) -> list[str]:
        """Which height, and why."""
        return self._heights.told()

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return self._levels.nbytes

    @property
    def turned(self) -> tuple[int, int]:
        """How many cells were let go so far, and how many are held."""
        return self._levels.dropped, len(self._levels)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with cells."""
        self._levels.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        self._levels.renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        return {"levels": self._levels.dump(), "heights": self._heights.dump()}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        if "sweep" in tree and len(tree["sweep"]["key"]):
            raise SpecError("the snapshot has events that were swept. Restore it with technique='sweeping'.")
        self._levels.load(tree["levels"])
        self._heights.load(tree["heights"])
