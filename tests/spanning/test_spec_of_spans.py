"""What a spec over spans says, learns and refuses; the demonstration beside plain arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import muntin as mt
from muntin.demo_spans import airborne, run, spec
from muntin.spanning.heights import Heights
from tests.spanning.drawn import check
from tests.strategies import rows_of


def spans(**options: Any) -> mt.Spec:
    return mt.over(span=("start", "end"), **options)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: mt.over(), "Give one of them"),
        (lambda: mt.over("ts", span=("a", "b")), "Leave 'ts' out"),
        (lambda: mt.over(span="start"), "does not name two columns"),
        (lambda: mt.over(span=("a", "a")), "does not name two columns"),
        (lambda: mt.over("ts", postpone="1 s"), "is for events with a duration"),
        (lambda: mt.over("ts", height=3), "is for events with a duration"),
        (lambda: spans(postpone="2 rows"), "is a length of time"),
        (lambda: spans(technique="slabs"), "is unknown"),
        (lambda: spans(height=0), "Give 1 to 4096"),
        (lambda: spans(technique="single", height=3), "only technique='multi' has levels"),
        (lambda: spans(idle="1 s"), "positions of rows"),
        (lambda: spans().window("w", mt.tumbling("10 rows"), n=mt.count()), "has no one position"),
        (lambda: spans().window("w", mt.sliding("9 s", every="3 rows"), n=mt.count()), "has no one position"),
        (lambda: spans().window("w", mt.tumbling(5, on="km"), n=mt.count()), "not along another column"),
        (lambda: spans().window("w", mt.punctuated("mark"), n=mt.count()), "has no one time"),
        (lambda: mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.concurrent()), "Give them one"),
        (
            lambda: spans().window("w", mt.tumbling("1 s"), n=mt.count()).engine(threads=2),
            "handled by one thread",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(make: Any, says: str) -> None:
    with pytest.raises(mt.SpecError, match=says):
        make()


def test_both_ends_are_told_in_the_same_way() -> None:
    table = pa.table({"start": pa.array([0], pa.timestamp("us")), "end": pa.array([1], pa.timestamp("us", "UTC"))})
    with pytest.raises(mt.FrameError, match="told in the same way"):
        spans().window("w", mt.tumbling("1 s"), n=mt.count()).apply(table)


def test_windows_of_a_running_engine_cannot_be_changed() -> None:
    engine = spans().window("w", mt.tumbling("1 s"), n=mt.count()).engine()
    engine.push({"start": [0], "end": [5]})
    with pytest.raises(mt.SpecError, match="do not tell where events began"):
        engine.add_window("v", mt.tumbling("2 s"), n=mt.count())


def test_auto_learns_how_long_to_wait_and_says_it() -> None:
    engine = spans().window("w", mt.tumbling("10 us"), n=mt.count()).engine()
    assert engine.postpone is None
    assert engine.push({"start": [1, 8], "end": [4, 12]}).num_rows == 0  # 12 - 4 is before 10
    assert engine.push({"start": [9], "end": [14]}).num_rows == 0
    assert engine.push({"start": [14], "end": [15]})["n"].to_pylist() == [3]
    assert "postpone: 5 microseconds, the longest" in str(engine.explain())


def test_an_order_column_decides_between_equal_ends() -> None:
    made = spans(order="o").window("w", mt.sliding("6 us", every="3 us"), a=mt.first("x"), z=mt.last("x"), n=mt.count())
    rows = {"start": [0, 2, 1, 4], "end": [5, 5, 5, 5], "o": [2, 1, 2, 3], "x": [1, 2, 3, 4]}
    check(made, [(pa.table(rows), 8), (pa.table({"start": [6], "end": [7], "o": [0], "x": [9]}), 30)])


def test_the_height_follows_the_lengths_of_events() -> None:
    over = spans(postpone="1 s", technique="multi")
    engine = over.window("w", mt.sliding("50 us", every="10 us"), n=mt.count()).engine()
    heights = []
    for first, length in enumerate([5] * 2 + [300] * 20):
        end = [first * 1_000 + i for i in range(1_000)]
        engine.push({"start": [e - length for e in end], "end": end})
        heights.append(engine._fixed.cells.height)
    assert heights[0] <= 4
    assert heights[-1] >= 31
    assert Heights(spans(technique="single").spans).height == 1


def test_the_planes_in_the_air_are_those_of_plain_arithmetic(tmp_path: Path) -> None:
    table = airborne(months=1)
    results = run(months=1, plot=tmp_path / "air.png")
    assert (tmp_path / "air.png").stat().st_size > 10_000
    assert rows_of(results) == rows_of(spec().apply(table))
    for row in results.to_pylist()[::997]:
        start, end = row["window"]["start"], row["window"]["end"]
        here = table.filter(
            (pc.field("origin") == row["origin"]) & (pc.field("took_off") < end) & (pc.field("landed") > start)
        )
        assert row["flights"] == here.num_rows
        moments = [t for t in here["took_off"].to_pylist() if t > start] + [start]
        going = [
            sum(a <= t < b for a, b in zip(here["took_off"].to_pylist(), here["landed"].to_pylist(), strict=True))
            for t in moments
        ]
        assert row["planes"]["peak"] == max(going)
