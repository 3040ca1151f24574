"""The benchmark of rolling runs at a tiny size, and what it times is the same as what others compute."""

from __future__ import annotations

import numpy as np
import pytest

import muntin as mt
from muntin.bench.finals import array_grid, engine_grid
from muntin.bench.rolling import ROWS, Row, flatness, others, speed, spiky, timed, values_of
from muntin.bench.tails import steps, tail


def test_the_table_runs() -> None:
    for row in ROWS[:1] + ROWS[12:13]:
        case = speed(row, 5_000, rounds=1)
        assert case.millions > 0
        assert set(case.ratios) <= set(row.least)
        assert all(ratio > 0 for ratio in case.ratios.values())
    assert timed("mean", 8, 50_000, 1, None).ratios["numpy"] > 0


def test_ours_and_theirs_are_the_same_windows() -> None:
    values = values_of("float64", 3_000)
    calls = others("sum", values, 100)
    ours = mt.rolling(values, window=100, agg=mt.sum)
    assert {"bottleneck", "numbagg", "pandas", "polars"} <= set(calls)
    for name in ("bottleneck", "numbagg", "pandas", "polars"):
        theirs = np.asarray(calls[name]())[99:]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_the_spiky_stream_is_in_order() -> None:
    times, values = spiky(30_000)
    assert len(times) == len(values) == 30_000
    assert (np.diff(times) >= 0).all()


def test_grid_and_flatness_run() -> None:
    assert next(array_grid(3_000, 1, None)).ratio > 0
    assert next(engine_grid(1, keys=(2,))).ratio > 0
    assert flatness("sum", "float64", 3_000, 1)[1024] == 1.0


def test_only_two_stacks_takes_longer_where_it_flips() -> None:
    window = 2_000
    taken = {final: steps(final, window, 2 * window + 1, rounds=3) for final in ("two_stacks", "daba")}
    # The first window was flipped when it was full; the next flips follow when all of its values are gone.
    flips = [window - 1, 2 * window - 1]
    others = np.delete(taken["two_stacks"], flips)
    assert min(taken["two_stacks"][flips]) > 50 * np.median(others)
    assert max(taken["daba"][flips]) < min(taken["two_stacks"][flips])
    found = tail("daba", 100, 200, rounds=1)
    assert 0 < found["median"] <= found["most"]


@pytest.mark.parametrize("row", ROWS[:2], ids=lambda row: row.name)
def test_rows_have_names_of_their_own(row: Row) -> None:
    assert sum(other.name == row.name for other in ROWS) == 1
