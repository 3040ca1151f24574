"""Restarts: a query stopped, a Python worker or the driver killed in a batch; the sink holds the reference's rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
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
from tests.conftest import ROOT
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
    return spec.start(
        folder.stream(spark),
        results=str(path / "results"),
        late=str(path / "late"),
        checkpoint=str(path / "checkpoint"),
        **options,
    )


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
def test_a_worker_killed_in_a_batch_changes_nothing(spark: Any, tmp_path: Path, seed: int) -> None:
    class Deadly(mt.Aggregate):
        """Counts, and the first time in the middle of the stream kills the worker it runs in."""

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
    folder.put(*batches[:2])
    start(spark, spec, folder, tmp_path, trigger=NOW).awaitTermination()
    (tmp_path / "fuse").touch()
    folder.put(*batches[2:])
    start(spark, spec, folder, tmp_path, trigger=NOW, flush=True)
    assert not (tmp_path / "fuse").exists(), "no worker was killed"
    expected = run(plain, steps_made(tmp_path / "checkpoint", batches, spec), flush=True)
    found = rows_of(written(tmp_path / "results", expected.results[0].schema))
    assert [row for row in found if row[-2]] == [row for row in rows_of(*expected.results) if row[-2]]
    assert len(found) == sum(part.num_rows for part in expected.results)


DRIVER = """
import sys
from pathlib import Path
import muntin.spark
from tests.spark.logs import Folder
from tests.spark.test_restart import start, the_spec

path, end = Path(sys.argv[1]), sys.argv[2] == "end"
spark = muntin.spark.session("killed", cores=2, partitions=2)
spark.sparkContext.setLogLevel("OFF")
options = {"trigger": {"availableNow": True}, "flush": True} if end else {}
query = start(spark, the_spec(), Folder(path / "in"), path, **options)
query.awaitTermination()
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.parametrize("seed", SEEDS)
def test_a_driver_killed_in_a_batch_changes_nothing(tmp_path: Path, seed: int) -> None:
    spec, batches = the_spec(), the_batches(seed + 100)
    folder = Folder(tmp_path / "in")
    folder.put(*batches)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-c", textwrap.dedent(DRIVER), str(tmp_path)]
    # A group of its own: the JVM and its workers go with it.
    first = subprocess.Popen([*command, "go"], env=environment, start_new_session=True, cwd=ROOT)
    try:
        commits = tmp_path / "checkpoint" / "commits"
        end = time.monotonic() + 300
        while not (commits / str(seed % 3)).exists():
            assert first.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    done = len([file for file in commits.iterdir() if not file.name.startswith(".")])
    assert done < len(batches) + 1, "it was over before it was killed"
    subprocess.run([*command, "end"], env=environment, check=True, timeout=300, cwd=ROOT)
    check(spec, batches, tmp_path)
