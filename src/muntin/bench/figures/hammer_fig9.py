"""Figure 9 of paper 4: the mean with slide 1, by window size (section 4.4)."""

from __future__ import annotations

from muntin.bench.figure import Figure, Panel, Run
from muntin.bench.figures.common import times
from muntin.bench.figures.sliding import BY_SIZE, VALUES_PER_SECOND, by_size

__all__ = ["FIGURE"]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of("mean", name) for name in run.series("mean")}
    small, large = min(found["blocks"]), max(found["blocks"])
    kept = ", ".join(f"{name} {rates[large] / rates[small]:.2g}" for name, rates in found.items())
    rescan = found["two_stacks"][large] / found["rescan"][large]
    soe = found["two_stacks"][large] / found["subtract_on_evict"][large]
    return (
        f"From windows of {small:,} to {large:,} values the mean keeps of its rate here: {kept}; with the largest two "
        f"stacks are {times(rescan)} as fast as a rescan and {soe:.2f} times as fast as subtract-on-evict, which "
        "starts afresh now and then here so that no rounding is left behind in floats."
    )


FIGURE = Figure(
    name="hammer-fig9",
    title="The mean over windows of growing size with slide 1",
    paper="paper 4, Figure 9",
    panels=(Panel("mean", BY_SIZE, VALUES_PER_SECOND),),
    shown="In the paper two stacks hold about 110 million tuples/s for all sizes, 1.5 times what subtract-on-evict "
    "does, and the non-incremental algorithm falls up to 300 times behind with windows of 32,768 values.",
    steps=lambda run: by_size(run, "mean"),
    read=read,
)
