"""The demonstration: a Spark stream of the flights of 2013, replayed as they left, in four windows at once."""

from __future__ import annotations

import importlib.resources
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as F
from rich.console import Console

from muntin.demo import flights, shown
from muntin.pipeline import load
from muntin.spark.local import session
from muntin.spark.progress import watch
from muntin.spark.run import run_pipeline

__all__ = ["run"]

FILES = 12


def run(console: Console | None = None, months: int = 12, plot: Path | None = None) -> pa.Table:
    """Replay the flights through Spark, show what came out, and draw the day's delays; gives the last results."""
    console = console or Console()
    running = SparkSession.getActiveSession()
    spark = running or session("muntin demo", cores=2, partitions=2)
    try:
        with tempfile.TemporaryDirectory(prefix="muntin-demo-") as folder:
            return _run(console, spark, Path(folder), months, plot)
    finally:
        if running is None:
            spark.stop()


def _run(console: Console, spark: SparkSession, folder: Path, months: int, plot: Path | None) -> pa.Table:
    table = flights(months)
    write(table, folder / "flights")
    text = importlib.resources.files("muntin").joinpath("demo.toml").read_text()
    pipeline = load(text, folder)
    console.print(f"[bold]Departures from New York in 2013[/]: {table.num_rows:,} flights by their scheduled times,")
    console.print("a Spark stream of them as they really left: delays make them come out of order.\n")
    console.print(repr(pipeline.spec), highlight=False)
    started = time.perf_counter()
    with watch(spark, console):
        run_pipeline(pipeline, spark)
    seconds = time.perf_counter() - started
    reports = spark.read.parquet(pipeline.results[0])
    results = last_rows(reports, pipeline.spec.by).toArrow()
    for query in pipeline.spec.queries:
        console.print(shown(results, query))
    late = spark.read.parquet(pipeline.late[0]).count() if Path(pipeline.late[0]).exists() else 0
    console.print(f"{results.num_rows:,} windows from {table.num_rows:,} flights in {seconds:.0f} s,")
    console.print(
        f"{reports.where('revision > 0').count():,} corrections of windows already reported, {late:,} late rows."
    )
    if plot is not None:
        draw(results, plot)
        console.print(f"The mean delay of the last day, every ten minutes: [bold]{plot}[/]")
    console.print("The pipeline: src/muntin/demo.toml. Why it does what it does: [bold]spec.explain(stream)[/].")
    return results


def write(table: pa.Table, folder: Path) -> None:
    """The flights as files in the order in which they left; Spark reads them by their times."""
    folder.mkdir(parents=True)
    size = -(-table.num_rows // FILES)
    for i in range(FILES):
        file = folder / f"{i:03}.parquet"
        pq.write_table(table.slice(i * size, size), file)
        os.utime(file, (1_000_000 + i, 1_000_000 + i))


def last_rows(reports: Any, by: tuple[str, ...]) -> Any:
    """The last row of each window; sessions are told apart by their start, rows by their positions."""
    place = F.when(
        F.col("query") == "night",
        F.struct(F.col("window.start").alias("at"), F.lit(None).cast("timestamp").alias("to")),
    )
    place = place.otherwise(F.struct(F.col("window.start").alias("at"), F.col("window.end").alias("to")))
    # "flush" comes after every number.
    order = F.coalesce(F.expr("try_cast(batch_id as bigint)"), F.lit(2**62))
    spread = Over.partitionBy(*by, "query", F.when(F.col("rows").isNull(), place), "rows").orderBy(order.desc())
    last = reports.withColumn("nth", F.row_number().over(spread)).where("nth = 1 and revision >= 0")
    return last.drop("nth", "batch_id")


def draw(results: pa.Table, path: Path) -> None:
    """The mean delay over the last day, for each airport."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import pyarrow.compute as pc

    days = results.filter(pc.field("query") == "day")
    figure, axes = plt.subplots(figsize=(10, 4))
    for origin in sorted(set(days["origin"].to_pylist())):
        some = days.filter(pc.field("origin") == origin)
        ends = pc.struct_field(some["window"], "end")
        order = pc.sort_indices(ends)
        axes.plot(ends.take(order).to_numpy(), some["delay"].take(order).to_numpy(), label=origin, linewidth=0.7)
    axes.set_ylabel("mean delay of the last day (minutes)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
