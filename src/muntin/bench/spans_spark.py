"""The flights of 2013 on Spark: windows over spans beside the join of flights and windows that SQL would write."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console

import muntin as mt
from muntin.demo_spans import airborne

__all__ = ["BY_DAY", "PLAIN", "compare", "report", "spec"]

_WINDOWS = """
    with bounds as (select floor(unix_seconds(min(took_off)) / 300) as a,
                           floor(unix_seconds(max(landed)) / 300) as b from flights),
         windows as (select timestamp_seconds(300 * k) as start, timestamp_seconds(300 * k + 900) as end
                     from bounds lateral view explode(sequence(a - 3, b + 1)) as k)
"""
_SELECT = "select origin, start, count(*) as n, sum(distance) as miles, max(distance) as far"
PLAIN = f"{_WINDOWS} {_SELECT} from flights join windows on took_off < end and landed > start group by origin, start"
"""The join on a range alone. It looks at every flight for every window: 34 billion pairs for a year."""
BY_DAY = f"""
    {_WINDOWS},
         by_day as (select *, unix_date(date(start)) as first from windows
                    lateral view explode(sequence(unix_date(date(start)), unix_date(date(end)))) as day),
         flown as (select *, unix_date(date(took_off)) as first from flights
                   lateral view explode(sequence(unix_date(date(took_off)), unix_date(date(landed)))) as day)
    {_SELECT} from flown join by_day on flown.day = by_day.day and took_off < end and landed > start
                                    and flown.day = greatest(flown.first, by_day.first)
    group by origin, start
"""
"""The same with both spread over the days that they touch; a pair that meets on two days counts on the first one."""


def spec() -> mt.Spec:
    """In the air every 5 minutes over the last 15, per origin."""
    return mt.over(span=("took_off", "landed"), by="origin", postpone="1 day").window(
        "air",
        mt.sliding("15 minutes", every="5 minutes"),
        n=mt.count(),
        miles=mt.sum("distance"),
        far=mt.max("distance"),
    )


def compare(spark: Any, months: int = 12, join: str = BY_DAY) -> tuple[int, int, dict[str, float]]:
    """How many rows there are, how many differ, and the seconds that each way took."""
    frame = spark.createDataFrame(airborne(months=months)).cache()
    frame.count()
    frame.createOrReplaceTempView("flights")
    ways = {"windows over spans": spec().apply(frame), "range join": spark.sql(join)}
    seconds, found = {}, []
    for name, way in ways.items():
        columns = ("origin", "start" if name == "range join" else "window.start as start", "n", "miles", "far")
        started = time.perf_counter()
        found.append(way.selectExpr(*columns).toArrow())
        seconds[name] = time.perf_counter() - started
    frame.unpersist()
    ours, joined = (set(map(tuple, map(dict.values, table.to_pylist()))) for table in found)
    assert len(ours) == found[0].num_rows
    return len(joined), len(ours ^ joined), seconds


def report(console: Console) -> None:
    """The whole year."""
    from muntin.spark import session

    spark = session("muntin bench spans-spark")
    try:
        rows, wrong, seconds = compare(spark)
    finally:
        spark.stop()
    took = ", ".join(f"{name} {taken:.1f} s" for name, taken in seconds.items())
    console.print(f"flights of 2013, per origin, 15 minutes every 5: {rows:,} windows, {wrong} of them differ; {took}")
