"""One run of a figure: measured with a progress bar, written as a result file, drawn, and read."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from muntin.bench.figure import Figure, Run
from muntin.bench.results import result, write

__all__ = ["SEED", "measured", "run_figure", "run_figures"]

SEED = 7


def measured(figure: Figure, run: Run, console: Console | None = None) -> dict[str, Any]:
    """Measure a figure; gives what a result file holds."""
    started = time.perf_counter()
    steps = figure.steps(run)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=console is None, transient=True) as progress:
        task = progress.add_task(figure.name, total=len(steps))
        for doing, step in steps:
            progress.update(task, description=f"{figure.name}: {doing}")
            step()
            progress.advance(task)
    return result(figure, run, time.perf_counter() - started)


def run_figure(figure: Figure, quick: bool, out: Path, seed: int = SEED, console: Console | None = None) -> list[Path]:
    """Measure, write, draw and tell; gives the files that were written."""
    console = Console() if console is None else console
    found = measured(figure, Run(quick, seed), console)
    files = [write(found, out)]
    try:
        from muntin.bench.plots import draw

        files += draw(found, out)
    except ModuleNotFoundError as error:
        console.print(f"[yellow]No plot: {error.name} is not there. Install muntin\\[plots].[/]")
    console.print(f"[bold]{found['title']}[/] ({found['paper']}, {found['size']}, {found['seconds']} s)")
    console.print(f"{found['shown']} {found['seen']}", highlight=False)
    console.print(", ".join(str(file) for file in files), style="dim", highlight=False)
    return files


def run_figures(
    figures: Mapping[Figure, bool], out: Path, seed: int, console: Console, minutes: float = math.inf
) -> list[str]:
    """One after the other, each quick or not; one that fails does not stop the others. Gives the names of those.

    After so many minutes no further one begins.
    """
    started, failed = time.monotonic(), list[str]()
    for figure, quick in figures.items():
        if time.monotonic() - started >= 60 * minutes:
            console.print(f"[yellow]{figure.name}: not begun, {minutes:g} minutes are over[/]")
            continue
        try:
            run_figure(figure, quick, out, seed, console)
        except Exception as error:
            if len(figures) == 1:
                raise
            failed.append(figure.name)
            console.print(f"[red]{figure.name} failed: {escape(repr(error))}[/]")
    return failed
