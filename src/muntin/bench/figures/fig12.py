"""Figure 12 of paper 1: throughput by the share and by the delay of what is out of order (section 6.3.1)."""

from __future__ import annotations

import pyarrow as pa

import muntin as mt
from muntin.bench.data import football
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import BATCH, ROWS_PER_SECOND, concurrent, contenders, last
from muntin.bench.figures.sweep import swept
from muntin.bench.measuring import Made, batches_of

__all__ = ["FIGURE"]

SERIES = ("slicing", "eager slicing", "aggregate buckets", "tuple buffer", "aggregate tree")
SHARE, DELAY, SORTED = "share", "delay", "share, each batch sorted before"
WINDOWS = 20


def sorted_in_batches(table: pa.Table) -> pa.Table:
    """The same tuples as late from batch to batch, and in order within each."""
    return pa.concat_tables([batch.sort_by("ts") for batch in batches_of(table, BATCH)])


def steps(run: Run) -> list[Step]:
    """20 concurrent windows and a session; the share at delays of up to 2 s, the delay at a share of 20 %."""

    def late(share: float, delay: float) -> pa.Table:
        return football(run.rows(400_000, 4_000_000), share=share, delay=delay, seed=run.seed)

    def made(delay: float) -> dict[str, Made]:
        return contenders(concurrent(WINDOWS, True, mt.sum("value"), disorder=delay), SERIES)

    shares = (0, 20, 60, 100) if run.quick else (0, 10, 20, 40, 60, 80, 100)
    delays = (0.5, 2.0, 8.0) if run.quick else (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    by_share = swept(
        run, SHARE, shares, lambda x: late(x / 100, 2.0), lambda _: made(2.0), (0.2, 2.0), "{} % out of order"
    )
    by_share += swept(
        run,
        SORTED,
        shares,
        lambda x: sorted_in_batches(late(x / 100, 2.0)),
        lambda _: contenders(concurrent(WINDOWS, True, mt.sum("value"), disorder=2.0), ["slicing"]),
        (0.2, 2.0),
        "{} % out of order, batches sorted",
    )
    return by_share + swept(run, DELAY, delays, lambda x: late(0.2, x), made, (0.2, 2.0), "up to {} s")


def read(run: Run) -> str:
    """What we see."""

    def kept(panel: str, name: str) -> str:
        found = run.of(panel, name)
        return f"{name} {last(found) / next(iter(found.values())):.2f}"

    share = ", ".join(kept(SHARE, name) for name in SERIES)
    delay = ", ".join(kept(DELAY, name) for name in SERIES)
    return (
        f"Of their rates without disorder, with all tuples out of order there is left here: {share}; from the "
        f"shortest to the longest delay: {delay}. Slicing folds stretches of tuples of one slice in registers, which "
        "it cannot out of order: where the tuples of a batch are sorted beforehand, and are late from batch to batch "
        f"only, there is left: {kept(SORTED, 'slicing')}."
    )


FIGURE = Figure(
    name="fig12",
    title="Throughput by the share and by the delay of tuples out of order",
    paper="paper 1, Figure 12",
    panels=(
        Panel(SHARE, Axis("tuples out of order, %"), ROWS_PER_SECOND),
        Panel(SORTED, Axis("tuples out of order, %"), ROWS_PER_SECOND),
        Panel(DELAY, Axis("delays up to, s", log=True), ROWS_PER_SECOND),
    ),
    shown="In the paper slicing and buckets take tuples out of order as fast as those in order, whatever their delay; "
    "the tuple buffer and the aggregate tree fall with the share, the buffer with the delay as well.",
    steps=steps,
    read=read,
)
