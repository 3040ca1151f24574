"""The techniques behind one interface: where events with a duration are put, and how windows are made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from muntin.compression import Compression
from muntin.fused import Fused
from muntin.slicing.batch import Batch, Column
from muntin.slicing.slices import Partials
from muntin.spanning.edges import Edges
from muntin.spans import Spans
from muntin.windows import Window

__all__ = ["TECHNIQUES", "Technique", "technique"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Technique(Protocol):
    """What a technique does for all windows that are known in advance, of all keys."""

    edges: Edges

    def take(self, batch: Batch, order: Int64s | None, low: int, high: int, columns: Mapping[str, Column]) -> None:
        """Take rows in, as far as they reach from `low` to `high`.

        `order` decides between events that end at the same time.
        """

    def extent(self) -> tuple[int, int] | None:
        """The first and the last slice that holds an event."""

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slices a to b: which window and key, and the partials; those without events left out."""

    def drop(self, time: int) -> None:
        """Nothing before a time is needed any more."""

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""

    def told(self) -> list[str]:
        """What it chose, and why."""

    @property
    def nbytes(self) -> int:
        """The bytes held."""

    @property
    def turned(self) -> tuple[int, int]:
        """How much was let go so far, and how much is held."""

    def live_keys(self, live: Bools) -> None:
        """Mark the keys that something is held of."""

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""


Make = Callable[[Fused, Edges, Spans, Sequence[Window], Compression | None], Technique]


def _slicing(
    fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None
) -> Technique:
    from muntin.spanning.slicing import SpanSlicing

    return SpanSlicing(fused, edges, spans, windows, rule)


def _auto(fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None) -> Technique:
    from muntin.spanning.auto import Auto

    return Auto(fused, edges, spans, windows, rule)


def _aggregate_buckets(
    fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None
) -> Technique:
    from muntin.baselines.buckets import AggregateBuckets

    return AggregateBuckets(fused, edges, spans, windows)


def _tuple_buckets(
    fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None
) -> Technique:
    from muntin.baselines.buckets import TupleBuckets

    return TupleBuckets(fused, edges, spans, windows)


def _sweeping(
    fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None
) -> Technique:
    from muntin.spanning.sweeping import Sweep

    return Sweep(fused, edges, spans, windows)


def _tuple_buffer(
    fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None
) -> Technique:
    from muntin.baselines.tuples import TupleBuffer

    return TupleBuffer(fused, edges)


def _aggregate_tree(
    fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None
) -> Technique:
    from muntin.baselines.tuples import AggregateTree

    return AggregateTree(fused, edges)


TECHNIQUES: dict[str, Make] = {
    "slicing": _slicing,
    "auto": _auto,
    "aggregate_buckets": _aggregate_buckets,
    "tuple_buckets": _tuple_buckets,
    "sweeping": _sweeping,
    "tuple_buffer": _tuple_buffer,
    "aggregate_tree": _aggregate_tree,
}
"""The techniques by name, imported when first asked for; the last two are for events at one time only."""


def technique(
    name: str, fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None = None
) -> Technique:
    """A technique by name; those to compare with do not compress."""
    return TECHNIQUES[name](fused, edges, spans, windows, rule)
