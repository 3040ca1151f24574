"""Figure 4 of paper 5: memory, and the share of compressed windows, by D and rate (section 5)."""

from __future__ import annotations

from muntin.bench.figure import Axis, Figure, Run
from muntin.bench.figures.compressed import NONE, RATED, compressed, panels

__all__ = ["FIGURE"]

MEMORY, SHARE = "memory", "compressed windows"


def read(run: Run) -> str:
    """What we see."""
    half = RATED[1 / 2]
    state, share = run.of(MEMORY, half), run.of(SHARE, half)
    shown = "; ".join(
        f"D = {after}: {100 - share[after]:.0f} % open, {bytes_ / state[NONE]:.2f} of the memory"
        for after, bytes_ in state.items()
        if after != NONE
    )
    return (
        f"At half of the highest rate, beside {state[NONE] / 1e6:.1f} MB without compression, here {shown}. Columns "
        "are encoded before they are compressed, many vehicles in a chunk; in the paper each window is compressed by "
        "itself."
    )


FIGURE = Figure(
    name="compression-fig4",
    title="Memory and compressed windows by D",
    paper="paper 5, Figure 4",
    panels=panels({MEMORY: Axis("bytes of state"), SHARE: Axis("% of vehicles compressed")}),
    shown="In the paper D = 60 s at a medium rate takes the memory from 3 to 1 GB with about 40 % of all windows "
    "compressed.",
    steps=lambda run: compressed(
        run,
        {
            MEMORY: lambda outcome, none, rate: outcome.ended[rate].state,
            SHARE: lambda outcome, none, rate: 100 * outcome.ended[rate].share,
        },
    ),
    read=read,
)
