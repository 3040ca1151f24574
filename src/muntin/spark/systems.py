"""Spark's own operators on the questions of `muntin.bench.systems`, over rows that are cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from muntin.bench.systems import EVERY, WINDOW, Answer

__all__ = ["asked"]


@contextmanager
def asked(spark: SparkSession, question: str, table: pa.Table) -> Iterator[dict[str, Callable[[], Answer]]]:
    """What Spark is asked: its answer is summed up by itself, so that no row has to leave it."""
    frame = spark.createDataFrame(table).cache()
    frame.count()
    try:
        yield {"Spark": lambda: _summed(_answer(question, frame))}
    finally:
        frame.unpersist()


def _answer(question: str, frame: DataFrame) -> DataFrame:
    if question == "rolling":
        last = Window.orderBy("ts").rowsBetween(1 - WINDOW, 0)
        moved = frame.select(F.avg("x").over(last).alias("total"), F.count("x").over(last).alias("n"))
        return moved.where(F.col("n") == WINDOW)
    lengths = [f"{EVERY[question]} seconds", "1 second"][: 2 if EVERY[question] > 1 else 1]
    three = [F.count(F.lit(1)).alias("n"), F.sum("x").alias("total"), F.max("x").alias("top")]
    return frame.groupBy("key", F.window("ts", *lengths)).agg(*three)


def _summed(found: DataFrame) -> Answer:
    [row] = found.agg(F.count(F.lit(1)), F.sum("total"), *_rest(found)).collect()
    return int(row[0]), float(row[1])


def _rest(found: DataFrame) -> list[Any]:
    """The other columns are asked for as well: what no one asks for Spark would not compute."""
    return [F.max(name) for name in ("n", "top") if name in found.columns]
