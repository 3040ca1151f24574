"""`mt.rolling` beside bottleneck, pandas, polars, numbagg and NumPy's sum over the same values, in one run.

Single thread, rounds interleaved, medians of ratios within a round. Libraries that are not installed (the extra
`bench`) are left out. Time windows go over a spiky stream: that of a Google cluster where its sample is given, else
one made up with the same number of events per second and the same bursts.
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import muntin as mt

__all__ = ["ROWS", "Case", "Row", "flatness", "seconds", "speed", "spiky", "timed", "values_of"]

Array = npt.NDArray[Any]
Call = Callable[[], object]
# Polars reads this when it is first imported: all is compared on one thread.
os.environ.setdefault("POLARS_MAX_THREADS", "1")


@dataclass(frozen=True)
class Row:
    """A line of the table: a call of ours, and how many times as fast as others it has to be."""

    agg: str
    dtype: str
    window: int
    every: int
    reused: bool
    least: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What is measured."""
        how = ", out= reused" if self.reused else ""
        return f"{self.dtype} {self.agg}, {self.window:,} / {self.every:,}{how}"


def _rows() -> list[Row]:
    found = []
    for agg, dtype in (
        ("min", "int32"),
        ("min", "float64"),
        ("sum", "float64"),
        ("mean", "float64"),
        ("sum", "int32"),
        ("mean", "int32"),
    ):
        least = agg == "min"
        first = (
            {"bottleneck": 7.0, "polars": 13.0, "pandas": 7.0}
            if least
            else {"bottleneck": 1.0, "numbagg": 1.3, "polars": 2.6}
        )
        found.append(Row(agg, dtype, 1024, 1, False, first))
        found.append(Row(agg, dtype, 1024, 1, True, {"bottleneck": 12.0 if least else 1.8}))
        found.append(Row(agg, dtype, 1024, 8, False, {"bottleneck": 20.0 if least else 2.5}))
        found += [Row(agg, dtype, 1024, every, False, {"numpy": 0.7}) for every in (64, 256, 1024)]
    return found


ROWS = _rows()


def values_of(dtype: str, count: int, seed: int = 7) -> Array:
    """Random values of a type."""
    random = np.random.default_rng(seed)
    return random.integers(0, 1 << 20, count).astype(dtype) if "int" in dtype else random.random(count).astype(dtype)


def others(agg: str, values: Array, window: int) -> dict[str, Call]:
    """The same windows, with slide 1, by libraries that are installed; and one sum over all values."""
    found: dict[str, Call] = {"numpy": lambda: values.sum()}
    names = {"bottleneck": "bottleneck", "numbagg": "numbagg", "pandas": "pandas", "polars": "polars"}
    loaded = {name: _loaded(module) for name, module in names.items()}
    if loaded["bottleneck"] is not None:
        move = getattr(loaded["bottleneck"], f"move_{agg}")
        found["bottleneck"] = lambda: move(values, window)
    if loaded["numbagg"] is not None and agg != "min":
        moved = getattr(loaded["numbagg"], f"move_{agg}")
        floats = values.astype(np.float64)
        found["numbagg"] = lambda: moved(floats, window=window)
    if loaded["pandas"] is not None:
        series = loaded["pandas"].Series(values)
        found["pandas"] = lambda: getattr(series.rolling(window), agg)()
    if loaded["polars"] is not None:
        column = loaded["polars"].Series(values)
        found["polars"] = lambda: getattr(column, f"rolling_{agg}")(window)
    return found


