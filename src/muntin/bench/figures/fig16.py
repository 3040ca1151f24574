"""Figure 16 of paper 1: windows in time against windows in rows, by concurrent windows (section 6.3.4)."""

from __future__ import annotations

import numpy as np

import muntin as mt
from muntin.bench.data import football
from muntin.bench.engine import tumbling
from muntin.bench.figure import Figure, Panel, Run, Step
from muntin.bench.figures.common import ROWS_PER_SECOND, WINDOWS, fell, last, times
from muntin.bench.figures.sweep import swept_by_windows
from muntin.bench.measuring import Made

__all__ = ["FIGURE"]

PANEL = "20 % out of order"
TIME, ROWS, BUFFER = "slicing, time", "slicing, rows", "tuple buffer, rows"


def in_rows(count: int, spec: mt.Spec) -> mt.Spec:
    """Concurrent windows in rows, as long as those in time: 10,000 rows are a second."""
    for i, size in enumerate(np.linspace(10_000, 200_000, count) if count > 1 else [10_000]):
        spec = spec.window(f"r{i}", mt.tumbling(f"{round(size)} rows"), result=mt.sum("value"))
    return spec


def steps(run: Run) -> list[Step]:
    """Both measures, for each number of windows."""
    over = mt.over("ts", disorder="2 seconds")

    def engines(count: int) -> dict[str, Made]:
        time, rows = tumbling(count, over, result=mt.sum("value")), in_rows(count, over)
        return {TIME: time.engine, ROWS: rows.engine, BUFFER: lambda: rows.engine(engine="tuple_buffer")}

    rows = run.rows(400_000, 2_000_000)
    return swept_by_windows(run, PANEL, lambda: football(rows, share=0.2, seed=run.seed), engines, (0.5, 2.0))


def read(run: Run) -> str:
    """What we see."""
    ahead = last(run.of(PANEL, ROWS)) / last(run.of(PANEL, BUFFER))
    ends = ", ".join(fell(run, PANEL, series) for series in (TIME, ROWS, BUFFER))
    return (
        f"From 1 to {max(run.of(PANEL, TIME)):,} windows we see {ends}. With the most windows slicing in rows is "
        f"{times(ahead)} as fast as the tuple buffer; both put the late tuples of a batch into place at once, in the "
        "paper each of them shifts a tuple through all slices after it. The buffer holds its tuples once for every "
        "64 queries, which costs it some of its rate with the most windows."
    )


FIGURE = Figure(
    name="fig16",
    title="Windows in time against windows in rows",
    paper="paper 1, Figure 16",
    panels=(Panel(PANEL, WINDOWS, ROWS_PER_SECOND),),
    shown="In the paper windows in time are independent of their number, windows in rows constant up to 40 and then "
    "falling linearly, at 1,000 still an order of magnitude faster than the tuple buffer.",
    steps=steps,
    read=read,
)
