"""The same rows as Spark's own `window` and `session_window`: one example is a table of 200 random logs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import muntin as mt
from tests.spark.logs import table
from tests.strategies import comparable

OURS = {
    "n": mt.count(),
    "total": mt.sum("x"),
    "mean": mt.mean("x"),
    "low": mt.min("f"),
    "high": mt.max("x"),
    "spread": mt.stddev("x"),
}


def sparks() -> list[Any]:
    return [
        F.count(F.lit(1)).alias("n"),
        F.sum("x").alias("total"),
        F.avg("x").alias("mean"),
        F.min("f").alias("low"),
        F.max("x").alias("high"),
        F.stddev("x").alias("spread"),
    ]


def rows(frame: Any) -> list[Any]:
    picked = frame.select("key", "window.start", "window.end", *OURS).toArrow().to_pylist()
    return sorted((comparable(tuple(row.values())) for row in picked), key=repr)


@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 20), st.integers(1, 30))
def test_the_same_rows_as_sparks_own_windows(spark: Any, seed: int, size: int, every: int, gap: int) -> None:
    frame = spark.createDataFrame(table(seed, keys=200, rows=2_000, behind=50)).coalesce(2).cache()
    size, every = max(size, every), min(size, every)  # Spark has no gaps between sliding windows
    spec = (
        mt.over("ts", by="key")
        .window("tumbling", mt.tumbling(f"{size} ms"), **OURS)
        .window("sliding", mt.sliding(f"{size} ms", every=f"{every} ms"), **OURS)
        .window("session", mt.session(f"{gap} ms"), **OURS)
    )
    found = spec.apply(frame).cache()
    theirs = {
        "tumbling": F.window("ts", f"{size} milliseconds"),
        "sliding": F.window("ts", f"{size} milliseconds", f"{every} milliseconds"),
        # Spark's session ends a gap after its last event as ours does.
        "session": F.session_window("ts", f"{gap} milliseconds").alias("window"),
    }
    try:
        for name, window in theirs.items():
            expected = frame.groupBy("key", window).agg(*sparks())
            assert rows(found.where(F.col("query") == name)) == rows(expected), name
    finally:
        found.unpersist()
        frame.unpersist()


def test_the_comparison_can_fail(spark: Any) -> None:
    frame = spark.createDataFrame(table(1, keys=3, rows=50))
    ours = mt.over("ts", by="key").window("w", mt.tumbling("5 ms"), **OURS).apply(frame)
    with pytest.raises(AssertionError):
        assert rows(ours) == rows(frame.groupBy("key", F.window("ts", "6 milliseconds")).agg(*sparks()))
