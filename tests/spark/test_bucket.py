"""The state of a bucket without Spark: buckets move between workers, batches are tried again, workers are restarted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.reference import run
from muntin.spark import bucket as buckets
from muntin.spark.bucket import Bucket
from muntin.spark.buckets import bucket_of_keys, labels, partition_of
from muntin.spark.head import Head
from muntin.spark.ipc import packed
from muntin.spark.step import Step, Wanted, bucket_spec
from tests.reliability.sizes import examples
from tests.strategies import MIXES, SCHEMA, cuts, rows_of, specs, streams, watermarks


@dataclass
class Memory:
    """A state store in memory, whose changes can be thrown away."""

    value: Head | None = None
    base: bytes | None = None
    steps: dict[int, bytes] = field(default_factory=dict)
    reads: int = 0

    def copy(self) -> Memory:
        return replace(self, steps=dict(self.steps))

    def head(self) -> Head | None:
        return self.value

    def put_head(self, head: Head) -> None:
        self.value = Head.of(head.blob())

    def snapshot(self) -> bytes | None:
        self.reads += 1
        return self.base

    def fold(self, snapshot: bytes, steps: Iterable[int]) -> None:
        self.base = snapshot
        for number in steps:
            del self.steps[number]
        assert not self.steps  # nothing is left behind

    def step(self, number: int) -> bytes:
        self.reads += 1
        return self.steps[number]

    def append(self, number: int, step: bytes) -> None:
        self.steps[number] = step


def call(spec: mt.Spec, store: Memory, rows: list[pa.Table], watermark: int | None) -> tuple[list[Any], list[Any]]:
    """What the stateful stage does for one bucket."""
    bucket = Bucket(Wanted(bucket_spec(spec), SCHEMA), 0, store)
    if not rows and bucket.idle(watermark):
        return [], []
    done = bucket.run(Step([packed(table) for table in rows], [], watermark, 0), None)
    return rows_of(done.results), rows_of(done.late)


@examples(30)
@given(specs(mixes=MIXES[:2]), st.data())
def test_a_bucket_that_moves_and_fails_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    steps, newest = [], None
    for batch, moved in data.draw(watermarks(data.draw(cuts(data.draw(streams()))))):
        # Spark's watermark never goes back.
        newest = moved if newest is None else newest if moved is None else max(newest, moved)
        steps.append((batch, newest))
    expected = run(spec, steps)
    workers: list[OrderedDict[Any, Any]] = [OrderedDict(), OrderedDict()]
    store = Memory()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "_MOST_STEPS", data.draw(st.sampled_from([1, 3, 64])))
        for i, (batch, watermark) in enumerate(steps):
            rows = [batch] if batch.num_rows else []
            for fails in range(data.draw(st.sampled_from([1, 1, 1, 2])), 0, -1):
                worker = data.draw(st.integers(0, 2))
                patch.setattr(buckets, "_ENGINES", OrderedDict() if worker == 2 else workers[worker])
                attempt = store.copy()
                results, late = call(spec, attempt, rows, watermark)
                if fails == 1:
                    store = attempt
            assert results == rows_of(expected.results[i]), f"step {i}"
            assert late == rows_of(expected.late[i]), f"late rows of step {i}"


@examples(15)
@given(specs(mixes=MIXES[:2]), st.data())
def test_a_bucket_goes_on_under_another_rule_of_compression(spec: mt.Spec, data: Any) -> None:
    rules = [spec, spec.compress(0), spec.compress("3 us", codec="zstd"), spec.compress("20 us", codec="snappy")]
    steps = [(batch, None) for batch in data.draw(cuts(data.draw(streams())))]
    expected = run(spec, steps)
    store = Memory()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "_MOST_STEPS", data.draw(st.sampled_from([1, 3, 64])))
        for i, (batch, watermark) in enumerate(steps):
            patch.setattr(buckets, "_ENGINES", OrderedDict())
            rows = [batch] if batch.num_rows else []
            results, late = call(data.draw(st.sampled_from(rules)), store, rows, watermark)
            assert (results, late) == (rows_of(expected.results[i]), rows_of(expected.late[i])), f"step {i}"


def test_blobs_are_smaller_with_compress(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mt.over("ts", by="key").window("w", mt.tumbling("1 day"), all=mt.collect("x"))
    n = 20_000
    columns = {name: pa.nulls(n, SCHEMA.field(name).type) for name in SCHEMA.names}
    columns |= {"ts": pa.array(np.arange(n) * 1000), "x": pa.array(np.arange(n) % 7)}
    columns["key"] = pa.array(np.arange(n) % 50).cast(pa.string())
    sizes = []
    for rule in (spec, spec.compress("1 s")):
        monkeypatch.setattr(buckets, "_ENGINES", OrderedDict())
        store = Memory()
        for first in (0, n // 2):
            call(rule, store, [pa.table(columns, schema=SCHEMA).slice(first, n // 2)], None)
        assert store.base is not None
        assert store.steps
        sizes.append((len(store.base), sum(map(len, store.steps.values()))))
    (plain, steps), (packed, fewer) = sizes
    assert packed < plain / 8
    assert fewer < 0.75 * steps  # steps are narrow already: 83 kB become 58 kB


def test_a_batch_on_the_same_worker_reads_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_ENGINES", OrderedDict())
    spec = mt.over("ts", by="key").window("w", mt.tumbling("1 s"), n=mt.count())
    store = Memory()
    row = {"ts": 5, "key": "a", "x": 1, "f": 1.0, "s": "p", "mark": True, "stop": False, "m": 1}
    batch = pa.Table.from_pylist([row], schema=SCHEMA)
    for _ in range(5):
        call(spec, store, [batch], None)
    assert store.reads == 0
    assert len(store.steps) == 4
    # Another worker reads the snapshot and the four steps; the first then only the step that it has missed.
    first = buckets._ENGINES
    monkeypatch.setattr(buckets, "_ENGINES", OrderedDict())
    call(spec, store, [batch], None)
    assert store.reads == 5
    monkeypatch.setattr(buckets, "_ENGINES", first)
    assert [row[-2:] for row in call(spec, store, [batch], 1_000_000)[0]] == [(7, 0)]
    assert store.reads == 6


def test_steps_are_folded_when_they_weigh_more_than_the_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_ENGINES", OrderedDict())
    monkeypatch.setattr(buckets, "_LEAST_BYTES", 0)
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    table = pa.table({name: pa.nulls(1000, SCHEMA.field(name).type) for name in SCHEMA.names})
    table = table.set_column(0, "ts", pa.array(np.arange(1000)))
    store = Memory()
    folds = []
    for _ in range(10):
        call(spec, store, [table], None)
        folds.append(not store.steps)
    assert all(folds), "a thousand rows weigh more than one slice"
    assert call(spec, store, [], 2_000_000)[0][0][-2:] == (10_000, 0)


def test_a_state_of_another_spec_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_ENGINES", OrderedDict())
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    store = Memory()
    call(spec, store, [SCHEMA.empty_table()], None)
    before = store.copy()
    with pytest.raises(mt.SpecError, match="another spec: it has lateness=0"):
        call(mt.over("ts", lateness="1 s").window("w", mt.tumbling("1 s"), n=mt.count()), store, [], 5)
    assert store.value == before.value


def test_buckets_follow_from_values_alone() -> None:
    keys = [pa.array(["a", "b", None, "ab"]), pa.array([1.5, -0.0, None, float("nan")])]
    assert bucket_of_keys(keys, 1000).tolist() == bucket_of_keys([k.slice(0) for k in keys], 1000).tolist()
    # Written down: a state written today must find its keys in years to come.
    assert bucket_of_keys([pa.array(["JFK", "LGA", "EWR", None])], 1000).tolist() == [822, 464, 338, 0]
    assert bucket_of_keys([pa.array([0, 1, -1, None])], 1000).tolist() == [871, 944, 104, 0]
    spread = np.bincount(bucket_of_keys([pa.array(np.arange(64_000))], 64), minlength=64)
    assert spread.min() > 850
    assert spread.max() < 1150


@pytest.mark.parametrize(("count", "partitions"), [(1, 1), (64, 64), (3, 200), (200, 4), (500, 500)])
def test_labels_spread_evenly(count: int, partitions: int) -> None:
    found = labels(count, partitions)
    assert len(set(found)) == count
    assert partition_of(np.array(found, np.int32), partitions).tolist() == [i % partitions for i in range(count)]
