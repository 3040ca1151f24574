"""Figure 13 of paper 3: multi-level slices by the size of windows, for several overlaps and lengths (section 6.3)."""

from __future__ import annotations

from muntin.bench import spans
from muntin.bench.figure import Figure, Run, Step
from muntin.bench.figures.spanned import SIZE, Given, panel, panels, spanned
from muntin.bench.figures.spans_fig11 import heights

__all__ = ["FIGURE"]

NAMES = {(n, overlap): f"events of {n:,}, {overlap} windows at once" for n in (500, 5_000) for overlap in (5, 50)}
HEIGHTS = (2, 7, 15)


def steps(run: Run) -> list[Step]:
    """Some heights, for each size, overlap and length."""
    rows = max(run.rows(60_000, 600_000), 5_000)
    sizes = (100, 10_000) if run.scale < 1 else (100, 1_000, 10_000) if run.quick else (100, 500, 1_000, 5_000, 10_000)

    def given(length: int, overlap: int) -> Given:
        table = spans.synthetic(length, rows, run.seed)
        return lambda size: (heights(spans.Cell(length, size, size // overlap), HEIGHTS), table)

    found = []
    for (length, overlap), name in NAMES.items():
        found += spanned(run, name, sizes, given(length, overlap), "windows of", ("throughput",))
    return found


def read(run: Run) -> str:
    """What we see."""
    parts = []
    for name in NAMES.values():
        found = {series: run.of(panel(name), series) for series in run.series(panel(name))}
        levels = [series for series in found if series.startswith("height")]
        ahead = [x for x in found["slicing"] if max(found[one][x] for one in levels) > found["slicing"][x]]
        gains = {(found[one][x] / rate, one, x) for one in levels for x, rate in found["slicing"].items()}
        gain, best, at = max(gains)
        where = (
            f"{len(ahead)} of {len(found['slicing'])} sizes, {best} with {gain:.1f} times at most (windows of {at:,})"
        )
        parts.append(f"{name}: {where}")
    return f"Where a height above 1 is ahead of single-level slices here, and by how much: {'; '.join(parts)}."


FIGURE = Figure(
    name="spans-fig13",
    title="Multi-level slices by the size of windows",
    paper="paper 3, Figure 13",
    panels=panels(NAMES.values(), SIZE, ("throughput",)),
    shown="In the paper, with events of 500 chronons, multi-level slices are behind single-level ones until 50 windows "
    "overlap; with events of 5,000 they are ahead with every height, 15 being the best, and ahead of sweeping too.",
    steps=steps,
    read=read,
)
