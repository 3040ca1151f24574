"""Figure 10 of paper 4: the minimum with slide 1, by window size (section 4.4)."""

from __future__ import annotations

from muntin.bench.figure import Figure, Panel, Run
from muntin.bench.figures.common import times
from muntin.bench.figures.sliding import BY_SIZE, VALUES_PER_SECOND, by_size

__all__ = ["FIGURE"]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of("min", name) for name in run.series("min")}
    small, large = min(found["blocks"]), max(found["blocks"])
    kept = ", ".join(f"{name} {rates[large] / rates[small]:.2g}" for name, rates in found.items())
    libraries = [name for name in ("bottleneck", "pandas", "polars") if name in found]
    best = max((found[name][large] for name in libraries), default=float("nan"))
    return (
        f"From windows of {small:,} to {large:,} values the minimum keeps of its rate here: {kept}. With the largest "
        f"blocks take {times(found['blocks'][large] / best)} the values of the fastest other library "
        f"({', '.join(libraries) or 'none is installed'}), and two stacks {times(found['two_stacks'][large] / best)}."
    )


FIGURE = Figure(
    name="hammer-fig10",
    title="The minimum over windows of growing size with slide 1",
    paper="paper 4, Figure 10",
    panels=(Panel("min", BY_SIZE, VALUES_PER_SECOND),),
    shown="In the paper two stacks hold about 110 million tuples/s for all sizes, while all other algorithms fall with "
    "them, up to 100 times; vectorised subtract-on-evict is 2 times slower below 4,096 values.",
    steps=lambda run: by_size(run, "min"),
    read=read,
)
