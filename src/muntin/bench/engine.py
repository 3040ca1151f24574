"""The embedded engine beside a floor: a compiled loop that adds each value to the slot of its second.

Ratios within one run, interleaved, median of several rounds. Rows are pushed as Arrow batches through the public
engine, with the watermark moving after each batch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import muntin as mt

__all__ = ["WORKLOADS", "Outcome", "Workload", "measure"]

BATCH = 65_536
SECOND = 1_000_000


@dataclass(frozen=True)
class Workload:
    """One line of the table: a spec, the rows that it takes, and the share of the floor to reach."""

    name: str
    target: float
    spec: Callable[[], mt.Spec]
    disorder: bool = False
    keys: int = 0
    rate: int = 10_000
    distinct: int = 0


@dataclass(frozen=True)
class Outcome:
    """What one workload gave: rows and results per second, the ratio to the floor, and the bytes of state."""

    workload: Workload
    rows_per_second: float
    results_per_second: float
    ratio: float
    state: int
    rows: int


def tumbling(count: int, spec: mt.Spec, **aggregates: Any) -> mt.Spec:
    """A number of tumbling windows with lengths spread evenly over 1 to 20 seconds."""
    lengths = np.linspace(1, 20, count) if count > 1 else np.array([1.0])
    for i, length in enumerate(lengths):
        spec = spec.window(f"w{i}", mt.tumbling(f"{round(length * SECOND)} us"), **aggregates)
    return spec


def rows_windows(spec: mt.Spec, **aggregates: Any) -> mt.Spec:
    """Twenty tumbling windows of 1,000 to 20,000 rows."""
    for size in range(1_000, 20_001, 1_000):
        spec = spec.window(f"r{size}", mt.tumbling(f"{size} rows"), **aggregates)
    return spec


def _plain(count: int, **options: Any) -> Callable[[], mt.Spec]:
    return lambda: tumbling(count, mt.over("ts", **options), total=mt.sum("value"))


def _with_session(count: int) -> mt.Spec:
    spec = tumbling(count, mt.over("ts", disorder="2 seconds"), total=mt.sum("value"))
    return spec.window("session", mt.session("1 second"), total=mt.sum("value"))


def _five() -> dict[str, mt.Aggregate]:
    column = "value"
    return {
        "total": mt.sum(column),
        "mean": mt.mean(column),
        "low": mt.min(column),
        "high": mt.max(column),
        "spread": mt.stddev(column),
    }


WORKLOADS = [
    Workload("in order, 1 window", 0.5, _plain(1)),
    Workload("in order, 20 windows", 0.5, _plain(20)),
    Workload("in order, 100 windows", 0.5, _plain(100)),
    Workload("in order, 1,000 windows", 0.15, _plain(1_000)),
    Workload(
        "sliding 60 s every 0.25 s",
        0.4,
        lambda: mt.over("ts").window("w", mt.sliding("60 seconds", every="250 ms"), total=mt.sum("value")),
    ),
    Workload("20 windows and a session, 20 % out of order", 0.25, lambda: _with_session(20), disorder=True),
    Workload("1,000 windows and a session, 20 % out of order", 0.08, lambda: _with_session(1_000), disorder=True),
    Workload(
        "rows windows, 20 % out of order, sum",
        0.06,
        lambda: rows_windows(mt.over("ts", disorder="2 seconds"), total=mt.sum("value")),
        disorder=True,
    ),
    Workload(
        "rows windows, 20 % out of order, max",
        0.05,
        lambda: rows_windows(mt.over("ts", disorder="2 seconds"), high=mt.max("value")),
        disorder=True,
    ),
    Workload(
        "median, 20 windows, 100 distinct values",
        0.08,
        lambda: tumbling(20, mt.over("ts"), mid=mt.median("value")),
        distinct=100,
    ),
    Workload(
        "median, 20 windows, 1,000,000 distinct values",
        0.015,
        lambda: tumbling(20, mt.over("ts"), mid=mt.median("value")),
        distinct=1_000_000,
    ),
    Workload("20 windows, corrections for 2 s", 0.02, _plain(20, lateness="2 seconds"), disorder=True),
    Workload(
        "20 windows, 10,000 keys",
        0.15,
        lambda: tumbling(20, mt.over("ts", by="key"), total=mt.sum("value")),
        keys=10_000,
        rate=1_000_000,
    ),
    Workload("sum, mean, min, max, stddev together, 20 windows", 0.2, lambda: tumbling(20, mt.over("ts"), **_five())),
]


def rows(workload: Workload, count: int, seed: int = 7) -> pa.Table:
    """The rows of a workload in the order of arrival."""
    random = np.random.default_rng(seed)
    ts = np.arange(count, dtype=np.int64) * (SECOND // workload.rate if workload.rate <= SECOND else 1)
    if workload.disorder:
        # One row in five comes up to two seconds late: it has the time of an earlier moment.
        late = random.random(count) < 0.2
        ts = ts - np.where(late, random.integers(0, 2 * SECOND, count), 0)
        ts = np.maximum(ts, 0)
    values = random.random(count)
    if workload.distinct:
        values = random.integers(0, workload.distinct, count).astype(np.float64)
    columns: dict[str, Any] = {"ts": pa.array(ts, pa.timestamp("us")), "value": values}
    if workload.keys:
        columns["key"] = random.integers(0, workload.keys, count)
    return pa.table(columns)


def floor(batches: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]) -> float:
    """Seconds that the compiled loop takes over the same batches, one call each."""
    from muntin.kernels.floor import add_to_slots

    listed = list(batches)
    highest = max(int(ts.max()) for ts, _ in listed)
    slots = np.zeros(highest // SECOND + 2)
    started = time.perf_counter()
    for ts, values in listed:
        add_to_slots(ts, values, slots, 0)
    return time.perf_counter() - started


def run_once(workload: Workload, batches: list[pa.Table]) -> tuple[float, int, int]:
    """Seconds, results and bytes of state at the end of one run through the public engine."""
    engine = workload.spec().engine()
    results = 0
    started = time.perf_counter()
    for batch in batches:
        results += engine.push(batch).num_rows
    seconds = time.perf_counter() - started
    return seconds, results, engine.nbytes


def measure(workload: Workload, count: int, rounds: int = 3) -> Outcome:
    """One workload and the floor in turn, several times; the medians."""
    count = max(count, BATCH)
    table = rows(workload, count)
    batches = [table.slice(i, BATCH).combine_chunks() for i in range(0, count, BATCH)]
    raw = [
        (batch["ts"].chunk(0).to_numpy(zero_copy_only=False).view(np.int64), batch["value"].chunk(0).to_numpy())
        for batch in batches
    ]
    run_once(workload, batches[:2])  # compile
    floor(raw[:2])
    times, floors, results, state = [], [], 0, 0
    for _ in range(rounds):
        floors.append(floor(raw))
        seconds, results, state = run_once(workload, batches)
        times.append(seconds)
    floors.append(floor(raw))
    typical = statistics.median(times)
    ratio = statistics.median(floors) / typical
    return Outcome(workload, count / typical, results / typical, ratio, state, count)
