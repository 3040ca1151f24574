"""Figure 15 of paper 1: the time to aggregate the tuples of a slice anew, as a split must (section 6.3.3)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step
from muntin.bench.measuring import seconds
from muntin.slicing.ranges import evaluate
from muntin.slicing.values import Column

__all__ = ["FIGURE"]

PANEL = "aggregates of one slice"
AGGREGATES = {"sum": mt.sum("value"), "median": mt.median("value")}


def steps(run: Run) -> list[Step]:
    """Slices of more and more tuples, with the functions that the engine calls after a split."""
    random = np.random.default_rng(run.seed)
    most = run.rows(1_000_000, 10_000_000)

    def measure(tuples: int) -> None:
        values = random.random(tuples)
        column, time = Column(pa.float64(), values, None), np.arange(tuples)
        lo, hi = np.zeros(1, np.int64), np.array([tuples])
        bounds = {name: aggregate.bind([pa.float64()]) for name, aggregate in AGGREGATES.items()}
        calls = {
            name: lambda bound=bound: evaluate(bound, [column], time, None, lo, hi, None)
            for name, bound in bounds.items()
        }
        for name, took in seconds(calls, 3 * run.rounds).items():
            run.add(PANEL, name, tuples, took * 1e6)

    sizes = [10**k for k in range(2, 9) if 10**k <= most]
    return [step(f"{size:,} tuples", measure, size) for size in sizes]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of(PANEL, name) for name in AGGREGATES}
    most = max(found["sum"])
    each = {name: 1_000 * took[most] / most for name, took in found.items()}
    least = min(found["sum"])
    return (
        f"Here it is linear as well once slices are large, {each['sum']:.2f} ns for each of {most:,} tuples for the "
        f"sum and {each['median']:.1f} ns for the median, which ranks and sorts them. Below some thousand tuples "
        f"a call from Python is all that is seen: {found['sum'][least]:.0f} µs for {least:,} tuples."
    )


FIGURE = Figure(
    name="fig15",
    title="Time to aggregate the tuples of a slice anew",
    paper="paper 1, Figure 15",
    panels=(Panel(PANEL, Axis("tuples in the slice", log=True), Axis("µs", log=True)),),
    shown="In the paper the time grows linearly with the tuples of the slice, for the median above that for the sum.",
    steps=steps,
    read=read,
)
