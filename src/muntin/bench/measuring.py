"""Measuring for figures: contenders take turns over the same batches, several rounds; medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

__all__ = ["Made", "batches_of", "seconds", "throughputs"]

Made = Callable[[], Any]
"""Makes a new engine."""


def batches_of(table: pa.Table, size: int) -> list[pa.Table]:
    """A table cut into batches that lie in one piece each.

    >>> [batch.num_rows for batch in batches_of(pa.table({"x": [1, 2, 3]}), 2)]
    [2, 1]
    """
    return [table.slice(i, size).combine_chunks() for i in range(0, table.num_rows, size)]


def pushed(made: Made, batches: Sequence[pa.Table], budget: float) -> tuple[float, int]:
    """Rows per second of one run, and its results. It ends before the last batch once a budget of seconds is spent.

    The first batch of several is not timed: with it an engine plans its queries and makes room, once and for all.
    """
    engine, rows, results = made(), 0, 0
    if len(batches) > 1:
        results, batches = engine.push(batches[0]).num_rows, batches[1:]
    started = time.perf_counter()
    for batch in batches:
        results += engine.push(batch).num_rows
        rows += batch.num_rows
        if time.perf_counter() - started > budget:
            break
    return rows / (time.perf_counter() - started), results


def throughputs(
    contenders: Mapping[str, Made], batches: Sequence[pa.Table], rounds: int, budget: float
) -> dict[str, float]:
    """Rows per second of each contender, median of rounds in which they take turns.

    A contender that is slow takes only as many batches as fit into the budget of seconds. Those that take all of them
    must give the same number of results.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    >>> rates = throughputs({"a": spec.engine, "b": spec.engine}, [pa.table({"ts": [0, 1_000_000]})], 1, 9.0)
    >>> sorted(rates), rates["a"] > 0
    (['a', 'b'], True)
    """
    for made in contenders.values():  # compiles, and warms caches
        pushed(made, batches[:2], 0.0 if len(batches) < 2 else budget / 4)
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, made in contenders.items():
            rates[name].append(pushed(made, batches, budget)[0])
    return {name: statistics.median(found) for name, found in rates.items()}


def seconds(calls: Mapping[str, Callable[[], Any]], rounds: int, warm: bool = False) -> dict[str, float]:
    """Seconds that each call takes, median of rounds in which they take turns; each is called once before unless warm.

    >>> seconds({"nothing": lambda: None}, 3)["nothing"] < 1
    True
    """
    took: dict[str, list[float]] = {name: [] for name in calls}
    for call in () if warm else calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            took[name].append(time.perf_counter() - started)
    return {name: statistics.median(found) for name, found in took.items()}
