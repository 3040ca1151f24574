"""The figures that need Spark run at a tiny size, and other systems give the same answers as Muntin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from muntin.bench.figure import Run
from muntin.bench.figures import figure
from muntin.bench.plots import draw
from muntin.bench.running import measured
from muntin.bench.systems import QUESTIONS, SYSTEMS, asked, rows
from muntin.spark import cores
from muntin.spark.cores import measure


@pytest.mark.parametrize(("name", "series"), [("fig17-spark", 2), ("systems", 5)])
def test_a_figure_runs(name: str, series: int, spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @contextmanager
    def running(count: int) -> Iterator[Any]:
        yield spark

    monkeypatch.setattr(cores, "running", running)
    monkeypatch.setattr(cores, "LENGTHS", cores.LENGTHS[::40])  # a plan of 80 windows takes a minute to compile
    # One core and two are the same session here: measured once.
    known: dict[str, cores.Used] = {}

    def once(session: Any, name: str, data: Path, checkpoint: Path, per_batch: int) -> cores.Used:
        if name not in known:
            known[name] = measure(session, name, data, checkpoint, per_batch)
        return known[name]

    monkeypatch.setattr(cores, "measure", once)
    run = Run(quick=True, seed=1, scale=0.005)
    found = measured(figure(name), run)
    assert all(len(run.series(panel["name"])) >= series for panel in found["panels"])
    assert all(point["y"] > 0 for point in found["points"])
    assert found["seen"].endswith(".")
    assert all(file.stat().st_size > 5_000 for file in draw(found, tmp_path))


@pytest.mark.parametrize("question", QUESTIONS)
def test_all_systems_answer_alike(question: str) -> None:
    calls = asked(question, rows(30_000, seed=3))
    count, total = calls["Muntin"]()
    assert count >= 300
    assert len(calls) == len(SYSTEMS) - (question != "rolling")
    for call in calls.values():
        assert call() == (count, pytest.approx(total, rel=1e-9))


def test_both_say_the_same_on_a_dashboard(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "LENGTHS", [1_000_000, 3_000_000])
    frame = spark.range(2_000).selectExpr("timestamp_millis(id * 5) as ts", "id % 3 as sensor", "id / 7 as value")
    theirs = cores.buckets(frame).toDF("sensor", "length", "start", "low", "high", "first", "last").collect()
    ours = cores.dashboard(frame).selectExpr("sensor", "unix_micros(window.start)", "query", "line.*").collect()
    lengths = dict(zip(("w0", "w1"), cores.LENGTHS, strict=True))
    assert len(ours) == 3 * (10 + 4)
    assert {(sensor, lengths[query], start, *four) for sensor, start, query, *four in ours} == set(map(tuple, theirs))
