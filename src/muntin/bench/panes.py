"""Figure 3 of paper 2: the time of a sliding max with panes over the time without, and what the cost model predicts.

Both sides run the same compiled kernels, without the cost of reading the stream: with panes every tuple goes into its
group of its pane, and windows are combined from panes; without them every tuple goes into its group of every window.
They take turns, several rounds each; medians of the time of the processor.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.costs import Constants, Sizes, Workload, paned, seconds, windowed

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


def measure(k: Constants, tuples: int, panes: int, groups: int = 1, rows: int = 10_000, rounds: int = 15) -> Ratio:
    """One bar of the figure, from batches of so many tuples."""
    work = Workload(rows, tuples, panes, groups)
    state = work.pane_level()
    if not np.array_equal(work.window_level(state), work.without()):  # compiles, too
        raise AssertionError("windows with panes and without differ")
    calls: tuple[Callable[[], Any], ...] = (work.pane_level, lambda: work.window_level(state), work.without)
    took: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for call, times in zip(calls, took, strict=True):
            times.append(seconds(call))
    # For one pane and one window: at the edges of a batch there are fewer windows than panes.
    low, high, without = (statistics.median(times) for times in took)
    each = rows / tuples
    ratio = (low / each + high / work.windows) / (without / each)
    # Cells are dense: a group without a tuple in a pane is a cell all the same.
    sizes = Sizes(tuples * panes, panes, 1, groups)
    return Ratio(tuples, panes, groups, ratio, paned(k, sizes, False) / windowed(k, sizes, False))
