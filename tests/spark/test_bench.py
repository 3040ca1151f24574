"""The benchmark runs at a tiny size, and Muntin and Spark count the same windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muntin.spark import transfer
from muntin.spark.bench import WORKLOADS, first_batch, measure


def test_both_count_the_same_windows(spark: Any, tmp_path: Path) -> None:
    workload = WORKLOADS[0]
    found = measure(spark, workload, 60_000, 2, 1, tmp_path)
    assert found.windows["Muntin"] == found.windows["Spark"] > 0
    assert found.windows["mapInArrow"] == 0
    assert all(rate > 0 for rate in found.rate.values())
    assert all(seconds > 0 for seconds in found.first.values())
    assert first_batch(spark, workload, "Spark", 6_000, 2, tmp_path) > 0


def test_transfers_are_measured(spark: Any, tmp_path: Path) -> None:
    found = transfer.measure(spark, 4_000, 1, tmp_path)
    assert list(found) == [case.name for case in transfer.CASES]
    assert all(seconds > 0 for seconds in found.values())
