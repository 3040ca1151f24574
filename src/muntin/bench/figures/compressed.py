"""The shape that the figures of paper 5 share: a series for each rate of input, by D. All come from one run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from muntin.bench.compression import AFTER, HOURS, RATES, Outcome, measure
from muntin.bench.figure import Axis, Panel, Run, Step

__all__ = ["NONE", "RATED", "compressed", "panels"]

D = Axis("D")
NONE = "none"
RATED = {rate: f"{100 * rate:g} % of the most" for rate in RATES}
"""The names of the rates: parts of what is sustained without compression."""
ASKED = tuple(name for name in AFTER if name != "off")


@functools.lru_cache(1)
def _measured(seconds: int, per_second: float, batch: int, seed: int) -> list[Outcome]:
    """One run for all figures: each of them shows another side of it."""
    return measure(seconds, per_second, batch, ASKED, seed)


def panels(axes: Mapping[str, Axis]) -> tuple[Panel, ...]:
    """Panels by D."""
    return tuple(Panel(name, D, axis, kind="bars") for name, axis in axes.items())


def compressed(run: Run, values: Mapping[str, Callable[[Outcome, Outcome, float], float]]) -> list[Step]:
    """One step: of each D and rate, for each panel a value of its outcome, beside that without compression."""

    def step() -> None:
        found = _measured(max(run.rows(5_400, HOURS), 300), 0.1 if run.quick else 0.5, 5, run.seed)
        none = found[0]
        for outcome in found:
            for rate, series in RATED.items():
                for panel, value in values.items():
                    run.add(panel, series, outcome.after, value(outcome, none, rate))

    return [("all D in turns", step)]
