"""The aggregate stores beside each other: the time to answer one window over many slices (paper 1, Figure 11).

Rows go through the public engine, with the watermark moved by hand. A window of 1 ms beside the long one makes the
slices. Measured is the `advance` that makes one long window due; and, asked again right after, what the store alone
takes for the answer: to combine the slices, or to select from their runs. Stores take turns; the medians of several
windows.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import muntin as mt

__all__ = ["AGGREGATES", "Answer", "measure"]

MS = 1_000
AGGREGATES = {"sum": mt.sum("value"), "median": mt.median("value")}


@dataclass(frozen=True)
class Answer:
    """Seconds that a store took for one window: all of `advance`, and in the store alone; and its bytes of state."""

    store: str
    whole: float
    alone: float
    state: int
    value: float


class _Watched:
    """An engine whose calls of the store are timed."""

    def __init__(self, name: str, slices: int, store: str) -> None:
        spec = mt.over("ts").window("fine", mt.tumbling("1 ms"), n=mt.count())
        spec = spec.window("long", mt.sliding(f"{slices} ms", every=f"{slices // 10} ms"), result=AGGREGATES[name])
        self.engine: Any = spec.engine(store=store, watermark="manual")
        self.store, self.took, self.alone = store, list[float](), list[float]()
        self.asked: dict[str, tuple[int, Callable[[], Any]]] = {}
        self.value = float("nan")

    def push(self, batch: pa.Table) -> None:
        self.engine.push(batch)

    def watch(self) -> None:
        """Note how the store is asked, for the longest window."""
        sliced = self.engine._sliced
        self._note(sliced.store, "merged", lambda a, b, keys: int((b - a).max()))
        for runs in sliced.runs.values():
            self._note(runs, "answer", lambda bound, key, start, end: int((end - start).max()))

    def _note(self, thing: Any, name: str, length: Callable[..., int]) -> None:
        call: Callable[..., Any] = getattr(thing, name)

        def noted(*given: Any) -> Any:
            if name not in self.asked or length(*given) > self.asked[name][0]:
                self.asked[name] = length(*given), lambda: call(*given)
            return call(*given)

        setattr(thing, name, noted)

    def again(self) -> float:
        """Seconds to answer once more."""
        started = time.perf_counter()
        for _, call in self.asked.values():
            call()
        return time.perf_counter() - started

    def ask(self, watermark: int, newest: int) -> None:
        self.engine.advance(watermark - MS)
        self.push(pa.table({"ts": pa.array([newest], pa.timestamp("us")), "value": [0.5]}))
        self.asked.clear()
        started = time.perf_counter()
        found = self.engine.advance(watermark)
        self.took.append(time.perf_counter() - started)
        self.alone.append(statistics.median(self.again() for _ in range(3)))
        rows = [row for row in found.to_pylist() if row["query"] == "long"]
        assert len(rows) == 1
        self.value = rows[0]["result"]


def measure(name: str, slices: int = 100_000, rounds: int = 7, rows: int = 4) -> list[Answer]:
    """One aggregate over a window of so many slices of 1 ms, with some rows each, by the lazy and the eager store."""
    random = np.random.default_rng(11)
    step = slices // 10 * MS
    last = slices * MS + (rounds + 2) * step
    engines = [_Watched(name, slices, store) for store in ("lazy", "eager")]
    times = np.arange(0, last, MS // rows, dtype=np.int64)
    for i in range(0, len(times), 65_536):
        part = times[i : i + 65_536]
        batch = pa.table({"ts": pa.array(part, pa.timestamp("us")), "value": random.random(len(part))})
        for engine in engines:
            engine.push(batch)
    for engine in engines:
        engine.watch()
    for i in range(rounds + 1):
        for engine in engines:
            engine.ask(slices * MS + i * step, last + i)
    return [
        # the first one compiles, and brings up to date what the lazy one leaves until it is asked
        Answer(e.store, statistics.median(e.took[1:]), statistics.median(e.alone[1:]), e.engine.nbytes, e.value)
        for e in engines
    ]
