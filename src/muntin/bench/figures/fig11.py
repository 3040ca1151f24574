"""Figure 11 of paper 1: the latency of one result by the entries that are stored, sum and median (section 6.2.4)."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.bench import store
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step
from muntin.fused import fused
from muntin.slicing.batch import Batch
from muntin.slicing.slicer import Slicer
from muntin.slicing.values import Column
from muntin.spanning.edges import Edges
from muntin.spanning.techniques import technique
from muntin.spans import Spans

__all__ = ["FIGURE"]

SERIES = {"lazy": "slicing", "eager": "eager slicing"}
TUPLES = {"tuple_buffer": "tuple buffer", "aggregate_tree": "aggregate tree", "aggregate_buckets": "aggregate buckets"}


def over_tuples(name: str, entries: int, rounds: int, seed: int) -> float:
    """Seconds in which a technique answers a window of so many tuples."""
    window = mt.tumbling(f"{entries} us")
    cells = fused([mt.sum("value").bind([pa.float64()])], spans=False)
    made = technique(name, cells, Edges(Slicer([window])), Spans("", ""), [window])
    times = np.arange(entries, dtype=np.int64)
    batch = Batch(None, None, times, None, None, {}, {}, entries - 1, 0, times)
    values = {"value": Column(pa.float64(), np.random.default_rng(seed).random(entries), None)}
    made.take(batch, None, 0, entries - 1, values)
    one = np.zeros(1, np.int64)
    asked = (one, one + 1, one, one + entries)
    made.merged(*asked)
    took = []
    for _ in range(20 * rounds):
        started = time.perf_counter()
        made.merged(*asked)
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def steps(run: Run) -> list[Step]:
    """Windows over more and more slices, and over as many tuples."""

    def measure(aggregate: str, entries: int) -> None:
        for answer in store.measure(aggregate, entries, run.rounds + 2):
            run.add(aggregate, SERIES[answer.store], entries, answer.alone * 1e6)
        if aggregate == "sum":
            for name, series in TUPLES.items():
                run.add(aggregate, series, entries, over_tuples(name, entries, run.rounds, run.seed) * 1e6)

    sizes = (100, 1_000) if run.scale < 1 else (100, 1_000, 10_000, 100_000)
    return [step(f"{name}, {size:,} entries", measure, name, size) for name in store.AGGREGATES for size in sizes]


def read(run: Run) -> str:
    """What we see."""
    most = max(run.of("sum", "slicing"))
    at = {name: run.of("sum", name)[most] for name in run.series("sum")}
    middle = {name: run.of("median", name)[most] for name in run.series("median")}
    shown = ", ".join(f"{name} {took:,.1f} µs" for name, took in at.items())
    return (
        f"Over {most:,} entries a sum takes here: {shown}; a median {middle['slicing']:,.0f} µs from lazy and "
        f"{middle['eager slicing']:,.1f} µs from eager slices. Each answer is a call from Python into a compiled "
        "loop, some ten microseconds, so that the 30 ns of a bucket in the paper cannot be seen; a median by buckets "
        "is left out, since ours sort kept tuples when a window ends."
    )


FIGURE = Figure(
    name="fig11",
    title="Latency of one result by stored entries",
    paper="paper 1, Figure 11",
    panels=tuple(
        Panel(name, Axis("entries: slices or tuples", log=True), Axis("µs", log=True)) for name in store.AGGREGATES
    ),
    shown="In the paper a sum over 100,000 entries takes up to 1 ms from lazy slices or a tuple buffer, below 5 µs "
    "from eager slices or a tree, below 30 ns from a bucket; the median follows the same trends, and takes longer "
    "from slices.",
    steps=steps,
    read=read,
)
