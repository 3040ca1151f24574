"""Figure 17 of paper 1, embedded: the dashboard workload (M4, 80 windows) by degree of parallelism (section 6.4)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import muntin as mt
from muntin.bench.data import football
from muntin.bench.engine import tumbling
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import BATCH, step, times
from muntin.bench.measuring import batches_of

__all__ = ["FIGURE"]

THROUGHPUT, CPU = "throughput", "CPU"
SENSORS, WINDOWS = 16, 80


def dashboard() -> mt.Spec:
    """80 concurrent windows of M4 for each sensor."""
    return tumbling(WINDOWS, mt.over("ts", by="sensor", disorder="2 seconds"), line=mt.m4("value"))


def sliced(threads: int) -> Callable[[pa.Table], Any]:
    """The engine with threads of its own, which divide the keys."""
    return dashboard().engine(threads=threads).push


def bucketed(threads: int) -> Callable[[pa.Table], Any]:
    """As many engines as threads, each with the rows of some sensors."""
    engines = [dashboard().engine(engine="aggregate_buckets") for _ in range(threads)]
    if threads == 1:
        return engines[0].push
    pool = ThreadPoolExecutor(threads)

    def push(batch: pa.Table) -> None:
        part = pc.bit_wise_and(batch["sensor"], threads - 1)
        parts = [batch.filter(pc.equal(part, i)).combine_chunks() for i in range(threads)]
        list(pool.map(lambda pair: pair[0].push(pair[1]), zip(engines, parts, strict=True)))

    return push


SERIES = {"slicing": sliced, "aggregate buckets": bucketed}


def once(push: Callable[[pa.Table], Any], batches: list[pa.Table], budget: float) -> tuple[float, float]:
    """Rows per second, and per cent of a core; the first batch is not timed."""
    push(batches[0])
    started, used, rows = time.perf_counter(), time.process_time(), 0
    for batch in batches[1:]:
        push(batch)
        rows += batch.num_rows
        if time.perf_counter() - started > budget:
            break
    took = time.perf_counter() - started
    return rows / took, 100 * (time.process_time() - used) / took


def steps(run: Run) -> list[Step]:
    """One and two threads: more than this machine has cores would tell nothing."""
    made = football(max(run.rows(400_000, 4_000_000), 2 * BATCH), share=0.2, seed=run.seed)
    sensors = np.random.default_rng(run.seed).integers(0, SENSORS, made.num_rows)
    batches = batches_of(made.append_column("sensor", pa.array(sensors)), BATCH)

    def measure(threads: int) -> None:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in SERIES}
        for i in range(run.rounds + 1):
            for name, make in SERIES.items():
                outcome = once(make(threads), batches, run.budget(0.5, 3.0))
                found[name] += [outcome] if i else []  # the first round compiles
        for name, outcomes in found.items():
            rate, cpu = np.median(np.array(outcomes), axis=0)
            run.add(THROUGHPUT, name, threads, rate)
            run.add(CPU, name, threads, cpu)

    degrees = [n for n in (1, 2, 4, 8) if n <= max(os.cpu_count() or 1, 2)]
    return [step(f"{threads} threads", measure, threads) for threads in degrees]


def read(run: Run) -> str:
    """What we see."""
    rates = {name: run.of(THROUGHPUT, name) for name in SERIES}
    most = max(rates["slicing"])
    gain = {name: found[most] / found[1] for name, found in rates.items()}
    ahead = {n: rates["slicing"][n] / rates["aggregate buckets"][n] for n in (1, most)}
    return (
        f"In threads of one process we see slicing gain {gain['slicing']:.2f} times and buckets "
        f"{gain['aggregate buckets']:.2f} times from 1 to {most}, and slicing {times(ahead[1])} to "
        f"{times(ahead[most])} as fast as buckets. Batches are read, divided and reported by one thread here; on "
        "Spark each task has a process of its own, which `muntin bench fig17-spark` measures."
    )


FIGURE = Figure(
    name="fig17",
    title="The dashboard workload by degree of parallelism",
    paper="paper 1, Figure 17 (embedded)",
    panels=(
        Panel(THROUGHPUT, Axis("threads"), Axis("rows per second", log=True)),
        Panel(CPU, Axis("threads"), Axis("% of a core")),
    ),
    shown="In the paper slicing and buckets scale linearly with cores up to four of eight, and slicing is an order of "
    "magnitude faster than buckets throughout.",
    steps=steps,
    read=read,
)
