"""SIGKILL of the driver at random points, between sink and commit, and of Python workers: the sinks are exact."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
import muntin.spark
from muntin.spec import query_named
from tests.conftest import ROOT, Tally
from tests.reliability.sizes import SOAK, seeds
from tests.slicing.changing import Model, of_query, rows
from tests.spark.logs import WINDOWS, Folder, committed, cut, spec_of, steps_made, table, taken
from tests.spark.processes import workers
from tests.spark.test_restart import NAMES, NOW, check, start

BATCHES = 6
DELAYS = {"disorder": "8 ms", "lateness": "15 ms"}
WRITTEN = "written"  # a file that says so: the batch that is not to be committed has been written
DRIVERS = seeds(2, 50)


# -- the driver ------------------------------------------------------------------------------------------------------


class Hanging:
    """Writes to a path as a stream does, and never comes back from one batch: it is written, and not committed."""

    def __init__(self, path: Path, name: str, batch: int | None = None) -> None:
        from muntin.spark.sinks import Path as Files

        self.sink, self.mark, self.batch = Files(str(path / name)), path / WRITTEN, batch

    def __call__(self, frame: Any, batch_id: int) -> None:
        frame = frame.persist()
        self.sink.write(frame, batch_id, frame.count())
        if self.batch in (None, batch_id):
            self.mark.touch()
            time.sleep(600)


def the_spec() -> mt.Spec:
    return spec_of(NAMES, **DELAYS)


def changing_spec(version: int) -> mt.Spec:
    spec = mt.over("ts", by="key", **DELAYS)
    for name in [["tumbling", "session", "rows"], ["tumbling", "sliding", "rows tumbling"]][version]:
        spec = spec.window(name, WINDOWS[name], n=mt.count(), total=mt.sum("x"))
    return spec


def drive(place: str, sink: str, batch: str) -> None:
    """What the process that is killed does: several streams at once, of which all but one come to hang."""
    parent = os.getppid()
    spark = muntin.spark.session("killed", cores=2, partitions=2)
    spark.sparkContext.setLogLevel("OFF")

    def begin(name: str, spec: mt.Spec, **options: Any) -> Any:
        return start(spark, spec, Folder(Path(place) / name / "in"), Path(place) / name, **options)

    begin("between", the_spec(), buckets=2, **{sink: Hanging(Path(place) / "between", sink, int(batch))})
    begin("anywhere", the_spec(), buckets=2)
    changing = Path(place) / "changing"
    if changing.exists():
        begin("changing", changing_spec(0), trigger=NOW).awaitTermination()
        (changing / "in" / ".later").rename(changing / "in" / "0002.parquet")
        spark.streams.resetTerminated()
        begin("changing", changing_spec(1), trigger=NOW, late=Hanging(changing, "late"))
    # None of them is to end: where one fails, this process says so. Without the tests there is nothing to wait for.
    while os.getppid() == parent and not spark.streams.awaitAnyTermination(1):
        pass


@dataclass(frozen=True)
class Killed:
    """A driver that was killed: where its streams are, and their batches."""

    path: Path
    batches: dict[str, list[pa.Table]]
    hung: int
    """The batch of the stream `between` that was written and not committed."""

    def folder(self, name: str) -> Folder:
        return Folder(self.path / name / "in")


def kill(spark: Any, path: Path, seed: int, changing: bool) -> Killed:
    """Start a driver with streams and kill it. While it lives no other process may go on with its checkpoints."""
    rng = random.Random(seed)
    batches = {
        name: cut(table(rng.randrange(1 << 30), behind=300, bad=True), rng.randrange(1 << 30), BATCHES)
        for name in ("between", "anywhere")
    }
    hung = rng.randrange(BATCHES - 2)
    done = Killed(path, batches, hung)
    done.folder("between").put(*batches["between"])
    # The rest of these comes when all others hang: so that it is killed on its way, wherever that is.
    first, anywhere = rng.randrange(1, BATCHES - 2), done.folder("anywhere")
    anywhere.put(*batches["anywhere"][:first])
    if changing:
        batches["changing"] = cut(table(36, behind=60), 36, 4)
        folder = done.folder("changing")
        folder.put(*batches["changing"][:3])
        (folder.path / "0002.parquet").rename(folder.path / ".later")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    code = "import sys; from tests.spark.test_kills import drive; drive(*sys.argv[1:])"
    # The late rows are written after the results: so both ends of what is between are met.
    command = [sys.executable, "-c", code, str(path), rng.choice(["results", "late"]), str(hung)]
    # A group of its own: the JVM and its workers go with it.
    driver = subprocess.Popen(command, env=environment, start_new_session=True, cwd=ROOT)
    try:
        hanging = [path / name / WRITTEN for name in batches if name != "anywhere"]
        wait(lambda: all(mark.exists() for mark in hanging) and committed(path / "anywhere" / "checkpoint") > 0, driver)
        with pytest.raises(mt.SpecError, match="another process runs a query on the checkpoint"):
            start(spark, the_spec(), done.folder("between"), path / "between", trigger=NOW)
        anywhere.put(*batches["anywhere"][first:])
        time.sleep(rng.uniform(0, 2.5))
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    return done


def wait(done: Callable[[], bool], driver: subprocess.Popen[bytes], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert driver.poll() is None, "the driver has ended by itself"
        assert time.monotonic() < end, "took too long"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def killed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Killed]:
    """Drivers that were killed; the first also while it changed the windows of a stream: to start one takes long."""
    made: dict[int, Killed] = {}

    def find(seed: int) -> Killed:
        if seed not in made:
            made[seed] = kill(spark, tmp_path_factory.mktemp("killed"), seed, changing=seed == DRIVERS[0])
        return made[seed]

    return find


@pytest.mark.parametrize("seed", DRIVERS)
def test_a_driver_that_is_killed_changes_nothing(
    spark: Any, killed: Callable[[int], Killed], seed: int, tally: Tally
) -> None:
    """One of its streams is killed anywhere, the other between writing a batch and committing it."""
    run = killed(seed)
    between, anywhere = run.path / "between", run.path / "anywhere"
    assert committed(between / "checkpoint") == run.hung, "it was to hang before the commit"
    midway = taken(anywhere / "checkpoint") < BATCHES
    query = start(spark, the_spec(), run.folder("between"), between, trigger=NOW)
    start(spark, the_spec(), run.folder("anywhere"), anywhere, trigger=NOW, flush=True)
    query.awaitTermination()
    check(the_spec(), run.batches["anywhere"], anywhere)
    check(the_spec(), run.batches["between"], between, flush=False)
    tally(kills_anywhere=1, of_these_midway=int(midway), kills_between_sink_and_commit=1)


def test_a_change_that_is_killed_in_its_first_batch(spark: Any, killed: Callable[[int], Killed]) -> None:
    run = killed(DRIVERS[0])
    killed_at, batches, folder = run.path / "changing", run.batches["changing"], run.folder("changing")
    begun = committed(killed_at / "checkpoint")
    assert (killed_at / "checkpoint" / "offsets" / str(begun)).exists(), "it was killed before or after the batch"
    since = muntin.spark.starts(spark, str(killed_at / "checkpoint"))
    assert list(since) == ["tumbling", "sliding", "rows tumbling"], "the change was not accepted before it was killed"
    assert since["rows tumbling"] is not None
    folder.files = 3
    folder.put(batches[3])
    ways = {"again": since, "back": dict.fromkeys(["tumbling", "session", "rows"])}  # back: as if nothing had been
    for way, expected in ways.items():
        path, after = killed_at / way, changing_spec(int(way == "again"))
        for name in ("checkpoint", "results", "late"):
            if (killed_at / name).exists():
                shutil.copytree(killed_at / name, path / name)
        start(spark, after, folder, path, trigger=NOW, flush=True)
        assert muntin.spark.starts(spark, str(path / "checkpoint")) == expected
        check_change(spark, path, batches, after, expected, begun)


def check_change(spark: Any, path: Path, batches: list[pa.Table], after: mt.Spec, since: Any, begun: int) -> None:
    """What lies in the sink of two runs; the second began with a batch of this number."""
    before = changing_spec(0)
    model = Model(before)
    for query in before.queries:
        model.add(query, None)
    steps = steps_made(path / "checkpoint", batches, before)
    for number, step in enumerate([*steps, None]):
        if number == begun:
            model.queries = {name: one for name, one in model.queries.items() if name in since}
            for name in since.keys() - model.queries.keys():
                model.add(query_named(after, name), since[name])
        expected, _ = model.run(None, None, True) if step is None else model.run(*step)
        folder = path / "results" / f"batch_id={'flush' if step is None else number}"
        found = spark.read.parquet(str(folder)).toArrow() if folder.exists() else pa.table({})
        for name, listed in expected.items():
            assert rows(of_query(found, name)) == listed, f"{name} in {folder.name}"
        assert found.num_rows == sum(map(len, expected.values())), folder.name


# -- Python workers ----------------------------------------------------------------------------------------------------


@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="in `make soak` only; a short one is in test_restart")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds workers by /proc")
@pytest.mark.parametrize("seed", seeds(1, 25))
def test_workers_that_are_killed_change_nothing(spark: Any, tmp_path: Path, seed: int, tally: Tally) -> None:
    """Spark tries their tasks again, elsewhere; where it gives up, the query is started again."""
    rng, spec = random.Random(seed), the_spec()
    batches = cut(table(seed, behind=300, bad=True), seed, BATCHES)
    folder, checkpoint, killed, starts = Folder(tmp_path / "in"), tmp_path / "checkpoint", 0, 0
    folder.put(*batches)
    while taken(checkpoint) < BATCHES or killed < 2:
        assert starts < 10
        starts += 1
        query = start(spark, spec, folder, tmp_path, trigger=NOW, buckets=2)
        while query.isActive:
            time.sleep(rng.uniform(0.02, 0.6))
            busy = workers() if killed < 2 and query.status["isTriggerActive"] else []
            if busy and taken(checkpoint) < BATCHES:
                os.kill(rng.choice(busy), signal.SIGKILL)
                killed += 1
        assert taken(checkpoint) < BATCHES or query.exception() is None
        if taken(checkpoint) >= BATCHES and killed < 2:
            pytest.fail("it was over before a worker was killed twice")
    check(spec, batches, tmp_path, flush=False)
    tally(kills=killed, restarts=starts - 1)
