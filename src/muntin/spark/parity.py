"""The same rows as Spark's own `window` and `session_window`, on a whole file: `python -m muntin.spark.parity FILE`.

Both sides run as one batch; rows are matched by key and window, and counted where they differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import muntin as mt
from muntin.bench.console import console as wide_console
from muntin.spark.local import session

__all__ = ["Parity", "compare", "main", "ours", "sparks"]

FLIGHTS = Path("..") / "shared" / "data" / "flights_us_2001h1.parquet"
"""A half year of US flights, where it is there."""

CLOSE = 1e-12
"""Of means and deviations: how far apart, relative to their size, since each side adds in its own order."""


@dataclass(frozen=True)
class Parity:
    """How many windows each side has, and how many rows have no equal on the other side."""

    window: str
    ours: int
    sparks: int
    different: int


def ours(column: str) -> dict[str, mt.Aggregate]:
    """The aggregates that both sides have, as ours.

    >>> list(ours("x"))
    ['n', 'total', 'mean', 'low', 'high', 'spread']
    """
    return {
        "n": mt.count(),
        "total": mt.sum(column),
        "mean": mt.mean(column),
        "low": mt.min(column),
        "high": mt.max(column),
        "spread": mt.stddev(column),
    }


def sparks(column: str) -> list[Column]:
    """The same as Spark's."""
    made = {"total": F.sum, "mean": F.avg, "low": F.min, "high": F.max, "spread": F.stddev}
    return [F.count(F.lit(1)).alias("n"), *(function(column).alias(name) for name, function in made.items())]


def compare(
    frame: DataFrame, time: str, key: str, value: str, windows: Mapping[str, tuple[mt.windows.Window, Any]]
) -> list[Parity]:
    """Compare windows, by name: ours, and the column that Spark groups by."""
    spec = mt.over(time, by=key)
    for name, (window, _) in windows.items():
        spec = spec.window(name, window, **ours(value))
    found = spec.apply(frame).cache()
    try:
        return [
            _compared(name, found.where(F.col("query") == name), frame.groupBy(key, theirs).agg(*sparks(value)), key)
            for name, (_, theirs) in windows.items()
        ]
    finally:
        found.unpersist()


def _compared(name: str, mine: DataFrame, theirs: DataFrame, key: str) -> Parity:
    names = ["n", "total", "mean", "low", "high", "spread"]
    keyed = [F.col(key).alias("key"), F.col("window.start").alias("start"), F.col("window.end").alias("end")]
    a = mine.select(*keyed, *(F.col(x).alias(f"a_{x}") for x in names))
    b = theirs.select(*keyed, *(F.col(x).alias(f"b_{x}") for x in names))
    same = F.lit(True)
    for x in names:
        left, right = F.col(f"a_{x}"), F.col(f"b_{x}")
        alike = left.eqNullSafe(right)
        if x in ("mean", "spread"):
            alike = alike | F.coalesce(
                F.abs(left - right) <= CLOSE * F.greatest(F.abs(right), F.lit(1.0)), F.lit(False)
            )
        same = same & alike
    row = (
        a.join(b, (a.key.eqNullSafe(b.key)) & (a.start == b.start) & (a.end == b.end), "full")
        .select(F.count("a_n"), F.count("b_n"), F.sum(F.when(same, 0).otherwise(1)))
        .first()
    )
    assert row is not None
    return Parity(name, row[0], row[1], row[2] or 0)


def main() -> None:
    """Compare the flights of half a year, per airport; ends with 1 where a row differs."""
    parser = argparse.ArgumentParser(prog="python -m muntin.spark.parity")
    parser.add_argument("file", nargs="?", type=Path, default=FLIGHTS, help="a copy of flights_us_2001h1.parquet")
    given = parser.parse_args()
    console = wide_console()
    if not given.file.exists():
        console.print(f"{given.file} is not there: nothing to compare. Name a copy of it.")
        return
    spark = session("muntin parity", memory="4g")
    try:
        frame = spark.read.parquet(str(given.file))
        windows: dict[str, tuple[mt.windows.Window, Any]] = {
            "tumbling 1 hour": (mt.tumbling("1 hour"), F.window("ts", "1 hour")),
            "sliding 1 day every 2 hours": (mt.sliding("1 day", every="2 hours"), F.window("ts", "1 day", "2 hours")),
            "session 20 minutes": (mt.session("20 minutes"), F.session_window("ts", "20 minutes").alias("window")),
        }
        results = compare(frame, "ts", "origin", "arr_delay_min", windows)
        rows = frame.count()
    finally:
        spark.stop()
    for part in results:
        shown = f"{part.window}: {part.ours:,} windows, Spark {part.sparks:,}, different: {part.different:,}"
        console.print(shown, style="green" if not part.different else "red")
    console.print(f"{rows:,} rows of {given.file.name}")
    if any(part.different for part in results):
        sys.exit(1)


if __name__ == "__main__":
    main()
