"""The command line: `muntin demo`."""

from __future__ import annotations

import typer

app = typer.Typer(help="Window aggregation over streams and tables.", no_args_is_help=True, add_completion=False)


@app.callback()
def main() -> None:
    """Window aggregation over streams and tables, in Python: simple, fast, exact."""


@app.command()
def demo() -> None:
    """Departures from New York in 2013, in several windows at once."""
    from muntin.demo import run

    run()
