"""Events with a duration: slicing beside buckets and sweeping, as in section 6 of paper 3.

One event per chronon (a microsecond here), normally distributed lengths, count, sum and max together; and the flights
of 2013, repeated. All techniques go through the public engine, in turns; each number is the median of the rounds.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import muntin as mt

__all__ = [
    "BASELINES", "CELLS", "HEIGHTS", "SPARSE", "Cell", "Contenders", "Took", "beside", "flights", "heights", "measure",
    "profiled", "sparse", "synthetic",
]  # fmt: skip

BASELINES = ("tuple_buckets", "aggregate_buckets", "sweeping")
HEIGHTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50)
BATCH = 65_536
POSTPONE = 15_000  # the paper's delta


@dataclass(frozen=True)
class Cell:
    """Events of a mean length, as many chronons apart as given, and windows of a size and a step, in chronons."""

    length: int
    size: int
    step: int
    apart: int = 1

    @property
    def name(self) -> str:
        """What is measured."""
        apart = "" if self.apart == 1 else f", an event every {self.apart:,}"
        return f"length {self.length:,}, size {self.size:,}, step {self.step:,}{apart}"

    def spec(self, technique: str = "auto", height: int | None = None) -> mt.Spec:
        """Count, sum and max over the column `x`."""
        over = mt.over(
            span=("start", "end"),
            postpone=f"{max(POSTPONE, 2 * self.length)} us",
            technique=technique,
            height="auto" if height is None else height,
        )
        return aggregated(over, mt.sliding(f"{self.size} us", every=f"{self.step} us"))


CELLS = [Cell(length, size, size // 5) for length in (50, 500, 5_000) for size in (1_000, 5_000, 10_000, 50_000)]
# Where sweeping should be at its best (Figure 15): long events, small steps, windows that overlap many times, down to a
# hundred steps without an event.
SPARSE = [
    Cell(length, 10 * overlap, 10, apart)
    for apart in (1, 10, 100, 1_000)
    for length in (500, 5_000, 50_000)
    for overlap in (5, 50)
    if length >= apart
]


def aggregated(over: mt.Spec, window: mt.windows.Window) -> mt.Spec:
    """The three aggregates of the paper."""
    return over.window("w", window, n=mt.count(), total=mt.sum("x"), top=mt.max("x"))


def synthetic(length: int, rows: int, seed: int = 1, apart: int = 1) -> pa.Table:
    """One event per chronon, or every so many, in the order of their ends."""
    random = np.random.default_rng(seed)
    end = np.arange(rows, dtype=np.int64) * apart + 10_000
    lengths = np.maximum(random.normal(length, 10, rows).astype(np.int64), 1)
    return pa.table({"start": end - lengths, "end": end, "x": random.integers(0, 1_000, rows)})


def flights(rows: int) -> pa.Table:
    """The flights of 2013 in the order in which they landed, year after year."""
    from muntin.demo_spans import airborne

    table = airborne()
    year = 366 * 86_400_000_000
    start, end = (np.asarray(table[name].cast(pa.int64())) for name in ("took_off", "landed"))
    x = np.asarray(table["distance"])
    times = -(-rows // len(end))
    shift = np.repeat(np.arange(times) * year, len(end))[:rows]
    start, end, x = (np.tile(column, times)[:rows] for column in (start, end, x))
    return pa.table({"start": start + shift, "end": end + shift, "x": x})


def flights_spec(technique: str = "auto") -> mt.Spec:
    """In the air, every 5 minutes over the last 15."""
    over = mt.over(span=("start", "end"), postpone="12 hours", technique=technique)
    return aggregated(over, mt.sliding("15 minutes", every="5 minutes"))


@dataclass(frozen=True)
class Took:
    """Of one run: events a second, seconds of the processor for a million of them, most bytes of state; its windows."""

    rate: float
    cpu: float
    state: float
    windows: int | None
    """None where it ran out of time."""


def run_once(spec: mt.Spec, batches: Sequence[pa.Table], engine: str, budget: float = math.inf) -> Took:
    """One run, from the first batch to the last window; it ends earlier once a budget of seconds is spent."""
    running: Any = spec.engine(engine=engine)
    windows, state, rows, wall, cpu = 0, 0, 0, 0.0, 0.0
    for batch in (*batches, None):
        started, used = time.perf_counter(), time.process_time()
        windows += (running.flush() if batch is None else running.push(batch)).num_rows
        wall, cpu = wall + time.perf_counter() - started, cpu + time.process_time() - used
        rows += 0 if batch is None else batch.num_rows
        state = max(state, running.nbytes)
        if wall > budget and batch is not None:
            return Took(rows / wall, cpu / rows * 1e6, state, None)
    return Took(rows / wall, cpu / rows * 1e6, state, windows)


Contenders = dict[str, tuple[mt.Spec, str]]
"""Specs and the names of their engines."""


def profiled(
    contenders: Contenders, table: pa.Table, rounds: int, budget: float = math.inf, size: int = BATCH
) -> dict[str, Took]:
    """What each contender took: the medians of rounds in turns. Those that take all events give as many windows."""
    batches = [table.slice(at, size) for at in range(0, table.num_rows, size)]
    for spec, engine in contenders.values():  # compile
        run_once(spec, batches[:2], engine, budget / 4)
    took: dict[str, list[Took]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, (spec, engine) in contenders.items():
            took[name].append(run_once(spec, batches, engine, budget))
    assert len({one.windows for found in took.values() for one in found} - {None}) <= 1

    def median(found: list[Took]) -> Took:
        rate, cpu, state = (statistics.median(getattr(one, what) for one in found) for what in ("rate", "cpu", "state"))
        return Took(rate, cpu, state, found[-1].windows)

    return {name: median(found) for name, found in took.items()}


def measure(contenders: Contenders, table: pa.Table, rounds: int) -> dict[str, float]:
    """Events per second of each contender: a spec and the name of its engine; the median of rounds in turns."""
    return {name: took.rate for name, took in profiled(contenders, table, rounds).items()}


def beside(cell: Cell) -> Contenders:
    """Slicing as it chooses, with one level, and the baselines."""
    contenders: Contenders = {"auto": (cell.spec(), "auto"), "single": (cell.spec("single"), "auto")}
    return contenders | {name: (cell.spec(), name) for name in BASELINES}


def techniques(cell: Cell, table: pa.Table, rounds: int) -> dict[str, float]:
    """Slicing as it chooses, with one level, and the baselines."""
    return measure(beside(cell), table, rounds)


def heights(cell: Cell, table: pa.Table, rounds: int, given: Sequence[int] = HEIGHTS) -> dict[str, float]:
    """What is chosen, and multi-level slicing of the height that it chooses, beside fixed heights."""
    contenders = {"auto": (cell.spec(), "auto"), "multi": (cell.spec("multi"), "auto")}
    contenders |= {str(height): (cell.spec("multi", height), "auto") for height in given}
    return measure(contenders, table, rounds)


def sparse(cell: Cell, rows: int, rounds: int) -> dict[str, float]:
    """What is chosen beside levels and beside sweeping, where that should be at its best.

    As many events as make `rows` windows, if these are fewer.
    """
    count = max(min(rows, rows * cell.step // cell.apart), 100)
    contenders = {name: (cell.spec(name), "auto") for name in ("auto", "multi", "sweeping")}
    return measure(contenders, synthetic(cell.length, count, apart=cell.apart), rounds)
