"""Compressed keys of rows windows and of windows along another column: less memory, the same rows.

`test_cold.py` has them beside the reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import muntin as mt
from muntin.slicing import cold_keys as cold
from tests.strategies import rows_of

SPEC = mt.over("ts", by="car", lateness="20 s", max_ahead=None)


def drives(first: int, count: int) -> list[dict[str, Any]]:
    """Ten cars at a time report a hundred times each, and then no more."""
    batches = []
    for i in range(first, first + count):
        ts = i * 100_000_000 + np.arange(1_000) * 100_000
        batches.append({"ts": ts, "car": 10 * i + np.arange(1_000) % 10, "speed": np.arange(1_000) // 10 % 50})
    return batches


@pytest.mark.parametrize("kept", [False, True], ids=["partials", "events"])
def test_less_memory(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold, "ROWS", 1_000)  # so that chunks hold few cars
    aggregates = {"all": mt.collect("speed")} if kept else {"mean": mt.mean("speed"), "top": mt.max("speed")}
    spec = SPEC.window("w", mt.sliding("80 rows", every="1 row" if not kept else "20 rows"), **aggregates)
    plain, engine, at_once = spec.engine(), spec.compress("1 minute").engine(), spec.compress(0).engine()
    for batch in drives(0, 20):
        expected = rows_of(plain.push(batch))
        assert rows_of(engine.push(batch)) == expected
        assert rows_of(at_once.push(batch)) == expected
    for some in (engine, at_once):
        metrics = some.metrics()
        assert metrics.keys_compressed >= 180  # of 200
        assert metrics.keys == 200
        assert 5 * metrics.bytes_compressed < metrics.bytes_open
        assert 3 * some.nbytes < plain.nbytes
    again = {"ts": [2_001_000_000] * 3, "car": [7, 19, 19], "speed": [1, 2, 3]}  # cars of long ago
    before = engine.metrics().decompressions
    assert rows_of(engine.push(again)) == rows_of(plain.push(again))
    assert 2 <= engine.metrics().decompressions - before < 60  # and those that were compressed with them
    other = spec.engine()
    other.restore(engine.snapshot())
    assert rows_of(engine.flush()) == rows_of(plain.flush()) == rows_of(other.flush())


def trips(first: int, count: int) -> list[dict[str, Any]]:
    """Ten cars at a time drive a hundred kilometres, and then no more."""
    return [batch | {"km": np.arange(1_000) // 10} for batch in drives(first, count)]


def test_less_memory_along_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold, "ROWS", 1_000)
    aggregates = {"mean": mt.mean("speed"), "top": mt.max("speed")}
    spec = SPEC.window("w", mt.sliding(200, every=2, on="km"), **aggregates)
    plain, engine, at_once = spec.engine(), spec.compress("1 minute").engine(), spec.compress(0).engine()
    for batch in trips(0, 20):
        expected = rows_of(plain.push(batch))
        assert rows_of(engine.push(batch)) == expected
        assert rows_of(at_once.push(batch)) == expected
    for some in (engine, at_once):
        metrics = some.metrics()
        assert metrics.keys_compressed >= 180  # of 200
        assert metrics.keys == 200
        assert 5 * metrics.bytes_compressed < metrics.bytes_open
        assert 2 * some._along.nbytes < plain._along.nbytes
    again = {"ts": [2_001_000_000] * 3, "car": [7, 19, 19], "speed": [1, 2, 3], "km": [150, 160, 500]}
    before = engine.metrics().decompressions
    assert rows_of(engine.push(again)) == rows_of(plain.push(again))
    assert 2 <= engine.metrics().decompressions - before < 60
    other = spec.engine()
    other.restore(engine.snapshot())
    assert rows_of(engine.flush()) == rows_of(plain.flush()) == rows_of(other.flush())


def test_a_budget_counts_rows() -> None:
    spec = SPEC.window("w", mt.sliding("80 rows", every="20 rows"), all=mt.collect("speed"))
    plain = spec.engine()
    for batch in drives(0, 20):
        plain.push(batch)
    engine = spec.memory(plain.nbytes // 2).engine()
    for batch in drives(0, 20):
        engine.push(batch)
        assert engine.nbytes <= plain.nbytes // 2
    assert engine.metrics().keys_compressed > 0
    assert rows_of(engine.flush()) == rows_of(plain.flush())
