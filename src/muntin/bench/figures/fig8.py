"""Figure 8 of paper 1: throughput by concurrent windows, in order, context-free (section 6.2.1)."""

from __future__ import annotations

import muntin as mt
from muntin.bench.data import football
from muntin.bench.figure import Figure, Panel, Run, Step
from muntin.bench.figures.common import (
    BATCH,
    ROWS_PER_SECOND,
    WINDOWS,
    best,
    concurrent,
    contenders,
    counts,
    fell,
    last,
    step,
    times,
)
from muntin.bench.measuring import batches_of, throughputs

__all__ = ["FIGURE"]

SLICING = ("slicing", "eager slicing", "pairs", "cutty")
OTHERS = ("aggregate buckets", "tuple buffer", "aggregate tree")  # tuple buckets would take 3 GB for 1,000 windows
PANEL = "in order"


def steps(run: Run) -> list[Step]:
    """All techniques, for each number of windows."""
    batches = batches_of(football(run.rows(400_000, 4_000_000), seed=run.seed), BATCH)

    def measure(count: int) -> None:
        spec = concurrent(count, False, mt.sum("value"))
        for name, rate in throughputs(contenders(spec, (*SLICING, *OTHERS)), batches, run.rounds, run.budget()).items():
            run.add(PANEL, name, count, rate)

    return [step(f"{count:,} windows", measure, count) for count in counts(run)]


def read(run: Run) -> str:
    """What we see."""
    most = max(run.of(PANEL, "slicing"))
    name, rate = best(run, PANEL, OTHERS, last)
    ahead = last(run.of(PANEL, "slicing")) / rate
    ends = ", ".join(fell(run, PANEL, series) for series in (*SLICING, *OTHERS))
    return (
        f"From 1 to {most:,} windows we see {ends}; with {most:,} windows slicing is {times(ahead)} as fast as the "
        f"best technique that does not slice ({name}). A batch of {BATCH:,} rows goes into the tree at once, in the "
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
