"""The papers' figures, a file each; `FIGURES` names them, and each is imported when it is asked for."""

from __future__ import annotations

import importlib

from muntin.bench.figure import Figure
from muntin.errors import SpecError, nearest

__all__ = ["COUNTERS", "FIGURES", "MISSING", "ON_SPARK", "TABLES", "figure"]

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
    "fig17": "the dashboard workload (M4, 80 windows) by processes, each with keys of its own",
    "fig17-spark": "the dashboard workload on Spark, by cores, beside Spark's own operators",
    "panes-fig3": "a sliding maximum with panes and without",
    "spans-fig10": "events with a duration: throughput by their length, beside buckets and sweeping",
    "spans-fig11": "events with a duration: multi-level slices of several heights",
    "spans-fig12": "events with a duration: throughput by the size of windows, for several overlaps and lengths",
    "spans-fig13": "events with a duration: multi-level slices by the size of windows",
    "spans-fig14": "calls and flights by the size of windows: throughput, CPU, memory",
    "spans-fig15": "which technique is the fastest, by the length of events and the overlap of windows",
    "hammer-fig1": "how much of the memory's bandwidth a sliding mean uses, by slide",
    "hammer-fig4a": "the minimum by window size, few distinct values, up to 2,097,152 values",
    "hammer-fig6": "the kernels of paper 4 by slide: mean",
    "hammer-fig7": "the kernels of paper 4 by slide: minimum",
    "hammer-fig8": "the minimum by how often it leaves the window",
    "hammer-fig9": "the kernels of paper 4 by window size, beside bottleneck, pandas and polars: mean",
    "hammer-fig10": "the same for the minimum",
    "hammer-fig11": "windows of 64 s over a cluster's trace, by slide",
    "hammer-ablation": "what each of the four optimisations of paper 4 brings",
    "compression-fig1": "compressed windows: throughput and latency by D and by the rate of input",
    "compression-fig2": "the same, beside no compression",
    "compression-fig3": "how often windows are compressed and opened again, by D and rate",
    "compression-fig4": "memory and the share of compressed windows, by D and rate",
    "systems": "the same questions to pandas, polars, DuckDB, bottleneck and Spark, in one run",
}
"""The figures by name, and what they show."""

ON_SPARK = ("fig17-spark", "systems")
"""Those that start Spark: measured last, since its Java stays until the end."""

MISSING: dict[str, str] = {
    "hammer-fig4b": "cycles by component of the processor (paper 4, Figure 4b)",
    "hammer-fig12": "the same for tumbling windows (paper 4, Figure 12)",
}
COUNTERS = (
    "Muntin does not read them, and virtual machines mostly have none; where they are, `perf stat` reads them, run "
    "around `python -m muntin.bench rolling`."
)
"""Figures that are read off hardware counters, which no public API of Python reads: they are not measured."""

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
    if name in MISSING:
        raise SpecError(f"{name} shows {MISSING[name]}: it needs the processor's hardware counters. {COUNTERS}")
    if name not in FIGURES:
        raise SpecError(f"no benchmark is called {name!r}. {nearest(name, [*FIGURES, *TABLES])}")
    made: Figure = importlib.import_module(f"muntin.bench.figures.{name.replace('-', '_')}").FIGURE
    return made
