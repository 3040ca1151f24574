"""SIGKILL of the driver at random points, between sink and commit, and of Python workers: the sinks are exact."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
from tests.conftest import ROOT, Tally
from tests.reliability.sizes import SOAK, seeds
from tests.spark.logs import WINDOWS, Folder, cut, table
from tests.spark.test_restart import NOW, check, start

# Short ones are in `test_restart`; these wait for their first whole run. On a quiet machine the first seeds passed; in
# a try before, on a load of 12, one of the four queries that the driver starts at once had not run its first batch
# when the time was up, while the others went on: not yet understood.
pytestmark = [pytest.mark.soak, pytest.mark.skipif(not SOAK, reason="in `make soak` only")]

BATCHES = 6
TOGETHER = 2  # streams of each kind that one driver runs when it is killed
MARK = "written"


def the_spec() -> mt.Spec:
    """Slices, sessions and kept events, with corrections; `collect` shows what is lost or there twice."""
    spec = mt.over("ts", by="key", disorder="8 ms", lateness="15 ms")
    for name in ("tumbling", "session", "frame"):
        spec = spec.window(name, WINDOWS[name], all=mt.collect("x"), n=mt.count(), total=mt.sum("x"))
    return spec


def the_batches(seed: int) -> list[pa.Table]:
    return cut(table(seed, rows=120, behind=300, bad=True), seed, BATCHES)


def prepared(path: Path, seed: int) -> list[pa.Table]:
    batches = the_batches(seed)
    Folder(path / "in").put(*batches)
    return batches


# -- the driver ------------------------------------------------------------------------------------------------------


class Hanging:
    """Writes to a path as a stream does, and never comes back from one batch: it is written, and not committed."""

    def __init__(self, path: Path, name: str, last: int) -> None:
        from muntin.spark.sinks import Path as Files

        self.sink, self.mark, self.last = Files(str(path / name)), path / MARK, last

    def __call__(self, frame: Any, batch_id: int) -> None:
        frame = frame.persist()
        self.sink.write(frame, batch_id, frame.count())
        if batch_id == self.last:
            self.mark.touch()
            time.sleep(600)


def drive(*places: str) -> None:
    """What the process that is killed does: a stream in each place, all at once."""
    import muntin.spark

    spark = muntin.spark.session("killed", cores=2, partitions=2)
    spark.sparkContext.setLogLevel("OFF")
    for place in places:
        path, hang = Path(place), place.rpartition("-")[2]
        options: dict[str, Any] = {"results": str(path / "results"), "late": str(path / "late")}
        if hang != "any":
            # The late rows are written after the results: so both ends of what is between are met.
            which = ("results", "late")[int(hang) % 2]
            options[which] = Hanging(path, which, int(hang))
        the_spec().start(Folder(path / "in").stream(spark), checkpoint=str(path / "checkpoint"), buckets=2, **options)
    time.sleep(600)


def committed(path: Path) -> int:
    commits = path / "checkpoint" / "commits"
    return len([file for file in commits.iterdir() if file.name.isdigit()]) if commits.exists() else 0


@pytest.mark.parametrize("seed", seeds(1, 25))
def test_a_driver_that_is_killed_changes_nothing(spark: Any, tmp_path: Path, seed: int, tally: Tally) -> None:
    """Of several streams in one driver some are killed anywhere, some between writing a batch and committing it."""
    rng = random.Random(seed)
    any_, between = [], []
    for i in range(TOGETHER):
        any_.append(tmp_path / f"{i}-any")
        between.append(tmp_path / f"{i}-{rng.randrange(BATCHES - 1)}")
    logs = {path: prepared(path, rng.randrange(1 << 30)) for path in (*any_, *between)}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    code = "import sys; from tests.spark.test_kills import drive; drive(*sys.argv[1:])"
    # A group of its own: the JVM and its workers go with it.
    driver = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, logs)], env=environment, start_new_session=True, cwd=ROOT
    )
    try:
        wait(lambda: all((path / MARK).exists() for path in between) and any(map(committed, any_)), driver)
        time.sleep(rng.uniform(0, 1))
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    for path in between:
        assert committed(path) == int(path.name[2:]), "it was to hang before the commit"
    cut_short = sum(committed(path) < BATCHES for path in any_)
    queries = [start(spark, the_spec(), Folder(path / "in"), path, trigger=NOW) for path in logs]
    for query in queries:
        query.awaitTermination()
    for path, batches in logs.items():
        check(the_spec(), batches, path, flush=False)
    tally(kills_anywhere=len(any_), of_these_in_the_middle=cut_short, kills_between_sink_and_commit=len(between))


def wait(done: Callable[[], bool], driver: subprocess.Popen[bytes], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert driver.poll() is None, "the driver has ended by itself"
        assert time.monotonic() < end, "took too long"
        time.sleep(0.02)


# -- Python workers ----------------------------------------------------------------------------------------------------


def workers(spark: Any) -> list[int]:
    """The Python workers of a session: children of the daemon that its JVM has started."""
    parents, daemons = {}, set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # After the name, which is in brackets and may have spaces: state, parent.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if b"pyspark.daemon" in (entry / "cmdline").read_bytes():
                    daemons.add(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    jvm = spark.sparkContext._gateway.proc.pid

    def within(pid: int) -> bool:
        while pid and pid != jvm:
            pid = parents.get(pid, 0)
        return pid == jvm

    return [pid for pid in daemons if parents[pid] in daemons and within(pid)]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers by /proc")
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_workers_that_are_killed_change_nothing(spark: Any, tmp_path: Path, seed: int, tally: Tally) -> None:
    """Spark tries their tasks again, elsewhere; where it gives up, the query is started again."""
    rng, spec = random.Random(seed), the_spec()
    batches = prepared(tmp_path, seed)
    folder, killed, starts = Folder(tmp_path / "in"), 0, 0
    while committed(tmp_path) < BATCHES or killed < 2:
        assert starts < 10
        starts += 1
        query = start(spark, spec, folder, tmp_path, trigger=NOW, buckets=2)
        while query.isActive:
            time.sleep(rng.uniform(0.02, 0.6))
            busy = workers(spark) if killed < 2 and query.status["isTriggerActive"] else []
            if busy and committed(tmp_path) < BATCHES:
                os.kill(rng.choice(busy), signal.SIGKILL)
                killed += 1
        assert committed(tmp_path) < BATCHES or query.exception() is None
        if committed(tmp_path) >= BATCHES and killed < 2:
            pytest.fail("it was over before a worker was killed twice")
    check(spec, batches, tmp_path, flush=False)
    tally(kills=killed, restarts=starts - 1)
