"""Figure 11 of paper 3: multi-level slices of several heights beside single-level ones, small windows (section 6.2)."""

from __future__ import annotations

from muntin.bench import spans
from muntin.bench.figure import Figure, Run, Step
from muntin.bench.figures.spanned import LENGTH, lengths, panel, panels, spanned

__all__ = ["FIGURE", "heights"]

SIZE = 100
NAME = f"windows of {SIZE} every {SIZE // 5}"
HEIGHTS = (2, 5, 10, 30)


def heights(cell: spans.Cell, given: tuple[int, ...] = HEIGHTS) -> spans.Contenders:
    """Single-level slices, sweeping, some heights, and what is chosen.

    >>> list(heights(spans.Cell(50, 100, 20), (2,)))
    ['single', 'sweeping', 'height 2', 'auto']
    """
    made: spans.Contenders = {"single": (cell.spec("single"), "auto"), "sweeping": (cell.spec(), "sweeping")}
    made |= {f"height {height}": (cell.spec("multi", height), "auto") for height in given}
    return made | {"auto": (cell.spec(), "auto")}


def steps(run: Run) -> list[Step]:
    """All heights, by the length of events."""
    rows = max(run.rows(100_000, 1_000_000), 5_000)
    return spanned(
        run,
        NAME,
        lengths(run),
        lambda n: (heights(spans.Cell(n, SIZE, SIZE // 5)), spans.synthetic(n, rows, run.seed)),
        "events of",
    )


def read(run: Run) -> str:
    """What we see."""
    rates, held = panel(NAME), panel(NAME, "memory")
    found = {name: run.of(rates, name) for name in run.series(rates)}
    most = max(found["slicing"])
    ratio = {name: found[name][most] / found["slicing"][most] for name in found if name.startswith("height")}
    best = max(ratio, key=lambda name: ratio[name])
    crossed = [x for x in found["slicing"] if max(found[name][x] for name in ratio) > found["slicing"][x]]
    chosen = min(found["slicing, auto"][x] / max(found[n][x] for n in ("slicing", *ratio)) for x in found["slicing"])
    where = f"from events of {min(crossed):,} chronons on" if crossed else "nowhere"
    bytes_ = run.of(held, best)[most] / run.of(held, "slicing")[most]
    return (
        f"Here some height is ahead of single-level slices {where}; with events of {most:,} the best is {best} with "
        f"{ratio[best]:.1f} times their rate and {bytes_:.1f} times their bytes. What slicing chooses is at least "
        f"{chosen:.2f} of the best of all these."
    )


FIGURE = Figure(
    name="spans-fig11",
    title="Multi-level slices by the length of events",
    paper="paper 3, Figure 11",
    panels=panels([NAME], LENGTH),
    shown="In the paper multi-level slices of every height above 1 are ahead of single-level ones in small windows, "
    "the more the longer events are; they take less CPU, and for small windows more memory.",
    steps=steps,
    read=read,
)
