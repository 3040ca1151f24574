"""Heavy hitters and sketches over sliding windows: without panes, with panes, and from the window before.

Paper 2, section 3.3.2, without the cost of reading the stream. Without panes every tuple goes into every window that it
is in; with panes into its pane, and windows are answered from the runs of their panes. Differential: counts of the
window before, less those of the panes that left, plus those that came. They take turns, several rounds each; medians.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.costs import seconds
from muntin.slicing import hitters
from muntin.slicing.codings import Sketched
from muntin.slicing.runs_tree import run_store
from muntin.slicing.texts import coded
from muntin.slicing.values import Column

__all__ = ["AGGREGATES", "PANES", "Speed", "measure"]

AGGREGATES = {
    "heavy_hitters": mt.heavy_hitters("x", 0.02),
    "heavy_hitters, approx": mt.heavy_hitters("x", 0.02, approx=True),
    "approx_count_distinct": mt.approx_count_distinct("x"),
    "approx_quantile": mt.approx_quantile("x", 0.95),
}
PANES = (5, 20, 60)
"""Panes in a window; windows slide by one."""
_NEVER = 1 << 62


@dataclass(frozen=True)
class Speed:
    """Millions of tuples in a second."""

    without: float
    panes: float
    differential: float | None
    """None where nothing can be taken out of the aggregate."""


class _Work:
    """Tuples of a few hundred items, some of them frequent, so many in each pane."""

    def __init__(self, aggregate: mt.Aggregate, rows: int, per_pane: int, panes: int) -> None:
        rng = np.random.default_rng(1)
        self.bound = coded(aggregate.bind([pa.int64()]))
        plain = {"x": Column(pa.int64(), rng.zipf(1.3, rows) % 5_000, None)}
        self._values = Sketched([self.bound]).added(plain, plain)[self.bound.aggregate.columns[0]].values
        self._pane, self._panes = np.arange(rows) // per_pane, panes
        self._windows = rows // per_pane - panes + 1

    def with_panes(self, often: int) -> pa.Array:
        """Every tuple into its pane, windows from panes; from the window before where they share `often` panes."""
        store = run_store("auto", self.bound)
        store.add(self._pane, None, self._values, None)
        first = np.arange(self._windows)
        store.settle(int(self._pane[-1]) + 1)
        kept, hitters.OFTEN = hitters.OFTEN, often
        try:
            return store.answer(self.bound, np.zeros(self._windows, np.int64), first, first + self._panes)
        finally:
            hitters.OFTEN = kept

    def without(self) -> pa.Array:
        """Every tuple into every window; windows by the pane that they begin with."""
        store = run_store("auto", self.bound)
        for back in range(self._panes):
            window = self._pane - back
            inside = (window >= 0) & (window < self._windows)
            store.add(window[inside], None, self._values[inside], None)
        store.settle(self._windows)
        first = np.arange(self._windows)
        return store.answer(self.bound, np.zeros(self._windows, np.int64), first, first + 1)


def measure(name: str, panes: int, rows: int = 200_000, per_pane: int = 1_000, rounds: int = 3) -> Speed:
    """One row of the table; exact results must be the same each way.

    >>> measure("heavy_hitters", 5, rows=4_000, per_pane=100, rounds=1).panes > 0
    True
    """
    work = _Work(AGGREGATES[name], rows, per_pane, panes)
    ways: dict[str, Callable[[], pa.Array]] = {"without": work.without, "panes": lambda: work.with_panes(_NEVER)}
    if "heavy_hitters" in name:
        ways["differential"] = lambda: work.with_panes(0)
    found = [call() for call in ways.values()]  # compiles, too
    if "heavy_hitters, approx" not in name and not all(part.equals(found[0]) for part in found):
        raise AssertionError(f"{name}: windows with panes and without differ")
    took: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, call in ways.items():
            took[way].append(seconds(call))
    speed = {way: rows / statistics.median(times) / 1e6 for way, times in took.items()}
    return Speed(speed["without"], speed["panes"], speed.get("differential"))
