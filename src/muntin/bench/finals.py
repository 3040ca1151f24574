"""`final="auto"` beside every fixed choice: arrays, windows over slices of several keys, and windows in rows.

Rounds are interleaved, and a point's ratio is that of the medians of the thread's time. Before the grid the
machine is measured anew.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.bench.rolling import Array, Call, spiky, values_of
from muntin.final import CARDS
from muntin.final_costs import GROUPS, measured

__all__ = ["MOST", "Point", "array_grid", "engine_grid", "grid"]

_TRIES = 3
MOST = 1.15
"""How long `auto` may take, relative to the best fixed choice."""


@dataclass(frozen=True)
class Point:
    """A point of the grid: how long `auto` takes, relative to the best fixed choice."""

    name: str
    best: str
    ratio: float
    chosen: str | None = None
    """What `auto` took, where it can be asked: if that is the best, the ratio is of one algorithm to itself."""


def grid(count: int, rounds: int = 7, folder: str | None = None) -> Iterator[Point]:
    """All points; `count` is how many values arrays have."""
    for group in GROUPS:
        measured(group, anew=True)
    yield from array_grid(count, rounds, folder)
    yield from engine_grid(rounds)


# -- arrays ------------------------------------------------------------------------------------------------------------

_ARRAYS = (("min", "int32"), ("min", "float64"), ("sum", "float64"), ("mean", "int32"), ("sum", "int32"))
_SHAPES = ((8, 1), (1024, 1), (131072, 1), (24, 16), (1024, 8), (1000, 64), (1024, 64), (1024, 512), (1024, 700))


def array_grid(count: int, rounds: int, folder: str | None) -> Iterator[Point]:
    """Windows of some values, and windows in time over a spiky stream."""
    for agg, dtype in _ARRAYS:
        values = values_of(dtype, count)
        for window, every in (*_SHAPES, (1024, 1024)):
            if window < count:
                name = f"{dtype} {agg}, {window:,} / {every:,}"
                yield _array_point(name, values, window, every, getattr(mt, agg), None, rounds)
    few = values_of("float64", count // 10)
    for window, every in ((64, 1), (1024, 8), (1024, 512), (1024, 1024)):
        if window < len(few):
            yield _array_point(f"float64 stddev, {window:,} / {every:,}", few, window, every, mt.stddev, None, rounds)
    times, values = spiky(count, folder)
    for every in (1, 8, 40, 64):
        name = f"float64 mean, 64 s / {every} s"
        yield _array_point(name, values, 64_000_000, every * 1_000_000, mt.mean, times, rounds)


def _array_point(name: str, values: Array, window: int, every: int, agg: Any, times: Any, rounds: int) -> Point:
    def call(final: str) -> Call:
        return lambda: mt.rolling(values, window=window, every=every, agg=agg, times=times, final=final)

    # A rescan of so many slides takes many times as long as all others. Partials of floats that are subtracted lose
    # digits (after one 1e8 the deviation of 64 values of 1e-3 came out as 1.1e-4 instead of 2.8e-4), so `auto` may not.
    digits = agg is not mt.stddev
    finals = [final for final in CARDS if final != "rescan" or window <= 256 * every]
    finals = [final for final in finals if final != "subtract_on_evict" or digits]
    found = _point(name, {final: call(final) for final in ("auto", *finals)}, rounds)
    told: str = mt.rolling(values, window=window, every=every, agg=agg, times=times, explain=True)
    return replace(found, chosen=told.partition(":")[0])


def _seconds(run: Call) -> float:
    """How long this thread takes: what other processes do meanwhile is left out."""
    started = time.thread_time()
    run()
    return time.thread_time() - started


def _point(name: str, calls: dict[str, Call], rounds: int) -> Point:
    """What is far off is measured a few times only.

    By the least of some tries: by a single one the best choice was left out at times, so that `auto` seemed to take a
    third of the time of the best.
    """
    first = {
        final: _seconds(run) for final, run in calls.items()
    }  # loads kernels too: only what is far off is left out
    slow = 50 * min(first.values())
    tried = {
        final: min(_seconds(run) for _ in range(_TRIES))
        for final, run in calls.items()
        if final == "auto" or first[final] < slow
    }
    fixed = min(took for final, took in tried.items() if final != "auto")
    near = {final: calls[final] for final in tried if final == "auto" or tried[final] < 2 * fixed}
    taken: dict[str, list[float]] = {final: [] for final in near}
    order = list(near)
    for _ in range(rounds):
        for final in order:
            taken[final].append(_seconds(near[final]))
        order = [*order[1:], order[0]]  # none is always the first
    typical = {final: statistics.median(times) for final, times in taken.items()}
    best = min((final for final in typical if final != "auto"), key=lambda final: typical[final])
    return Point(name, best, typical["auto"] / typical[best])


# -- engines -----------------------------------------------------------------------------------------------------------

_ENGINES = {"int sum": ("n", mt.sum), "float min": ("x", mt.min), "float mean": ("x", mt.mean)}
_REPORTS = ((16, 4), (64, 4), (64, 32), (512, 4), (512, 64))
"""Slices in a window, and windows in a report."""
_ROWS = 4_096
"""Rows of a round, at least: one push of 100 to 400 microseconds told more of the machine than of the algorithm."""


def engine_grid(rounds: int, keys: tuple[int, ...] = (1, 10, 1000), most: int = 600_000) -> Iterator[Point]:
    """Sliding windows of an engine that is pushed to: over slices of time, and in rows."""
    for name, (column, agg) in _ENGINES.items():
        for count in keys:
            for slices, windows in _REPORTS:
                if (slices + windows) * count <= most:
                    told = f"{name}, {count:,} keys, {windows} windows of {slices} slices"
                    window = mt.sliding(f"{slices} seconds", every="1 second")
                    yield _engine_point(f"engine, {told}", window, agg(column), count, slices, windows, rounds)
        for slices, windows in _REPORTS:
            told = f"{name}, 10 keys, {windows} windows of {slices} rows each"
            window = mt.sliding(f"{slices} rows", every="1 row")
            yield _engine_point(f"rows, {told}", window, agg(column), 10, slices, windows, rounds)


def _engine_point(
    name: str, window: Any, agg: mt.Aggregate, keys: int, slices: int, windows: int, rounds: int
) -> Point:
    spec = mt.over("ts", by="key", max_ahead=None).window("w", window, r=agg)

    def pushed(final: str) -> _Pushed:
        # Batches of its own: what one engine has read would be in the cache for the next.
        at_once = min(max(_ROWS // (keys * windows), 1), 32)
        more = [_batch(keys, slices + i * windows, windows) for i in range(at_once * (1 + _TRIES + rounds))]
        return _Pushed(spec.engine(final=final), [_batch(keys, 0, slices), *more], at_once)

    finals = [final for final in CARDS if final != "subtract_on_evict" or agg.invert is not None]
    return _point(name, {final: pushed(final) for final in ("auto", *finals)}, rounds)


def _batch(keys: int, start: int, seconds_long: int) -> pa.Table:
    """One event of each key in each second."""
    rows = keys * seconds_long
    random = np.random.default_rng(start)
    ts = pa.array((start + np.arange(rows) // keys) * 1_000_000, pa.timestamp("us"))
    return pa.table(
        {"ts": ts, "key": np.arange(rows) % keys, "x": random.random(rows), "n": random.integers(0, 1 << 20, rows)}
    )


class _Pushed:
    """Each call pushes the next batches to an engine, the first of which filled it."""

    def __init__(self, engine: Any, batches: list[pa.Table], at_once: int) -> None:
        self._engine, self._batches, self._next, self._at_once = engine, batches, 1, at_once
        engine.push(batches[0])

    def __call__(self) -> object:
        batches = self._batches[self._next : self._next + self._at_once]
        self._next += self._at_once
        assert len(batches) == self._at_once, "without a batch nothing would be measured"
        for batch in batches:
            self._engine.push(batch)
        return None
