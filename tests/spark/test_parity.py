"""The same rows as Spark's own `window` and `session_window`: one example is a table of 200 random logs."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import muntin as mt
from muntin.spark.parity import compare
from tests.spark.logs import table


@settings(
    max_examples=3,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 20), st.integers(1, 30), st.sampled_from("xf"))
def test_the_same_rows_as_sparks_own_windows(
    spark: Any, seed: int, size: int, every: int, gap: int, column: str
) -> None:
    frame = spark.createDataFrame(table(seed, keys=200, rows=2_000, behind=50)).coalesce(2).cache()
    size, every = max(size, every), min(size, every)  # Spark has no gaps between sliding windows
    windows = {
        "tumbling": (mt.tumbling(f"{size} ms"), F.window("ts", f"{size} milliseconds")),
        "sliding": (
            mt.sliding(f"{size} ms", every=f"{every} ms"),
            F.window("ts", f"{size} milliseconds", f"{every} milliseconds"),
        ),
        # Spark's session ends a gap after its last event as ours does.
        "session": (mt.session(f"{gap} ms"), F.session_window("ts", f"{gap} milliseconds").alias("window")),
    }
    try:
        for found in compare(frame, "ts", "key", column, windows):
            assert found.ours == found.sparks > 0
            assert found.different == 0, found
    finally:
        frame.unpersist()


def test_the_comparison_can_fail(spark: Any) -> None:
    frame = spark.createDataFrame(table(1, keys=3, rows=50))
    windows = {"w": (mt.tumbling("5 ms"), F.window("ts", "6 milliseconds"))}
    (found,) = compare(frame, "ts", "key", "x", windows)
    assert found.different > 0
