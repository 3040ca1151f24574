"""Every figure runs at a tiny size, with all its series, a reading and a plot; result files make a page."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from muntin.bench.data import (
    FOOTBALL_DISTINCT,
    MACHINE_DISTINCT,
    auction_bids,
    calls,
    cluster_trace,
    flights,
    football,
    linear_road,
    machines,
)
from muntin.bench.figure import Figure, Run
from muntin.bench.figures import FIGURES, MISSING, ON_SPARK, TABLES, figure
from muntin.bench.plots import draw
from muntin.bench.report import write_page
from muntin.bench.results import write
from muntin.bench.running import measured
from muntin.cli import app


# Those that need Spark are in tests/spark.
@pytest.mark.parametrize("name", [name for name in FIGURES if name not in ON_SPARK])
def test_a_figure_runs_and_is_drawn_and_read(name: str, tmp_path: Path) -> None:
    run = Run(quick=True, seed=1, scale=0.02)
    found = measured(figure(name), run)
    assert found["figure"] == name
    panels = {panel["name"] for panel in found["panels"]}
    assert {point["panel"] for point in found["points"]} == panels
    counted = name in ("compression-fig3", "compression-fig4")  # nothing is compressed without compression
    assert all(math.isfinite(p["y"]) and (p["y"] > 0 or (counted and p["y"] == 0)) for p in found["points"])
    for panel in found["panels"]:
        places = [set(run.of(panel["name"], series)) for series in run.series(panel["name"])]
        # Every series has as many places as the first; dots are what one series or the other has.
        assert panel["kind"] == "dots" or all(place == places[0] for place in places)
    assert found["shown"].endswith(".")
    assert found["seen"].endswith(".")
    path = write(found, tmp_path)
    assert json.loads(path.read_text())["machine"]["cores"] >= 1
    for file in draw(found, tmp_path):
        assert file.stat().st_size > 5_000
    page = tmp_path / "results.md"
    assert write_page(tmp_path, page) == 1
    assert found["seen"] in page.read_text()
    assert f"]({name}.svg)" in page.read_text()


def test_the_command_lists_and_refuses() -> None:
    listed = CliRunner().invoke(app, ["bench", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in [*FIGURES, *TABLES])
    assert all(name in listed.stdout for name in MISSING)
    without = CliRunner().invoke(app, ["bench", "hammer-fig4b"])
    assert without.exit_code != 0
    assert "hardware" in without.output
    refused = CliRunner().invoke(app, ["bench", "fig88"])
    assert refused.exit_code != 0
    assert "fig8" in refused.output


def test_a_figure_that_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def run_figure(one: Figure, quick: bool, *given: object) -> None:
        begun.append((one.name, quick))
        if one.name == "fig8":
            raise ValueError("no [such] thing")

    monkeypatch.setattr("muntin.bench.running.run_figure", run_figure)
    page = tmp_path / "page.md"
    ran = CliRunner().invoke(app, ["bench", "--out", str(tmp_path), "--report", str(page)])
    assert set(begun) == {(name, not figure(name).full) for name in FIGURES}
    assert [name for name, _ in begun[-2:]] == list(ON_SPARK)
    assert ran.exit_code == 1
    assert "fig8 failed" in ran.output
    assert "no [such] thing" in ran.output
    assert "hardware counters" in page.read_text()
    begun.clear()
    assert CliRunner().invoke(app, ["bench", "fig9", "fig10", "--minutes", "0"]).exit_code == 0
    assert CliRunner().invoke(app, ["bench", "--no-measure"]).exit_code == 0
    assert begun == []


@pytest.mark.parametrize("made", [football, machines])
def test_streams_are_as_published(made: object) -> None:
    assert callable(made)
    table = made(1_200_000, share=0.2, delay=2.0, seed=3)
    times = table["ts"].cast("int64").to_numpy()
    # Paper 1, section 6.1 and 6.2.2: five gaps a minute, one tuple in five out of order by up to two seconds.
    newest = np.maximum.accumulate(times)
    behind = newest - times
    assert behind.max() <= 2_000_000
    assert 0.15 < np.mean(behind > 0) < 0.25
    gaps = np.count_nonzero(np.diff(np.sort(times)) > 1_000_000)
    assert gaps / (times.max() / 60e6) == pytest.approx(5, abs=1)
    distinct = len(np.unique(table["value"].to_numpy()))
    assert distinct == MACHINE_DISTINCT if made is machines else 0.8 * FOOTBALL_DISTINCT < distinct <= FOOTBALL_DISTINCT


def test_bids_are_as_published() -> None:
    table = auction_bids(500_000, seed=2)
    auction, bidder, price = (table[name].to_numpy() for name in ("auction", "bidder", "price"))
    assert table.num_rows == 500_000 * 46 // 50
    newest = np.arange(500_000)[np.arange(500_000) % 50 >= 4] // 50
    assert np.mean(auction - 1_000 == (newest * 3 + 2) // 100 * 100) == pytest.approx(0.5, abs=0.02)
    assert np.mean(bidder - 1_000 == newest // 100 * 100 + 1) == pytest.approx(0.75, abs=0.02)
    assert np.percentile(np.log10(price), [0, 50, 100]) == pytest.approx([2, 5, 8], abs=0.02)


def test_calls_are_as_published() -> None:
    table = calls(200_000, rate=1_000, seed=2)
    start, end = table["start"].to_numpy(), table["end"].to_numpy()
    length = (end - start) / 1e6
    assert 0 <= length.min() <= length.max() <= 7_200
    assert np.mean(length == 0) == pytest.approx(0.125, abs=0.01)
    long = length[length > 15]  # few of the failed ones are as long
    assert np.median(long) == pytest.approx(82, rel=0.15)  # of the two log-normals together
    assert len(start) == 200_000
    rate = len(start) / (start.max() - start.min()) * 1e6
    assert rate == pytest.approx(1_000, rel=0.05)
    _, counts = np.unique(table["cell"].to_numpy(), return_counts=True)
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.2)  # Zipf: the first is ten times as frequent as the tenth


def test_vehicles_and_tasks_are_as_published() -> None:
    reports = linear_road(1_200)
    ts, vehicle, speed = (reports[name].to_numpy() for name in ("ts", "vehicle", "speed"))
    one = np.sort(ts[vehicle == vehicle[0]])
    assert set(np.diff(one)) == {30_000_000}  # every 30 s
    assert 0 <= speed.min() <= speed.max() <= 100
    trace = cluster_trace(17_000)
    seconds = trace["ts"].cast("int64").to_numpy() // 1_000_000
    per_second = np.bincount(seconds)  # seconds without events count
    # As published: 26 events a second in bursts, 10 in the median second and 2,120 in the largest; 33 requests.
    assert per_second.mean() == pytest.approx(26, abs=4)
    assert np.median(per_second) == pytest.approx(10, abs=2)
    assert per_second.max() == 2_120
    assert len(set(trace["cpu"].to_pylist())) == 33


def test_real_data_are_taken_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[str] = []
    made = cluster_trace(500, sources)
    assert sources == []
    ts = pa.array(np.arange(100) * 1_000_000, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": ts, "cpu_req": np.full(100, 0.25)}), tmp_path / "sample_google_cluster_2011.parquet")
    spans = pa.table({"start_ts": ts, "end_ts": pc.add(ts, pa.scalar(60_000_000, pa.duration("us")))})
    spans = spans.append_column("distance_mi", pa.array(np.arange(100)))
    pq.write_table(spans, tmp_path / "nycflights13_spans.parquet")
    monkeypatch.setenv("MUNTIN_DATA", str(tmp_path))
    real = cluster_trace(250, sources)
    assert set(real["cpu"].to_pylist()) == {0.25} != set(made["cpu"].to_pylist())
    assert real.num_rows == 250
    flown = flights(150, sources)
    assert flown["x"].to_pylist() == [*range(100), *range(50)]
    assert np.all(np.diff(flown["end"].to_numpy()) > 0)
    assert sources == ["sample_google_cluster_2011", "nycflights13_spans"]


def test_every_technique_has_a_card() -> None:
    from muntin.engines import ENGINES, SPAN_ENGINES
    from muntin.final import CARDS
    from muntin.state.codecs import CODECS
    from muntin.state.encodings import ENCODINGS

    page = (Path(__file__).parents[2] / "docs" / "techniques.md").read_text(encoding="utf-8")
    firsts = {
        name.strip("`")
        for line in page.splitlines()
        if line.startswith("| `")
        for name in line[2:].split(" |")[0].split(", ")
    }
    assert {*ENGINES, *SPAN_ENGINES, "lazy", "eager", *CARDS, *CODECS, *ENCODINGS} == firsts
