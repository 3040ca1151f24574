"""Figure 12 of paper 3: single-level slices by the size of windows, for several overlaps and lengths (section 6.3)."""

from __future__ import annotations

from muntin.bench import spans
from muntin.bench.figure import Figure, Run, Step
from muntin.bench.figures.common import times
from muntin.bench.figures.spanned import SIZE, Given, panel, panels, spanned

__all__ = ["FIGURE"]

OVERLAPS = (5, 50, 500)
UNEVEN = (5.5, 50.5)
"""Windows that are no multiple of their step, so that a step has two slices."""
NAMES = {
    (n, overlap): f"events of {n:,}, {overlap} windows at once"
    for n in (500, 5_000)
    for overlap in (*OVERLAPS, *UNEVEN)
}


def contenders(cell: spans.Cell) -> spans.Contenders:
    """Slices, of one level and as chosen, and the baselines."""
    made = spans.beside(cell)
    if cell.size > 50 * cell.step:
        del made["tuple_buckets"]  # some GB: each event is kept 500 times
    return made


def steps(run: Run) -> list[Step]:
    """All techniques, for each size, overlap and length."""
    rows = max(run.rows(60_000, 600_000), 5_000)
    sizes = (1_000,) if run.scale < 1 else (1_000, 50_000) if run.quick else (500, 1_000, 5_000, 10_000, 50_000)

    def given(length: int, overlap: float) -> Given:
        table = spans.synthetic(length, rows, run.seed)
        return lambda size: (contenders(spans.Cell(length, size, int(size / overlap))), table)

    found = []
    for (length, overlap), name in NAMES.items():
        found += spanned(run, name, sizes, given(length, overlap), "windows of", ("throughput",), 8_192)
    return found


def read(run: Run) -> str:
    """What we see."""
    rates = {cell: {one: run.of(panel(name), one) for one in run.series(panel(name))} for cell, name in NAMES.items()}
    parts = []
    for cell, found in rates.items():
        small, large = min(found["slicing"]), max(found["slicing"])
        ratios = ", ".join(
            f"{one} {' and '.join(times(found['slicing, auto'][x] / found[one][x]) for x in (small, large))}"
            for one in ("slicing", "aggregate buckets", "sweeping")
        )
        parts.append(f"{NAMES[cell]}: {ratios}")
    uneven = [
        rates[length, overlap]["slicing"][x] / rates[length, int(overlap)]["slicing"][x]
        for length, overlap in rates
        if overlap in UNEVEN
        for x in rates[length, overlap]["slicing"]
    ]
    return (
        f"How fast slicing as it chooses is beside others, with the smallest and largest windows: {'; '.join(parts)}. "
        f"Where windows are no multiple of their step, single-level slicing has {min(uneven):.2f} to {max(uneven):.2f} "
        f"of its rate with as many whole steps. "
        "A batch goes into all buckets of a family of windows in one pass over columns here, in the paper event by "
        "event; this may be why aggregate buckets are closer, and ahead of single-level slices where few windows "
        "overlap."
    )


FIGURE = Figure(
    name="spans-fig12",
    title="Single-level slices by the size of windows",
    paper="paper 3, Figure 12",
    panels=panels(NAMES.values(), SIZE, ("throughput",)),
    shown="In the paper single-level slicing is ahead of buckets the more windows overlap, most of all where 500 do, "
    "and gains less where windows are no multiple of their step; sweeping is constant, and ahead of slicing where "
    "windows are small and events longer than they.",
    steps=steps,
    read=read,
)
