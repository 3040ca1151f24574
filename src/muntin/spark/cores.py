"""The dashboard workload of paper 1, Figure 17, on Spark: M4 over 80 windows for each sensor, by cores.

Muntin is one streaming query for all windows. Spark's own operators have no such query: its `window` takes one length.
So each row is multiplied, once for every window that it is in, and grouped by sensor, window length and start: buckets
(paper 1, section 3.3), as one query with Spark's own aggregates and state. It updates results as they change, since
append would need Spark's `window`; what is counted are rows in.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import muntin as mt
from muntin.spark.local import session

__all__ = ["LENGTHS", "Used", "buckets", "dashboard", "measure", "running", "write"]

SENSORS = 16
LENGTHS = [round(length) for length in np.linspace(1, 20, 80) * 1_000_000]
"""80 lengths of 1 to 20 seconds, in microseconds."""
SCHEMA = "ts timestamp, sensor long, value double"


class Used(NamedTuple):
    """Rows per second of steady batches, and per cent of a core that all processes of the session used meanwhile."""

    rate: float
    cpu: float


@contextmanager
def running(cores: int) -> Iterator[SparkSession]:
    """A session on so many cores, stopped at the end."""
    made = session(f"muntin bench, {cores} cores", cores=cores, partitions=cores)
    try:
        yield made
    finally:
        made.stop()


def dashboard(frame: DataFrame) -> DataFrame:
    """Muntin: one spec."""
    spec = mt.over("ts", by="sensor", disorder="2 seconds")
    for i, length in enumerate(LENGTHS):
        spec = spec.window(f"w{i}", mt.tumbling(f"{length} us"), line=mt.m4("value"))
    made: DataFrame = spec.apply(frame)
    return made


def buckets(frame: DataFrame) -> DataFrame:
    """Spark's own operators: a row for each window that an event is in."""
    spread = frame.withColumn("length", F.explode(F.array([F.lit(length) for length in LENGTHS])))
    start = F.floor(F.unix_micros("ts") / F.col("length")) * F.col("length")
    four = [F.min("value"), F.max("value"), F.min_by("value", "ts"), F.max_by("value", "ts")]
    return spread.groupBy("sensor", "length", start.alias("start")).agg(*four)


PLANS: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "Muntin": (dashboard, "append"),
    "Spark's operators": (buckets, "update"),
}


def write(folder: Path, table: pa.Table, files: int) -> None:
    """Rows as files of Parquet, in order."""
    folder.mkdir(parents=True)
    size = -(-table.num_rows // files)
    for i in range(files):
        pq.write_table(table.slice(i * size, size), folder / f"{i:05}.parquet")


def measure(spark: SparkSession, name: str, data: Path, checkpoint: Path, per_batch: int) -> Used:
    """One streaming query over all files, so many in a batch; the first batch is not counted."""
    plan, mode = PLANS[name]
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", per_batch).parquet(str(data))
    writer = plan(stream).writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(checkpoint))
    used, started = processor_seconds(), time.perf_counter()
    try:
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
    cpu = 100 * (processor_seconds() - used) / (time.perf_counter() - started)
    steady = [p for p in query.recentProgress[1:] if p.numInputRows]
    seconds = sum(p.durationMs["triggerExecution"] for p in steady) / 1_000
    return Used(sum(p.numInputRows for p in steady) / seconds, cpu)


def processor_seconds() -> float:
    """Seconds of the processor that this process and all that it started have used so far (where /proc tells).

    >>> processor_seconds() >= 0
    True
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat") if Path("/proc").is_dir() else ():
        try:
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        # The fields after the name: state, parent, ...; 11 to 14 are the ticks of it and of its dead children.
        parents[int(path.parent.name)] = int(fields[1])
        ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks.get(pid, 0) for pid in ours) / os.sysconf("SC_CLK_TCK")
