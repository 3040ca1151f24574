"""Figure 1 of paper 4: how much of the memory's bandwidth a mean over sliding windows uses (section 1)."""

from __future__ import annotations

import muntin as mt
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step, times
from muntin.bench.figures.sliding import BY_SLIDE, WINDOW, Given, rates
from muntin.bench.measuring import seconds
from muntin.bench.rolling import values_of

__all__ = ["FIGURE"]

PANEL = "mean, window 1,024"
READ = "one pass over all values"
NAMES = {"rescan": "non-incremental", "blocks": "blocks"}


def steps(run: Run) -> list[Step]:
    """Slides of 1 to 1,024, beside the mean of all values at once."""
    values = values_of("int32", max(run.rows(8_000_000, 40_000_000), 8 * WINDOW), run.seed)

    def measure(every: int) -> None:
        for name, rate in rates("mean", Given(values, WINDOW, every), run.rounds, tuple(NAMES)).items():
            run.add(PANEL, NAMES[name], every, 4 * rate / 1e9)
        took = seconds({READ: lambda: mt.rolling(values, window=len(values), agg=mt.mean)}, run.rounds)[READ]
        run.add(PANEL, READ, every, values.nbytes / took / 1e9)

    slides = (1, 8, 64, 1_024) if run.quick else [2**k for k in range(11)]
    return [step(f"slide {every:,}", measure, every) for every in slides]


def read(run: Run) -> str:
    """What we see."""
    loop, blocks, memory = (run.of(PANEL, name) for name in ("non-incremental", "blocks", READ))
    share = loop[WINDOW] / memory[WINDOW]
    return (
        f"Here a tumbling mean by the loop takes {loop[WINDOW]:.1f} GB/s, {share:.2f} of the mean of "
        f"all values in one pass, and with slide 1 it is {times(memory[1] / loop[1])} slower than that pass, while "
        f"blocks take {blocks[1]:.1f} GB/s. The paper's loop is scalar there, ours is compiled to vectors."
    )


FIGURE = Figure(
    name="hammer-fig1",
    title="The bandwidth that a mean uses, by slide",
    paper="paper 4, Figure 1",
    panels=(Panel(PANEL, BY_SLIDE, Axis("GB/s", log=True)),),
    shown="In the paper a non-incremental mean saturates about a fifth of a core's bandwidth where windows tumble, and "
    "with small slides is more than three orders of magnitude below it.",
    steps=steps,
    read=read,
    full=True,
)
