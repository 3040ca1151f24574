"""Figure 3 of paper 5: how often windows are compressed and opened again, by D and rate (section 5)."""

from __future__ import annotations

from muntin.bench.figure import Axis, Figure, Run
from muntin.bench.figures.compressed import RATED, compressed, panels

__all__ = ["FIGURE"]

COUNTS = {"compressions": Axis("compressions of a vehicle"), "decompressions": Axis("decompressions of a vehicle")}


def read(run: Run) -> str:
    """What we see."""
    high = RATED[max(RATED)]
    done, opened = (run.of(name, high) for name in COUNTS)
    jump = done["15 s"] / max(done["1 min"], 1)
    return (
        f"Here the highest rate compresses {done['1 min']:,.0f} times with D = 1 min, {done['15 s']:,.0f} with 15 s "
        f"({jump:.1f} times as often) and {done['0']:,.0f} with 0, and opens {opened['1 min']:,.0f}, "
        f"{opened['15 s']:,.0f} and {opened['0']:,.0f} times: vehicles report every 30 s, so that D below that "
        "compresses after every report. More are opened than were compressed where a report reads what stays "
        "compressed."
    )


FIGURE = Figure(
    name="compression-fig3",
    title="How often windows are compressed and opened again, by D",
    paper="paper 5, Figure 3",
    panels=panels(COUNTS),
    shown="In the paper both numbers spike at D = 15 s and 0, which are below the 30 s between two reports of a "
    "vehicle.",
    steps=lambda run: compressed(
        run,
        {
            "compressions": lambda outcome, none, rate: outcome.ended[rate].compressions,
            "decompressions": lambda outcome, none, rate: outcome.ended[rate].decompressions,
        },
    ),
    read=read,
)
