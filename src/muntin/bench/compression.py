"""The experiment of paper 5, section 5: stops of vehicles in the last three hours, for several D, beside none.

Vehicles of Linear Road report every 30 s while they drive. New ones come at the rate of the stand-alone generator (it
rises and falls over three hours), scaled; each drives from one segment to another at a speed that varies from report to
report, and some stand still for a while. Movement is drawn per report, not per second as in the generator: what matters
here is how many reports a vehicle has, and that speeds are small numbers with runs of zeros.

Batches of some seconds are pushed as fast as the engine takes them. From the time that each took follows the latency at
a rate of input: a batch waits until those before it are done. Engines take turns, batch by batch, so that what disturbs
one disturbs all.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import muntin as mt

__all__ = ["AFTER", "BOUNDS", "RATES", "Outcome", "measure", "reports", "stops"]

AFTER: dict[str, Any] = {
    "none": None,
    "off": None,
    "20 min": "20 minutes",
    "10 min": "10 minutes",
    "1 min": "1 minute",
    "15 s": "15 seconds",
    "0": 0,
}
"""The values of D; "off" is an engine in which no step asks what is to be compressed."""
RATES = (1 / 8, 1 / 4, 1 / 2, 5 / 8, 1)
"""Rates of input, as parts of what is sustained without compression."""
BOUNDS = {"1 min": (1 / 3, 0.95, 3), "15 s": (1 / 4, 0.85, 9), "0": (1 / 5, 0.7, math.inf)}
"""Memory at most, throughput at least and latency at most, beside no compression."""

SECOND = 1_000_000
HOURS = 10_800
EVERY = 30  # seconds between two reports of a vehicle


def stops(speeds: npt.NDArray[np.int64]) -> int:
    """How often a vehicle stopped: maximal runs of reports without speed, also at the ends.

    >>> stops(np.array([0, 0, 40, 0, 50, 0]))
    3
    """
    still = speeds == 0
    return int(still[0]) + int(np.count_nonzero(still[1:] & ~still[:-1]))


def reports(seconds: int, per_second: float, seed: int = 1) -> pa.Table:
    """Position reports in the order of time: `ts`, `vehicle`, `speed`.

    >>> table = reports(600, 0.5)
    >>> table.column_names, table.num_rows > 1_000
    (['ts', 'vehicle', 'speed'], True)
    """
    rng = np.random.default_rng(seed)
    second = np.arange(seconds)
    rate = per_second * (np.sin(np.pi * second / HOURS) + 0.8 + rng.random(seconds))
    entry = np.repeat(second, rng.poisson(rate))
    cars = len(entry)
    miles = rng.integers(2, 60, cars)
    pace = rng.integers(35, 66, cars)
    count = np.maximum(2, miles * 3600 // pace // EVERY)
    car = np.repeat(np.arange(cars), count)
    place = np.arange(len(car)) - np.repeat(np.cumsum(count) - count, count)
    speed = np.clip(np.repeat(pace, count) + rng.integers(-9, 10, len(car)), 0, 100)
    speed[place == 0] = 10
    standing = rng.random(cars) < 0.1  # one in ten stands still for up to ten minutes
    first = (rng.random(cars) * count).astype(np.int64)
    length = rng.integers(1, 21, cars)
    lasts = np.repeat(standing, count) & (place >= np.repeat(first, count)) & (place < np.repeat(first + length, count))
    speed[lasts] = 0
    ts = entry[car] + EVERY * place
    order = np.argsort(ts, kind="stable")
    order = order[ts[order] < seconds]
    return pa.table({"ts": ts[order] * SECOND, "vehicle": car[order], "speed": speed[order]})


@dataclass(frozen=True)
class Outcome:
    """What one D gave: rows per second, bytes of state on average and of kept events alone, and more."""

    after: str
    throughput: float
    state: float
    kept: float
    events: float
    """Events kept, on average over the second half of the run, as all else that is held."""
    share: float
    """The share of vehicles compressed, on average."""
    latency: dict[float, float]
    """Seconds from a batch to its results, on average, for each rate of input."""
    compressions: int
    decompressions: int
    results: int
    taken: dict[float, float]
    """Rows per second that were taken, for each rate of input."""
    ended: dict[float, Ended]
    """What an experiment of one length came to, for each rate: a lower rate takes fewer rows in that time."""


@dataclass(frozen=True)
class Ended:
    """At the end of an experiment: bytes of state, share of vehicles compressed, how often any was, and was opened."""

    state: float
    share: float
    compressions: int
    decompressions: int


def measure(
    seconds: int = HOURS,
    per_second: float = 0.5,
    batch: int = 5,
    after: tuple[str, ...] = tuple(AFTER),
    seed: int = 1,
) -> list[Outcome]:
    """The outcome for each D, of one run in which they take turns."""
    table = reports(seconds, per_second, seed)
    spec = mt.over("ts", by="vehicle", max_ahead=None)
    spec = spec.window("w", mt.sliding("3 hours", every="1 minute"), stops=mt.process(stops, "speed"))
    engines: list[Any] = []
    for name in after:
        made = spec if AFTER[name] is None else spec.compress(AFTER[name])
        warm = made.engine()
        warm.push(table.slice(0, 100))  # compiled kernels are loaded
        engines.append(made.engine())
        if name == "off":
            engines[-1].push(table.slice(0, 0))
            for store in engines[-1]._kept.stores:
                store.settle = _nothing
    edges = np.searchsorted(table["ts"].to_numpy(), np.arange(0, seconds + 1, batch) * SECOND)
    rows = np.diff(edges)
    took = np.zeros((len(after), len(rows)))
    gave = np.zeros(len(rows), np.bool_)
    held, results = np.zeros((len(after), 4)), [0] * len(after)
    ends = {int(np.searchsorted(np.cumsum(rows), rate * rows.sum())): rate for rate in RATES}
    ended: list[dict[float, Ended]] = [{} for _ in after]
    for i, (first, count) in enumerate(zip(edges[:-1].tolist(), rows.tolist(), strict=True)):
        part = table.slice(first, count)
        for j in np.roll(np.arange(len(after)), i).tolist():
            begun = time.perf_counter()
            found = engines[j].push(part)
            took[j, i] = time.perf_counter() - begun
            results[j] += found.num_rows
            gave[i] = found.num_rows > 0
        if 2 * i >= len(rows) and not i % 12:  # the windows are half full: now memory counts
            held += [[e.nbytes, e._kept.nbytes, e._kept.turned[1], e.metrics().share_compressed] for e in engines]
        if i in ends:
            for one, engine in zip(ended, engines, strict=True):
                told = engine.metrics()
                one[ends[i]] = Ended(engine.nbytes, told.share_compressed, told.compressions, told.decompressions)
    samples = sum(1 for i in range(len(rows)) if 2 * i >= len(rows) and not i % 12)
    sustained = rows.sum() / took[0].sum()
    outcomes = []
    for j, name in enumerate(after):
        metrics = engines[j].metrics()
        latency = {rate: _latency(took[j], rows, gave, rate * sustained) for rate in RATES}
        done = (metrics.compressions, metrics.decompressions, results[j])
        state, kept, events, share = (held[j] / samples).tolist()
        speed = float(rows.sum() / took[j].sum())
        taken = {rate: _taken(took[j], rows, rate * sustained) for rate in RATES}
        outcomes.append(Outcome(name, speed, state, kept, events, share, latency, *done, taken, ended[j]))
    return outcomes


def _nothing(time: int | None) -> None:
    pass


def _latency(
    took: npt.NDArray[np.float64], rows: npt.NDArray[np.int64], gave: npt.NDArray[np.bool_], rate: float
) -> float:
    """Seconds from when a batch has come in, at a rate of rows, until its results are there; on average."""
    come = np.cumsum(rows) / rate
    done, waited = 0.0, []
    for at, seconds, results in zip(come.tolist(), took.tolist(), gave.tolist(), strict=True):
        done = max(done, at) + seconds
        if results:
            waited.append(done - at)
    return float(np.mean(waited)) if waited else 0.0


def _taken(took: npt.NDArray[np.float64], rows: npt.NDArray[np.int64], rate: float) -> float:
    """Rows per second from the first batch to when the last is done, where rows come in at a rate."""
    done = 0.0
    for at, seconds in zip((np.cumsum(rows) / rate).tolist(), took.tolist(), strict=True):
        done = max(done, at) + seconds
    return float(rows.sum() / done)
