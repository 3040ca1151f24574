"""Figure 3 of paper 2: the time of a sliding maximum with panes over the time without (section 4)."""

from __future__ import annotations

from muntin.bench import panes
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step
from muntin.costs import measured

__all__ = ["FIGURE"]

PANEL, GROUPED = "1 group", "10 groups"


def steps(run: Run) -> list[Step]:
    """Panes in a window and tuples in a pane, as measured and as the cost model predicts."""
    k = measured()

    def measure(panel: str, groups: int, count: int, tuples: int) -> None:
        rows = run.rows(100_000, 1_000_000)
        found = panes.measure(k, tuples, count, groups, rows, run.rounds)
        run.add(panel, f"{count} panes", tuples, found.measured)
        run.add(panel, f"{count} panes, predicted", tuples, found.predicted)

    return [
        step(f"{panel}, {count} panes of {tuples} tuples", measure, panel, groups, count, tuples)
        for panel, groups in ((PANEL, 1), (GROUPED, 10))
        for count in panes.PANES
        for tuples in panes.TUPLES
        if tuples >= groups
    ]


def read(run: Run) -> str:
    """What we see."""
    found = {name: run.of(PANEL, name) for name in run.series(PANEL)}
    most = max(found["2 panes"])
    many, few = found[f"{panes.PANES[-1]} panes"], found["2 panes"]
    measured_ = [name for name in found if "predicted" not in name]
    ratios = [found[name][x] / found[f"{name}, predicted"][x] for name in measured_ for x in found[name]]
    return (
        f"With {most} tuples in a pane panes take {few[most]:.2f} of the time with 2 panes in a window and "
        f"{many[most]:.2f} with {panes.PANES[-1]}; with a single tuple in a pane {few[1]:.2f} and {many[1]:.2f}. The "
        f"cost model, with its constants measured on this machine, is off by {max(max(r, 1 / r) for r in ratios):.1f} "
        "times at most."
    )


FIGURE = Figure(
    name="panes-fig3",
    title="A sliding maximum with panes, relative to without",
    paper="paper 2, Figure 3",
    panels=tuple(
        Panel(name, Axis("tuples in a pane", log=True), Axis("time with panes / without")) for name in (PANEL, GROUPED)
    ),
    shown="In the paper panes take a fraction of the time of evaluating each window alone, the less the more panes and "
    "tuples there are, and cost more only with few tuples in a pane.",
    steps=steps,
    read=read,
    full=True,
)
