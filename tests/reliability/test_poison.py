"""Rows that no one wants: each has the outcome that docs/reliability.md states, and every event is accounted for."""

from __future__ import annotations

import datetime as dt
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import muntin as mt
from muntin.units import MAX_TIME, MIN_TIME
from tests.conftest import Tally
from tests.reliability.sizes import seeds, sized
from tests.strategies import rows_of

INT = np.iinfo(np.int64)
NOW = 1_700_000_000_000_000
SECOND, HOUR, DAY = 1_000_000, 3_600_000_000, 86_400_000_000
ENGINES = ["slicing", "reference"]


def told(spec: mt.Spec, engine: str, batches: list[Any], **options: Any) -> tuple[pa.Table, pa.Table]:
    """All results and all late rows."""
    running = spec.engine(engine=engine, clock=lambda: NOW, **options)
    parts = [running.push(batch) for batch in batches]
    parts = [part for part in [*parts, running.flush()] if part.num_columns]
    return pa.concat_tables(parts), running.late()


# -- times -----------------------------------------------------------------------------------------------------------

TIMES: dict[str, tuple[int | None, str | None]] = {
    "null": (None, "null time"),
    "int64's smallest": (INT.min, "time out of range"),
    "before year 1": (MIN_TIME - 1, "time out of range"),
    "year 1": (MIN_TIME, None),
    "1969": (-1, None),
    "1970": (0, None),
    "year 9999": (MAX_TIME, "too far ahead"),
    "year 10000": (MAX_TIME + 1, "time out of range"),
    "int64's largest": (INT.max, "time out of range"),
}
WINDOWS = {
    "tumbling": mt.tumbling("1 hour"),
    "sliding": mt.sliding("2 hours", every="1 hour"),
    "session": mt.session("1 hour"),
    "rows": mt.tumbling("1 row"),
    "frame": mt.frame("on"),
}


def counted(results: pa.Table, per_event: int = 1) -> int:
    return (pc.sum(results["n"]).as_py() or 0) // per_event


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ahead", ["1 day", None])
@pytest.mark.parametrize("kind", WINDOWS)
def test_times(kind: str, ahead: str | None, engine: str) -> None:
    """A time that cannot be is rejected with why; all others count, also where their window ends after year 9999."""
    spec = mt.over("ts", max_ahead=ahead).window("w", WINDOWS[kind], n=mt.count())
    wrong = {time: why for time, why in TIMES.values() if why and (ahead or time != MAX_TIME)}
    times = [time for time, _ in TIMES.values()]
    batch = pa.table({"ts": pa.array(times, pa.int64()), "on": [True] * len(times)})
    results, late = told(spec, engine, [batch])
    assert dict(zip(late["ts"].to_pylist(), late["reason"].to_pylist(), strict=True)) == wrong
    assert counted(results, 2 if kind == "sliding" else 1) + late.num_rows == len(times)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", ["1 ms", "1 hour"])
def test_one_row_of_year_1_costs_no_more_than_itself(engine: str, size: str) -> None:
    """Between it and the others there are billions of windows without events: nothing is made for them."""
    spec = mt.over("ts", by="k", disorder="1 s")
    spec = spec.window("t", mt.tumbling(size), n=mt.count()).window("s", mt.session(size), n=mt.count())
    honest = {"ts": [NOW, NOW + 1], "k": ["a", "b"]}
    results, late = told(spec, engine, [{"ts": [MIN_TIME], "k": ["a"]}, honest, {"ts": [0, -1], "k": ["a", "b"]}])
    assert counted(results, 2) == 3
    assert late["reason"].to_pylist() == ["late"] * 4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("far", [HOUR, DAY, MAX_TIME - NOW], ids=["1 hour", "1 day", "year 9999"])
