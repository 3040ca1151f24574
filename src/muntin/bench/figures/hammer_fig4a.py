"""Figure 4a of paper 4: the minimum with slide 1 by window size, integers below 64 (section 3.1)."""

from __future__ import annotations

import numpy as np

from muntin.bench.figure import Figure, Panel, Run, Step
from muntin.bench.figures.common import times
from muntin.bench.figures.sliding import BY_SIZE, SCANNING, VALUES_PER_SECOND, Given, slid

__all__ = ["FIGURE"]

PANEL = "min of integers below 64"
SERIES = ("two_stacks", SCANNING, "rescan")


def steps(run: Run) -> list[Step]:
    """Sizes from 8 to 2,097,152."""
    powers = (3, 6) if run.scale < 1 else (3, 7, 11, 15, 18, 21) if run.quick else range(3, 22)
    sizes = [2**k for k in powers]
    values = np.random.default_rng(run.seed).integers(0, 64, max(run.rows(4_000_000, 20_000_000), 2 * sizes[-1]))
    values = values.astype(np.int32)
    return slid(run, PANEL, "min", sizes, lambda size: Given(values, size, 1), "size", SERIES)


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of(PANEL, name) for name in SERIES}
    small, large = min(found["rescan"]), max(found["rescan"])
    flat = found["two_stacks"][large] / found["two_stacks"][small]
    fell = {name: found[name][small] / found[name][large] for name in (SCANNING, "rescan")}
    return (
        f"From windows of {small:,} to {large:,} values two stacks keep {flat:.2f} of their rate here, while "
        f"subtract-on-evict falls {times(fell[SCANNING])} and the rescan {times(fell['rescan'])}: one value in 64 is "
        "the minimum and sends the whole window through another scan when it leaves."
    )


FIGURE = Figure(
    name="hammer-fig4a",
    title="The minimum by window size, with few distinct values",
    paper="paper 4, Figure 4a",
    panels=(Panel(PANEL, BY_SIZE, VALUES_PER_SECOND),),
    shown="In the paper the window size hardly affects two stacks, while subtract-on-evict and the non-incremental "
    "algorithm degrade severely.",
    steps=steps,
    read=read,
    full=True,
)
