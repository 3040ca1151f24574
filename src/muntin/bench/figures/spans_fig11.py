"""Figures 11 and 13 of paper 3: multi-level slices of several heights beside single-level ones, small windows."""

from __future__ import annotations

from muntin.bench import spans
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step

__all__ = ["FIGURE"]

SIZE = 100
PANEL = f"windows of {SIZE} every {SIZE // 5}"
HEIGHTS = (2, 5, 10, 30)


def steps(run: Run) -> list[Step]:
    """Single-level slices, some heights, and the height that is chosen."""

    def measure(length: int) -> None:
        table = spans.synthetic(length, max(run.rows(100_000, 1_000_000), 20_000), run.seed)
        cell = spans.Cell(length, SIZE, SIZE // 5)
        contenders = {"slicing": (cell.spec("single"), "auto"), "sweeping": (cell.spec(), "sweeping")}
        contenders |= {f"height {height}": (cell.spec("multi", height), "auto") for height in HEIGHTS}
        contenders["slicing, auto"] = (cell.spec(), "auto")
        for name, rate in spans.measure(contenders, table, run.rounds).items():
            run.add(PANEL, name, length, rate)

    lengths = (50, 500, 5_000) if run.quick else (10, 50, 100, 500, 1_000, 5_000)
    return [step(f"events of {length:,}", measure, length) for length in lengths]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of(PANEL, name) for name in run.series(PANEL)}
    most = max(found["slicing"])
    heights = {name: found[name][most] / found["slicing"][most] for name in found if name.startswith("height")}
    best = max(heights, key=lambda name: heights[name])
    crossed = [x for x in found["slicing"] if max(found[name][x] for name in heights) > found["slicing"][x]]
    chosen = min(found["slicing, auto"][x] / max(found[n][x] for n in ("slicing", *heights)) for x in found["slicing"])
    where = f"from events of {min(crossed):,} chronons on" if crossed else "nowhere"
    return (
        f"Here some height is ahead of single-level slices {where}; with events of {most:,} the best is {best} with "
        f"{heights[best]:.1f} times their rate. What slicing chooses is at least {chosen:.2f} of the best of all these."
    )


FIGURE = Figure(
    name="spans-fig11",
    title="Multi-level slices by the length of events",
    paper="paper 3, Figures 11 and 13",
    panels=(Panel(PANEL, Axis("mean length of events, chronons", log=True), Axis("events per second", log=True)),),
    shown="In the paper multi-level slices of every height above 1 are ahead of single-level ones in small windows, "
    "the more the longer events are.",
    steps=steps,
    read=read,
)
