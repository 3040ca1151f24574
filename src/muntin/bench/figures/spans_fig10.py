"""Figure 10 of paper 3: events with a duration, by their length, for windows of several sizes (section 6.2)."""

from __future__ import annotations

from muntin.bench import spans
from muntin.bench.figure import Figure, Run, Step
from muntin.bench.figures.spanned import LENGTH, Given, lengths, panel, panels, spanned

__all__ = ["FIGURE"]

SIZES = (1_000, 10_000)
NAMES = {size: f"windows of {size:,}" for size in SIZES}


def steps(run: Run) -> list[Step]:
    """All techniques, for each length and size; a step is a fifth of a window."""
    rows = max(run.rows(200_000, 2_000_000), 5_000)

    def given(size: int) -> Given:
        return lambda n: (spans.beside(spans.Cell(n, size, size // 5)), spans.synthetic(n, rows, run.seed))

    return [one for size, name in NAMES.items() for one in spanned(run, name, lengths(run), given(size), "events of")]


def read(run: Run) -> str:
    """What we see."""
    parts = []
    for name in NAMES.values():
        rates, held = panel(name), panel(name, "memory")
        found = {series: run.of(rates, series) for series in run.series(rates)}
        short, long = min(found["slicing"]), max(found["slicing"])
        others = [series for series in found if "slicing" not in series]
        shown = ", ".join(f"{one} {found['slicing, auto'][long] / found[one][long]:.1f}" for one in others)
        bytes_ = ", ".join(
            f"{one} {run.of(held, one)[long] / run.of(held, 'slicing, auto')[long]:.2g}" for one in others
        )
        parts.append(
            f"with {name} chronons single-level slicing keeps {found['slicing'][long] / found['slicing'][short]:.2f} "
            f"of its rate from events of {short:,} to {long:,}; slicing as it chooses takes so many times the events "
            f"of others there: {shown}, which hold so many times its bytes: {bytes_}"
        )
    return f"Here, {'; '.join(parts)}."


FIGURE = Figure(
    name="spans-fig10",
    title="Events with a duration, by their length",
    paper="paper 3, Figure 10",
    panels=panels(NAMES.values(), LENGTH),
    shown="In the paper longer events lower the throughput of all techniques but sweeping, which is constant; slicing "
    "is ahead of buckets and sweeping for all windows, the more the shorter events are, takes slightly less CPU, and "
    "as much memory as aggregate buckets, while tuple buckets and sweeping take more.",
    steps=steps,
    read=read,
)
