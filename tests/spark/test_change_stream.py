"""Windows added and removed between two runs on one checkpoint: what comes out. Killed on the way: test_kills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
import muntin.spark
from muntin.spec import query_named
from tests.slicing.changing import Model, of_query, rows
from tests.spark.logs import AGGREGATES, WINDOWS, Collected, Folder, cut, spec_of, steps_made, table

NOW = {"availableNow": True}
BEFORE = ["tumbling", "sliding", "session", "rows", "frame"]
AFTER = ["tumbling", "cumulative", "rows", "measure session", "own aware", "session"]
DELAYS = {"disorder": "8 ms", "lateness": "15 ms"}
WIDE = {"long": mt.tumbling("10 ms"), "visit": mt.session("6 ms"), "hop": mt.sliding("20 ms", every="5 ms")}


class Run:
    """A checkpoint, and the model of what its runs must give."""

    def __init__(self, spark: Any, path: Path, batches: list[pa.Table], spec: mt.Spec, late: bool) -> None:
        self.spark, self.path, self.batches, self.late = spark, path, batches, late
        self.folder, self.done, self.spec = Folder(path / "in"), 0, spec
        self.model = Model(spec)
        for query in spec.queries:
            self.model.add(query, None)

    def change(self, spec: mt.Spec) -> None:
        """From now on with other windows; the model learns of them when they have run."""
        self.spec = spec

    def go(self, count: int, flush: bool = False) -> None:
        """One run over the next batches, compared with the model."""
        self.folder.put(*self.batches[self.folder.files : self.folder.files + count])
        results, late = Collected(), Collected()
        checkpoint = self.path / "checkpoint"
        query = self.spec.start(
            self.folder.stream(self.spark),
            results=results,
            late=late if self.late else None,
            checkpoint=str(checkpoint),
            trigger=NOW,
            flush=flush,
            buckets=3,
        )
        query.awaitTermination()
        since = muntin.spark.starts(self.spark, str(checkpoint))
        assert list(since) == [query.name for query in self.spec.queries]
        self.model.queries = {name: one for name, one in self.model.queries.items() if name in since}
        for name in since.keys() - self.model.queries.keys():
            self.model.add(query_named(self.spec, name), since[name])
        steps = steps_made(checkpoint, self.batches[: self.folder.files], self.spec)
        for number in range(self.done, len(steps)):
            expected, missed = self.model.run(*steps[number])
            self.same(results.tables[number], expected, f"batch {number}")
            if self.late:
                gone = late.tables[number]
                self.same(gone.filter(pa.compute.is_valid(gone["query"])), missed, f"late rows of batch {number}")
        self.done = len(steps)
        if flush:
            self.same(results.tables["flush"], self.model.run(None, None, True)[0], "flush")

    def same(self, found: pa.Table, expected: dict[str, Any], where: str) -> None:
        for name, listed in expected.items():
            assert rows(of_query(found, name)) == listed, f"{name} in {where}"
        assert set(found["query"].to_pylist()) <= set(expected), where


def test_any_windows_come_and_go(spark: Any, tmp_path: Path) -> None:
    batches = cut(table(31, behind=60), 31, 5)
    run = Run(spark, tmp_path, batches, spec_of(BEFORE, **DELAYS), late=True)
    run.go(2)
    run.change(spec_of(AFTER, **DELAYS))
    run.go(3)
    since = muntin.spark.starts(spark, str(tmp_path / "checkpoint"))
    assert since["tumbling"] is since["rows"] is since["session"] is None
    assert since["cumulative"] is not None
    # What was removed comes back as if it were new; flushed before a bucket was called.
    run.change(spec_of(["sliding", "tumbling", "rows by time", "session"], **DELAYS))
    run.go(0, flush=True)
    since = muntin.spark.starts(spark, str(tmp_path / "checkpoint"))
    assert since["tumbling"] is None
    assert since["sliding"] is not None


def test_windows_that_find_their_slices_there_begin_with_them(spark: Any, tmp_path: Path) -> None:
    # Rows are combined before the shuffle, and only needed columns are read: `low` needs another one.
    spec = mt.over("ts", by="key", disorder="30 ms", lateness="20 ms")
    for name in ("tumbling", "session"):
        spec = spec.window(name, WINDOWS[name], n=mt.count(), total=mt.sum("x"))
    batches = cut(table(32, rows=600, behind=30), 32, 4)
    run = Run(spark, tmp_path, batches, spec, late=False)
    run.go(2)
    times = [batch.column("ts").cast(pa.int64()).to_pylist() for batch in batches[:2]]
    newest = max(time for part in times for time in part)
    more = spec.without("tumbling")
    for name, window in WIDE.items():
        more = more.window(name, window, n=mt.count(), total=mt.sum("x"))
    run.change(more.window("low", mt.tumbling("5 ms"), low=mt.min("f")))
    run.go(1)
    since = muntin.spark.starts(spark, str(tmp_path / "checkpoint"))
    micros = {name: None if at is None else round(at.timestamp() * 1e6) for name, at in since.items()}
    assert micros["session"] is None
    assert micros["long"] is not None
    assert micros["long"] < newest - 10_000 < newest < micros["low"], "slices that were there are not used"
    run.change(spec)
    run.go(1, flush=True)


def test_apply_goes_on_with_other_windows(spark: Any, tmp_path: Path) -> None:
    # Without `start` each bucket begins on its own; from the last start on all keys are right.
    folder, checkpoint = Folder(tmp_path / "in"), str(tmp_path / "checkpoint")
    batches = cut(table(33), 33, 4)
    one = mt.over("ts", by="key").window("w", mt.tumbling("5 ms"), n=mt.count())
    two = mt.over("ts", by="key").window("v", mt.tumbling("10 ms"), n=mt.count(), total=mt.sum("x"))
    for i, spec in enumerate([one, two]):
        folder.put(*batches[2 * i : 2 * i + 2])
        results = Collected()
        writer = spec.apply(folder.stream(spark)).writeStream.foreachBatch(results).trigger(**NOW)
        writer.option("checkpointLocation", checkpoint).start().awaitTermination()
    since = muntin.spark.starts(spark, checkpoint)
    assert list(since) == ["v"]
    assert since["v"] is not None
    model = Model(two)
    model.add(two.queries[0], since["v"])
    expected = [model.run(*step)[0]["v"] for step in steps_made(Path(checkpoint), batches, two)]
    found = pa.concat_tables(results.tables.values())
    found = found.filter(pa.array([window["start"] >= since["v"] for window in found["window"].to_pylist()]))
    assert rows(found) == sorted((row for part in expected for row in part), key=repr)
    assert found.num_rows


def test_a_table_gets_the_columns_of_added_windows(spark: Any, tmp_path: Path) -> None:
    folder, spec = Folder(tmp_path / "in"), mt.over("ts").window("w", mt.tumbling("5 ms"), n=mt.count())
    batches = cut(table(34), 34, 2)
    other = mt.over("ts").window("v", mt.tumbling("5 ms"), total=mt.sum("x"))
    try:
        for i, each in enumerate([spec, other]):
            folder.put(batches[i])
            stream = folder.stream(spark)
            each.start(stream, results="windows_change", checkpoint=str(tmp_path / "c"), trigger=NOW).awaitTermination()
        found = spark.table("windows_change")
        assert found.columns == ["query", "window", "rows", "n", "revision", "total", "batch_id"]
        assert {(row.query, row.n is None, row.revision) for row in found.collect()} == {
            ("w", False, 0),
            ("v", True, 0),
        }
    finally:
        spark.sql("DROP TABLE IF EXISTS windows_change")


def test_what_may_not_follow_is_refused_before_the_first_batch(spark: Any, tmp_path: Path) -> None:
    folder, spec = Folder(tmp_path / "in"), spec_of(["tumbling"])
    folder.put(table(35))

    def go(each: mt.Spec, stream: Any = None) -> None:
        stream = folder.stream(spark) if stream is None else stream
        each.start(stream, results=Collected(), checkpoint=str(tmp_path / "c"), trigger=NOW).awaitTermination()

    go(spec)
    with pytest.raises(mt.SpecError, match=r"another spec: it has lateness=0 \(microseconds\), and .* lateness=1000"):
        go(spec_of(["tumbling"], lateness="1 ms"))
    with pytest.raises(mt.SpecError, match=r"another spec: it has by=\['key'\]"):
        go(mt.over("ts").window("tumbling", WINDOWS["tumbling"], **AGGREGATES))
    with pytest.raises(mt.SpecError, match="column 'x' has type double, and in the state of this checkpoint int64"):
        go(spec, folder.stream(spark).selectExpr("* except (x)", "cast(x as double) as x"))
    with pytest.raises(mt.FrameError, match="no column 'y'"):
        go(spec.window("more", mt.tumbling("1 s"), top=mt.max("y")))
    assert list(muntin.spark.starts(spark, str(tmp_path / "c"))) == ["tumbling"]
    go(spec)
