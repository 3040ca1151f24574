"""Figure 11 of paper 4: the mean over 64 seconds of a cluster's trace, by slide (section 4.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import muntin as mt
from muntin.bench.data import cluster_trace
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step
from muntin.bench.figures.sliding import FINALS, VALUES_PER_SECOND
from muntin.bench.measuring import seconds

__all__ = ["FIGURE"]

PANEL = "mean over 64 s"


def steps(run: Run) -> list[Step]:
    """Slides of 1 to 64 seconds."""
    table = cluster_trace(run.rows(2_000_000, 20_000_000), run.sources)
    times, values = table["ts"].cast("int64").to_numpy(), table["cpu"].to_numpy()

    def call(every: int, final: str) -> Callable[[], Any]:
        return lambda: mt.rolling(
            values, times=times, window="64 seconds", every=f"{every} seconds", agg=mt.mean, final=final
        )

    def measure(every: int) -> None:
        took = seconds({final: call(every, final) for final in FINALS["mean"]}, run.rounds)
        for final, one in took.items():
            run.add(PANEL, final, every, len(values) / one)

    slides = (1, 64) if run.scale < 1 else (1, 4, 16, 64) if run.quick else (1, 2, 4, 8, 16, 32, 64)
    return [step(f"slide {every} s", measure, every) for every in slides]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of(PANEL, name) for name in run.series(PANEL)}
    first, last = min(found["rescan"]), max(found["rescan"])
    best = {x: max(found, key=lambda name: found[name][x]) for x in (first, last)}
    ratio = {x: found[best[x]][x] / found["rescan"][x] for x in (first, last)}
    met = [x for x in found["rescan"] if found["rescan"][x] >= 0.95 * found["subtract_on_evict"][x]]
    where = f"from slides of {min(met)} s on" if met else "nowhere"
    return (
        f"Here the fastest is {best[first]} with a slide of {first} s, {ratio[first]:.1f} times the rescan, and "
        f"{best[last]} with {last} s, {ratio[last]:.1f} times; the rescan matches subtract-on-evict {where}, in the "
        "paper from 16 s on. Values of one slide are aggregated at once here before any of the algorithms, so that "
        "they differ in what they do with slides alone."
    )


FIGURE = Figure(
    name="hammer-fig11",
    title="The mean over 64 seconds of a cluster's trace by slide",
    paper="paper 4, Figure 11",
    panels=(Panel(PANEL, Axis("slide, s", log=True), VALUES_PER_SECOND),),
    shown="In the paper plain two stacks stay at 150 million tuples/s, the non-incremental algorithm matches "
    "subtract-on-evict from slides of 16 s on, and the optimised versions of both are ahead by 1.2 to 4.3 times.",
    steps=steps,
    read=read,
    full=True,
)
