"""Figure 1 of paper 5: throughput and latency by D and by the rate of input (section 5)."""

from __future__ import annotations

from muntin.bench.figure import Axis, Figure, Run
from muntin.bench.figures.compressed import NONE, RATED, compressed, panels

__all__ = ["FIGURE"]


def read(run: Run) -> str:
    """What we see."""
    low, high = RATED[min(RATED)], RATED[max(RATED)]
    parts = []
    for after in run.of("throughput", high):
        if after == NONE:
            continue
        kept = {rate: run.of("throughput", rate)[after] / run.of("throughput", rate)[NONE] for rate in (low, high)}
        parts.append(f"D = {after}: {kept[low]:.2f} and {kept[high]:.2f}")
    waits = run.of("latency", RATED[1 / 2])
    slowest = max(waits, key=lambda after: waits[after])
    return (
        f"Of the throughput without compression there is left here at the lowest and at the highest rate: "
        f"{'; '.join(parts)}. At half of the highest rate a result waits {waits[NONE]:,.1f} ms without compression and "
        f"{waits[slowest]:,.1f} ms with D = {slowest}. Many keys share a chunk here, and columns are encoded before "
        "the codec; in the paper each window is compressed by itself."
    )


FIGURE = Figure(
    name="compression-fig1",
    title="Compressed windows: throughput and latency by D",
    paper="paper 5, Figure 1",
    panels=panels({"throughput": Axis("rows per second"), "latency": Axis("ms", log=True)}),
    shown="In the paper throughput falls and latency rises with smaller D, the more the higher the rate of input is.",
    steps=lambda run: compressed(
        run,
        {
            "throughput": lambda outcome, none, rate: outcome.taken[rate],
            "latency": lambda outcome, none, rate: max(1e3 * outcome.latency[rate], 1e-3),
        },
    ),
    read=read,
)
