"""What the figures of paper 4 share: the algorithms over one array, by slide or by size, beside other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import muntin as mt
from muntin.bench.figure import Axis, Run, Step
from muntin.bench.measuring import seconds
from muntin.bench.rolling import Array, others, values_of

__all__ = [
    "BY_SIZE",
    "BY_SLIDE",
    "FINALS",
    "VALUES_PER_SECOND",
    "WINDOW",
    "Given",
    "by_size",
    "by_slide",
    "rates",
    "slid",
]

VALUES_PER_SECOND = Axis("values per second", log=True)
BY_SLIDE, BY_SIZE = Axis("slide, values", log=True), Axis("window size, values", log=True)
WINDOW = 1_024
AGGREGATES: dict[str, Any] = {"mean": mt.mean, "min": mt.min}
SCANNING = "subtract_on_evict, rescans"
FINALS = {
    "mean": ("blocks", "two_stacks", "subtract_on_evict", "daba", "rescan"),
    "min": ("blocks", "two_stacks", "daba", "rescan"),  # min has no invert
}
MOST = 1 << 27  # values that a rescan may go over: with more it takes fewer values of the array


class Given(NamedTuple):
    """What is slid over: an array, windows of so many values, and a slide."""

    values: Array
    window: int
    every: int


def rates(name: str, given: Given, rounds: int, finals: Sequence[str], libraries: bool = False) -> dict[str, float]:
    """Values per second of each algorithm, and of other libraries with slide 1.

    >>> sorted(rates("min", Given(np.arange(64, dtype=np.int32), 8, 1), 1, [SCANNING, "blocks"]))
    ['blocks', 'subtract_on_evict, rescans']
    """
    values, window, every = given
    calls: dict[str, Callable[[], Any]] = {}
    counts: dict[str, int] = {}
    for final in finals:
        some, counts[final] = values, len(values)
        if "rescan" in final:
            # It costs the same for every window, so that some of them tell the rate.
            most = max(MOST // window // (1 if final == "rescan" else 4), 64) * every
            some = values[: window + most]
            counts[final] = len(some) - window + every
        calls[final] = _evicting(some, window) if final == SCANNING else _call(some, window, every, name, final)
    if libraries:
        known = ("bottleneck", "pandas", "polars")
        calls |= {one: call for one, call in others(name, values, window).items() if one in known}
    took = seconds(calls, rounds)
    return {one: counts.get(one, len(values)) / took[one] for one in calls}


def _call(values: Array, window: int, every: int, name: str, final: str) -> Callable[[], Any]:
    return lambda: mt.rolling(values, window=window, every=every, agg=AGGREGATES[name], final=final)


def _evicting(values: Array, window: int) -> Callable[[], Any]:
    from muntin.kernels.stacks import evicting

    out = np.empty(len(values) - window + 1, np.int32)
    return lambda: evicting(values, window, out)


def slid(
    run: Run,
    panel: str,
    name: str,
    places: Iterable[int],
    given: Callable[[int], Given],
    told: str,
    finals: Sequence[str] | None = None,
    libraries: bool = False,
) -> list[Step]:
    """A step for each place along the x axis: all algorithms take turns over what is given there."""

    def measure(x: int) -> None:
        found = rates(name, given(x), run.rounds + 2, FINALS[name] if finals is None else finals, libraries)
        for series, rate in found.items():
            run.add(panel, series, x, rate)

    def step(x: int) -> Step:
        return f"{panel}, {told} {x:,}", lambda: measure(x)

    return [step(x) for x in places]


def by_slide(run: Run, name: str) -> list[Step]:
    """Windows of 1,024 values with slides up to that."""
    values = values_of("int32", max(run.rows(4_000_000, 40_000_000), 8 * WINDOW), run.seed)
    slides = (1, 8, 64, 1_024) if run.quick else [2**k for k in range(11)]
    return slid(run, name, name, slides, lambda every: Given(values, WINDOW, every), "slide")


def by_size(run: Run, name: str) -> list[Step]:
    """Windows of more and more values with slide 1, beside other libraries."""
    sizes = [16, 256] if run.scale < 1 else [16, 256, 4_096, 32_768] if run.quick else [2**k for k in range(2, 16)]
    dtype = "float64"  # what other libraries take without a copy
    values = values_of(dtype, max(run.rows(2_000_000, 20_000_000), 2 * sizes[-1]), run.seed)
    return slid(run, name, name, sizes, lambda size: Given(values, size, 1), "size", libraries=True)
