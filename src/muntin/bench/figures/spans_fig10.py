"""Figures 10 and 12 of paper 3: events with a duration, throughput by their length, for windows of several sizes."""

from __future__ import annotations

from muntin.bench import spans
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step

__all__ = ["FIGURE"]

SIZES = (1_000, 10_000)
SERIES = {
    "auto": "slicing, auto",
    "single": "slicing",
    "tuple_buckets": "tuple buckets",
    "aggregate_buckets": "aggregate buckets",
    "sweeping": "sweeping",
}


def steps(run: Run) -> list[Step]:
    """All techniques, for each length and size; a step is a fifth of a window."""

    def measure(size: int, length: int) -> None:
        table = spans.synthetic(length, max(run.rows(200_000, 2_000_000), 20_000), run.seed)
        for name, rate in spans.techniques(spans.Cell(length, size, size // 5), table, run.rounds).items():
            run.add(f"windows of {size:,}", SERIES[name], length, rate)

    lengths = (50, 500, 5_000) if run.quick else (10, 50, 100, 500, 1_000, 5_000)
    return [step(f"windows of {size:,}, events of {n:,}", measure, size, n) for size in SIZES for n in lengths]


def read(run: Run) -> str:
    """What we see."""
    parts = []
    for size in SIZES:
        panel = f"windows of {size:,}"
        found = {name: run.of(panel, name) for name in run.series(panel)}
        short, long = min(found["slicing"]), max(found["slicing"])
        others = {name: found["slicing, auto"][long] / found[name][long] for name in found if "slicing" not in name}
        shown = ", ".join(f"{name} {ratio:.1f}" for name, ratio in others.items())
        kept = found["slicing"][long] / found["slicing"][short]
        parts.append(
            f"with {panel} chronons single-level slicing keeps {kept:.2f} of its rate from events of {short:,} to "
            f"{long:,}, and slicing as it chooses takes so many times the events of others there: {shown}"
        )
    return f"Here, {'; '.join(parts)}."


FIGURE = Figure(
    name="spans-fig10",
    title="Events with a duration, by their length",
    paper="paper 3, Figures 10 and 12",
    panels=tuple(
        Panel(
            f"windows of {size:,}",
            Axis("mean length of events, chronons", log=True),
            Axis("events per second", log=True),
        )
        for size in SIZES
    ),
    shown="In the paper longer events lower the throughput of all techniques but sweeping, which is constant; slicing "
    "is ahead of buckets and sweeping for all windows, the more the shorter events are.",
    steps=steps,
    read=read,
)
