"""Figure 14 of paper 3: calls and flights, by the size of windows (section 6.4). The paper's calls cannot be had."""

from __future__ import annotations

import pyarrow as pa

import muntin as mt
from muntin.bench import spans
from muntin.bench.data import calls, flights
from muntin.bench.figure import Axis, Figure, Run, Step
from muntin.bench.figures.spanned import SERIES, Given, panel, panels, spanned

__all__ = ["FIGURE"]

POSTPONE = {"calls": "150 minutes", "flights": "24 hours"}
TECHNIQUES = {"auto": ("auto", "auto"), "single": ("single", "auto"), "multi-level": ("multi", "auto")} | {
    name: ("auto", name) for name in spans.BASELINES
}


def contenders(name: str, seconds: int) -> spans.Contenders:
    """Windows of so many seconds, every fifth of that, by each technique."""

    def spec(technique: str) -> mt.Spec:
        over = mt.over(span=("start", "end"), disorder="1 minute", postpone=POSTPONE[name], technique=technique)
        return spans.aggregated(over, mt.sliding(f"{seconds} s", every=f"{seconds * 1_000 // 5} ms"))

    return {series: (spec(technique), engine) for series, (technique, engine) in TECHNIQUES.items()}


def steps(run: Run) -> list[Step]:
    """Sizes from some seconds to an hour and more."""
    rows = max(run.rows(100_000, 1_000_000), 5_000)
    made = calls(rows, rate=10, seed=run.seed)
    data = {
        "calls": pa.table({"start": made["start"], "end": made["end"], "x": pa.array(made["cell"])}),
        "flights": flights(rows, run.sources),
    }
    sizes = {"calls": (10, 60, 600, 3_600), "flights": (300, 900, 3_600, 14_400)}

    def given(name: str) -> Given:
        return lambda seconds: (contenders(name, seconds), data[name])

    found = []
    for name, places in sizes.items():
        some = places[-1:] if run.scale < 1 else places
        found += spanned(run, name, some, given(name), "windows in seconds of", size=16_384)
    return found


def read(run: Run) -> str:
    """What we see."""
    parts = []
    for name in POSTPONE:
        found = {series: run.of(panel(name), series) for series in run.series(panel(name))}
        shown = []
        for other in (SERIES.get(one, one) for one in TECHNIQUES if one != "auto"):
            ratios = [found["slicing, auto"][x] / found[other][x] for x in found["slicing"]]
            shown.append(f"{other} {min(ratios):.1f} to {max(ratios):.1f}")
        held = {series: max(run.of(panel(name, "memory"), series).values()) for series in found}
        bytes_ = ", ".join(f"{series} {state / 1e6:.2g}" for series, state in held.items())
        parts.append(f"{name}: {', '.join(shown)}; most MB of state: {bytes_}")
    return (
        f"How many times as fast slicing as it chooses is as others over all sizes here: {'. '.join(parts)}. The calls "
        "are made up, and longer than the paper's 16 s in the mean; the flights of 2013 are real."
    )


FIGURE = Figure(
    name="spans-fig14",
    title="Calls and flights by the size of windows",
    paper="paper 3, Figure 14",
    panels=panels(POSTPONE, Axis("size of windows, s", log=True)),
    shown="In the paper single-level slicing is at least 40 % ahead of tuple buckets, 10 % of aggregate buckets and 30 "
    "% of sweeping on real calls, multi-level slices help only small windows, and tuple buckets take the most memory.",
    steps=steps,
    read=read,
)
