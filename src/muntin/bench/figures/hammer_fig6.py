"""Figure 6 of paper 4: the mean over windows of 1,024 values, by their slide (section 4.2)."""

from __future__ import annotations

from muntin.bench.figure import Figure, Panel, Run
from muntin.bench.figures.sliding import BY_SLIDE, VALUES_PER_SECOND, WINDOW, by_slide

__all__ = ["FIGURE"]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of("mean", name) for name in run.series("mean")}
    gaps = ", ".join(f"{name} {rates[WINDOW] / rates[1]:.1f}" for name, rates in found.items())
    ahead = found["blocks"][1] / found["two_stacks"][1]
    behind = [x for x in found["rescan"] if found["subtract_on_evict"][x] >= found["rescan"][x]]
    where = f"up to a slide of {max(behind):,}" if behind else "nowhere"
    return (
        f"How many times as fast a tumbling mean is as one with slide 1 here: {gaps}; with slide 1 blocks, which are "
        f"two stacks over vectors, take {ahead:.1f} times the values of two stacks value by value. Subtract-on-evict "
        f"is ahead of the rescan {where}, in the paper up to 64; here all of them aggregate the values of a slide with "
        "vectors first, so that they are one with the rescan where windows tumble."
    )


FIGURE = Figure(
    name="hammer-fig6",
    title="The mean over windows of 1,024 values by their slide",
    paper="paper 4, Figure 6",
    panels=(Panel("mean", BY_SLIDE, VALUES_PER_SECOND),),
    shown="In the paper plain two stacks are robust and nearly everywhere the slowest, plain subtract-on-evict is "
    "ahead of the non-incremental loop up to slides of 64, and the vectorised versions are up to 11 times as fast as "
    "the plain ones.",
    steps=lambda run: by_slide(run, "mean"),
    read=read,
)
