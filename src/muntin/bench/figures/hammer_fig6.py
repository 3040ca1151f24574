"""Figures 1, 6 and 7 of paper 4: windows of 1,024 values with slides of 1 to 1,024, mean and minimum."""

from __future__ import annotations

from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step
from muntin.bench.figures.sliding import AGGREGATES, VALUES_PER_SECOND, rates
from muntin.bench.rolling import values_of

__all__ = ["FIGURE"]

WINDOW = 1_024


def steps(run: Run) -> list[Step]:
    """All algorithms, for each slide."""
    values = values_of("int32", max(run.rows(4_000_000, 40_000_000), 8 * WINDOW), run.seed)

    def measure(name: str, every: int) -> None:
        for series, rate in rates(name, values, WINDOW, every, run.rounds).items():
            run.add(name, series, every, rate)

    slides = (1, 8, 64, 1_024) if run.quick else (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
    return [step(f"{name}, slide {every:,}", measure, name, every) for name in AGGREGATES for every in slides]


def read(run: Run) -> str:
    """What we see."""

    def gap(series: str) -> str:
        found = run.of("min", series)
        return f"{series} {found[WINDOW] / found[1]:.1f}"

    names = run.series("min")
    ahead = run.of("min", "blocks")[1] / run.of("min", "two_stacks")[1]
    return (
        "How many times as fast a tumbling minimum is as one with slide 1 here: "
        f"{', '.join(gap(name) for name in names)}. With slide 1 blocks, which are two stacks over all values at "
        f"once, take {ahead:.1f} times the values of two stacks value by value; Python calls one compiled loop for "
        "the whole array, so nothing else is in these numbers."
    )


FIGURE = Figure(
    name="hammer-fig6",
    title="Windows of 1,024 values by their slide",
    paper="paper 4, Figures 1, 6 and 7",
    panels=tuple(Panel(name, Axis("slide, values", log=True), VALUES_PER_SECOND) for name in AGGREGATES),
    shown="In the paper a non-incremental loop is fast for tumbling windows and hundreds of times slower with slide "
    "1, while the optimised two stacks stay close to it over all slides.",
    steps=steps,
    read=read,
)
