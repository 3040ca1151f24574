"""The papers' figures, a file each; `FIGURES` names them, and each is imported when it is asked for."""

from __future__ import annotations

import importlib

from muntin.bench.figure import Figure
from muntin.errors import SpecError, nearest

__all__ = ["FIGURES", "TABLES", "figure"]

FIGURES: dict[str, str] = {
    "fig8": "throughput by concurrent windows, in order",
    "fig9": "throughput by concurrent windows, with a session and 20 % out of order",
    "fig10": "bytes of state by slices and by tuples, windows in time and in rows",
    "fig11": "latency of a result by entries, sum and median",
    "fig12": "throughput by share and by delay of what is out of order",
    "fig13": "throughput per aggregate, windows in time and in rows",
    "fig14": "throughput of the median, few and many distinct values",
    "fig15": "time to aggregate the events of a slice anew",
    "fig16": "windows in time against windows in rows, by concurrent windows",
    "fig17": "the dashboard workload (M4, 80 windows) by threads",
    "panes-fig3": "a sliding maximum with panes and without",
    "spans-fig10": "events with a duration: throughput by their length, beside buckets and sweeping",
    "spans-fig11": "events with a duration: multi-level slices of several heights",
    "hammer-fig6": "the kernels of paper 4 by slide, mean and minimum",
    "hammer-fig9": "the kernels of paper 4 by window size, beside bottleneck, pandas and polars",
    "compression-fig1": "compressed windows: throughput, latency and memory by D",
}
"""The figures by name, and what they show."""

TABLES: dict[str, str] = {
    "engine": "workloads beside a floor that is measured in the same run",
    "store": "the lazy and the eager store: one window over many slices",
    "splits": "windows over kept events with cached slices and without",
    "rolling": "mt.rolling beside bottleneck, pandas, polars and numbagg",
    "spans": "events with a duration: slicing beside what paper 3 compares with",
    "compression": "paper 5: bytes and throughput by D",
}
"""Benchmarks that print a table, as `python -m muntin.bench NAME` does."""


def figure(name: str) -> Figure:
    """A figure by name.

    >>> figure("fig8").paper
    'paper 1, Figure 8'
    """
    if name not in FIGURES:
        raise SpecError(f"no benchmark is called {name!r}. {nearest(name, [*FIGURES, *TABLES])}")
    made: Figure = importlib.import_module(f"muntin.bench.figures.{name.replace('-', '_')}").FIGURE
    return made
