"""Figure 10 of paper 1: bytes of state by slices and by tuples, for windows in time and in rows (section 6.2.3)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import BATCH, contenders, step
from muntin.bench.measuring import batches_of

__all__ = ["FIGURE"]

SPAN = 100_000_000  # microseconds for which windows are held open: the allowed lateness
IN_TIME = ("slicing", "eager slicing", "aggregate buckets", "tuple buckets", "tuple buffer", "aggregate tree")
IN_ROWS = ("slicing", "tuple buffer")
BYTES = Axis("bytes of state", log=True)
SLICES, TUPLES = Axis("slices in the allowed lateness", log=True), Axis("tuples in the allowed lateness", log=True)
PANELS = {
    "time, 50,000 tuples": SLICES,
    "time, 500 slices": TUPLES,
    "rows, 50,000 tuples": SLICES,
    "rows, 500 slices": TUPLES,
}


def held(spec: mt.Spec, names: tuple[str, ...], tuples: int, seed: int) -> dict[str, int]:
    """The bytes of state after so many tuples, none of which any window has let go."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, SPAN, tuples))
    table = pa.table({"ts": pa.array(times, pa.timestamp("us")), "value": random.random(tuples)})
    found = {}
    for name, made in contenders(spec, names).items():
        engine = made()
        for batch in batches_of(table, BATCH):
            engine.push(batch)
        found[name] = engine.nbytes
    return found


def steps(run: Run) -> list[Step]:
    """Sliding windows, of which five hold each tuple; slices are as long as the slide."""

    def measure(panel: str, slices: int, tuples: int) -> None:
        over = mt.over("ts", disorder=f"{SPAN} us")
        if panel.startswith("time"):
            every = max(SPAN // slices, 1)
            spec = over.window("w", mt.sliding(f"{5 * every} us", every=f"{every} us"), total=mt.sum("value"))
        else:
            every = max(tuples // slices, 1)
            spec = over.window("w", mt.sliding(f"{5 * every} rows", every=f"{every} rows"), total=mt.sum("value"))
        names = IN_TIME if panel.startswith("time") else IN_ROWS
        for name, size in held(spec, names, tuples, run.seed).items():
            run.add(panel, name, slices if PANELS[panel] is SLICES else tuples, size)

    most = run.rows(50_000, 50_000)
    by_slices = [n for n in (10, 100, 1_000, 10_000) if n <= most]
    by_tuples = [n for n in (100, 1_000, 10_000, 100_000, *(() if run.quick else (1_000_000,))) if n <= 20 * most]
    found = []
    for panel, axis in PANELS.items():
        for n in by_slices if axis is SLICES else by_tuples:
            pair = (n, most) if axis is SLICES else (500, n)
            found.append(step(f"{panel}: {n:,}", measure, panel, *pair))
    return found


def read(run: Run) -> str:
    """What we see."""
    some, many = "time, 50,000 tuples", "time, 500 slices"
    most, least = max(run.of(many, "slicing")), min(run.of(some, "slicing"))
    by_tuples = {name: int(run.of(many, name)[most]) for name in IN_TIME}
    few = int(run.of(some, "slicing")[least])
    rows = run.of("rows, 500 slices", "slicing")[most] / most
    return (
        f"Here 500 slices for {most:,} tuples take {by_tuples['slicing']:,} bytes and buckets "
        f"{by_tuples['aggregate buckets']:,}, against {by_tuples['tuple buffer']:,} of the tuple buffer, "
        f"{by_tuples['aggregate tree']:,} of the tree and {by_tuples['tuple buckets']:,} of tuple buckets; {least:,} "
        f"slices take {few:,}. Slices of the next batches are made ahead, which is in these bytes: slicing holds "
        f"{by_tuples['slicing'] / by_tuples['aggregate buckets']:.1f} times what buckets do there. In rows every "
        f"technique keeps its tuples, {rows:.0f} bytes for each with slicing."
    )


FIGURE = Figure(
    name="fig10",
    title="Bytes of state by slices and by tuples",
    paper="paper 1, Figure 10",
    panels=tuple(Panel(name, axis, BYTES) for name, axis in PANELS.items()),
    shown="In the paper slices and buckets grow with the number of slices and not with tuples where windows are in "
    "time, the tuple buffer and the tree the other way round; in rows tuples dominate for all.",
    steps=steps,
    read=read,
    full=True,
)
