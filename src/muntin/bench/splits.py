"""Windows over kept events that overlap from step to step, with slices cached and without (paper 1, section 6.3.3).

The same rows go through the public engine twice, in turns: as it is, and with all events of the windows aggregated in
each step. Seconds are of the processor, the median of several rounds, so that other work on the machine counts less.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.slicing.split_costs import SplitCosts

__all__ = ["CASES", "Case", "Split", "measure"]

SECOND = 1_000_000
NEVER = 1 << 62


@dataclass(frozen=True)
class Case:
    """Windows of some rows every second, over 10,000 rows per second, in batches of some rows."""

    size: int
    batch: int
    disorder: bool
    several: bool

    @property
    def name(self) -> str:
        """What is measured."""
        what = "sum, mean, min, max, stddev" if self.several else "sum"
        order = "20 % out of order" if self.disorder else "in order"
        return f"last {self.size:,} rows every second, batches of {self.batch:,}, {order}, {what}"

    def spec(self) -> mt.Spec:
        """Over the column `value`."""
        made: dict[str, mt.Aggregate] = {"total": mt.sum("value")}
        if self.several:
            made |= {"mean": mt.mean("value"), "low": mt.min("value"), "high": mt.max("value")}
            made["spread"] = mt.stddev("value")
        over = mt.over("ts", disorder="2 seconds" if self.disorder else "0 seconds")
        return over.window("last", mt.sliding(f"{self.size} rows", every="1 second"), **made)


CASES = [
    Case(size, batch, disorder, several)
    for size, batch in ((10_000, 65_536), (10_000, 1_000), (100_000, 10_000), (1_000_000, 10_000))
    for several in (False, True)
    for disorder in (False, True)
]


@dataclass(frozen=True)
class Split:
    """What a case gave: rows per second with slices and without, and what was measured of splits on the way."""

    case: Case
    cached: float
    plain: float
    size: int | None
    splits: int
    per_split: float
    per_event: float


def batches(case: Case, count: int, seed: int = 7) -> list[pa.Table]:
    """The rows of a case in the order of arrival, cut."""
    random = np.random.default_rng(seed)
    ts = np.arange(count, dtype=np.int64) * (SECOND // 10_000)
    if case.disorder:
        ts = np.maximum(ts - np.where(random.random(count) < 0.2, random.integers(0, 2 * SECOND, count), 0), 0)
    table = pa.table({"ts": pa.array(ts, pa.timestamp("us")), "value": random.random(count)})
    return [table.slice(at, case.batch).combine_chunks() for at in range(0, count, case.batch)]


def run_once(case: Case, given: list[pa.Table], cached: bool) -> tuple[float, Any, int]:
    """Seconds of one run, its engine, and how many results it gave."""
    engine: Any = case.spec().engine()
    results = engine.push(given[0]).num_rows
    if not cached:
        engine._kept.worth = NEVER
    started = time.process_time()
    for batch in given[1:]:
        results += engine.push(batch).num_rows
    return time.process_time() - started, engine, results


def measure(case: Case, count: int = 1_000_000, rounds: int = 3) -> Split:
    """One case with cached slices and without, in turns."""
    given = batches(case, max(count, 2 * case.batch))
    run_once(case, given, True)  # compile
    run_once(case, given[:4], False)
    seconds: dict[bool, list[float]] = {True: [], False: []}
    costs: SplitCosts | None = None
    for _ in range(rounds):
        found = {}
        for cached in (True, False):
            took, engine, found[cached] = run_once(case, given, cached)
            seconds[cached].append(took)
            cover = engine._kept.stores[0].covering
            if cached and cover is not None:
                costs = next(iter(cover.followers.values())).costs
        assert found[True] == found[False]
    rows = sum(batch.num_rows for batch in given[1:])
    with_slices, without = (rows / statistics.median(seconds[cached]) for cached in (True, False))
    if costs is None:
        return Split(case, with_slices, without, None, 0, 0.0, 0.0)
    return Split(case, with_slices, without, costs.size, costs.splits, costs.per_split, costs.measured[1])
