"""Figure 12 of paper 1: throughput by the share and by the delay of what is out of order (section 6.3.1)."""

from __future__ import annotations

import muntin as mt
from muntin.bench.data import football
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import BATCH, ROWS_PER_SECOND, concurrent, contenders, last, step
from muntin.bench.measuring import batches_of, throughputs

__all__ = ["FIGURE"]

SERIES = ("slicing", "eager slicing", "aggregate buckets", "tuple buffer", "aggregate tree")
SHARE, DELAY = "share", "delay"
WINDOWS = 20


def steps(run: Run) -> list[Step]:
    """20 concurrent windows and a session; the share at delays of up to 2 s, the delay at a share of 20 %."""

    def measure(panel: str, share: float, delay: float) -> None:
        made = football(run.rows(400_000, 4_000_000), share=share, delay=delay, seed=run.seed)
        spec = concurrent(WINDOWS, True, mt.sum("value"), disorder=delay)
        rates = throughputs(contenders(spec, SERIES), batches_of(made, BATCH), run.rounds, run.budget(0.2))
        for series, rate in rates.items():
            run.add(panel, series, 100 * share if panel == SHARE else delay, rate)

    few = run.quick
    shares = (0.0, 0.2, 0.6, 1.0) if few else (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    delays = (0.5, 2.0, 8.0) if few else (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    found = [step(f"{share:.0%} out of order", measure, SHARE, share, 2.0) for share in shares]
    return found + [step(f"delays up to {delay:g} s", measure, DELAY, 0.2, delay) for delay in delays]


def read(run: Run) -> str:
    """What we see."""

    def kept(panel: str, name: str) -> str:
        found = run.of(panel, name)
        return f"{name} {last(found) / next(iter(found.values())):.2f}"

    share = ", ".join(kept(SHARE, name) for name in SERIES)
    delay = ", ".join(kept(DELAY, name) for name in SERIES)
    return (
        f"Of their rates without disorder, with all tuples out of order there is left here: {share}; from the "
        f"shortest to the longest delay: {delay}. Slicing folds stretches of tuples in order in registers, which it "
        "cannot out of order; what this changes was not measured apart."
    )


FIGURE = Figure(
    name="fig12",
    title="Throughput by the share and by the delay of tuples out of order",
    paper="paper 1, Figure 12",
    panels=(
        Panel(SHARE, Axis("tuples out of order, %"), ROWS_PER_SECOND),
        Panel(DELAY, Axis("delays up to, s", log=True), ROWS_PER_SECOND),
    ),
    shown="In the paper slicing and buckets take tuples out of order as fast as those in order, whatever their delay; "
    "the tuple buffer and the aggregate tree fall with the share, the buffer with the delay as well.",
    steps=steps,
    read=read,
)
