"""Figure 17 of paper 1 on Spark: the dashboard workload (M4, 80 windows) by cores (section 6.4)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from muntin.bench.data import football
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import step, times

__all__ = ["FIGURE"]

THROUGHPUT, CPU = "throughput", "CPU"
OURS, THEIRS = "Muntin", "Spark's operators"
BATCHES = 6


def steps(run: Run) -> list[Step]:
    """One and two cores: a session each. Spark's own operators get fewer rows: each becomes 80 of them."""
    rows = {OURS: run.rows(2_400_000, 12_000_000), THEIRS: run.rows(300_000, 1_200_000)}

    def measure(cores: int) -> None:
        from muntin.spark import cores as on_spark

        with on_spark.running(cores) as spark, tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            for name, count in rows.items():
                made = football(count, share=0.2, seed=run.seed)
                sensors = np.random.default_rng(run.seed).integers(0, on_spark.SENSORS, count)
                ts = pa.array(np.asarray(made["ts"].cast("int64")), pa.timestamp("us", "UTC"))
                table = pa.table({"ts": ts, "sensor": sensors, "value": made["value"]})
                on_spark.write(Path(folder) / name, table, cores * (2 if run.scale < 1 else BATCHES))
                # The last run counts: in the first workers start, kernels are loaded, the JVM warms up.
                for _ in range(1 if run.scale < 1 else 2):
                    used = on_spark.measure(spark, name, Path(folder) / name, Path(folder) / "checkpoint", cores)
                run.add(THROUGHPUT, name, cores, used.rate)
                run.add(CPU, name, cores, max(used.cpu, 1e-3))

    return [step(f"{cores} cores", measure, cores) for cores in (1, 2)]


def read(run: Run) -> str:
    """What we see."""
    rates, used = ({name: run.of(panel, name) for name in (OURS, THEIRS)} for panel in (THROUGHPUT, CPU))
    gain = {name: found[2] / found[1] for name, found in rates.items()}
    ahead = {n: times(rates[OURS][n] / rates[THEIRS][n]) for n in (1, 2)}
    cpu = {name: f"{found[1]:.0f} to {found[2]:.0f} % of a core" for name, found in used.items()}
    return (
        f"From 1 to 2 cores Muntin gains {gain[OURS]:.2f} times here ({cpu[OURS]}) and Spark's own operators "
        f"{gain[THEIRS]:.2f} times ({cpu[THEIRS]}); Muntin takes {ahead[1]} to {ahead[2]} the rows of Spark's "
        "operators, where each row goes into 80 windows one by one. The processor is counted over whole queries, "
        "their start and first batch included, in all processes of the session: with one task at a time Java and "
        f"Python work beside each other, and of {os.cpu_count()} cores {used[OURS][1] / 100:.1f} are busy already."
    )


FIGURE = Figure(
    name="fig17-spark",
    title="The dashboard workload on Spark by cores",
    paper="paper 1, Figure 17 (on Spark)",
    panels=(
        Panel(THROUGHPUT, Axis("cores"), Axis("rows per second", log=True)),
        Panel(CPU, Axis("cores"), Axis("% of a core, all processes")),
    ),
    shown="In the paper slicing and buckets scale linearly with cores up to four of eight, and slicing is an order of "
    "magnitude faster than buckets throughout.",
    steps=steps,
    read=read,
)
