"""What bounds the way of rows into Python: `python -m muntin.spark.transfer`.

The same Parquet file is read as a batch, once by Spark alone and then into a `mapInArrow` that drops every row, with
other columns, types and batch sizes. The contenders take turns; each number is the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

from muntin.bench.console import console as wide_console
from muntin.spark.local import session

__all__ = ["CASES", "Case", "main", "measure"]

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
TASKS = 2


@dataclass(frozen=True)
class Case:
    """Some columns, handed to Python in batches of some size; `rows` None: Python takes no part."""

    name: str
    columns: tuple[str, ...]
    rows: int | None = 10_000
    reads: bool = False
    """Whether the values are looked at, not only handed over."""


CASES = [
    Case("Spark alone, 3 columns", ("ts", "key", "x"), None),
    Case("no column", ()),
    Case("1 column of int64", ("x",)),
    Case("3 columns: timestamp, 2 int64", ("ts", "key", "x")),
    Case("the same, values read in Python", ("ts", "key", "x"), reads=True),
    Case("3 columns, 1,000 rows per batch", ("ts", "key", "x"), 1_000),
    Case("3 columns, 100,000 rows per batch", ("ts", "key", "x"), 100_000),
    Case("6 columns of int64", ("key", "x", "a", "b", "c", "d")),
    Case("1 column of texts, 8 letters", ("text",)),
    Case("3 columns and the texts", ("ts", "key", "x", "text")),
]


def _dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch({"n": pa.array([], pa.int64())})


def _summed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    total = 0
    for batch in batches:
        for column in batch.columns:
            total ^= int(np.bitwise_xor.reduce(np.frombuffer(column.buffers()[1], np.int64)))  # a sum would overflow
    yield pa.record_batch({"n": pa.array([total], pa.int64())})


def write(folder: Path, rows: int, seed: int = 1) -> None:
    """One file per task."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    size = rows // TASKS
    for i in range(TASKS):
        columns = {name: pa.array(rng.integers(0, 1_000, size)) for name in ("key", "x", "a", "b", "c", "d")}
        columns["ts"] = pa.array(np.arange(size) * 100 + 1_700_000_000_000_000).cast(pa.timestamp("us", "UTC"))
        columns["text"] = pa.array([f"{n:08}" for n in rng.integers(0, 1_000, 1_000)]).take(
            pa.array(rng.integers(0, 1_000, size))
        )
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")


def _plan(frame: DataFrame, case: Case) -> DataFrame:
    picked = frame.select(*case.columns)
    return picked if case.rows is None else picked.mapInArrow(_summed if case.reads else _dropped, "n long")


def measure(spark: SparkSession, rows: int, rounds: int, folder: Path) -> dict[str, float]:
    """Seconds of each case."""
    write(folder / "rows", rows)
    taken: dict[str, list[float]] = {case.name: [] for case in CASES}
    before = spark.conf.get(BATCH)
    try:
        for _ in range(rounds + 1):  # the first round warms up
            for case in CASES:
                spark.conf.set(BATCH, str(case.rows or before))
                frame = _plan(spark.read.parquet(str(folder / "rows")), case)
                taken[case.name].append(_seconds(frame))
    finally:
        spark.conf.set(BATCH, str(before))
    return {name: statistics.median(found[1:]) for name, found in taken.items()}


def _seconds(frame: DataFrame) -> float:
    started = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def main() -> None:
    """Measure, and show a table."""
    parser = argparse.ArgumentParser(prog="python -m muntin.spark.transfer")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    table = Table(title=f"{given.rows:,} rows of Parquet into Python, median of {given.rounds} rounds")
    for name in ("what", "seconds", "M rows/s", "beside 3 columns"):
        table.add_column(name, justify="left" if name == "what" else "right")
    spark = session("muntin transfer", cores=TASKS, partitions=TASKS, memory="4g")
    try:
        with tempfile.TemporaryDirectory(prefix="muntin-transfer-") as folder:
            found = measure(spark, given.rows, given.rounds, Path(folder))
    finally:
        spark.stop()
    usual = found[CASES[3].name]
    for name, seconds in found.items():
        table.add_row(name, f"{seconds:.2f}", f"{given.rows / seconds / 1e6:.1f}", f"{seconds / usual:.2f}")
    wide_console().print(table)


if __name__ == "__main__":
    main()
