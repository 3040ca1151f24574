"""The benchmark of the stores runs at a tiny size, and both stores give the same answer."""

from __future__ import annotations

import pytest

from muntin.bench.store import AGGREGATES, measure


@pytest.mark.parametrize("name", AGGREGATES)
def test_it_runs(name: str) -> None:
    lazy, eager = measure(name, slices=2_000, rounds=2)
    assert (lazy.store, eager.store) == ("lazy", "eager")
    assert lazy.value == pytest.approx(eager.value, rel=1e-12)
    assert 0.4 < lazy.value / (8_000 if name == "sum" else 1) < 0.6
    assert min(lazy.whole, eager.whole, lazy.alone, eager.alone) > 0
    assert eager.state > lazy.state > 0


def test_eager_is_ten_times_as_fast_over_many_slices() -> None:
    """The promise of the store; measured at 0.05, so that a busy machine does not matter."""
    lazy, eager = measure("sum", rounds=5, rows=1)
    assert eager.alone < 0.1 * lazy.alone
