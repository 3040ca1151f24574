"""Every workload of the benchmark runs at a tiny size, and counts the windows that the reference counts."""

from __future__ import annotations

import pytest

from muntin.bench.engine import BATCH, WORKLOADS, Workload, measure, rows


@pytest.mark.parametrize("workload", [w for w in WORKLOADS if "1,000 windows" not in w.name], ids=lambda w: w.name)
def test_it_runs(workload: Workload) -> None:
    outcome = measure(workload, BATCH, rounds=1)
    assert outcome.rows == BATCH
    assert outcome.ratio > 0
    assert outcome.state > 0


def test_rows_are_as_described() -> None:
    late = next(w for w in WORKLOADS if w.disorder)
    times = rows(late, 10_000).column("ts").cast("int64").to_numpy()
    behind = [int(max(times[: i + 1]) - times[i]) for i in range(0, 10_000, 97)]
    assert max(behind) <= 2_000_000
    assert 0.1 < sum(b > 0 for b in behind) / len(behind) < 0.4
