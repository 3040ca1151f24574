"""Compressed slices: cells and sorted values of silent slices take less, and every row stays the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing import chunks, cold_runs, cold_slices, slices
from muntin.slicing.cold_slices import ColdSlices
from tests.reliability.sizes import examples
from tests.slicing.test_compaction import passing
from tests.slicing.test_engine import check, steps_of
from tests.strategies import rows_of, specs, streams

KINDS = ("tumbling", "sliding", "cumulative", "session", "sliding")
MIX = (("n", "total", "low", "mid", "p90", "mode"),)  # cells, sorted numbers, sorted texts; no events are kept


@pytest.mark.parametrize("small", [1 << 17, 0], ids=["dense", "sparse"])
def test_equals_the_reference(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of few cells, put together and opened all the time; dense cells, and those of few keys in each slice."""
    for module, name, value in (
        (chunks, "AGAIN", 2), (cold_slices, "ROWS", 4), (cold_runs, "ROWS", 4), (slices, "SMALL", small),
        (slices, "SOME", 1), (cold_slices, "SOME", 3),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)

    @examples(30)
    @given(specs(KINDS, MIX), st.sampled_from([0, 0, "1 us", "3 us", "12 us"]), st.data())
    def equal(spec: mt.Spec, after: Any, data: Any) -> None:
        steps = steps_of(data, passing(data.draw(streams(max_rows=60)), data.draw(st.sampled_from([10, 1_000]))))
        restarts = tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2)))
        emit = data.draw(st.sampled_from(["final", "updates"]))
        store = data.draw(st.sampled_from(["auto", "eager"]))
        check(spec.compress(after), steps, restarts, emit=emit, store=store)

    equal()


def readings(keys: int, minute: int) -> dict[str, Any]:
    """One of each key in a minute, in whole numbers."""
    rng = np.random.default_rng(minute)
    return {
        "ts": minute * 60_000_000 + np.sort(rng.integers(0, 60_000_000, keys)),
        "key": rng.permutation(keys),
        "x": rng.integers(0, 50, keys),
    }


@pytest.mark.parametrize(
    ("aggregates", "least"),
    [({"n": mt.count(), "total": mt.sum("x"), "top": mt.max("x")}, 5), ({"mid": mt.median("x")}, 3)],
    ids=["cells", "sorted values"],
)
@pytest.mark.parametrize("store", ["auto", "eager"])
def test_less_memory(aggregates: dict[str, mt.Aggregate], least: float, store: str) -> None:
    """Between windows that are due only the newest slices are open; what is due opens them, and closes them again."""
    spec = mt.over("ts", by="key", max_ahead=None).window("w", mt.sliding("2 hours", every="5 minutes"), **aggregates)
    plain = spec.engine(store=store)
    engine, at_once = (spec.compress(after).engine(store=store) for after in ("10 minutes", 0))
    for minute in range(135):
        rows = readings(300, minute)
        expected = rows_of(plain.push(rows))
        assert rows_of(engine.push(rows)) == expected
        assert rows_of(at_once.push(rows)) == expected
    if store == "eager":  # at_once has none between steps: all slices are compressed
        trees = [some._sliced.store.nbytes for some in (plain, engine, at_once)]
        assert trees[0] > trees[1] > trees[2] == 0
    assert plain.metrics().bytes_open == 0
    for some in (engine, at_once):
        metrics = some.metrics()
        assert metrics.nbytes == some.nbytes
        assert least * metrics.bytes_compressed < metrics.bytes_open
    held = [(some._sliced.nbytes, some.nbytes) for some in (plain, engine, at_once)]
    assert held[0][0] > 2 * held[1][0] > 2 * held[2][0]
    assert held[0][0] > 3 * held[2][0]
    again = spec.engine()
    again.restore(engine.snapshot())  # without compress
    assert rows_of(again.flush()) == rows_of(plain.flush()) == rows_of(engine.flush()) == rows_of(at_once.flush())


