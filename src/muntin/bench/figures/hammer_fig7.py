"""Figure 7 of paper 4: the minimum over windows of 1,024 values, by their slide (section 4.2)."""

from __future__ import annotations

from muntin.bench.figure import Figure, Panel, Run
from muntin.bench.figures.sliding import BY_SLIDE, VALUES_PER_SECOND, WINDOW, by_slide

__all__ = ["FIGURE"]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of("min", name) for name in run.series("min")}
    plain = [name for name in found if name != "blocks"]
    ratios = {x: rate / max(found[name][x] for name in plain) for x, rate in found["blocks"].items()}
    some = {x: ratio for x, ratio in ratios.items() if x < WINDOW // 2}
    low, high = min(some, key=lambda x: some[x]), max(some, key=lambda x: some[x])
    return (
        f"Here blocks take {some[low]:.2f} (slide {low:,}) to {some[high]:.2f} (slide {high:,}) times the values of "
        f"the best other algorithm for slides below half of the window, and {ratios[WINDOW]:.2f} where windows tumble; "
        f"a rescan with slide 1 takes {found['rescan'][WINDOW] / found['rescan'][1]:,.0f} times as long as a tumbling "
        "one. One compiled loop goes over the whole array, so nothing else is in these numbers."
    )


FIGURE = Figure(
    name="hammer-fig7",
    title="The minimum over windows of 1,024 values by their slide",
    paper="paper 4, Figure 7",
    panels=(Panel("min", BY_SLIDE, VALUES_PER_SECOND),),
    shown="In the paper vectorised two stacks are ahead of all others by almost 80 % for slides below half of the "
    "window and never more than 10 % behind the best.",
    steps=lambda run: by_slide(run, "min"),
    read=read,
)
