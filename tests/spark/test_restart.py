"""Restarts: a query stopped, Python workers killed in a batch; the sink holds the reference's rows (see test_kills)."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import muntin as mt
from muntin.reference import run
from muntin.spark import Progress
from tests.conftest import Tally
from tests.reliability.sizes import seeds
from tests.spark.logs import Folder, cut, spec_of, steps_made, table
from tests.strategies import rows_of

NOW = {"availableNow": True}
SEEDS = seeds(1, 10)
NAMES = ["tumbling", "sliding", "session", "rows", "frame"]


def the_spec() -> mt.Spec:
    return spec_of(NAMES, disorder="8 ms", lateness="15 ms")


def the_batches(seed: int) -> list[pa.Table]:
    return cut(table(seed, behind=300, bad=True), seed, 5)


def written(path: Path, schema: pa.Schema) -> pa.Table:
    """What lies in a sink, read without Spark, which writes timestamps in an old way and in UTC."""
    files = sorted(path.glob("batch_id=*/*.parquet"))
    parts = [pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read() for file in files]
    return pa.concat_tables(parts).cast(schema)


def check(spec: mt.Spec, batches: list[pa.Table], path: Path, flush: bool = True) -> None:
    """Both sinks hold what the reference gives for the steps that the checkpoint says were made."""
    expected = run(spec, steps_made(path / "checkpoint", batches, spec), flush=flush)
    assert rows_of(written(path / "results", expected.results[0].schema)) == rows_of(*expected.results)
    assert rows_of(written(path / "late", expected.late[0].schema)) == rows_of(*expected.late)


def start(spark: Any, spec: mt.Spec, folder: Folder, path: Path, **options: Any) -> Any:
    places = {"results": str(path / "results"), "late": str(path / "late"), "checkpoint": str(path / "checkpoint")}
    return spec.start(folder.stream(spark), **{**places, **options})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_query_that_is_stopped_goes_on_where_it_was(spark: Any, tmp_path: Path, seed: int) -> None:
    spec, batches = the_spec(), the_batches(seed)
    folder = Folder(tmp_path / "in")
    folder.put(*batches[:2])
    query = start(spark, spec, folder, tmp_path)
    wait_for(lambda: (query.lastProgress or {"batchId": -1})["batchId"] >= 1, query)
    folder.put(*batches[2:])
    time.sleep(0.3)
    query.stop()
    query.awaitTermination()
    start(spark, spec, folder, tmp_path, trigger=NOW, flush=True)
    check(spec, batches, tmp_path)
    with pytest.raises(mt.SpecError, match="was flushed"):
        start(spark, spec, folder, tmp_path)


def test_a_checkpoint_knows_its_spec_and_buckets(spark: Any, tmp_path: Path) -> None:
    spec, batches = the_spec(), the_batches(3)
    folder = Folder(tmp_path / "in")
    folder.put(*batches[:1])
    start(spark, spec, folder, tmp_path, trigger=NOW, buckets=3).awaitTermination()
    with pytest.raises(mt.SpecError, match="buckets=4"):
        start(spark, spec, folder, tmp_path, buckets=4)
    with pytest.raises(mt.SpecError, match="another spec"):
        start(spark, spec_of(NAMES), folder, tmp_path)
    with pytest.raises(mt.SpecError, match="emit"):
        start(spark, spec, folder, tmp_path, emit="updates")
    folder.put(*batches[1:])
    start(spark, spec, folder, tmp_path, trigger=NOW, flush=True)
    check(spec, batches, tmp_path)


def test_a_checkpoint_goes_on_under_another_rule_of_compression(spark: Any, tmp_path: Path) -> None:
    spec, batches = the_spec(), the_batches(4)
    folder = Folder(tmp_path / "in")
    folder.put(*batches[:2])
    query = start(spark, spec.compress(0, codec="snappy"), folder, tmp_path, trigger=NOW, buckets=2)
    query.awaitTermination()
    shown = Progress()
    for progress in query.recentProgress:
        shown.onQueryProgress(SimpleNamespace(progress=progress))
    batch = shown._rows[0]
    assert batch["compressions"] > 0
    assert 0 < batch["bytes_compressed"] < batch["bytes_open"]
    assert [column.header for column in shown.table().columns][-4:-1] == ["compr.", "decompr.", "compressed"]
    folder.put(*batches[2:])
    start(spark, spec.compress("20 ms", codec="zstd"), folder, tmp_path, trigger=NOW, flush=True, buckets=2)
    check(spec, batches, tmp_path)


def wait_for(done: Any, query: Any, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert query.isActive, query.exception()
        assert time.monotonic() < end, "took too long"
        time.sleep(0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_workers_killed_in_two_batches_change_nothing(spark: Any, tmp_path: Path, seed: int, tally: Tally) -> None:
    class Deadly(mt.Aggregate):
        """Counts, and where it finds the fuse kills the worker it runs in."""

        partial = {"n": int}  # noqa: RUF012
        identity = (0,)
        commutative, kind = True, "distributive"
        returns = int

        def lift(value: int) -> Any:
            return (1,)

        def combine(a: Any, b: Any) -> Any:
            import os
            import signal

            if os.path.exists(fuse):
                os.remove(fuse)
                os.kill(os.getpid(), signal.SIGKILL)
            return (a.n + b.n,)

        def lower(p: Any) -> Any:
            return p.n

    fuse = str(tmp_path / "fuse")
    batches = the_batches(seed + 50)
    spec = mt.over("ts", by="key", disorder="8 ms").window("w", mt.tumbling("50 ms"), n=Deadly("x"))
    plain = mt.over("ts", by="key", disorder="8 ms").window("w", mt.tumbling("50 ms"), n=mt.count("x"))
    folder = Folder(tmp_path / "in")
    for part, end in ((batches[:2], False), (batches[2:], True)):
        (tmp_path / "fuse").touch()
        folder.put(*part)
        start(spark, spec, folder, tmp_path, trigger=NOW, flush=end).awaitTermination()
        assert not (tmp_path / "fuse").exists(), "no worker was killed"
    expected = run(plain, steps_made(tmp_path / "checkpoint", batches, spec), flush=True)
    found = rows_of(written(tmp_path / "results", expected.results[0].schema))
    assert [row for row in found if row[-2]] == [row for row in rows_of(*expected.results) if row[-2]]
    assert len(found) == sum(part.num_rows for part in expected.results)
    tally(kills=2)
