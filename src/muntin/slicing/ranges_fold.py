"""Folding events over ranges by an aggregate's own functions, each event once however many ranges hold it.

Overlapping ranges are cut at all their edges into segments that none of them splits. Events are folded per segment,
and segments per range, over blocks of blocks where a range has many:

    range 0   [-----------)
    range 1        [-----------)
    segments  [----|------|----)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.types import scalars, typed
from muntin.slicing.values import Column

if TYPE_CHECKING:
    from muntin.compile import Compiled

__all__ = ["Folder", "Ints", "Merger", "PythonFolder", "Ranges", "folded", "lowered", "merged", "over_ranges", "spread"]

Ints = npt.NDArray[np.int64]
Partials = list[npt.NDArray[Any]]

BLOCK = 16
LONG = 3 * BLOCK  # mean number of segments in a range from which on blocks pay


@dataclass
class Ranges:
    """Ranges of events: range i holds the events lo[i] to hi[i], in their order. No value is null."""

    columns: list[Column]
    time: Ints | None
    order: Ints | None
    lo: Ints
    hi: Ints


class Merger(Protocol):
    """What combines partials. A partial is a row over one or several columns."""

    def merge(self, lo: Ints, hi: Ints, partials: Partials) -> Partials:
        """Partials combined over each range."""


class Folder(Merger, Protocol):
    """What folds events: compiled, or plain Python."""

    def fold(self, lo: Ints, hi: Ints, inputs: Any) -> Partials:
        """Events lifted and combined over each range."""


def spread(lo: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """The events of all ranges one after the other, and where each range starts among them.

    >>> spread(np.array([3, 0]), np.array([2, 1]))
    (array([3, 4, 0]), array([0, 2, 3]))
    """
    offsets = np.zeros(len(lo) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return np.repeat(lo - offsets[:-1], counts) + np.arange(offsets[-1]), offsets


# -- the fold --------------------------------------------------------------------------------------------------------


def over_ranges(folder: Folder, inputs: Any, lo: Ints, hi: Ints) -> Partials:
    """The partials of all ranges; of an empty range it is whatever the folder gives for no events."""
    total = int((hi - lo).sum())
    edges, place = np.unique(np.concatenate([lo, hi]), return_inverse=True)
    if len(edges) < 2:
        return folder.fold(lo, hi, inputs)
    first, last = place[: len(lo)], place[len(lo) :]
    # how many ranges hold each segment: those that began less those that ended
    held = np.cumsum(np.bincount(first, minlength=len(edges)) - np.bincount(last, minlength=len(edges)))[:-1] > 0
    starts, ends = edges[:-1], np.where(held, edges[1:], edges[:-1])
    covered = int((ends - starts).sum())
    if total < 2 * covered:
        return folder.fold(lo, hi, inputs)
    return merged(folder, folder.fold(starts, ends, inputs), first, last)


def merged(folder: Merger, partials: Partials, lo: Ints, hi: Ints, first: int = 0) -> Partials:
    """Partials combined over long ranges: single ones up to a block's edge, whole blocks, single ones again.

    Blocks are made of the partials between the smallest `lo` and the largest `hi`; `first` is where they may begin.
    """
    if int((hi - lo).sum()) < LONG * len(lo):
        return folder.merge(lo, hi, partials)
    low = max(int(lo.min()), first)
    starts = np.arange(low, int(hi.max()) - BLOCK + 1, BLOCK)
    blocks = folder.merge(starts, starts + BLOCK, partials)
    # A range inside one block is all before; then the other two parts are empty.
    after, before = -(-(lo - low) // BLOCK), (hi - low) // BLOCK
    whole = after < before
    left_end = np.where(whole, after * BLOCK + low, hi)
    right_start = np.where(whole, before * BLOCK + low, hi)
    left = folder.merge(lo, left_end, partials)
    middle = merged(folder, blocks, np.where(whole, after, 0), np.where(whole, before, 0))
    right = folder.merge(right_start, hi, partials)
    # Only parts that hold something are combined: the partial of nothing need not be an identity. A range that holds
    # nothing has no parts, so it is again what the folder gives for none.
    parts = np.stack([left_end > lo, whole, hi > right_start], axis=1)
    lined = [np.stack(three, axis=1)[parts] for three in zip(left, middle, right, strict=True)]
    ends = np.cumsum(parts.sum(axis=1))
    return folder.merge(ends - parts.sum(axis=1), ends, lined)


class PythonFolder:
    """Folds by calling the aggregate's functions: for partials without a fixed size and what Numba cannot compile.

    >>> import muntin as mt
    >>> folder = PythonFolder(mt.sum("x").bind([pa.int64()]))
    >>> folder.lower(folder.fold(np.array([0]), np.array([2]), [[3, 4]]))
    [7]
    """

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def fold(self, lo: Ints, hi: Ints, inputs: Sequence[Sequence[Any]]) -> Partials:
        """Events lifted and combined over each range."""
        lift = self._bound.lift
        if not inputs:
            return self._reduced([[lift() for _ in range(a, b)] for a, b in _pairs(lo, hi)])
        return self._reduced([[*map(lift, *(c[a:b] for c in inputs))] for a, b in _pairs(lo, hi)])

    def merge(self, lo: Ints, hi: Ints, partials: Partials) -> Partials:
        """Partials combined over each range."""
        listed = partials[0].tolist()
        return self._reduced([listed[a:b] for a, b in _pairs(lo, hi)])

    def _reduced(self, groups: list[list[Any]]) -> Partials:
        column = np.empty(len(groups), object)
        for i, group in enumerate(groups):
            column[i] = reduce(self._bound.combine, group) if group else self._bound.identity
        return [column]

    def lower(self, partials: Partials) -> list[Any]:
        """The results; None where no values have no partial."""
        return [None if partial is None else self._bound.lower(partial) for partial in partials[0].tolist()]


def _pairs(lo: Ints, hi: Ints) -> zip[tuple[int, int]]:
    return zip(lo.tolist(), hi.tolist(), strict=True)


# -- results ---------------------------------------------------------------------------------------------------------


def folded(bound: Bound, ranges: Ranges) -> Sequence[Any] | npt.NDArray[Any]:
    """What `lower` gives for each range, as it is: for results that are one number and always fit."""
    compiled = _compiled(bound, ranges)
    if compiled is None:
        return _in_python(bound, ranges)
    (result,), _ = compiled.lower(over_ranges(compiled, _arrays(bound, ranges), ranges.lo, ranges.hi))
    return result


def lowered(bound: Bound, ranges: Ranges) -> pa.Array:
    """The results of an aggregate, settled, as a column of its result type."""
    aggregate = bound.aggregate
    compiled = _compiled(bound, ranges)
    if compiled is None:
        settled = [None if value is None else aggregate.settle(value) for value in _in_python(bound, ranges)]
        return typed(settled, bound.output)
    from muntin.slicing.finish import lowered_partials  # here, as for `compiled`

    return lowered_partials(bound, compiled, over_ranges(compiled, _arrays(bound, ranges), ranges.lo, ranges.hi))


def _in_python(bound: Bound, ranges: Ranges) -> list[Any]:
    inputs: list[Any] = [scalars(column.to_arrow()) for column in ranges.columns]
    if bound.aggregate.timed:
        time, order = _place(ranges)
        inputs += [time.tolist(), order.tolist()]
    folder = PythonFolder(bound)
    return folder.lower(over_ranges(folder, inputs, ranges.lo, ranges.hi))


def _arrays(bound: Bound, ranges: Ranges) -> Partials:
    inputs = [np.ascontiguousarray(column.values) for column in ranges.columns]
    return [*inputs, *_place(ranges)] if bound.aggregate.timed else inputs


def _place(ranges: Ranges) -> tuple[Ints, Ints]:
    """Time and order of each event; without an order column all are equal."""
    assert ranges.time is not None
    return ranges.time, np.zeros(len(ranges.time), np.int64) if ranges.order is None else ranges.order


def _compiled(bound: Bound, ranges: Ranges) -> Compiled | None:
    """The aggregate's functions compiled; None where they run in Python."""
    if any(column.interner is not None for column in ranges.columns):
        return None  # a user's own function takes the texts, not their codes
    from muntin.compile import compiled  # here, so that Numba is loaded where it is used

    return compiled(bound)
