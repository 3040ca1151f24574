"""Figure 14 of paper 1: throughput of the median, few and many distinct values (section 6.3.2)."""

from __future__ import annotations

import muntin as mt
from muntin.bench.data import football, machines
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import ROWS_PER_SECOND, concurrent, contenders, millions, times
from muntin.bench.figures.sweep import swept

__all__ = ["FIGURE"]

SERIES = ("slicing", "tuple buckets", "tuple buffer")
DATA = {"machines, 37 values": machines, "football, 84,232 values": football}
PANEL = "median, 20 concurrent windows, 20 % out of order"


def steps(run: Run) -> list[Step]:
    """Two data sets."""
    spec = concurrent(20, False, mt.median("value"), disorder=2.0)
    rows = run.rows(300_000, 2_000_000)
    return swept(
        run,
        PANEL,
        DATA,
        lambda name: DATA[name](rows, share=0.2, seed=run.seed),
        lambda _: contenders(spec, SERIES),
        (1.0, 4.0),
    )


def read(run: Run) -> str:
    """What we see."""
    few, many = DATA
    slicing, buffer = run.of(PANEL, "slicing"), run.of(PANEL, "tuple buffer")
    return (
        f"Here slicing takes {millions(slicing[few])} with few and {millions(slicing[many])} with many distinct "
        f"values, {times(slicing[few] / buffer[few])} and {times(slicing[many] / buffer[many])} what the tuple buffer "
        "takes. Both other techniques sort the same kept tuples for every window."
    )


FIGURE = Figure(
    name="fig14",
    title="Throughput of the median",
    paper="paper 1, Figure 14",
    panels=(Panel(PANEL, Axis("data"), ROWS_PER_SECOND, kind="bars"),),
    shown="In the paper slicing is ahead of buckets and the tuple buffer for the median, since values are sorted once "
    "in their slice and run-length encoded; few distinct values make it slightly faster.",
    steps=steps,
    read=read,
)
