"""Medians, quantiles, modes and their like over ranges of events: one sort for many ranges.

The distinct values are ranked once. A range then is a run of small integers (range, rank), and one plain sort of
those, which NumPy does with vector instructions, sorts all ranges at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Mode, NthSmallest
from muntin.aggregates.sketches import estimated
from muntin.slicing.codings import Registers
from muntin.slicing.ranges_fold import Ints, spread

__all__ = ["from_runs"]

# Values sorted at a time. In the cache of a core: 5 M took 1.5 to 2.5 times as long (median of 20, overlapping).
CHUNK = 100_000

Back = Callable[[npt.NDArray[Any]], pa.Array]


@dataclass
class Sorted:
    """Some ranges with their values in order: `keys` is range << bits | rank, range i from offsets[i] on."""

    keys: npt.NDArray[Any]
    bits: int
    offsets: Ints

    @property
    def counts(self) -> Ints:
        """How many values each range has."""
        return np.diff(self.offsets)

    def rank(self, place: Ints) -> Ints:
        """The ranks at these places."""
        return self.keys[place].astype(np.int64, copy=False) & ((1 << self.bits) - 1)

    def runs(self) -> tuple[Ints, Ints, Ints]:
        """Equal values as one: the range, the rank and the length of each run."""
        fresh = np.empty(len(self.keys), np.bool_)
        fresh[0] = True
        np.not_equal(self.keys[1:], self.keys[:-1], out=fresh[1:])
        starts = np.flatnonzero(fresh)
        heads = self.keys[starts].astype(np.int64, copy=False)
        lengths = np.diff(starts, append=len(self.keys))
        return heads >> self.bits, heads & ((1 << self.bits) - 1), lengths


def from_runs(bound: Bound, values: npt.NDArray[Any], ranked: bool, lo: Ints, hi: Ints, back: Back) -> pa.Array:
    """One of the aggregates over sorted values; no range is empty.

    `ranked` says that the values are ranks already. `back` makes a column of the values that were chosen.
    """
    aggregate: Any = bound.aggregate
    if ranked:
        table, ranks = None, values
        distinct = int(values.max()) + 1
    else:
        # NaN comes last and equals NaN, and -0.0 equals 0.0: as in `rank`
        table, ranks = np.unique(values, return_inverse=True)
        distinct = len(table)

    def chosen(found: Ints) -> npt.NDArray[Any]:
        return found if table is None else table[found]

    chunks = _sorted(ranks, distinct, lo, hi)
    kind = type(aggregate)
    if kind is HeavyHitters:
        return _heavy_hitters(bound, chunks, lambda found: back(chosen(found)))
    if kind is Registers:
        assert table is not None, "codes are numbers"
        found = [(part.runs(), len(part.counts)) for part in chunks]
        return pa.array(np.concatenate([estimated(owner, table[rank], n) for (owner, rank, _), n in found]))
    if kind is CountDistinct:
        parts = [np.bincount(part.runs()[0], minlength=len(part.counts)) for part in chunks]
        return pa.array(np.concatenate(parts), pa.int64())
    if kind is Mode:
        return back(chosen(np.concatenate([_mode(part) for part in chunks])))
    if kind is NthSmallest:
        return back(chosen(np.concatenate([part.rank(part.offsets[:-1] + aggregate.n - 1) for part in chunks])))
    assert table is not None, "quantiles take numbers only"
    numbers = table.astype(np.float64)
    return pa.array(np.concatenate([_quantile(part, numbers, aggregate.share) for part in chunks]))


def _sorted(ranks: Ints, distinct: int, lo: Ints, hi: Ints) -> Iterator[Sorted]:
    """The ranges in chunks of bounded size, each sorted."""
    bits = max(distinct - 1, 0).bit_length()
    ends = np.cumsum(hi - lo)
    first = 0
    while first < len(lo):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        index, offsets = spread(lo[first:last], hi[first:last] - lo[first:last])
        count = last - first
        # half the bytes sort in about half the time
        word = np.dtype(np.int32 if bits + count.bit_length() < 32 else np.int64)
        keys: npt.NDArray[Any] = ranks[index].astype(word, copy=False)
        if count > 1:
            keys |= np.repeat((np.arange(count) << bits).astype(word), np.diff(offsets))
        keys.sort()
        yield Sorted(keys, bits, offsets)
        first = last


def _quantile(part: Sorted, numbers: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.float64]:
    """Linear interpolation, step by step as in `interpolated`."""
    place = share * (part.counts - 1)
    below = np.floor(place).astype(np.int64)
    weight = place - below
    start = part.offsets[:-1] + below
    low = numbers[part.rank(start)]
    between = np.flatnonzero(weight)
    high = numbers[part.rank(start[between] + 1)]
    under, weight = low[between], weight[between]
    with np.errstate(all="ignore"):
        mixed = under * (1 - weight) + high * weight
    low[between] = np.where(under == high, under, mixed)
    return low


def _mode(part: Sorted) -> Ints:
    """The rank of the longest run of each range, the first of several."""
    owner, rank, length = part.runs()
    heads = np.flatnonzero(np.diff(owner, prepend=-1))
    longest = np.maximum.reduceat(length, heads)
    best = np.flatnonzero(length == longest[owner])
    found: Ints = rank[best[np.diff(owner[best], prepend=-1) != 0]]
    return found


def _heavy_hitters(bound: Bound, chunks: Iterator[Sorted], back: Back) -> pa.Array:
    """Lists of values with their counts, the most frequent first, then by value."""
    aggregate: Any = bound.aggregate
    sizes, ranks, lengths = [], [], []
    for part in chunks:
        owner, rank, length = part.runs()
        hit = length / part.counts[owner] >= aggregate.share
        owner, rank, length = owner[hit], rank[hit], length[hit]
        by_count = np.lexsort((rank, -length, owner))
        sizes.append(np.bincount(owner, minlength=len(part.counts)))
        ranks.append(rank[by_count])
        lengths.append(length[by_count])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    entry = bound.output.value_type
    found = [back(np.concatenate(ranks)), pa.array(np.concatenate(lengths), pa.int64())]
    entries = pa.StructArray.from_arrays(found, fields=list(entry))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries, type=bound.output)
