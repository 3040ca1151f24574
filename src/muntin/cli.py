"""The command line: `muntin demo`, `muntin run FILE.toml`, `muntin bench NAME`."""

from __future__ import annotations

import math
from pathlib import Path

import typer

from muntin.errors import SpecError

app = typer.Typer(help="Window aggregation over streams and tables.", no_args_is_help=True, add_completion=False)


@app.callback()
def main() -> None:
    """Window aggregation over streams and tables, in Python: simple, fast, exact."""


@app.command()
def demo(
    embedded: bool = typer.Option(False, help="In this process, without Spark."),
    spans: bool = typer.Option(False, help="How many planes were in the air: events with a duration."),
    plot: Path = typer.Option(Path("demo.png"), help="Where the plot goes."),
) -> None:
    """Departures from New York in 2013, a Spark stream in several windows at once."""
    if spans:
        from muntin.demo_spans import run as run_spans

        run_spans(plot=plot)
    elif embedded:
        from muntin.demo import run

        run()
    else:
        from muntin.spark.demo import run as run_on_spark

        run_on_spark(plot=plot)


@app.command()
def run(file: Path = typer.Argument(..., help="A pipeline in TOML: source, spec, sinks.", exists=True)) -> None:
    """Run a pipeline that is declared in a file, on a local Spark session."""
    from muntin.pipeline import load
    from muntin.spark import session, watch
    from muntin.spark.run import run_pipeline

    pipeline = load(file.read_text(encoding="utf-8"), file.resolve().parent)
    spark = session("muntin run")
    try:
        with watch(spark):
            run_pipeline(pipeline, spark)
    finally:
        spark.stop()


SIZES = (
    "The size: quick ones take less than a minute. Else a figure that is named is full, and of all of them each has "
    "the size that fits a run of some minutes."
)


@app.command()
def bench(
    names: list[str] = typer.Argument(None, help="Figures or tables; all figures where none is named."),
    quick: bool = typer.Option(None, "--quick/--full", help=SIZES, show_default=False),
    out: Path = typer.Option(Path("bench"), help="Where result files and plots go."),
    seed: int = typer.Option(7, help="What random data begin with."),
    list_: bool = typer.Option(False, "--list", help="Only say which there are."),
    report: Path = typer.Option(None, help="Then write a page of all result files in --out."),
    measure: bool = typer.Option(True, help="Measure; without, only the page is written anew."),
    minutes: float = typer.Option(math.inf, help="Begin no further figure after so many.", show_default=False),
) -> None:
    """Measure the papers' figures again: a result file, a plot, and a reading of each."""
    from rich.console import Console
    from rich.table import Table

    from muntin.bench.figures import FIGURES, MISSING, ON_SPARK, TABLES, figure

    console = Console()
    if list_:
        table = Table("name", "shows", box=None)
        for name, shown in {**FIGURES, **TABLES}.items():
            table.add_row(name, shown)
        for name, shown in MISSING.items():
            table.add_row(name, f"{shown}: needs hardware counters")
        console.print(table)
        return
    from muntin.bench.report import write_page
    from muntin.bench.running import run_figures

    every = sorted(FIGURES, key=lambda name: name in ON_SPARK) if measure else []
    try:
        found = {name: None if name in TABLES else figure(name) for name in names or every}
    except SpecError as error:
        raise typer.BadParameter(str(error)) from None
    figures = {one: bool(not names and not one.full) if quick is None else quick for one in found.values() if one}
    failed = run_figures(figures, out, seed, console, minutes)
    for name in (name for name, one in found.items() if one is None):
        from muntin.bench.__main__ import main as tables

        sizes = ["--rows", "200000", "--rounds", "3", "--slices", "10000"] if quick else []
        tables(["window" if name == "engine" else name, *sizes])
    if report is not None:
        console.print(f"{write_page(out, report)} figures in {report}")
    if failed:
        raise typer.Exit(1)
