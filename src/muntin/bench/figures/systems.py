"""Muntin beside other systems: the same questions, the same rows, one thread, one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from muntin.bench import systems
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import ROWS_PER_SECOND, millions
from muntin.bench.measuring import seconds

__all__ = ["FIGURE"]

TOLD = {
    "tumbling": "1 s, by key",
    "sliding": "60 s every 1 s, by key",
    "rolling": "1,024 values, slide 1",
}
SIZES = {"tumbling": (1_000_000, 10_000_000), "sliding": (100_000, 2_000_000), "rolling": (1_000_000, 10_000_000)}


FEWER = {"tumbling": 1, "sliding": 1, "rolling": 20}
"""Of so many rows Spark gets one: it goes over all 1,024 values for each row."""


def compare(question: str, calls: Mapping[str, Callable[[], systems.Answer]]) -> None:
    """Ask all once: what they answer must be what Muntin does."""
    ours = calls["Muntin"]()
    for name, call in calls.items():
        count, total = call()
        if count != ours[0] or not math.isclose(total, ours[1], rel_tol=1e-9):
            raise AssertionError(f"{name} answers {question} with {count, total}, Muntin with {ours}")


def steps(run: Run) -> list[Step]:
    """One question after the other, to all systems in turns."""
    sessions, closing = list[Any](), ExitStack()

    def started() -> None:
        from muntin.spark import cores

        sessions.append(closing.enter_context(cores.running(1)))

    def ask(question: str) -> None:
        from muntin.spark import systems as on_spark

        table = systems.rows(max(run.rows(*SIZES[question]), 40_000), run.seed)
        few = table.slice(0, table.num_rows // FEWER[question])
        with on_spark.asked(sessions[0], question, few) as spark:
            calls = systems.asked(question, table)
            compare(question, calls)
            compare(question, {"Muntin": systems.asked(question, few)["Muntin"], **spark})
            every = calls | spark
            # What answers one question alone comes last: so the others have one colour in all panels.
            ordered = {name: every[name] for name in sorted(every, key=lambda name: name == "bottleneck")}
            for name, took in seconds(ordered, run.rounds, warm=True).items():
                run.add(TOLD[question], name, question, (few if name in spark else table).num_rows / took)

    def step(question: str) -> Step:
        def call() -> None:
            try:
                ask(question)
            except BaseException:
                closing.close()
                raise

        return TOLD[question], call

    return [("a Spark session", started), *(step(question) for question in TOLD), ("the end of it", closing.close)]


def read(run: Run) -> str:
    """What we see."""
    parts = []
    for question, panel in TOLD.items():
        found = {name: run.of(panel, name)[question] for name in run.series(panel)}
        ours = found.pop("Muntin")
        shown = ", ".join(f"{name} {ours / rate:.1f}" for name, rate in found.items())
        parts.append(f"{panel}: {millions(ours)}; {shown}")
    return (
        f"Rows per second of Muntin, and how many times as fast as each other it is: {'. '.join(parts)}. All answers "
        "were compared; each system had its rows in its own form, on one thread. pandas and DuckDB have no sliding "
        "windows in time by key: they are asked for seconds that are combined by hand, as panes."
    )


FIGURE = Figure(
    name="systems",
    title="The same questions to other systems",
    paper="no paper",
    panels=tuple(Panel(name, Axis(""), ROWS_PER_SECOND, kind="bars") for name in TOLD.values()),
    shown="Paper 1 compares within one system, and paper 4 with plain loops; this compares whole systems.",
    steps=steps,
    read=read,
)