def test_one_clock_that_is_ahead_costs_no_honest_row(far: int, engine: str) -> None:
    """`max_ahead` says how far clocks may be ahead: beyond it a row is rejected, and does not move the watermark."""
    spec = mt.over("ts", by="k", disorder="2 s", max_ahead="10 minutes").window("w", mt.tumbling("1 s"), n=mt.count())
    honest = [{"ts": [NOW + i * SECOND, NOW + i * SECOND - 1], "k": ["a", "b"]} for i in range(20)]
    batches = [*honest[:5], {"ts": [NOW + far], "k": ["a"]}, *honest[5:]]
    results, late = told(spec, engine, batches)
    assert late["reason"].to_pylist() == ["too far ahead"]
    assert late["ts"].to_pylist() == [NOW + far]
    wanted, none = told(spec, engine, honest)
    assert none.num_rows == 0
    assert rows_of(results) == rows_of(wanted)
    assert "further than 10 minutes ahead of the clock is rejected (max_ahead)" in str(spec.explain())


def test_a_clock_that_is_ahead_by_less_is_believed() -> None:
    """The default is a day: a clock that is an hour ahead moves the watermark, and honest rows come late, not lost."""
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    results, late = told(spec, "slicing", [{"ts": [NOW + HOUR]}, {"ts": [NOW]}, {"ts": [NOW + DAY + 1]}])
    assert counted(results) == 1
    assert sorted(late["reason"].to_pylist()) == ["late", "too far ahead"]
    assert "further than 1 day ahead" in str(spec.explain())


@pytest.mark.parametrize("engine", ENGINES)
def test_spans_that_end_before_they_start(engine: str) -> None:
    spec = mt.over(span=("a", "b"), postpone=0).window("w", mt.tumbling("10 us"), n=mt.count())
    rows = {"a": [5, 7, None, 3, MIN_TIME - 1, INT.min], "b": [5, 6, 4, None, 3, INT.max]}
    results, late = told(spec, engine, [rows])
    assert counted(results) == 1
    # A time that is missing or cannot be comes before what the two times together cannot be.
    assert late["reason"].to_pylist() == [
        "span ends before it starts",
        "null time",
        "null time",
        "time out of range",
        "time out of range",
    ]


