"""What the figures of paper 4 share: the algorithms over one array, beside other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import muntin as mt
from muntin.bench.figure import Axis
from muntin.bench.measuring import seconds
from muntin.bench.rolling import others

__all__ = ["AGGREGATES", "VALUES_PER_SECOND", "rates"]

VALUES_PER_SECOND = Axis("values per second", log=True)
AGGREGATES: dict[str, Any] = {"mean": mt.mean, "min": mt.min}
FINALS = {
    "mean": ("blocks", "two_stacks", "subtract_on_evict", "daba", "rescan"),
    "min": ("blocks", "two_stacks", "daba", "rescan"),  # min has no invert
}
MOST = 1 << 27  # values that a rescan may go over: with more it takes fewer values of the array


def rates(name: str, values: Any, window: int, every: int, rounds: int, libraries: bool = False) -> dict[str, float]:
    """Values per second of each algorithm, and of other libraries with slide 1."""
    calls: dict[str, Callable[[], Any]] = {}
    counts: dict[str, int] = {}
    for final in FINALS[name]:
        some = values
        if final == "rescan" and window // every * len(values) > MOST:
            some = values[: max(MOST * every // window, 2 * window)]
        calls[final] = _call(some, window, every, AGGREGATES[name], final)
        counts[final] = len(some)
    if libraries:
        known = ("bottleneck", "pandas", "polars")
        calls |= {one: call for one, call in others(name, values, window).items() if one in known}
    took = seconds(calls, rounds)
    return {one: counts.get(one, len(values)) / took[one] for one in calls}


def _call(values: Any, window: int, every: int, agg: Any, final: str) -> Callable[[], Any]:
    return lambda: mt.rolling(values, window=window, every=every, agg=agg, final=final)
