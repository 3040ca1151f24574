"""Figure 13 of paper 1: throughput per aggregate, windows in time and in rows (section 6.3.2)."""

from __future__ import annotations

import muntin as mt
from muntin.baselines.aggregates import sum_without_invert
from muntin.bench.data import football
from muntin.bench.engine import rows_windows, tumbling
from muntin.bench.figure import Axis, Figure, Panel, Run, Step
from muntin.bench.figures.common import ROWS_PER_SECOND, millions
from muntin.bench.figures.sweep import swept
from muntin.bench.measuring import Made

__all__ = ["FIGURE"]

PANEL = "20 concurrent windows, 20 % out of order"
AGGREGATES: dict[str, mt.Aggregate] = {
    "count": mt.count(),
    "sum": mt.sum("value"),
    "sum w/o invert": sum_without_invert("value"),
    "mean": mt.mean("value"),
    "geometric mean": mt.geometric_mean("value"),
    "stddev": mt.stddev("value"),
    "min": mt.min("value"),
    "max": mt.max("value"),
    "min count": mt.min_count("value"),
    "max count": mt.max_count("value"),
    "arg min": mt.arg_min("value", by="value"),
    "arg max": mt.arg_max("value", by="value"),
    "median": mt.median("value"),
    "90-percentile": mt.quantile("value", 0.9),
}
QUICK = ("count", "sum", "sum w/o invert", "mean", "max", "arg max", "median")


def steps(run: Run) -> list[Step]:
    """One aggregate after the other, by lazy slicing as in the paper."""
    made = football(run.rows(300_000, 2_000_000), share=0.2, seed=run.seed)
    # As integers: of floats the rounding would stay behind, so the engine never subtracts them.
    table = made.set_column(1, "value", made["value"].cast("int64"))
    over = mt.over("ts", disorder="2 seconds")

    def engines(name: str) -> dict[str, Made]:
        aggregate = AGGREGATES[name]
        time, rows = tumbling(20, over, result=aggregate), rows_windows(over, result=aggregate)
        return {"time": time.engine, "rows": rows.engine}

    return swept(run, PANEL, QUICK if run.quick else AGGREGATES, lambda _: table, engines, (0.4, 2.0))


def read(run: Run) -> str:
    """What we see."""
    time, rows = run.of(PANEL, "time"), run.of(PANEL, "rows")
    plain = {name: rate for name, rate in time.items() if name not in ("median", "90-percentile")}
    low, high = min(plain, key=lambda n: plain[n]), max(plain, key=lambda n: plain[n])
    invert = rows["sum w/o invert"] / rows["sum"]
    return (
        f"Here algebraic and distributive aggregates in time take {millions(plain[low])} ({low}) to "
        f"{millions(plain[high])} ({high}) and the median {millions(time['median'])}; in rows sum takes "
        f"{millions(rows['sum'])}, max {rows['max'] / rows['sum']:.2f} of that, the sum without invert {invert:.2f} "
        f"of it, and the median {millions(rows['median'])}. A slice that lost tuples and cannot subtract is "
        "aggregated anew once for a batch here, in the paper for each tuple."
    )


FIGURE = Figure(
    name="fig13",
    title="Throughput per aggregate",
    paper="paper 1, Figure 13",
    panels=(Panel(PANEL, Axis("aggregate"), ROWS_PER_SECOND, kind="bars"),),
    shown="In the paper algebraic and distributive aggregates in time are about equally fast and holistic ones much "
    "slower; in rows those with an invert lose little, min and max little more, and the sum without invert much.",
    steps=steps,
    read=read,
    full=True,
)