# -- values ----------------------------------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf
VALUES: dict[str, tuple[list[float | None], dict[str, Any]]] = {
    "nulls": ([None, None], {"total": None, "low": None, "high": None, "mid": None, "n": 2, "some": 0}),
    "a null": ([1.0, None], {"total": 1.0, "low": 1.0, "high": 1.0, "mid": 1.0, "n": 2, "some": 1}),
    "NaN": ([1.0, NAN, 2.0], {"total": NAN, "low": 1.0, "high": NAN, "mid": 2.0, "n": 3, "some": 3}),
    "infinity": ([INF, 1.0, 2.0], {"total": INF, "low": 1.0, "high": INF, "mid": 2.0, "n": 3, "some": 3}),
    "both": ([INF, -INF, 1.0], {"total": NAN, "low": -INF, "high": INF, "mid": 1.0, "n": 3, "some": 3}),
    "too large": ([1e308, 1e308], {"total": INF, "low": 1e308, "high": 1e308, "mid": 1e308, "n": 2, "some": 2}),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", VALUES)
def test_values(name: str, engine: str) -> None:
    values, wanted = VALUES[name]
    spec = mt.over("ts").window(
        "w", mt.tumbling("1 s"), n=mt.count(), some=mt.count("x"), total=mt.sum("x"), low=mt.min("x"), high=mt.max("x"),
        mid=mt.median("x"),
    )  # fmt: skip
    x = pa.array(values, pa.float64(), from_pandas=False)
    results, _ = told(spec, engine, [{"ts": list(range(len(values))), "x": x}])
    (row,) = results.select(list(wanted)).to_pylist()
    assert str(row) == str(wanted)  # NaN is as written


def overflowing() -> dict[str, Any]:
    return {"ts": [1, 2, 3, 60], "k": ["a", "a", "b", "a"], "x": [INT.max, 1, 5, 0]}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_that_overflows_fails_the_step_or_is_null(engine: str) -> None:
    spec = mt.over("ts", by="k").window("w", mt.tumbling("10 us"), n=mt.count(), total=mt.sum("x"))
    running = spec.engine(engine=engine)
    running.push({"ts": [0], "k": ["b"], "x": [7]})
    with pytest.raises(mt.SumOverflow, match=str(2**63)):
        running.push(overflowing())
    # Half of a step is done, and no one can say which: nothing is counted twice by pushing it again.
    for call in (lambda: running.push(overflowing()), lambda: running.advance(99), running.flush, running.snapshot):
        with pytest.raises(mt.MuntinError, match=r"step that failed with SumOverflow|has no snapshots"):
            call()
    quiet = mt.over("ts", by="k").window("w", mt.tumbling("10 us"), n=mt.count(), total=mt.sum("x", overflow="null"))
    results, late = told(quiet, engine, [overflowing()])
    assert sorted(results["total"].to_pylist(), key=repr) == [0, 5, None]
    assert counted(results) + late.num_rows == 4


def test_after_a_step_that_failed_the_last_snapshot_goes_on() -> None:
    spec = mt.over("ts", by="k").window("w", mt.tumbling("10 us"), n=mt.count(), total=mt.sum("x"))
    running, again = spec.engine(), spec.engine()
    running.push({"ts": [0], "k": ["b"], "x": [7]})
    data = running.snapshot()
    with pytest.raises(mt.SumOverflow):
        running.push(overflowing())
    again.restore(data)
    again.push(overflowing() | {"x": [3, 1, 5, 0]})
    assert again.late().num_rows == 0


def test_an_interrupted_step_is_a_step_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    running = mt.over("ts").window("w", mt.tumbling("10 us"), n=mt.count()).engine()
    running.push({"ts": [1]})

    def interrupted(flush: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_report", interrupted)
    with pytest.raises(KeyboardInterrupt):
        running.push({"ts": [2]})
    with pytest.raises(mt.EngineEnded, match="step that failed with KeyboardInterrupt"):
        running.flush()


@pytest.mark.parametrize(
    "bad",
    [
        {"ts": [5], "x": [1]},
        {"ts": [5], "x": ["text"], "m": [5]},
        {"ts": [5], "x": [1.5], "m": [5]},
        {"ts": ["noon"], "x": [1], "m": [5]},
        {"ts": [5], "x": [1], "m": pa.array([2**63], pa.uint64())},
        {"ts": [5, 6], "x": [1], "m": [5]},
        [1, 2],
    ],
    ids=["a column gone", "text", "another type", "a time as text", "a measure too large", "lengths", "no frame"],
)
def test_a_batch_that_cannot_be_read_changes_nothing(bad: Any) -> None:
    spec = (
        mt.over("ts")
        .window("w", mt.tumbling("10 us"), total=mt.sum("x"))
        .window("m", mt.tumbling(5, on="m"), n=mt.count())
    )
    running, untouched = spec.engine(), spec.engine()
    good = {"ts": [1, 2], "x": [1, 2], "m": [1, 2]}
    running.push(good)
    untouched.push(good)
    with pytest.raises(mt.FrameError):
        running.push(bad)
    more = {"ts": [7, 30], "x": [3, 4], "m": [7, 9]}
    assert rows_of(running.push(more), running.flush()) == rows_of(untouched.push(more), untouched.flush())


# -- keys, texts and types -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_keys(engine: str) -> None:
    """Null is a key, NaN is NaN, -0.0 is 0.0, and a text may be as long as it likes."""
    spec = mt.over("ts", by=("k", "f")).window("w", mt.tumbling("10 us"), n=mt.count(), last=mt.last("s"))
    huge = "x" * sized(1 << 20, 1 << 27)
    keys = [None, "", "\0", huge, huge, None, "\U0001f600", ""]
    floats = pa.array([NAN, -0.0, None, INF, INF, NAN, 1.0, 0.0], pa.float64(), from_pandas=False)
    results, late = told(spec, engine, [{"ts": list(range(8)), "k": keys, "f": floats, "s": [huge, *"abcdefg"]}])
    found = {(row["k"], str(row["f"]).lstrip("-")): row["n"] for row in results.to_pylist()}
    assert found == {(None, "nan"): 2, ("", "0.0"): 2, ("\0", "None"): 1, (huge, "inf"): 2, ("\U0001f600", "1.0"): 1}
    assert counted(results) + late.num_rows == 8


ODD = {
    "list": pa.array([[1], None]),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "half": pa.array(np.array([1, 2], np.float16)),
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
}


@pytest.mark.parametrize("kind", ODD)
def test_types_that_are_not_known(kind: str) -> None:
    """Where a spec names them they are refused before the first row; where none does they come along as they are."""
    plain = mt.over("ts").window("w", mt.tumbling("10 us"), n=mt.count())
    rows = pa.table({"ts": pa.array([1, None]), "odd": ODD[kind]})
    results, late = told(plain, "slicing", [rows])
    assert counted(results) + late.num_rows == 2
    assert late["odd"].combine_chunks().equals(ODD[kind].slice(1))
    for spec in (
        mt.over("odd").window("w", mt.tumbling("10 us"), n=mt.count()),
        mt.over("ts").window("w", mt.tumbling("10 us"), n=mt.sum("odd")),
        mt.over("ts").window("w", mt.frame("odd"), n=mt.count()),
        mt.over("ts").window("w", mt.tumbling(5, on="odd"), n=mt.count()),
    ):
        with pytest.raises(mt.FrameError, match="odd"):
            spec.engine().push(rows)


# -- all of it together ----------------------------------------------------------------------------------------------


def poisoned(rng: np.random.Generator, rows: int) -> pa.Table:
    """Honest rows, and every tenth of them spoilt in some way."""
    times: list[int | None] = (NOW + np.cumsum(rng.integers(0, 300_000, rows))).tolist()
    bad = [None, INT.min, INT.max, MIN_TIME, MIN_TIME - 1, -1, MAX_TIME, NOW + DAY + HOUR, NOW - DAY]
    values: list[float | None] = rng.standard_normal(rows).tolist()
    keys: list[str | None] = rng.choice(["a", "b", "c"], rows).tolist()
    for i in rng.choice(rows, rows // 10, replace=False).tolist():
        kind = rng.integers(3)
        if kind == 0:
            times[i] = bad[rng.integers(len(bad))]
        elif kind == 1:
            values[i] = [None, NAN, INF, -INF, 1e308][rng.integers(5)]
        else:
            keys[i] = [None, "", "x" * 10_000][rng.integers(3)]
    columns = [pa.array(times, pa.int64()), pa.array(keys), pa.array(values, pa.float64(), from_pandas=False)]
    return pa.table([*columns, pa.array(range(rows))], names=["ts", "k", "x", "id"])


def test_every_event_is_counted_once_or_late_or_rejected(tally: Tally) -> None:
    """`collect` of the numbers of rows says which are in which window: none is lost, none is there twice."""
    spec = mt.over("ts", by="k", disorder="1 s")
    spec = spec.window("t", mt.tumbling("5 s"), ids=mt.collect("id"), total=mt.sum("x"))
    spec = spec.window("s", mt.session("2 s"), ids=mt.collect("id"), total=mt.sum("x"))
    rows = sized(300, 20_000)
    for seed in seeds(5, 200):
        rng = np.random.default_rng(seed)
        table = poisoned(rng, rows)
        cuts = [0, *sorted(rng.integers(0, rows, 9).tolist()), rows]
        batches = [table.slice(a, b - a) for a, b in pairwise(cuts)]
        results, late = told(spec, "slicing", batches)
        for query in ("t", "s"):
            mine = results.filter(pc.equal(results["query"], query))
            found = pc.list_flatten(mine["ids"]).to_pylist()
            gone = late.filter(pc.or_kleene(pc.equal(late["query"], query), pc.is_null(late["query"])))[
                "id"
            ].to_pylist()
            assert sorted(found + gone) == list(range(rows)), seed
        tally(logs=1, events=rows, late_or_rejected=len(set(late["id"].to_pylist())))


def test_the_clock_is_the_systems_unless_given() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    engine = spec.engine()
    engine.push({"ts": [dt.datetime.now(dt.UTC) + dt.timedelta(days=1, minutes=1)]})
    assert engine.late()["reason"].to_pylist() == ["too far ahead"]
