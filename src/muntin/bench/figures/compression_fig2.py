"""Figure 2 of paper 5: what compression costs in throughput and latency, beside none, by D and rate (section 5)."""

from __future__ import annotations

from muntin.bench.figure import Axis, Figure, Run
from muntin.bench.figures.compressed import RATED, compressed, panels

__all__ = ["FIGURE"]

THROUGHPUT, LATENCY = "throughput, beside none", "latency, beside none"


def read(run: Run) -> str:
    """What we see."""
    high = RATED[max(RATED)]
    shown = "; ".join(
        f"D = {after}: {kept:.2f} of the throughput, {run.of(LATENCY, high)[after]:.1f} times the latency"
        for after, kept in run.of(THROUGHPUT, high).items()
        if after in ("1 min", "15 s", "0")
    )
    half = RATED[1 / 2]
    more = run.of(LATENCY, half)
    return (
        f"At the highest rate, which is all that is sustained without compression, here {shown}; at half of it the "
        f"latency is {more['15 s']:.1f} times with D = 15 s. At the highest rate whatever costs any time makes batches "
        "wait for each other, so that latency says more about the length of the run than about D."
    )


FIGURE = Figure(
    name="compression-fig2",
    title="What compressed windows cost, by D",
    paper="paper 5, Figure 2",
    panels=panels({THROUGHPUT: Axis("ratio"), LATENCY: Axis("ratio", log=True)}),
    shown="In the paper D = 15 s at the highest rate costs 40 % of the throughput and 9 times the latency, and about "
    "15 % of the throughput with D = 60 s at a medium rate.",
    steps=lambda run: compressed(
        run,
        {
            THROUGHPUT: lambda outcome, none, rate: outcome.taken[rate] / none.taken[rate],
            LATENCY: lambda outcome, none, rate: max(outcome.latency[rate], 1e-6) / max(none.latency[rate], 1e-6),
        },
    ),
    read=read,
)
