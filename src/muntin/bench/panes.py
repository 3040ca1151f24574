"""Figure 3 of paper 2: the time of a sliding max with panes over the time without, and what the cost model predicts.

Both sides run the same compiled kernels, without the cost of reading the stream: with panes every tuple goes into its
group of its pane, and windows are combined from panes; without them every tuple goes into its group of every window.
They take turns, several rounds each; medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.costs import Constants, Sizes, Workload, paned, windowed

__all__ = ["PANES", "TUPLES", "Ratio", "measure"]

TUPLES = (1, 2, 5, 10, 20, 50, 100)
"""Tuples in a pane."""
PANES = (2, 5, 10, 20)
"""Panes in a window."""


@dataclass(frozen=True)
class Ratio:
    """Time with panes over time without: as measured, and as the formulas predict."""

    tuples: int
    panes: int
    groups: int
    measured: float
    predicted: float


def measure(k: Constants, tuples: int, panes: int, groups: int = 1, rows: int = 200_000, rounds: int = 5) -> Ratio:
    """One bar of the figure."""
    work = Workload(rows, tuples, panes, groups)
    both: tuple[Callable[[], Any], ...] = (lambda: work.window_level(work.pane_level()), work.without)
    found = [call() for call in both]  # compiles, too
    if not np.array_equal(*found):
        raise AssertionError("windows with panes and without differ")
    took: list[list[float]] = [[], []]
    for _ in range(rounds):
        for call, times in zip(both, took, strict=True):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
    ratios = [with_ / without for with_, without in zip(*took, strict=True)]
    # Of groups that are drawn evenly.
    present, given = (groups * (1 - (1 - 1 / groups) ** many) for many in (tuples, tuples * panes))
    sizes = Sizes(tuples * panes, panes, 1, present, given)
    return Ratio(tuples, panes, groups, statistics.median(ratios), paned(k, sizes, False) / windowed(k, sizes, False))
