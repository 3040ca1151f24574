"""Compressed kept events: the same rows for every D, codec and cut, less memory, and what is counted."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing import chunks as chunked
from muntin.slicing import cold, cold_keys, cold_runs, cold_slices
from muntin.slicing.cold import ColdEvents
from tests.reliability.sizes import examples
from tests.slicing.test_compaction import passing
from tests.slicing.test_engine import check, steps_of
from tests.strategies import KEPT, MIXES, rows_of, specs, streams

CODECS = ["auto", "none", "snappy", "lz4", "zstd", "zstd:9"]


@pytest.fixture(params=["as it is", "tiny"])
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Chunks of few rows, which are opened, written anew and put together all the time."""
    if request.param == "tiny":
        for name, value in {"ROWS": 3, "SMALL": 3, "FEW": 1, "STALE": 10**6, "AT_ONCE": 5, "MIXED": 1}.items():
            monkeypatch.setattr(cold, name, value)
        monkeypatch.setattr(chunked, "AGAIN", 2)
        monkeypatch.setattr(cold_slices, "ROWS", 4)
        monkeypatch.setattr(cold_runs, "ROWS", 4)
        for name, value in {"ROWS": 3, "FEW": 1, "SOME": 3}.items():
            monkeypatch.setattr(cold_keys, name, value)
    return str(request.param)


delays = st.sampled_from([0, 0, 1, 3, 10, 50])
rules = st.tuples(delays, st.sampled_from(CODECS))


def squeezed(spec: mt.Spec, rule: tuple[int, str]) -> mt.Spec:
    return spec.compress(f"{rule[0]} us" if rule[0] else 0, codec=rule[1])


# Which aggregates are asked for is nothing to the store: two mixes have columns of all types, and few kernels.
FEW = (KEPT, MIXES[0])


@pytest.mark.usefixtures("chunks")
def test_equals_the_reference() -> None:
    @examples(30)
    @given(specs(mixes=FEW), rules, st.data())
    def equal(spec: mt.Spec, rule: tuple[int, str], data: Any) -> None:
        steps = steps_of(data, passing(data.draw(streams()), data.draw(st.sampled_from([10, 1_000]))))
        restarts = tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2)))
        check(squeezed(spec, rule), steps, restarts)

    equal()


@pytest.mark.usefixtures("chunks")
def test_equals_the_reference_where_slices_and_events_go_together() -> None:
    kinds = ("tumbling", "sliding", "cumulative", "session", "own")

    @examples(30)
    @given(specs(kinds, FEW).filter(lambda spec: spec.by), rules, st.data())
    def equal(spec: mt.Spec, rule: tuple[int, str], data: Any) -> None:
        check(squeezed(spec, rule), steps_of(data, passing(data.draw(streams(max_rows=80)), 10)))

    equal()


@examples(15)
@given(specs(mixes=FEW).filter(lambda spec: spec.by), rules, st.data())
def test_threads_and_updates(spec: mt.Spec, rule: tuple[int, str], data: Any) -> None:
    steps = steps_of(data, passing(data.draw(streams()), 10))
    check(squeezed(spec, rule), steps, threads=2)
    check(squeezed(spec, rule), steps, emit="updates")


@examples(15)
@given(specs(mixes=FEW), rules, rules, st.data())
def test_a_snapshot_goes_on_with_another_rule(spec: mt.Spec, one: Any, other: Any, data: Any) -> None:
    batches = [table for table, _ in steps_of(data, data.draw(streams(spec))) if table is not None]
    expected = spec.engine()
    before, after = squeezed(spec, one).engine(), data.draw(st.sampled_from([spec, squeezed(spec, other)])).engine()
    half = len(batches) // 2
    for batch in batches[:half]:
        assert rows_of(before.push(batch)) == rows_of(expected.push(batch))
    after.restore(before.snapshot())
    for engine in (after, before):  # and the one that it was taken of goes on as well
        rest = spec.engine()
        rest.restore(expected.snapshot())
        for batch in batches[half:]:
            assert rows_of(engine.push(batch)) == rows_of(rest.push(batch))
        assert rows_of(engine.flush()) == rows_of(rest.flush())


# ---- what it does ----

HOUR = 3_600_000_000
CARS = mt.over("ts", by="car", max_ahead=None).window(
    "w", mt.sliding("3 hours", every="1 minute"), stops=mt.process(lambda speeds: int((speeds == 0).sum()), "speed")
)


def minutes(cars: int, first: int, count: int) -> list[pa.Table]:
    """Cars that report every 30 s, each of them for ten minutes, one batch a minute."""
    rng, batches = np.random.default_rng(7), []
    for minute in range(first, first + count):
        car = np.repeat(np.arange(cars) + minute // 10 * cars, 2)
        ts = minute * 60_000_000 + np.tile([0, 30_000_000], cars) + car % 30 * 1_000_000
        order = np.argsort(ts, kind="stable")
        batches.append(pa.table({"ts": ts[order], "car": car[order], "speed": rng.integers(0, 80, len(car))}))
    return batches


def test_least_recently_updated_first_and_touches_open_few() -> None:
    engine = CARS.compress("1 minute").engine()
    (store,) = _stores(engine, minutes(40, 0, 10))
    assert engine.metrics().share_compressed == 0  # all of them report all the time
    for batch in minutes(40, 10, 3):
        engine.push(batch)
    metrics = engine.metrics()
    assert (metrics.keys, metrics.keys_compressed) == (80, 40)
    assert metrics.bytes_compressed < metrics.bytes_open / 4
    assert metrics.chunks_written < 4
    assert len(store) == 40 * 2 * 3
    engine.push(pa.table({"ts": [13 * 60_000_000], "car": [3], "speed": [0]}))  # of the first ones
    assert engine.metrics().keys_compressed == 39  # the others of its chunk were opened, and are compressed again


def test_chunks_are_cut_by_the_last_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cold, "ROWS", 50)
    engine = CARS.compress("1 minute").engine()
    car = np.random.default_rng(2).permutation(60)  # each reports ten times, one after the other
    ts = np.repeat(np.arange(60) * 1_000_000, 10) + np.tile(np.arange(10), 60)
    engine.push(pa.table({"ts": ts, "car": np.repeat(car, 10), "speed": np.arange(600)}))
    engine.advance(10 * 60_000_000)
    (store,) = engine._kept.stores
    chunks = list(store._chunks.values())
    assert [chunk.rows for chunk in chunks] == [50] * 12
    assert all(a.newest < b.last.min() for a, b in itertools.pairwise(chunks))
    engine.push(pa.table({"ts": [10 * 60_000_000], "car": car[:1], "speed": [0]}))
    assert engine.metrics().keys_compressed == 59