def test_less_memory_in_sessions() -> None:
    """Sorted values of sessions that go on; those of sessions that are over go from what is compressed too."""
    spec = mt.over("ts", by="key", max_ahead=None).window("w", mt.session("3 minutes"), mid=mt.median("x"))
    plain, engine, at_once = spec.engine(), spec.compress("10 minutes").engine(), spec.compress(0).engine()
    for minute in range(240):
        rows = readings(200, minute)
        # Key 7 never rests; of the others a half rests in every other hour.
        some = (rows["key"] == 7) | (rows["key"] % 2 == minute // 60 % 2)
        rows = {name: column[some] for name, column in rows.items()}
        expected = rows_of(plain.push(rows))
        assert rows_of(engine.push(rows)) == expected
        assert rows_of(at_once.push(rows)) == expected
        if minute % 60 == 55:
            held = [e._sliced.sessions[0].nbytes for e in (plain, engine, at_once)]
            assert held[0] > 2 * held[1]
            assert held[0] > 4 * held[2]
    again = spec.engine()
    again.restore(engine.snapshot())
    assert rows_of(again.flush()) == rows_of(plain.flush()) == rows_of(engine.flush()) == rows_of(at_once.flush())


def test_a_touch_opens_what_comes_after_it_and_reading_writes_nothing() -> None:
    spec = mt.over("ts", by="key", lateness="1 hour", max_ahead=None)
    spec = spec.window("w", mt.sliding("1 hour", every="1 minute"), total=mt.sum("x")).compress(0)
    engine = spec.engine(watermark="manual")
    for minute in range(30):
        engine.push(readings(50, minute))
    store = engine._sliced.slices
    assert isinstance(store, ColdSlices)
    assert store.closed == 30
    before = engine.metrics()
    engine.push({"ts": [29 * 60_000_000], "key": [3], "x": [1]})  # the newest slice again
    after = engine.metrics()
    assert after.decompressions - before.decompressions < 30  # few of those before it
    engine.advance(20 * 60_000_000)  # all are read, and still good
    assert engine.metrics().chunks_written == after.chunks_written
    assert engine.metrics().chunks_read > after.chunks_read
    assert store.closed == 30


def test_a_budget_counts_slices() -> None:
    spec = mt.over("ts", by="key", max_ahead=None)
    spec = spec.window("w", mt.sliding("2 hours", every="10 minutes"), total=mt.sum("x"), mid=mt.median("x"))
    plain = spec.engine()
    for minute in range(100):
        plain.push(readings(300, minute))
    engine = spec.memory(plain.nbytes // 2).engine()
    for minute in range(100):
        engine.push(readings(300, minute))
    assert engine.nbytes <= plain.nbytes // 2
    assert engine.metrics().bytes_compressed > 0
    assert rows_of(engine.flush()) == rows_of(plain.flush())


@pytest.mark.parametrize("store", ["auto", "lazy", "eager"])
@pytest.mark.parametrize("emit", ["final", "updates"])
@pytest.mark.parametrize("lateness", ["0 s", "1 minute"])
def test_floats_are_added_in_the_same_order(store: str, emit: str, lateness: str) -> None:
    """To the last digit: a spec with compress once had no tree where one without had."""
    spec = mt.over("ts", max_ahead=None, disorder="1 second", lateness=lateness)
    spec = spec.window("w", mt.sliding("10 minutes", every="2 seconds"), total=mt.sum("x"))
    rng = np.random.default_rng(3)
    plain = spec.engine(store=store, emit=emit)
    engines = [spec.compress(after).engine(store=store, emit=emit) for after in (0, "20 s", None)]
    engines.append(spec.memory("1 GiB").engine(store=store, emit=emit))
    rows = 0
    for step in range(30):
        at = (40 * step + rng.permutation(40)) * 1_000_000 if lateness != "0 s" else 40_000_000 * step + np.arange(40)
        batch = {"ts": at, "x": rng.random(40)}
        expected = plain.push(batch)
        rows += expected.num_rows
        for engine in engines:
            assert engine.push(batch).equals(expected)
    assert rows > 500
    expected = plain.flush()
    assert all(engine.flush().equals(expected) for engine in engines)
