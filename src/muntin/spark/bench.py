"""Muntin beside Spark's own operators, on the same rows in the same session: `python -m muntin.spark.bench`.

Rows of Parquet, 20 % of them out of order by up to 2 s, 10,000 per second of event time; `sum` and `count`; batches
without the first, on a warm JVM; the contenders take turns. All results leave as typed columns.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.table import Table

import muntin as mt
from muntin.bench.console import console as wide_console
from muntin.spark.local import session

__all__ = ["WORKLOADS", "Outcome", "Workload", "first_batch", "main", "measure"]

RATE = 10_000
DELAY = 2_000_000
TASKS = 2
FLOOR, UNTUNED = "mapInArrow", "mapInArrow, Spark's settings"
"""What it takes to hand rows over to Python: as `muntin.spark.session` sets it up, and as Spark comes."""
TUNED = ("spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.execution.arrow.maxBytesPerBatch")


@dataclass(frozen=True)
class Workload:
    """A spec, what Spark has for it, and how many times as fast as each Muntin should be."""

    name: str
    spec: mt.Spec
    keys: int
    others: dict[str, list[Callable[[DataFrame], DataFrame]]]
    """Of each the queries that it needs, run one after the other."""
    targets: dict[str, float]
    share: float = 1.0
    """Of the rows: fewer where Spark would not end."""
    rounds: int | None = None
    """How many at the most, where Spark takes minutes for one."""
    batches: int | None = None
    """How many at the most, where Spark takes a minute for one."""
    rate: int = RATE
    """Rows in a second of event time: fewer where there are fewer rows, so that windows still come to their ends."""


@dataclass(frozen=True)
class Outcome:
    """Rows per second of each contender, and how many windows came out."""

    rate: dict[str, float]
    windows: dict[str, int]
    first: dict[str, float]
    """Seconds of the first batch of the first round, where Muntin starts its workers and loads its kernels."""


def _spec(**windows: mt.windows.Window) -> mt.Spec:
    spec = mt.over("ts", by="key", disorder="2 seconds")
    for name, window in windows.items():
        spec = spec.window(name, window, n=mt.count(), total=mt.sum("x"))
    return spec


def _sums() -> list[Any]:
    return [F.count(F.lit(1)).alias("n"), F.sum("x").alias("total")]


def _marked(frame: DataFrame) -> DataFrame:
    return frame.withWatermark("ts", "2 seconds")


def _window(*lengths: str) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: _marked(frame).groupBy("key", F.window("ts", *lengths)).agg(*_sums())


def _sessions(gap: str) -> Callable[[DataFrame], DataFrame]:
    return lambda frame: _marked(frame).groupBy("key", F.session_window("ts", gap)).agg(*_sums())


def _panes(size: str, every: str) -> Callable[[DataFrame], DataFrame]:
    """Panes written by hand: a window over the results of a shorter one."""

    def plan(frame: DataFrame) -> DataFrame:
        panes = _marked(frame).groupBy("key", F.window("ts", every)).agg(*_sums())
        sums = [F.sum("n").alias("n"), F.sum("total").alias("total")]
        return panes.groupBy("key", F.window(F.window_time("window"), size, every)).agg(*sums)

    return plan


def _nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, 0)


def _floor(frame: DataFrame) -> DataFrame:
    return frame.select("ts", "key", "x").mapInArrow(_nothing, "ts timestamp, key long, x long")


WORKLOADS = [
    Workload(
        "100 keys, tumbling 1 s",
        _spec(w=mt.tumbling("1 second")),
        100,
        {FLOOR: [_floor], UNTUNED: [_floor], "Spark": [_window("1 second")]},
        {FLOOR: 0.75, "Spark": 0.8},
    ),
    Workload(
        "100 keys, sliding 60 s every 1 s",
        _spec(w=mt.sliding("60 seconds", every="1 second")),
        100,
        {"Spark": [_window("60 seconds", "1 second")], "panes by hand": [_panes("60 seconds", "1 second")]},
        {"Spark": 5, "panes by hand": 1.1},
    ),
    Workload(
        "100 keys, sliding 1 h every 1 s",
        _spec(w=mt.sliding("1 hour", every="1 second")),
        100,
        # Spark makes 3,600 rows of each, by as many projections, which it compiles one by one in every batch: 50 s of
        # a batch, however few rows it has.
        {"Spark": [_window("1 hour", "1 second")]},
        {"Spark": 60},
        share=0.001,
        rounds=1,
        batches=2,
        # Ten seconds of events: the first windows are due in the second batch.
        rate=1_000,
    ),
    Workload(
        "100 keys, 20 tumbling windows of 1 to 20 s and a session",
        _spec(**{f"w{i}": mt.tumbling(f"{i} seconds") for i in range(1, 21)}, visit=mt.session("1 second")),
        100,
        {"Spark": [*(_window(f"{i} seconds") for i in range(1, 21)), _sessions("1 second")]},
        {"Spark": 10},
    ),
    Workload(
        "100,000 keys, tumbling 1 s",
        _spec(w=mt.tumbling("1 second")),
        100_000,
        {"Spark": [_window("1 second")]},
        {"Spark": 6},
    ),
    Workload(
        "100 keys, rows windows of 1,000 every 100",
        _spec(w=mt.sliding("1000 rows", every="100 rows")),
        100,
        {FLOOR: [_floor], UNTUNED: [_floor]},
        {FLOOR: 0.4},
    ),
]


def write(folder: Path, rows: int, batches: int, keys: int, seed: int = 1, rate: int = RATE) -> None:
    """Files of Parquet, one per task and batch."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    size = rows // (batches * TASKS)
    for i in range(batches * TASKS):
        at = (i * size + np.arange(size)) * (1_000_000 // rate) + 1_700_000_000_000_000
        at -= np.where(rng.random(size) < 0.2, rng.integers(0, DELAY, size), 0)
        columns = {
            "ts": pa.array(at).cast(pa.timestamp("us", "UTC")),
            "key": rng.integers(0, keys, size),
            "x": rng.integers(0, 1_000, size),
        }
        pq.write_table(pa.table(columns), folder / f"{i:05}.parquet")


def measure(spark: SparkSession, workload: Workload, rows: int, batches: int, rounds: int, folder: Path) -> Outcome:
    """Let the contenders take turns; the median of the rounds, from batches without the first.

    A round before that warms up the JVM for the plan of each, and does not count but for the first batch.
    """
    data = folder / "rows"
    write(
        data, int(rows * workload.share), min(batches, workload.batches or batches), workload.keys, rate=workload.rate
    )
    plans: dict[str, list[Callable[[DataFrame], DataFrame]]] = {"Muntin": [workload.spec.apply], **workload.others}
    rates: dict[str, list[float]] = {name: [] for name in plans}
    windows: dict[str, int] = {}
    first: dict[str, float] = {}
    try:
        _once(spark, data, lambda frame: frame, folder / "checkpoint")  # the first batches find a JVM that has read
        for i in range(min(rounds, workload.rounds or rounds) + 1):
            for name, queries in plans.items():
                with _untuned(spark) if name == UNTUNED else contextlib.nullcontext():
                    runs = [_once(spark, data, plan, folder / "checkpoint") for plan in queries]
                windows[name] = sum(run.windows for run in runs)
                if i:
                    rates[name].append(runs[0].rows / sum(run.seconds for run in runs))
                else:
                    first[name] = runs[0].first
    finally:
        shutil.rmtree(data)
    return Outcome({name: statistics.median(found) for name, found in rates.items()}, windows, first)


def first_batch(spark: SparkSession, workload: Workload, name: str, rows: int, batches: int, folder: Path) -> float:
    """Seconds of the first batch of a contender in a session that has only read: where another ran before, it is less.

    Loading kernels and starting workers count for Muntin, and for each what the JVM loads and compiles for it.
    """
    data = folder / "rows"
    write(data, int(rows * workload.share), batches, workload.keys)
    _once(spark, data, lambda frame: frame, folder / "checkpoint")
    plan = workload.spec.apply if name == "Muntin" else workload.others[name][0]
    return _once(spark, data, plan, folder / "checkpoint").first


@contextlib.contextmanager
def _untuned(spark: SparkSession) -> Iterator[None]:
    """With the batches for Python that Spark makes where nobody says otherwise."""
    before = {key: spark.conf.get(key) for key in TUNED}
    for key in before:
        spark.conf.unset(key)
    try:
        yield
    finally:
        for key, value in before.items():
            spark.conf.set(key, str(value))


class _Run(NamedTuple):
    """One query: rows and seconds of all batches but the first, rows that came out, seconds of the first batch."""

    rows: int
    seconds: float
    windows: int
    first: float


def _once(spark: SparkSession, data: Path, plan: Callable[[DataFrame], DataFrame], checkpoint: Path) -> _Run:
    stream = spark.readStream.schema("ts timestamp, key long, x long").option("maxFilesPerTrigger", TASKS)
    made = plan(stream.parquet(str(data))).observe("out", F.count(F.lit(1)).alias("rows"))
    writer = made.writeStream.format("noop").outputMode("append").option("checkpointLocation", str(checkpoint))
    try:
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    progress = query.recentProgress
    steady = [p for p in progress[1:] if p.numInputRows]
    seconds = sum(p.durationMs["triggerExecution"] for p in steady) / 1_000
    windows = sum(p.observedMetrics["out"]["rows"] or 0 for p in progress)
    first = progress[0].durationMs["triggerExecution"] / 1_000
    return _Run(sum(p.numInputRows for p in steady), seconds, windows, first)


def main() -> None:
    """Measure, and show how many times as fast as each of the others Muntin is."""
    parser = argparse.ArgumentParser(prog="python -m muntin.spark.bench")
    parser.add_argument("words", nargs="*", help="run only workloads whose names contain one of these")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--first", metavar="NAME", help="only the first batch of one contender (Muntin, Spark), with a JVM of its own"
    )
    given = parser.parse_args()
    console = wide_console()
    table = Table(title=f"{given.rows:,} rows in {given.batches} batches, median of {given.rounds} rounds")
    for name in ("workload", "M rows/s", "beside", "times", "at least", "windows"):
        table.add_column(name, justify="right" if name in ("M rows/s", "times", "at least", "windows") else "left")
    spark = session("muntin bench", cores=TASKS, partitions=TASKS, memory="6g")
    try:
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            for workload in WORKLOADS:
                if given.words and not any(word in workload.name for word in given.words):
                    continue
                if given.first is not None:
                    took = first_batch(spark, workload, given.first, given.rows, given.batches, Path(folder))
                    console.print(f"{workload.name}: {given.first}, first batch {took:.1f} s")
                    return
                found = measure(spark, workload, given.rows, given.batches, given.rounds, Path(folder))
                ours = found.rate["Muntin"]
                for other in workload.others:
                    times, target = ours / found.rate[other], workload.targets.get(other)
                    style = "green" if times >= (target or 0) else "red"
                    counts = f"{found.windows['Muntin']:,} / {found.windows[other]:,}"
                    shown = f"[{style}]{times:.2f}[/]"
                    table.add_row(
                        workload.name, f"{ours / 1e6:.2f}", other, shown, "" if target is None else f"{target}", counts
                    )
                    early = f"{found.first['Muntin']:.1f} s beside {found.first[other]:.1f} s"
                    console.print(f"{workload.name}: {times:.2f} × {other} ({counts} windows); first batch {early}")
    finally:
        spark.stop()
    console.print(table)


if __name__ == "__main__":
    main()
