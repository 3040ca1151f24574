"""Figure 8 of paper 1: throughput by concurrent windows, in order, context-free (section 6.2.1)."""

from __future__ import annotations

import muntin as mt
from muntin.bench.data import football
from muntin.bench.figure import Figure, Panel, Run, Step
from muntin.bench.figures.common import BATCH, ROWS_PER_SECOND, WINDOWS, by_windows, concurrent, contenders
from muntin.bench.figures.sweep import swept_by_windows

__all__ = ["FIGURE"]

SLICING = ("slicing", "eager slicing", "pairs", "cutty")
OTHERS = ("aggregate buckets", "tuple buffer", "aggregate tree")  # tuple buckets would take 3 GB for 1,000 windows
PANEL = "in order"


def steps(run: Run) -> list[Step]:
    """All techniques, for each number of windows."""
    return swept_by_windows(
        run,
        PANEL,
        lambda: football(run.rows(400_000, 4_000_000), seed=run.seed),
        lambda count: contenders(concurrent(count, False, mt.sum("value")), (*SLICING, *OTHERS)),
    )


def read(run: Run) -> str:
    """What we see."""
    return (
        f"{by_windows(run, PANEL, SLICING, OTHERS)}. A batch of {BATCH:,} rows goes into the tree at once, in the "
        "paper tuple by tuple; this may be why it is closer to the others here, which was not measured apart."
    )


FIGURE = Figure(
    name="fig8",
    title="Throughput by concurrent windows, in order",
    paper="paper 1, Figure 8",
    panels=(Panel(PANEL, WINDOWS, ROWS_PER_SECOND),),
    shown="The paper's slicing techniques process millions of tuples per second whatever the number of windows; "
    "buckets and the tuple buffer fall with it, and the aggregate tree is orders of magnitude slower throughout.",
    steps=steps,
    read=read,
)