def _stores(engine: Any, batches: list[pa.Table]) -> list[Any]:
    for batch in batches:
        engine.push(batch)
    return list(engine._kept.stores)


def test_d_of_zero_compresses_all_at_once_and_output_is_no_touch() -> None:
    engine = CARS.compress(0).engine()
    for batch in minutes(40, 0, 25):
        found = engine.push(batch)
        ends = found["window"].combine_chunks().field("end") if found.num_rows else pa.array([])
        assert ends.to_pylist() == sorted(ends.to_pylist())
        assert engine.metrics().share_compressed == 1
    read, written = engine.metrics().chunks_read, engine.metrics().chunks_written
    engine.advance(26 * 60_000_000)
    assert engine.metrics().chunks_read > read
    assert engine.metrics().chunks_written == written


def test_no_compress_is_the_store_that_was() -> None:
    engine = CARS.engine()
    assert [type(store) for store in _stores(engine, minutes(3, 0, 2))] != [ColdEvents]
    assert engine.metrics().compressions == engine.metrics().keys == 0


def test_less_memory_and_smaller_snapshots() -> None:
    plain, packed = CARS.engine(), CARS.compress("1 minute").engine()
    for batch in minutes(40, 0, 100):
        assert rows_of(plain.push(batch)) == rows_of(packed.push(batch))
    assert packed._kept.nbytes < plain._kept.nbytes / 5
    assert packed.nbytes < plain.nbytes / 3  # what is left are mostly the keys
    assert len(packed.snapshot()) < len(plain.snapshot()) / 5
    assert packed._kept.nbytes < plain._kept.nbytes / 5  # what was opened for the snapshot is compressed again


def test_keys_without_events_leave_the_indexes() -> None:
    spec = CARS.without("w").window("w", mt.sliding("20 minutes", every="1 minute"), all=mt.collect("speed"))
    engine = spec.compress("1 minute").engine()
    (store,) = _stores(engine, minutes(300, 0, 90))
    assert engine.metrics().keys <= 3 * 300 + 300
    assert sum(len(chunk.keys) for chunk in store._chunks.values()) <= 900
    assert len(store._where) < 4_096
    assert engine._decoder.keys.size < 9 * 300
    assert store.cold_rows < 1.2 * 30 * 600
    engine.advance(3 * HOUR)
    assert engine.metrics().keys == 0
    assert (store._where < 0).all()


@pytest.mark.parametrize(("lossy", "bound"), [(0.5, 0.5), ("1 %", None), ({"speed": 2}, 2), ({"other": 2}, 0)])
def test_values_are_off_by_no_more_than_stated(lossy: Any, bound: float | None) -> None:
    rng = np.random.default_rng(1)
    both = {"all": mt.collect("speed"), "rest": mt.collect("other")}
    spec = mt.over("ts", by="car").window("w", mt.tumbling("1 hour"), **both)
    n = 3_000
    speed = pa.array(rng.normal(50, 20, n))
    table = pa.table({"ts": np.arange(n) * 1_000_000, "car": rng.integers(0, 9, n), "speed": speed, "other": speed})
    exact, rough = spec.engine(), spec.compress(0, lossy=lossy).engine()
    for first in range(0, n, 100):
        exact.push(table.slice(first, 100))
        rough.push(table.slice(first, 100))
    right = np.concatenate([np.array(values) for values in exact.flush()["all"].to_pylist()])
    found = np.concatenate([np.array(values) for values in rough.flush()["all"].to_pylist()])
    off = np.abs(right - found)
    assert (off <= (0.01 * np.abs(right) if bound is None else bound)).all()
    assert (off > 0).any() == (bound != 0)


def test_specs_say_how_they_compress() -> None:
    spec = CARS.compress("90 s", codec="zstd", lossy={"speed": "1 %"})
    assert repr(spec).endswith(".compress(after='1 minute 30 seconds', codec='zstd:1', lossy={'speed': '1 %'})")
    assert spec == CARS.compress("90 s", codec="zstd:1", lossy={"speed": "1 %"})
    assert replace(spec, compression=None) == CARS
    with pytest.raises(mt.SpecError, match="after must not be negative"):
        CARS.compress("-1 s")
    with pytest.raises(mt.SpecError, match="codec='gzip' is unknown"):
        CARS.compress("1 s", codec="gzip")
    with pytest.raises(mt.SpecError, match="no error bound"):
        CARS.compress("1 s", lossy=-3)
    with pytest.raises(mt.SpecError, match=r"'sped', which no aggregate reads. Did you mean 'speed'"):
        CARS.compress("1 s", lossy={"sped": 3}).engine().push({"ts": [1], "car": [1], "speed": [2.0]})
