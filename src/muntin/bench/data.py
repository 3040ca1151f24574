"""Streams like those that the papers measure with, from their published parameters; each takes a seed.

The football and the manufacturing data of paper 1 cannot be had; what their figures depend on is stated in section 6.1:
rates, gaps between sessions, numbers of distinct values, and the share and delay of tuples out of order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["FOOTBALL_DISTINCT", "MACHINE_DISTINCT", "football", "machines", "out_of_order"]

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
