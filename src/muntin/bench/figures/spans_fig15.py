"""Figure 15 of paper 3: which technique is the fastest, by the length of events and the overlap of windows."""

from __future__ import annotations

from collections import Counter

from muntin.bench import spans
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step

__all__ = ["FIGURE"]

BEST, CHOSEN = "the fastest", "what slicing chooses, relative to the fastest"
RATIO = Axis("window size / mean length of events", log=True)
NAMES = {"single": "slicing", "multi": "multi-level", "sweeping": "sweeping"} | {
    name: name.replace("_", " ") for name in spans.BASELINES if name != "sweeping"
}


def steps(run: Run) -> list[Step]:
    """A grid of lengths, sizes and overlaps."""
    rows = max(run.rows(30_000, 500_000), 5_000)

    def measure(length: int, size: int, overlap: int) -> None:
        cell = spans.Cell(length, size, size // overlap)
        made: spans.Contenders = {name: (cell.spec(name), "auto") for name in ("single", "multi", "auto")}
        made |= {name: (cell.spec(), name) for name in spans.BASELINES}
        table = spans.synthetic(length, rows, run.seed)
        took = spans.profiled(made, table, run.rounds, run.budget(0.15, 1.0), 8_192)
        rates = {name: one.rate for name, one in took.items()}
        auto = rates.pop("auto")
        best = max(rates, key=lambda name: rates[name])
        # Cells of one place lie on each other: lengths are set apart by a quarter.
        x = size / length * {50: 0.8, 500: 1.0, 5_000: 1.25}[length]
        run.add(BEST, NAMES[best], x, overlap)
        run.add(CHOSEN, "auto", x, auto / rates[best])

    lengths, sizes, overlaps = (50, 500, 5_000), (100, 1_000, 10_000), (2, 10, 50)
    if run.scale < 1:
        sizes, overlaps = (100,), (2,)  # type: ignore[assignment]
    cells = [(length, size, overlap) for length in lengths for size in sizes for overlap in overlaps]
    return [step(f"events of {n:,}, windows of {w:,}, {o} at once", measure, n, w, o) for n, w, o in cells]


def read(run: Run) -> str:
    """What we see."""
    won = Counter(point.series for point in run.points if point.panel == BEST)
    shown = ", ".join(f"{name} {count}" for name, count in won.most_common())
    long = Counter(point.series for point in run.points if point.panel == BEST and float(point.x) < 0.5)
    chosen = [point.y for point in run.points if point.panel == CHOSEN]
    where = ", ".join(f"{name} {count}" for name, count in long.most_common())
    return (
        f"Of {sum(won.values())} settings so many are won here by each: {shown}; where events are at least twice as "
        f"long as windows: {where}. What slicing chooses by itself is at least {min(chosen):.2f} of the fastest of all."
    )


FIGURE = Figure(
    name="spans-fig15",
    title="The fastest technique for events with a duration",
    paper="paper 3, Figure 15",
    panels=(
        Panel(BEST, RATIO, Axis("windows at once (size / step)", log=True), kind="dots"),
        Panel(CHOSEN, RATIO, Axis("rate / fastest rate"), kind="dots"),
    ),
    shown="In the paper single-level slices are the best for short events and little overlap, multi-level slices where "
    "events are as long as windows or overlap is high, and sweeping where events are much longer than windows.",
    steps=steps,
    read=read,
)
