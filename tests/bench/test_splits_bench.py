"""The benchmark of splits runs at a small size, and its slices are used."""

from __future__ import annotations

from muntin.bench.splits import CASES, Case, measure


def test_long_windows_are_cached() -> None:
    found = measure(Case(100_000, 10_000, disorder=True, several=True), 200_000, rounds=1)
    assert found.size is not None
    assert found.splits > 0
    assert found.per_split > 0
    assert min(found.cached, found.plain) > 0


def test_windows_that_do_not_overlap_are_not() -> None:
    case = next(case for case in CASES if case.size < case.batch and not case.disorder)
    found = measure(case, 3 * case.batch, rounds=1)
    assert found.size is None
    assert found.splits == 0
