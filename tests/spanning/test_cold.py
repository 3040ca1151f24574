"""Compressed slices of events with a duration: cells with levels and swept events take less, and no row changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.spanning import auto, cold
from tests.reliability.sizes import examples
from tests.spanning.drawn import FIXED, MIXES, check, specs, steps_of, streams
from tests.strategies import rows_of

PLAIN = (("n", "total", "low"),)  # what can be swept


@pytest.mark.parametrize("array", [True, False], ids=["an array where it fits", "none"])
@pytest.mark.parametrize("swept", [False, True], ids=["levels", "swept"])
def test_equals_the_reference(array: bool, swept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few rows, put together and read all the time; events that come again for cells that are compressed."""
    monkeypatch.setattr(cold, "ROWS", 6)
    if not array:
        monkeypatch.setattr(auto, "SMALL", 0)
        monkeypatch.setattr(auto, "SHARE", 0)
    techniques = ("auto", "sweeping") if swept else ("auto", "single", "multi")

    @examples(25)
    @given(
        specs(kinds=FIXED, mixes=PLAIN if swept else MIXES, techniques=techniques),
        st.sampled_from([0, 0, "1 us", "3 us", "20 us"]),
        st.data(),
    )
    def equal(spec: mt.Spec, after: Any, data: Any) -> None:
        steps = data.draw(steps_of(data.draw(streams())))
        restarts = tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2)))
        check(spec.compress(after), steps, restarts, emit=data.draw(st.sampled_from(["final", "updates"])))

    equal()


def calls(second: int, towers: int) -> dict[str, Any]:
    """Some calls that end in a second, of up to a minute."""
    rng, count = np.random.default_rng(second), max(towers, 300)
    end = second * 1_000_000 + np.sort(rng.integers(0, 1_000_000, count))
    return {
        "start": end - rng.integers(0, 60_000_000, count),
        "end": end,
        "tower": rng.permutation(count) % towers,
        "cost": rng.integers(0, 100, count),
    }


@pytest.mark.parametrize(("technique", "towers"), [("auto", 1_000), ("multi", 1_000), ("sweeping", 10)])
def test_less_memory(technique: str, towers: int) -> None:
    over = mt.over(span=("start", "end"), by="tower", postpone="1 minute", technique=technique, max_ahead=None)
    window = mt.sliding("10 minutes", every="1 minute")
    spec = over.window("w", window, n=mt.count(), total=mt.sum("cost"), top=mt.max("cost"))
    plain, engine, at_once = spec.engine(), spec.compress("1 minute").engine(), spec.compress(0).engine()
    for second in range(0, 700, 7):
        rows = calls(second, towers)
        expected = rows_of(plain.push(rows))
        assert rows_of(engine.push(rows)) == expected
        assert rows_of(at_once.push(rows)) == expected
    assert plain.metrics().bytes_open == 0
    for some in (engine, at_once):
        metrics = some.metrics()
        assert metrics.nbytes == some.nbytes
        assert 2 * metrics.bytes_compressed < metrics.bytes_open
    assert plain._fixed.nbytes > engine._fixed.nbytes > at_once._fixed.nbytes
    assert plain._fixed.nbytes > 2 * at_once._fixed.nbytes
    again = spec.engine()
    again.restore(engine.snapshot())  # without compress
    assert rows_of(again.flush()) == rows_of(plain.flush()) == rows_of(engine.flush()) == rows_of(at_once.flush())


def test_a_budget_counts_cells() -> None:
    over = mt.over(span=("start", "end"), by="tower", postpone="1 minute", technique="multi", max_ahead=None)
    spec = over.window("w", mt.tumbling("10 minutes"), n=mt.count(), total=mt.sum("cost"))
    plain = spec.engine()
    for second in range(0, 500, 10):
        plain.push(calls(second, 2_000))
    budget = plain.nbytes * 2 // 3
    engine = spec.memory(budget).engine()
    for second in range(0, 500, 10):
        engine.push(calls(second, 2_000))
        assert engine.nbytes <= budget
    assert engine.metrics().bytes_compressed > 0
    assert rows_of(engine.flush()) == rows_of(plain.flush())
