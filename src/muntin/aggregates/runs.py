"""Holistic aggregates over the multiset of values: median, quantile, mode, n-th smallest, distinct, heavy hitters.

Their partial is the sorted values with run lengths (paper 1, section 5.4.1): it merges, and since counts can be
subtracted it is also invertible: pseudo-differential in the words of paper 2, section 3.2.2.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from muntin.aggregates.base import Aggregate
from muntin.aggregates.extremes import rank
from muntin.aggregates.types import VALUE
from muntin.errors import SpecError

__all__ = ["CountDistinct", "HeavyHitters", "Median", "Mode", "NthSmallest", "Quantile", "Runs"]


class Runs(Aggregate):
    """Base of the aggregates whose partial is sorted values with run lengths.

    >>> bound = Median("x").bind([pa.int64()])
    >>> bound.combine(bound.lift(5), bound.combine(bound.lift(3), bound.lift(5)))
    Partial(values=(3, 5), counts=(1, 2))
    """

    partial = {"values": tuple, "counts": tuple}
    identity = ((), ())
    commutative, kind = True, "holistic"

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        return (value + 0.0 if isinstance(value, float) else value,), (1,)  # -0.0 + 0.0 is 0.0: they are equal

    def combine(a: Any, b: Any) -> Any:
        return merged(a, b, 1)

    def invert(a: Any, b: Any) -> Any:
        return merged(a, b, -1)


class Quantile(Runs):
    """The value at a share of the sorted values, with linear interpolation.

    >>> import muntin as mt
    >>> mt.quantile("speed", 0.95)
    quantile('speed', share=0.95)
    """

    name = "quantile"

    def __init__(self, column: str, share: float) -> None:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise SpecError(f"quantile({column!r}, {share!r}): a quantile lies in [0, 1]. The 95th percentile is 0.95.")
        self._declare((column,), share=float(share))
        self.share = float(share)

    def lower(self, p: Any) -> Any:
        """Interpolated between the two runs around the place."""
        places = list(accumulate(p.counts))
        return interpolated(lambda i: p.values[bisect_right(places, i)], places[-1], self.share)

    def plain(self, values: Sequence[Any]) -> Any:
        """From the sorted values."""
        return interpolated(sorted(values, key=rank).__getitem__, len(values), self.share)


class Median(Quantile):
    """The middle value; of an even number the mean of the two in the middle.

    >>> import muntin as mt
    >>> mt.median("speed")
    median('speed')
    """

    name = "median"

    def __init__(self, column: str) -> None:
        self._declare((column,))
        self.share = 0.5


class Mode(Runs):
    """The most frequent value; of several the smallest.

    >>> import muntin as mt
    >>> mt.mode("city")
    mode('city')
    """

    name = "mode"
    takes, returns = "ordered", VALUE

    def lower(p: Any) -> Any:
        return p.values[p.counts.index(max(p.counts))]

    def plain(values: Any) -> Any:
        ranks = [rank(value) for value in values]
        best = min(ranks, key=lambda r: (-ranks.count(r), r))
        return math.nan if best[0] else best[1]


class NthSmallest(Runs):
    """The n-th smallest value, equal ones counted; null where there are fewer than n.

    >>> import muntin as mt
    >>> mt.nth_smallest("price", 2)
    nth_smallest('price', n=2)
    """

    name = "nth_smallest"
    selective = True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str, n: int) -> None:
        self._declare((column,), n=positive("nth_smallest", column, n))
        self.n = self.least = n

    def lower(self, p: Any) -> Any:
        """The value of the run that holds the n-th."""
        return p.values[bisect_right(list(accumulate(p.counts)), self.n - 1)]

    def plain(self, values: Sequence[Any]) -> Any:
        """From the sorted values."""
        return sorted(values, key=rank)[self.n - 1]


class CountDistinct(Runs):
    """How many different values there are, exactly; NaN equals NaN, and -0.0 equals 0.0.

    >>> import muntin as mt
    >>> mt.count_distinct("user")
    count_distinct('user')
    """

    name = "count_distinct"
    takes, returns = "ordered", int

    def lower(p: Any) -> Any:
        return len(p.values)

    def plain(values: Any) -> Any:
        return len({rank(value) for value in values})


class HeavyHitters(Runs):
    """The values that make up at least a share of all, with their counts (paper 2, section 3.3.2, Query 4).

    The most frequent come first, equally frequent ones by value.

    With `approx=True` a slice keeps at most `10 / share` values for each key (Misra and Gries). Then all that reach the
    share are there, and none below nine tenths of it; and counts may lack up to a tenth of the share of all.

    >>> import muntin as mt
    >>> mt.heavy_hitters("item", share=0.05)
    heavy_hitters('item', share=0.05)
    """

    name = "heavy_hitters"
    takes = "ordered"

    def __init__(self, column: str, share: float, *, approx: bool = False) -> None:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise SpecError(f"heavy_hitters({column!r}, share={share!r}): a share lies in (0, 1]. For 5 % write 0.05.")
        if not isinstance(approx, bool):
            raise SpecError(f"heavy_hitters({column!r}, approx={approx!r}): approx is True or False.")
        self._declare((column,), share=float(share), approx=approx or None)
        self.share, self.approx = float(share), approx
        self.most = math.ceil(10 / self.share) if approx else 0
        """How many values a partial keeps; 0: all."""

    def output(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """A list of values with their counts."""
        return pa.list_(pa.struct([("value", types[0]), ("count", pa.int64())]))

    def lower(self, p: Any) -> Any:
        """Those whose count reaches the share of the total."""
        total = sum(p.counts)
        # divided, since 7 of 100 reach a share of 0.07, but 0.07 * 100 rounds to more than 7
        hits = [(count, value) for value, count in zip(p.values, p.counts, strict=True) if count / total >= self.share]
        return [{"value": value, "count": count} for count, value in sorted(hits, key=lambda hit: -hit[0])]

    def plain(self, values: Sequence[Any]) -> Any:
        """By counting each value."""
        ranks = [rank(value) for value in values]
        counts = {r: ranks.count(r) for r in sorted(set(ranks))}
        hits = [(count, math.nan if r[0] else r[1]) for r, count in counts.items() if count / len(values) >= self.share]
        return [{"value": value, "count": count} for count, value in sorted(hits, key=lambda hit: -hit[0])]


def merged(a: Any, b: Any, sign: int) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Two sorted runs as one; with sign -1 the counts of b are taken away."""
    counts: dict[tuple[bool, Any], int] = {}
    for value, count in zip(a.values, a.counts, strict=True):
        counts[rank(value)] = count
    for value, count in zip(b.values, b.counts, strict=True):
        counts[rank(value)] = counts.get(rank(value), 0) + sign * count
    kept = sorted((key, count) for key, count in counts.items() if count)
    return tuple(math.nan if key[0] else key[1] for key, _ in kept), tuple(count for _, count in kept)


def interpolated(at: Any, n: int, share: float) -> float:
    """The value at place share * (n - 1) of n sorted values."""
    place = share * (n - 1)
    below = math.floor(place)
    weight = place - below
    low = float(at(below))
    if weight == 0:
        return low
    high = float(at(below + 1))
    return low if low == high else low * (1 - weight) + high * weight


def positive(name: str, column: str, n: object) -> int:
    """A count from 1 on, or a clear error."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise SpecError(f"{name}({column!r}, {n!r}): n counts from 1. Use 1 for the first.")
    return n
