"""Figures 1 to 4 of paper 5: throughput, latency, memory and compressed windows by D and by the rate of input."""

from __future__ import annotations

from muntin.bench import compression
from muntin.bench.figure import Axis, Figure, Panel, Run, Step

__all__ = ["FIGURE"]

D = Axis("D")
PANELS = (
    Panel("throughput", D, Axis("rows per second"), bars=True),
    Panel("latency", D, Axis("ms", log=True), bars=True),
    Panel("memory", D, Axis("bytes of state"), bars=True),
)


def steps(run: Run) -> list[Step]:
    """One run, in which all D take turns batch by batch."""

    def measure() -> None:
        seconds = run.rows(5_400, compression.HOURS)
        for outcome in compression.measure(max(seconds, 300), 0.1 if run.quick else 0.5):
            run.add("throughput", "sustained", outcome.after, outcome.throughput)
            run.add("memory", "all state", outcome.after, outcome.state)
            run.add("memory", "kept events", outcome.after, outcome.kept)
            for rate, latency in outcome.latency.items():
                run.add("latency", f"{rate:.3g} of the most", outcome.after, max(latency, 1e-6) * 1e3)

    return [("all D in turns", measure)]


def read(run: Run) -> str:
    """What we see."""
    rates, state = run.of("throughput", "sustained"), run.of("memory", "all state")
    half = run.of("latency", "0.5 of the most")
    shown = "; ".join(
        f"D = {after}: {state[after] / state['none']:.2f} of the memory, {rates[after] / rates['none']:.2f} of the "
        f"throughput, {half[after] / half['none']:.1f} times the latency"
        for after in rates
        if after != "none"
    )
    return (
        f"Beside no compression, at half of the rate that is sustained without it, here {shown}. Many keys share a "
        "chunk here, and columns are encoded before the codec; in the paper each window is compressed by itself."
    )


FIGURE = Figure(
    name="compression-fig1",
    title="Compressed windows by D and the rate of input",
    paper="paper 5, Figures 1 to 4",
    panels=PANELS,
    shown="In the paper a smaller D saves memory and costs throughput and latency, most of all at high rates, where D "
    "= 0 compresses and opens every window at every touch.",
    steps=steps,
    read=read,
)
