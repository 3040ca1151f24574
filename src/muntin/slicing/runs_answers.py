"""Aggregates of windows from the sorted runs of their slices, which are not merged for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Mode, NthSmallest, Quantile
from muntin.aggregates.sketches import PLACES, RANKS, SHIFT, estimates
from muntin.slicing.codings import OTHERS, BoundedHitters, Registers
from muntin.slicing.hitters import shared, sliding
from muntin.slicing.ordinals import from_ordinal
from muntin.slicing.values import to_arrow

__all__ = ["Runs", "answered"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Runs(NamedTuple):
    """Groups of runs: group g has the runs lo[g] to hi[g], each from its offset on in values and rows up to each."""

    values: Int64s
    upto: Int64s
    offset: Int64s
    size: Int64s
    lo: Int64s
    hi: Int64s

    def rows(self) -> Int64s:
        """The number of rows in each group."""
        low, high = (int(self.lo.min()), int(self.hi.max())) if len(self.lo) else (0, 0)
        ends = np.zeros(high - low + 1, np.int64)
        np.cumsum(self.upto[self.offset[low:high] + self.size[low:high] - 1], out=ends[1:])
        return ends[self.hi - low] - ends[self.lo - low]


def answered(bound: Bound, runs: Runs) -> pa.Array:
    """One aggregate for each group of runs."""
    n = runs.rows()
    aggregate = bound.aggregate
    enough = n >= aggregate.least
    if isinstance(aggregate, Quantile):
        return _quantiles(bound, runs, n, enough, aggregate.share)
    if isinstance(aggregate, NthSmallest):
        found, _ = _selected(runs, np.full(len(n), aggregate.n - 1), enough)
        return to_arrow(from_ordinal(found, bound.types[0]), enough, bound.output)
    if isinstance(aggregate, Registers):
        return pa.array(_registers(runs), mask=~enough)
    if isinstance(aggregate, HeavyHitters) and shared(runs.lo, runs.hi):
        found_hits = _sliding(runs, aggregate)
        if found_hits is not None:
            return _listed(bound, *found_hits, len(n), enough)
    return _counted(bound, runs, n, enough)


def _selected(runs: Runs, rank: Int64s, enough: npt.NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    from muntin.kernels.selection import select

    found, following = np.zeros(len(rank), np.int64), np.zeros(len(rank), np.int64)
    some = np.flatnonzero(enough)
    low, high = np.zeros(len(some), np.int64), np.zeros(len(some), np.int64)
    lo, hi = runs.lo[some], runs.hi[some]
    select(runs.values, runs.upto, runs.offset, runs.size, lo, hi, rank[some], low, high)
    found[some], following[some] = low, high
    return found, following


def _quantiles(bound: Bound, runs: Runs, n: Int64s, enough: npt.NDArray[np.bool_], share: float) -> pa.Array:
    place = share * np.maximum(n - 1, 0)
    below = np.floor(place)
    weight = place - below
    low, high = _selected(runs, below.astype(np.int64), enough)
    a, b = (from_ordinal(part, bound.types[0]).astype(np.float64) for part in (low, high))
    with np.errstate(invalid="ignore", over="ignore"):
        mixed = a * (1 - weight) + b * weight
    return pa.array(np.where((weight == 0) | (a == b), a, mixed), pa.float64(), mask=~enough)


def _counted(bound: Bound, runs: Runs, n: Int64s, enough: npt.NDArray[np.bool_]) -> pa.Array:
    """Aggregates that look at every distinct value of a window."""
    lo, hi = runs.lo, runs.hi
    many = hi - lo
    entry = np.repeat(lo - np.concatenate([[0], np.cumsum(many)[:-1]]), many) + np.arange(int(many.sum()))
    window = np.repeat(np.arange(len(lo)), many)
    sizes = runs.size[entry]
    index = np.repeat(runs.offset[entry] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(
        int(sizes.sum())
    )
    upto = runs.upto[index]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])[sizes > 0] if len(sizes) else np.empty(0, np.int64)
    counts = np.diff(upto, prepend=0)
    counts[first] = upto[first]
    window, values = np.repeat(window, sizes), runs.values[index]
    # Window and value as one number: half the time of sorting by one, then by the other.
    back: Int64s | None = None
    low = int(values.min()) if len(values) else 0
    width = int(values.max()) - low + 1 if len(values) else 1
    if width * max(len(lo), 1) < 1 << 62:
        both = window * width + (values - low)
    else:
        back, ranks = np.unique(values, return_inverse=True)
        low, width = 0, len(back)
        both = window * width + ranks
    if isinstance(bound.aggregate, CountDistinct):
        both.sort()  # vectorised, 10 times as fast as finding the order
    else:
        order = np.argsort(both, kind="stable")  # runs are sorted already: they are merged
        both, counts = both[order], counts[order]
    opens = np.ones(len(both), np.bool_)
    opens[1:] = both[1:] != both[:-1]
    starts = np.flatnonzero(opens)
    window, values = np.divmod(both[starts], width)
    values = values + low if back is None else back[values]
    counts = np.add.reduceat(counts, starts) if len(starts) else counts
    aggregate = bound.aggregate
    distinct = np.bincount(window, minlength=len(lo))
    if isinstance(aggregate, CountDistinct):
        return pa.array(distinct.astype(np.int64), mask=~enough)
    if isinstance(aggregate, Mode):
        # the most frequent first, equally frequent ones by value: then the first of each window
        best = np.lexsort((values, -counts, window))
        heads = best[np.concatenate([[0], np.cumsum(distinct)[:-1]])[distinct > 0]]
        found = np.zeros(len(lo), np.int64)
        found[distinct > 0] = values[heads]
        return to_arrow(from_ordinal(found, bound.types[0]), enough, bound.output)
    assert isinstance(aggregate, HeavyHitters)
    hits = np.flatnonzero(_reach(bound, window, values, counts, len(lo)) / n[window] >= aggregate.share)
    return _listed(bound, window[hits], values[hits], counts[hits], len(lo), enough)


def _registers(runs: Runs) -> Int64s:
    """About how many distinct values there are in each group of runs of codes."""
    from muntin.kernels.registers import count_ranks

    counts = np.zeros((len(runs.lo), RANKS), np.int64)
    count_ranks(runs.values, runs.offset, runs.size, runs.lo, runs.hi, SHIFT, 1 << PLACES, counts)
    return estimates(counts)


def _listed(bound: Bound, window: Int64s, values: Int64s, counts: Int64s, windows: int, enough: Bools) -> pa.Array:
    """Heavy hitters as lists: the most frequent first, then by value."""
    order = np.lexsort((values, -counts, window))
    window, values, counts = window[order], values[order], counts[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(window, minlength=windows))])
    shown = to_arrow(from_ordinal(values, bound.types[0]), None, bound.types[0])
    pairs = pa.StructArray.from_arrays([shown, pa.array(counts)], fields=list(bound.output.value_type))
    listed = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pairs).cast(bound.output)
    return listed.take(pa.array(np.arange(windows), mask=~enough))


def _sliding(runs: Runs, aggregate: HeavyHitters) -> tuple[Int64s, Int64s, Int64s] | None:
    """Heavy hitters of windows that have many runs in common."""
    low, high = int(runs.lo.min()), int(runs.hi.max())
    sizes, offsets = runs.size[low:high], runs.offset[low:high]
    before = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    index = np.repeat(offsets - before, sizes) + np.arange(int(sizes.sum()))
    upto = runs.upto[index]
    counts = np.diff(upto, prepend=0)
    counts[before[sizes > 0]] = upto[before[sizes > 0]]
    return sliding(runs.values[index], counts, sizes, runs.lo - low, runs.hi - low, aggregate, OTHERS)


def _reach(bound: Bound, window: Int64s, values: Int64s, counts: Int64s, windows: int) -> npt.NDArray[Any]:
    """How often each value may have come: as counted, and in runs of bounded size as much more as may be lacking."""
    if not isinstance(bound.aggregate, BoundedHitters):
        return counts
    others = values == OTHERS
    taken = np.zeros(windows, np.int64)
    taken[window[others]] = counts[others]
    return np.where(others, -1, counts + taken[window] // (bound.aggregate.most + 1))
