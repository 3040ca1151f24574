"""Figures 4a, 9 and 10 of paper 4: windows of growing size with slide 1, mean and minimum; beside other libraries."""

from __future__ import annotations

from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step, times
from muntin.bench.figures.sliding import AGGREGATES, VALUES_PER_SECOND, rates
from muntin.bench.rolling import values_of

__all__ = ["FIGURE"]


def steps(run: Run) -> list[Step]:
    """All algorithms and libraries, for each size."""
    sizes = [16, 256] if run.scale < 1 else [16, 256, 4_096, 32_768] if run.quick else [2**k for k in range(2, 16)]
    values = values_of("float64", max(run.rows(2_000_000, 20_000_000), 2 * sizes[-1]), run.seed)

    def measure(name: str, window: int) -> None:
        for series, rate in rates(name, values, window, 1, run.rounds, libraries=True).items():
            run.add(name, series, window, rate)

    return [step(f"{name}, size {size:,}", measure, name, size) for name in AGGREGATES for size in sizes]


def read(run: Run) -> str:
    """What we see."""
    small, large = min(run.of("min", "blocks")), max(run.of("min", "blocks"))
    kept = {name: run.of("min", name)[large] / run.of("min", name)[small] for name in run.series("min")}
    shown = ", ".join(f"{name} {share:.2f}" for name, share in kept.items())
    rescan = run.of("mean", "two_stacks")[large] / run.of("mean", "rescan")[large]
    libraries = [name for name in ("bottleneck", "pandas", "polars") if name in run.series("min")]
    best = max((run.of("min", name)[large] for name in libraries), default=float("nan"))
    ahead = run.of("min", "blocks")[large] / best
    return (
        f"From windows of {small:,} to {large:,} values a minimum keeps of its rate here: {shown}; the mean by two "
        f"stacks is {times(rescan)} as fast as a rescan with the largest. Blocks take {times(ahead)} the values of "
        f"the fastest other library there ({', '.join(libraries) or 'none is installed'})."
    )


FIGURE = Figure(
    name="hammer-fig9",
    title="Windows of growing size with slide 1",
    paper="paper 4, Figures 4a, 9 and 10",
    panels=tuple(Panel(name, Axis("window size, values", log=True), VALUES_PER_SECOND) for name in AGGREGATES),
    shown="In the paper two stacks hold about 110 million tuples/s for all sizes, subtract-on-evict 1.5 times less "
    "for the mean, and the non-incremental algorithm falls up to 300 times behind with windows of 32,768 values.",
    steps=steps,
    read=read,
)
