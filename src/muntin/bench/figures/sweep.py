"""The shape that most figures of paper 1 share: rows per second of several engines, at places along the x axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from muntin.bench.figure import Run, Step
from muntin.bench.figures.common import BATCH, counts
from muntin.bench.measuring import Made, batches_of, throughputs

__all__ = ["swept", "swept_by_windows"]

Table = Callable[[Any], pa.Table]
Engines = Callable[[Any], Mapping[str, Made]]


def swept(
    run: Run,
    panel: str,
    places: Iterable[Any],
    table: Table,
    made: Engines,
    budget: tuple[float, float] = (0.25, 2.0),
    told: str = "{}",
) -> list[Step]:
    """A step for each place: its table goes through its engines, in turns. A budget is seconds, quick and full.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    >>> run = Run(True, 1, 0.01)
    >>> rows = pa.table({"ts": [0, 1_000_000]})
    >>> [(what, call)] = swept(run, "p", [5], lambda x: rows, lambda x: {"a": spec.engine}, told="{} of them")
    >>> what, call(), run.series("p"), list(run.of("p", "a"))
    ('p, 5 of them', None, ['a'], [5])
    """

    def measure(x: Any) -> None:
        rates = throughputs(made(x), batches_of(table(x), BATCH), run.rounds, run.budget(*budget))
        for series, rate in rates.items():
            run.add(panel, series, x, rate)

    def step(x: Any) -> Step:
        shown = told.format(x if isinstance(x, str) else f"{x:,}")
        return f"{panel}, {shown}", lambda: measure(x)

    return [step(x) for x in places]


def swept_by_windows(
    run: Run, panel: str, table: Callable[[], pa.Table], made: Engines, budget: tuple[float, float] = (0.25, 2.0)
) -> list[Step]:
    """The same by how many windows there are at once, over one table; it is made when it is first needed."""
    kept: list[pa.Table] = []

    def once(_: Any) -> pa.Table:
        if not kept:
            kept.append(table())
        return kept[0]

    return swept(run, panel, counts(run), once, made, budget, "{} windows")
