"""Faults of storage, and two queries on one checkpoint: loud, and once repaired the stream goes on exactly."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException

import muntin as mt
from tests.reliability.sizes import SOAK
from tests.spark.logs import WINDOWS, Folder, committed, cut, table, taken
from tests.spark.test_restart import NOW, check, start, wait_for


def the_spec() -> mt.Spec:
    """Slices, sessions and kept events, with corrections; `collect` shows what is lost or there twice."""
    spec = mt.over("ts", by="key", disorder="8 ms", lateness="15 ms")
    for name in ("tumbling", "session", "frame"):
        spec = spec.window(name, WINDOWS[name], all=mt.collect("x"), n=mt.count(), total=mt.sum("x"))
    return spec


def the_batches(seed: int) -> list[pa.Table]:
    return cut(table(seed, rows=120, behind=300, bad=True), seed, 6)


def begun(spark: Any, path: Path, seed: int) -> tuple[list[pa.Table], Folder]:
    """A stream that has had two of its batches."""
    batches, folder = the_batches(seed), Folder(path / "in")
    folder.put(*batches[:2])
    start(spark, the_spec(), folder, path, trigger=NOW, buckets=2).awaitTermination()
    folder.put(*batches[2:])
    return batches, folder


def ends(spark: Any, folder: Folder, path: Path, batches: list[pa.Table]) -> None:
    """Repaired, it goes on as if nothing had been."""
    start(spark, the_spec(), folder, path, trigger=NOW).awaitTermination()
    check(the_spec(), batches, path, flush=False)


def fails(spark: Any, folder: Folder, path: Path) -> str:
    """What a start says that cannot go well."""
    with pytest.raises((StreamingQueryException, PySparkException, mt.MuntinError)) as raised:
        start(spark, the_spec(), folder, path, trigger=NOW).awaitTermination()
    return str(raised.value)


def test_a_checkpoint_that_cannot_be_written_or_has_lost_its_state(spark: Any, tmp_path: Path) -> None:
    batches, folder = begun(spark, tmp_path, 1)
    checkpoint, copy = tmp_path / "checkpoint", tmp_path / "copy"
    # A folder where Spark wants to write a file: permissions would not stop root. One batch goes well before.
    for log in ("offsets", "commits"):
        number = committed(checkpoint) + 1
        obstacle = checkpoint / log / str(number)
        obstacle.mkdir()
        assert "CONCURRENT_STREAM_LOG_UPDATE" in fails(spark, folder, tmp_path)
        obstacle.rmdir()
        assert committed(checkpoint) == number, "the batch before was to be committed"
    state = checkpoint / "state"
    shutil.copytree(state, copy)
    files = [file for file in state.rglob("*") if file.is_file() and file.suffix in (".changelog", ".zip")]
    assert files
    for file in files:
        file.unlink()
    assert fails(spark, folder, tmp_path)
    shutil.rmtree(state)
    shutil.copytree(copy, state)
    ends(spark, folder, tmp_path, batches)


def test_two_queries_on_one_checkpoint(spark: Any, tmp_path: Path) -> None:
    """In one session the second takes over, as Spark has it unless told otherwise, and the first is stopped."""
    batches, folder = the_batches(2), Folder(tmp_path / "in")
    folder.put(*batches[:1])
    first = start(spark, the_spec(), folder, tmp_path, buckets=2)
    wait_for(lambda: (first.lastProgress or {"batchId": -1})["batchId"] >= 0, first)
    second = start(spark, the_spec(), folder, tmp_path)
    try:
        assert not first.isActive
        folder.put(*batches[1:])
        wait_for(lambda: taken(tmp_path / "checkpoint") >= len(batches), second)
    finally:
        second.stop()
    ends(spark, folder, tmp_path, batches)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    if not SOAK:
        pytest.skip("in `make soak` only")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if made.returncode:
        pytest.skip(f"NOT RUN: a tmpfs needs root and the right to mount: {made.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.soak
@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_disk_that_is_full_or_read_only(spark: Any, small: Path, tmp_path: Path, fault: str) -> None:
    batches, folder = begun(spark, small, 5)
    filler = small / "filler"
    if fault == "full":
        with pytest.raises(OSError, match="No space"):
            filler.write_bytes(bytes(4 << 20))
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    assert fails(spark, folder, small)
    if fault == "full":
        filler.unlink()
    else:
        subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)
    ends(spark, folder, small, batches)
