"""The benchmark of events with a duration runs at a small size; all contenders give as many windows."""

from __future__ import annotations

from muntin.bench.spans import CELLS, SPARSE, flights, heights, sparse, synthetic, techniques


def test_all_techniques_and_heights_run() -> None:
    cell = CELLS[0]
    table = synthetic(cell.length, 20_000)
    assert min(techniques(cell, table, rounds=1).values()) > 0
    assert set(heights(cell, table, rounds=1, given=(1, 3))) == {"auto", "multi", "1", "3"}


def test_where_slices_are_mostly_empty() -> None:
    assert set(sparse(SPARSE[-1], 10_000, rounds=1)) == {"auto", "multi", "sweeping"}


def test_the_flights_are_repeated_in_order() -> None:
    table = flights(400_000)
    ends = table["end"].to_numpy()
    assert (ends[1:] >= ends[:-1]).all()
    assert table.num_rows == 400_000
