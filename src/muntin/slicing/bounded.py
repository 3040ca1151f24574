"""Runs of bounded size per slice and key, which merge: what is left of the runs of approximate aggregates.

For distinct values the largest rank of each register; for quantiles the buckets, which are few by themselves; for heavy
hitters at most so many values, the summary of Misra and Gries (1982).

Of more values only the most frequent stay; from each of their counts is taken what the first of those that go had. What
was taken in all stands as one more value behind the others, so that the number of rows stays exact. With k values kept,
k + 1 had at least as much as each lost, so what a count may lack is at most 1 / (k + 1) of what was taken. Sums over
several slices, and summaries that are merged and cut again, lack at most the same share of their sum (Agarwal et al.,
Mergeable summaries, 2012).
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Bound
from muntin.aggregates.sketches import register_of
from muntin.slicing.codings import OTHERS, Registers, is_coded
from muntin.slicing.runs import Cut, RunStore

__all__ = ["BoundedRuns", "cut_of", "largest_ranks", "pruned"]

Int64s = npt.NDArray[np.int64]


def pruned(values: Int64s, upto: Int64s, offsets: Int64s, most: int) -> tuple[Int64s, Int64s, Int64s]:
    """Runs with at most so many values each, and one more for all that was taken.

    >>> found = pruned(np.array([3, 5, 8]), np.array([4, 5, 8]), np.array([0]), 1)  # counts 4, 1, 3
    >>> found[0].tolist() == [3, OTHERS], found[1].tolist()
    (True, [1, 8])
    """
    sizes = np.diff(np.append(offsets, len(values)))
    others = values == OTHERS
    lost = others[offsets + sizes - 1]  # runs that lost something before
    large = sizes - lost > most
    if not large.any():
        return values, upto, offsets
    run = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.diff(upto, prepend=0)
    counts[offsets] = upto[offsets]
    counts[others] = 0
    order = np.lexsort((-counts, run))
    less = np.zeros(len(sizes), np.int64)
    less[large] = counts[order[offsets[large] + most]]  # the most frequent of those that go
    left = np.maximum(counts - less[run], 0)
    total = upto[offsets + sizes - 1]
    stay = left > 0
    kept = np.bincount(run[stay], minlength=len(sizes))
    lost |= large
    # One more place behind each run that lost something.
    sizes = kept + lost
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    found, rows = np.full(int(sizes.sum()), OTHERS), np.zeros(int(sizes.sum()), np.int64)
    before = np.concatenate([[0], np.cumsum(kept)[:-1]])
    at = np.repeat(starts - before, kept) + np.arange(int(kept.sum()))
    found[at] = values[stay]
    sums = np.concatenate([[0], np.cumsum(left[stay])])
    rows[at] = sums[1:] - np.repeat(sums[before], kept)
    last = starts[lost] + kept[lost]
    rows[last] = total[lost]
    return found, rows, starts


def largest_ranks(values: Int64s, upto: Int64s, offsets: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Runs of codes of registers and ranks with the largest rank of each register only.

    >>> codes = np.array([1 << 6 | 3, 1 << 6 | 5, 2 << 6 | 1, 2 << 6 | 4])
    >>> [part.tolist() for part in largest_ranks(codes, np.array([2, 3, 4, 1]), np.array([0, 3]))]
    [[69, 129, 132], [3, 4, 1], [0, 2]]
    """
    last = np.ones(len(values), np.bool_)
    register = register_of(values)
    last[:-1] = register[1:] != register[:-1]
    last[offsets[1:] - 1] = True
    before = np.concatenate([[0], np.cumsum(last)])
    return values[last], upto[last], before[offsets]


def _as_they_are(values: Int64s, upto: Int64s, offsets: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    return values, upto, offsets


def cut_of(bound: Bound) -> Cut | None:
    """What makes the runs of an aggregate's column smaller; None where nothing may be left out of them."""
    if isinstance(bound.aggregate, Registers):
        return largest_ranks
    return _as_they_are if is_coded(bound.aggregate.columns[0]) else None


class BoundedRuns(RunStore):
    """Runs of one column, of at most so many values."""

    def __init__(self, most: int) -> None:
        super().__init__(functools.partial(pruned, most=most))

    def _counted_runs(self, values: Int64s, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        return super()._counted_runs(np.minimum(values, OTHERS - 1), starts, ends)

    def ordinals(self) -> list[Int64s]:
        """All values that are held."""
        return [part[part != OTHERS] for part in super().ordinals()]

    def remap(self, places: Int64s) -> None:
        """Each value becomes another; what was taken stays what it is."""
        values = self._values
        others = values == OTHERS
        self._values = np.zeros(0, np.int64)
        super().remap(places)
        self._values = np.where(others, OTHERS, places[np.where(others, 0, values)]) if len(places) else values
