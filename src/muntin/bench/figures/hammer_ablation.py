"""What each of the four optimisations of paper 4 brings: minima over 1,024 values every 64 (section 3.2)."""

from __future__ import annotations

import numpy as np

from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.sliding import VALUES_PER_SECOND, WINDOW
from muntin.bench.measuring import seconds
from muntin.bench.rolling import Array, values_of
from muntin.kernels.final.lane_text import Op
from muntin.kernels.stacks import BLOCK, growing, in_columns, in_rings
from muntin.rolling_lanes import over_values

__all__ = ["FIGURE", "minima"]

PANEL, EVERY = "min, window 1,024, slide 64", 64
PAPER = {"ring": 286 / 153.5, "columns": 207.5 / 155.7, "vectors": 155.6 / 37}
MIN = Op("min", "int32", "int32")
NAMES = {
    "stacks": "growing stacks",
    "ring": "(1) ring buffer",
    "columns": "(2) columns, only what is read",
    "vectors": "(3) bulk and SIMD",
    "runs": "(4) run lengths",
}


def minima(how: str, values: Array, window: int, every: int) -> Array:
    """The minima of all windows, by two stacks with the optimisations up to one of them.

    >>> minima("ring", np.array([8, 2, 1, 5, 0, 7], np.int32), 4, 2).tolist()
    [1, 0]
    """
    out = np.empty((len(values) - window) // every + 1, np.int32)
    room = 1 << (window - 1).bit_length()
    if how == "stacks":
        blocks = -(-(window + every) // BLOCK) + 1
        table = np.random.default_rng(1).permutation(blocks)  # blocks lie anywhere, as those of a stack that grew
        front, back = (np.empty((blocks, BLOCK, 2), np.int32) for _ in range(2))
        growing(values, window, every, front, back, table, table, out)
    elif how == "ring":
        in_rings(values, window, every, np.empty((room, 2), np.int32), out)
    elif how == "columns":
        in_columns(values, window, every, np.empty(room, np.int32), np.empty(window // every, np.int32), out)
    else:
        over_values(MIN, values, window, every, "two_stacks", out, encoded=how == "runs")
    return out


def steps(run: Run) -> list[Step]:
    """One after the other, in turns."""
    values = values_of("int32", max(run.rows(4_000_000, 40_000_000), 8 * WINDOW), run.seed)

    def measure() -> None:
        calls = {how: lambda how=how: minima(how, values, WINDOW, EVERY) for how in NAMES}
        for how, took in seconds(calls, run.rounds + 2).items():
            run.add(PANEL, "two stacks", NAMES[how], len(values) / took)

    return [("all in turns", measure)]


def read(run: Run) -> str:
    """What we see."""
    found = run.of(PANEL, "two stacks")
    rate = {how: found[name] for how, name in NAMES.items()}
    gains = {"ring": rate["ring"] / rate["stacks"], "columns": rate["columns"] / rate["ring"]}
    gains["vectors"] = rate["vectors"] / rate["columns"]
    shown = ", ".join(f"{NAMES[how]} {gain:.1f} times ({PAPER[how]:.1f})" for how, gain in gains.items())
    loss = 1 - rate["runs"] / rate["vectors"]
    lost = f"{loss:.0%} slower" if loss >= 0.005 else "not slower"
    return (
        f"Each beside the one before, and in brackets the paper's: {shown}; run lengths are {lost} than without (9 to "
        "18 % in the paper). With a slide of 64 there are only 16 aggregates behind, so that run lengths, which the "
        "kernel keeps over slides here, have little to do."
    )


FIGURE = Figure(
    name="hammer-ablation",
    title="What the optimisations of two stacks bring",
    paper="paper 4, section 3.2",
    panels=(Panel(PANEL, Axis("with the optimisations up to"), VALUES_PER_SECOND, kind="bars"),),
    shown="In the paper ring buffers took the time from 286 to 153.5 s, columns with only what is read from 207.5 to "
    "155.7 s, bulk insertion with SIMD from 155.6 to 37 s, and run lengths made it 9 to 18 % slower.",
    steps=steps,
    read=read,
    full=True,
)
