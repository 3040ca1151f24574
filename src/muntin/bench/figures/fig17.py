"""Figure 17 of paper 1, embedded: the dashboard workload (M4, 80 windows) by degree of parallelism (section 6.4).

As in the paper an operator runs in parallel instances, each with keys and 80 windows of its own. Here an instance is a
process: threads of one would wait for each other wherever they are in Python.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.bench.data import football
from muntin.bench.engine import tumbling
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import BATCH, step, times
from muntin.bench.measuring import batches_of

__all__ = ["FIGURE"]

THROUGHPUT, CPU = "throughput", "CPU"
SENSORS, WINDOWS = 16, 80
SERIES = {"slicing": "auto", "aggregate buckets": "aggregate_buckets"}


class Task(NamedTuple):
    """What an instance is to do: which engine, over how many rows, for how many seconds at the most."""

    engine: str
    rows: int
    seed: int
    budget: float


class Done(NamedTuple):
    """What an instance did: rows, and seconds of the clock and of the processor."""

    rows: int
    took: float
    used: float


def dashboard() -> mt.Spec:
    """80 concurrent windows of M4 for each sensor."""
    return tumbling(WINDOWS, mt.over("ts", by="sensor", disorder="2 seconds"), line=mt.m4("value"))


@functools.cache
def batches(rows: int, seed: int) -> list[pa.Table]:
    """The rows of an instance: those of its own sensors."""
    made = football(rows, share=0.2, seed=seed)
    sensors = np.random.default_rng(seed).integers(0, SENSORS, made.num_rows)
    return batches_of(made.append_column("sensor", pa.array(sensors)), BATCH)


def ready(barrier: Any) -> None:
    """A process of the pool begins: its instances wait there until all others are as far."""
    _BARRIER.append(barrier)


_BARRIER: list[Any] = []


def instance(task: Task) -> Done:
    """One instance from its second batch on: with the first an engine plans its queries, and compiles them once."""
    first, *rest = batches(task.rows, task.seed)
    engine = dashboard().engine(engine=task.engine)
    engine.push(first)
    _BARRIER[0].wait(300)  # an instance that fails does not leave the others waiting for ever
    started, used, rows = time.perf_counter(), time.process_time(), 0
    for batch in rest:
        engine.push(batch)
        rows += batch.num_rows
        if time.perf_counter() - started > task.budget:
            break
    return Done(rows, time.perf_counter() - started, time.process_time() - used)


def steps(run: Run) -> list[Step]:
    """As many instances as this machine has cores: more would tell nothing."""
    rows = max(run.rows(2_000_000, 8_000_000), 2 * BATCH)

    def measure(degree: int) -> None:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in SERIES}
        fresh = multiprocessing.get_context("spawn")
        barrier = fresh.Barrier(degree)
        with ProcessPoolExecutor(degree, fresh, ready, (barrier,)) as pool:
            for i in range(run.rounds + 1):
                for name, engine in SERIES.items():
                    # No process can take two of them: each waits for all the others.
                    tasks = [Task(engine, rows, run.seed + k, run.budget(0.5, 3.0)) for k in range(degree)]
                    done = list(pool.map(instance, tasks))
                    rate = sum(one.rows / one.took for one in done)
                    used = sum(100 * one.used / one.took for one in done)
                    found[name] += [(rate, used)] if i else []  # the first round compiles
        for name, outcomes in found.items():
            rate, cpu = np.median(np.array(outcomes), axis=0)
            run.add(THROUGHPUT, name, degree, rate)
            run.add(CPU, name, degree, cpu)

    degrees = [n for n in (1, 2, 4, 8) if n <= max(os.cpu_count() or 1, 2)]
    return [step(f"{degree} instances", measure, degree) for degree in degrees]


def read(run: Run) -> str:
    """What we see."""
    rates = {name: run.of(THROUGHPUT, name) for name in SERIES}
    most = max(rates["slicing"])
    gain = {name: found[most] / found[1] for name, found in rates.items()}
    ahead = {n: rates["slicing"][n] / rates["aggregate buckets"][n] for n in (1, most)}
    cpu = run.of(CPU, "slicing")
    return (
        f"From 1 to {most} instances slicing takes {gain['slicing']:.2f} times the rows and buckets "
        f"{gain['aggregate buckets']:.2f} times, at {cpu[1]:.0f} and {cpu[most]:.0f} % of a core for slicing, which is "
        f"{times(ahead[1])} to {times(ahead[most])} as fast as buckets. Each instance is a process with sensors of its "
        "own here; `muntin bench fig17-spark` measures the same on Spark, its way into Python included."
    )


FIGURE = Figure(
    name="fig17",
    title="The dashboard workload by degree of parallelism",
    paper="paper 1, Figure 17 (embedded)",
    panels=(
        Panel(THROUGHPUT, Axis("instances"), Axis("rows per second", log=True)),
        Panel(CPU, Axis("instances"), Axis("% of a core")),
    ),
    shown="In the paper slicing and buckets scale linearly with cores up to four of eight, and slicing is an order of "
    "magnitude faster than buckets throughout.",
    steps=steps,
    read=read,
)
