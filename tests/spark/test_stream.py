"""A stream gives, batch by batch, the rows and the late rows of the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin.reference import run
from tests.spark.logs import Collected, Folder, cut, spec_of, steps_of, table
from tests.strategies import last_revisions, rows_of

NOW = {"availableNow": True}
TIME = ["tumbling", "sliding", "hop", "cumulative", "session"]


def check(spark: Any, spec: mt.Spec, batches: list[pa.Table], path: Path, emit: str = "final") -> Collected:
    """Every batch, and the flush, as the reference has it: results and late rows, with all columns."""
    steps = steps_of(batches, spec)
    expected = run(spec, steps, flush=True, emit=emit)
    folder = Folder(path / "in")
    folder.put(*batches)
    results, late = Collected(), Collected()
    query = spec.start(
        folder.stream(spark),
        results=results,
        late=late,
        checkpoint=str(path / "checkpoint"),
        trigger=NOW,
        flush=True,
        emit=emit,
    )
    assert not query.isActive
    for i in range(len(steps)):
        assert results.rows(i) == rows_of(expected.results[i]), f"batch {i}"
        assert late.rows(i) == rows_of(expected.late[i]), f"late rows of batch {i}"
    assert results.rows("flush") == rows_of(expected.results[-1])
    return results


def test_all_windows_and_aggregates_equal_the_reference_batch_by_batch(spark: Any, tmp_path: Path) -> None:
    spec = spec_of(disorder="8 ms", lateness="15 ms")
    batches = cut(table(11, behind=300, bad=True), 1, 5)
    assert {row["reason"] for part in run(spec, steps_of(batches, spec)).late for row in part.to_pylist()} == {
        "late",
        "null time",
        "too far ahead",
    }
    check(spark, spec, batches, tmp_path)


@settings(
    max_examples=2,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 10**6), st.sampled_from([0, 8, 25]), st.sampled_from([0, 0, 15]))
def test_any_disorder_equals_the_reference(
    spark: Any, tmp_path_factory: Any, seed: int, disorder: int, lateness: int
) -> None:
    spec = spec_of(TIME, disorder=f"{disorder} ms", lateness=f"{lateness} ms")
    rows = table(seed, keys=200, rows=600, behind=500)
    check(spark, spec, cut(rows, seed, 4), tmp_path_factory.mktemp("any"))


def test_updates_equal_the_reference(spark: Any, tmp_path: Path) -> None:
    spec = spec_of([*TIME, "rows", "frame"], disorder="8 ms")
    check(spark, spec, cut(table(12, behind=40), 2, 4), tmp_path, emit="updates")


def test_batch_stream_and_embedded_give_the_same_rows(spark: Any, tmp_path: Path) -> None:
    spec = spec_of(disorder="20 ms", lateness="20 ms")
    rows = table(13, behind=40)
    folder = Folder(tmp_path / "in")
    folder.put(*cut(rows, 3, 3))
    tables: list[pa.Table] = []
    spec.start(
        folder.stream(spark),
        results=lambda frame, batch_id: tables.append(frame.toArrow()),
        checkpoint=str(tmp_path / "checkpoint"),
        trigger=NOW,
        flush=True,
        buckets=3,
    )
    embedded = [spec.apply(rows)]
    batch = [spec.apply(spark.createDataFrame(rows)).toArrow()]
    assert last_revisions(tables, spec) == last_revisions(embedded, spec) == last_revisions(batch, spec)


def test_apply_on_a_stream_is_a_plain_frame_and_counts_what_is_late(spark: Any, tmp_path: Path) -> None:
    spec = mt.over("ts", by="key").window("w", mt.tumbling("5 ms"), n=mt.count())
    batches = cut(table(14, behind=300, bad=True), 4, 5)
    expected = run(spec, steps_of(batches, spec))
    folder = Folder(tmp_path / "in")
    folder.put(*batches)
    frame = spec.apply(folder.stream(spark))
    assert frame.isStreaming
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    query = frame.where("n > 1").writeStream.format("parquet").option("checkpointLocation", checkpoint)
    running = query.trigger(**NOW).start(out)
    running.awaitTermination()
    assert rows_of(spark.read.parquet(out).toArrow()) == [row for row in rows_of(*expected.results) if row[-2] > 1]
    metrics = [progress.observedMetrics["muntin"].asDict() for progress in running.recentProgress]
    total = {name: sum(m[name] or 0 for m in metrics) for name in metrics[0]}
    late = [row for part in expected.late for row in part.column("reason").to_pylist()]
    assert total == {
        "rows_in": 200,
        "windows_out": sum(part.num_rows for part in expected.results),
        "rejected": sum(reason != "late" for reason in late),
        "late w": late.count("late"),
    }
    assert total["rejected"] == 2
    assert total["late w"] > 0


def test_arrival_time_is_sparks_clock_of_the_batch(spark: Any, tmp_path: Path) -> None:
    spec = mt.over(None, by="key").window("w", mt.tumbling("1 ms"), n=mt.count(), xs=mt.collect("x"))
    batches = cut(table(15), 5, 3)
    folder = Folder(tmp_path / "in")
    folder.put(*batches)
    results = Collected()
    spec.start(folder.stream(spark), results=results, checkpoint=str(tmp_path / "c"), trigger=NOW, flush=True)
    whole = pa.concat_tables(results.tables.values())
    assert sum(whole.column("n").to_pylist()) == 200
    for batch_id, batch in zip((2, 3, "flush"), batches, strict=True):
        # The watermark of a batch is the time of the one before, and a window is due when it reaches its end.
        found = results.tables[batch_id]
        assert sum(found.column("n").to_pylist()) == batch.num_rows
        assert len({str(window) for window in found.column("window").to_pylist()}) == 1


@pytest.mark.parametrize("by_arrival", [False, True])
def test_rows_are_counted_where_no_column_is_needed(spark: Any, tmp_path: Path, by_arrival: bool) -> None:
    spec = mt.over(None if by_arrival else "ts").window("w", mt.tumbling("5 ms"), n=mt.count())
    folder, results = Folder(tmp_path / "in"), Collected()
    folder.put(table(18, bad=not by_arrival))
    spec.start(folder.stream(spark), results=results, checkpoint=str(tmp_path / "c"), trigger=NOW, flush=True)
    found = sum(n for part in results.tables.values() for n in part.column("n").to_pylist())
    assert found == (200 if by_arrival else 198)  # a null time, and one far ahead


def test_sinks_hold_each_batch_once(spark: Any, tmp_path: Path) -> None:
    spec = mt.over("ts", by="key").window("w", mt.tumbling("5 ms"), n=mt.count())
    batches = cut(table(16, behind=300, bad=True), 6, 3)
    expected = run(spec, steps_of(batches, spec), flush=True)
    folder = Folder(tmp_path / "in")
    folder.put(*batches)
    out = tmp_path / "late"
    spec.start(
        folder.stream(spark),
        results="windows_once",
        late=(str(out), "json"),
        checkpoint=str(tmp_path / "c"),
        trigger=NOW,
        flush=True,
        name="once",
    )
    try:
        found = spark.table("windows_once")
        assert rows_of(found.drop("batch_id").toArrow()) == rows_of(*expected.results)
        assert {row.batch_id for row in found.select("batch_id").distinct().collect()} <= {"1", "2", "3", "flush"}
    finally:
        spark.sql("DROP TABLE IF EXISTS windows_once")
    late = spark.read.json(str(out))
    assert late.count() == sum(part.num_rows for part in expected.late)
    assert {"note", "reason", "missed", "batch_id"} <= set(late.columns)


def test_what_cannot_run_is_refused_with_the_reason(spark: Any, tmp_path: Path) -> None:
    spec = spec_of(["tumbling"])
    folder = Folder(tmp_path / "in")
    folder.put(table(17))
    stream = folder.stream(spark)
    with pytest.raises(mt.FrameError, match=r"watermark on 'ts' already"):
        spec.apply(stream.withWatermark("ts", "1 minute"))
    with pytest.raises(mt.SpecError, match="does not run on a stream"):
        spec.apply(stream, engine="reference")
    with pytest.raises(mt.FrameError, match="Rename the column"):
        spec.start(stream.withColumnRenamed("note", "reason"), results="t", late="u", checkpoint="c")
    with pytest.raises(mt.SpecError, match="flush=True"):
        spec.start(stream, results="t", checkpoint="c", flush=True)
    with pytest.raises(mt.SpecError, match="results=3 is no sink"):
        spec.start(stream, results=3, checkpoint="c")
    with pytest.raises(mt.SpecError, match="emit='all'"):
        spec.start(stream, results="t", checkpoint="c", emit="all")
    key = "spark.sql.streaming.stateStore.providerClass"
    provider = spark.conf.get(key)
    try:
        spark.conf.set(key, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
        with pytest.raises(mt.SpecError, match="RocksDB"):
            spec.apply(stream)
    finally:
        spark.conf.set(key, provider)
