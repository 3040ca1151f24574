"""The shape that the figures of paper 3 share: throughput, CPU and memory of several techniques, along an x axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa

from muntin.bench import spans
from muntin.bench.figure import Axis, Panel, Run, Step

__all__ = ["LENGTH", "SERIES", "SIZE", "Given", "lengths", "panel", "panels", "spanned"]

LENGTH, SIZE = Axis("mean length of events, chronons", log=True), Axis("size of windows, chronons", log=True)
Given = Callable[[int], tuple[spans.Contenders, pa.Table]]
"""What is compared at a place along the x axis, and over which events."""
MEASURES = {
    "throughput": Axis("events per second", log=True),
    "CPU": Axis("CPU, s for a million events", log=True),
    "memory": Axis("most bytes of state", log=True),
}
SERIES = {
    "auto": "slicing, auto",
    "single": "slicing",
    "tuple_buckets": "tuple buckets",
    "aggregate_buckets": "aggregate buckets",
    "sweeping": "sweeping",
}


def panel(name: str, measure: str = "throughput") -> str:
    """The name of a panel.

    >>> panel("windows of 100", "CPU")
    'CPU, windows of 100'
    """
    return f"{measure}, {name}"


def panels(names: Iterable[str], x: Axis, measures: Sequence[str] = tuple(MEASURES)) -> tuple[Panel, ...]:
    """The panels of some names: all that is measured of one in a row."""
    return tuple(Panel(panel(name, measure), x, MEASURES[measure]) for name in names for measure in measures)


def lengths(run: Run) -> Sequence[int]:
    """Mean lengths of events."""
    return (50, 500, 5_000) if run.quick else (10, 50, 100, 500, 1_000, 5_000)


def spanned(
    run: Run,
    name: str,
    places: Iterable[int],
    given: Given,
    told: str,
    measures: Sequence[str] = tuple(MEASURES),
    size: int = spans.BATCH,
) -> list[Step]:
    """A step for each place along the x axis: its contenders take turns over its events."""

    def measure(x: int) -> None:
        contenders, table = given(x)
        for series, took in spans.profiled(contenders, table, run.rounds, run.budget(0.5, 3.0), size).items():
            for what, y in zip(MEASURES, (took.rate, took.cpu, took.state), strict=True):
                if what in measures:
                    run.add(panel(name, what), SERIES.get(series, series), x, y)

    def step(x: int) -> Step:
        return f"{name}, {told} {x:,}", lambda: measure(x)

    return [step(x) for x in places]
