"""The same questions to other systems, on one thread and the same rows: pandas, polars, DuckDB, bottleneck, Spark.

* `tumbling`: count, sum and maximum of each key in each second.
* `sliding`: the same over 60 seconds, every second.
* `rolling`: the mean of the last 1,024 values, for every value.

Each system gets the rows in its own form, in memory, before the clock starts, and answers in its own form. Every answer
is checked against ours: as many windows, and the same sum over them. Systems that are not installed are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.bench.rolling import _loaded

__all__ = ["QUESTIONS", "Answer", "asked", "rows"]

# Polars reads this when it is first imported: all is compared on one thread.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

Answer = tuple[int, float]
"""How many windows, and the sum of their sums (of `rolling`: of their means)."""
KEYS, WINDOW, SECONDS = 100, 1_024, 60
RATE = 10_000
SECOND = 1_000_000
EVERY = {"tumbling": 1, "sliding": SECONDS}
QUESTIONS = (*EVERY, "rolling")


def rows(count: int, seed: int = 7) -> pa.Table:
    """`ts`, `key` and `x`, in order.

    >>> rows(3).column_names
    ['ts', 'key', 'x']
    """
    random = np.random.default_rng(seed)
    ts = pa.array(np.arange(count) * (SECOND // RATE), pa.timestamp("us", "UTC"))
    return pa.table({"ts": ts, "key": random.integers(0, KEYS, count), "x": random.random(count)})


def _total(table: Any) -> Answer:
    """Of an answer as an Arrow table or a dictionary of columns."""
    total = np.asarray(table["total"])
    return len(total), float(total[~np.isnan(total)].sum())


def muntin(question: str, table: pa.Table) -> Callable[[], Answer]:
    """Ours."""
    if question == "rolling":
        values = table["x"].to_numpy()
        return lambda: _means(mt.rolling(values, window=WINDOW, agg=mt.mean))
    window = mt.tumbling("1 second") if question == "tumbling" else mt.sliding(f"{SECONDS} seconds", every="1 second")
    spec = mt.over("ts", by="key").window("w", window, n=mt.count(), total=mt.sum("x"), top=mt.max("x"))
    return lambda: _total(spec.apply(table))


def _means(found: Any) -> Answer:
    found = np.asarray(found)
    found = found[~np.isnan(found)]  # others give a null or NaN for the first windows, which are not complete
    return len(found), float(found.sum())


def pandas(question: str, table: pa.Table) -> Callable[[], Answer]:
    """Grouped by the second; sliding windows of the seconds before, key by key, as its users write it."""
    pd = _loaded("pandas")
    frame = table.to_pandas()
    if question == "rolling":
        return lambda: _means(frame["x"].rolling(WINDOW).mean())

    def seconds() -> Any:
        grouped = frame.groupby(["key", frame["ts"].dt.floor("s")])["x"]
        return grouped.agg(n="count", total="sum", top="max")

    if question == "tumbling":
        return lambda: _total(seconds())

    def sliding() -> Answer:
        # Windows also end after the last event of a key, so that each key has its seconds and 59 more.
        panes = seconds().reset_index()
        first = panes["ts"].min()
        last = panes["ts"].max() + pd.Timedelta(seconds=SECONDS - 1)
        every = pd.MultiIndex.from_product([panes["key"].unique(), pd.date_range(first, last, freq="s")])
        whole = panes.set_index(["key", "ts"]).reindex(every)
        by_key = whole.groupby(level=0)
        n = by_key["n"].rolling(SECONDS, min_periods=1).sum()
        total = by_key["total"].rolling(SECONDS, min_periods=1).sum()
        top = by_key["top"].rolling(SECONDS, min_periods=1).max()
        found = pd.DataFrame({"n": n, "total": total, "top": top}).dropna()
        return _total(found)

    return sliding


def polars(question: str, table: pa.Table) -> Callable[[], Answer]:
    """`group_by_dynamic` and `rolling_mean`."""
    pl = _loaded("polars")
    frame = pl.from_arrow(table)
    if question == "rolling":
        return lambda: _means(frame["x"].rolling_mean(WINDOW).drop_nulls().to_numpy())
    three = [pl.len().alias("n"), pl.col("x").sum().alias("total"), pl.col("x").max().alias("top")]
    # The first windows begin before the first event.
    how = {"every": "1s", "period": f"{EVERY[question]}s", "offset": f"-{EVERY[question] - 1}s", "group_by": "key"}
    return lambda: _total(frame.group_by_dynamic("ts", **how).agg(three))


def duckdb(question: str, table: pa.Table) -> Callable[[], Answer]:
    """SQL; a sliding window is a join of seconds with the windows that they are in."""
    connection = _loaded("duckdb").connect()
    connection.execute("set threads = 1; set timezone = 'UTC'; set enable_progress_bar = false")
    connection.register("given", table)
    connection.execute("create table events as select * from given")
    panes = (
        "select key, epoch_us(ts) // 1000000 as second, count(*) as n, sum(x) as total, max(x) as top "
        "from events group by all"
    )
    asked = {
        "tumbling": panes,
        "sliding": f"""with panes as ({panes})
            select key, second + later as until, sum(n) as n, sum(total) as total, max(top) as top
            from panes, range({SECONDS}) as r(later) group by all""",
        "rolling": f"""select avg(x) over w as total from events
            window w as (order by ts rows between {WINDOW - 1} preceding and current row)""",
    }[question]
    if question == "rolling":
        return lambda: _means(connection.execute(asked).fetchnumpy()["total"][WINDOW - 1 :])
    return lambda: _total(connection.execute(asked).fetchnumpy())


def bottleneck(question: str, table: pa.Table) -> Callable[[], Answer] | None:
    """Moving windows over arrays alone."""
    if question != "rolling":
        return None
    move, values = _loaded("bottleneck").move_mean, table["x"].to_numpy()
    return lambda: _means(move(values, WINDOW))


SYSTEMS: dict[str, Callable[[str, pa.Table], Callable[[], Answer] | None]] = {
    "Muntin": muntin,
    "pandas": pandas,
    "polars": polars,
    "DuckDB": duckdb,
    "bottleneck": bottleneck,
}


def asked(question: str, table: pa.Table) -> dict[str, Callable[[], Answer]]:
    """What each system is asked, ready to be called; Spark is asked by `muntin.spark.systems`.

    >>> asked("tumbling", rows(1_000))["Muntin"]()[0]
    100
    """
    calls: dict[str, Callable[[], Answer]] = {}
    for name, made in SYSTEMS.items():
        if name == "Muntin" or _loaded(name.lower()) is not None:
            call = made(question, table)
            if call is not None:
                calls[name] = call
    return calls