def _loaded(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def seconds(call: Call) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


@dataclass(frozen=True)
class Case:
    """What a line of the table gave: millions of values per second, and how many times as fast as each other."""

    name: str
    millions: float
    ratios: dict[str, float]
    least: dict[str, float]

    @property
    def met(self) -> bool:
        """Whether all that was compared reaches its target."""
        return all(self.ratios[name] >= target for name, target in self.least.items() if name in self.ratios)


def _compared(name: str, count: int, ours: Call, theirs: dict[str, Call], least: dict[str, float], rounds: int) -> Case:
    theirs = {name: call for name, call in theirs.items() if name in least}
    ours()
    for call in theirs.values():
        call()
    taken: dict[str, list[float]] = {name: [] for name in ("ours", *theirs)}
    for _ in range(rounds):
        for other, call in {"ours": ours, **theirs}.items():
            taken[other].append(seconds(call))
    ratios = {
        other: statistics.median(t / o for t, o in zip(taken[other], taken["ours"], strict=True)) for other in theirs
    }
    return Case(name, count / statistics.median(taken["ours"]) / 1e6, ratios, least)


def _ours(row: Row, values: Array) -> Call:
    agg = getattr(mt, row.agg)
    if not row.reused:
        return lambda: mt.rolling(values, window=row.window, every=row.every, agg=agg)
    from muntin.rolling_lanes import aligned

    first = mt.rolling(values, window=row.window, every=row.every, agg=agg)
    out = aligned(len(first), first.dtype.name, values)
    return lambda: mt.rolling(values, window=row.window, every=row.every, agg=agg, out=out)


def speed(row: Row, count: int, rounds: int = 3) -> Case:
    """One line of the table."""
    values = values_of(row.dtype, count)
    window = min(row.window, count)
    return _compared(row.name, count, _ours(row, values), others(row.agg, values, window), row.least, rounds)


def flatness(agg: str, dtype: str, count: int, rounds: int = 3) -> dict[int, float]:
    """For windows of 8 to 1,048,576 values with slide 1: how many times as long as with 1,024, `out=` reused."""
    values = values_of(dtype, count)
    sizes = [size for size in (8, 64, 1024, 16384, 131072, 1048576) if size < count]
    calls = {size: _ours(Row(agg, dtype, size, 1, True), values) for size in sizes}
    for call in calls.values():
        call()
    taken: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size, call in calls.items():
            taken[size].append(seconds(call) / (count - size + 1))
    typical = {size: statistics.median(times) for size, times in taken.items()}
    return {size: taken / typical[1024] for size, taken in typical.items()}


# -- time windows ------------------------------------------------------------------------------------------------------


def spiky(count: int, folder: str | None = None) -> tuple[npt.NDArray[np.int64], Array]:
    """Times and CPU requests: the sample of a Google cluster, repeated, or one made up like it."""
    path = None if folder is None else Path(folder) / "sample_google_cluster_2011.parquet"
    if path is not None and path.is_file():
        import pyarrow.parquet as pq

        table = pq.read_table(path, columns=["ts", "cpu_req"])
        ts = table["ts"].to_numpy().astype("datetime64[us]").view(np.int64)
        values = table["cpu_req"].to_numpy().astype(np.float64)
    else:
        random = np.random.default_rng(2011)
        # 26 events a second, in bursts: 10 in the median second, 2,120 in the largest; 33 distinct requests.
        counts = (random.pareto(2, 647) * 24).astype(np.int64)
        counts[counts.argmax()] = 2_120
        ts = np.repeat(np.arange(647), counts) * 1_000_000
        values = random.choice(np.round(random.random(33), 4), len(ts))
    span = int(ts[-1]) + 1_000_000
    times = np.concatenate([ts + k * span for k in range(-(-count // len(ts)))])[:count]
    return np.ascontiguousarray(times), np.tile(values, -(-count // len(ts)))[:count]


def timed(agg: str, every: int, count: int, rounds: int, folder: str | None) -> Case:
    """Windows of 64 seconds, beside one sum over the values."""
    times, values = spiky(count, folder)
    name = f"float64 {agg}, time windows of 64 s every {every} s"
    ours = lambda: mt.rolling(  # noqa: E731
        values, times=times, window="64 seconds", every=f"{every} seconds", agg=getattr(mt, agg)
    )
    return _compared(name, count, ours, {"numpy": lambda: values.sum()}, {"numpy": 0.3}, rounds)
