"""The command line: `muntin demo`, `muntin run FILE.toml`."""

from __future__ import annotations

from pathlib import Path

import typer

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
