"""The experiment of paper 5 runs at a tiny size, and gives the same results for every D."""

from __future__ import annotations

import numpy as np

from muntin.bench.compression import AFTER, RATES, measure, reports, stops


def test_it_runs() -> None:
    found = measure(seconds=1_800, per_second=0.05, batch=15)
    assert [part.after for part in found] == list(AFTER)
    assert len({part.results for part in found}) == 1
    assert found[0].results > 1_000
    by_name = {part.after: part for part in found}
    none, at_once = by_name["none"], by_name["0"]
    assert (none.share, at_once.share) == (0, 1)
    assert none.compressions == by_name["off"].compressions == 0
    assert 0 < by_name["1 min"].compressions < at_once.compressions
    assert at_once.kept < none.kept / 4
    assert by_name["off"].state == none.state
    assert none.events == at_once.events > 0
    assert all(part.throughput > 0 and set(part.latency) == set(RATES) for part in found)
    assert none.latency[1] > none.latency[1 / 8] > 0


def test_vehicles_report_every_30_seconds() -> None:
    table = reports(3_600, 0.2)
    ts, car = table["ts"].to_numpy(), table["vehicle"].to_numpy()
    assert (np.diff(ts) >= 0).all()
    order = np.lexsort((ts, car))
    same = np.diff(car[order]) == 0
    assert set(np.diff(ts[order])[same].tolist()) == {30_000_000}
    assert 0 < np.count_nonzero(table["speed"].to_numpy() == 0) < table.num_rows / 5


def test_stops_are_counted_at_both_ends() -> None:
    assert [stops(np.array(speeds)) for speeds in ([0], [5], [0, 5, 0], [5, 0, 0, 5])] == [1, 0, 2, 1]
