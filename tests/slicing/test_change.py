"""Windows added to and removed from a running engine, and a state restored under another spec."""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.reference import run
from muntin.slicing import slices
from muntin.spec import query_named
from muntin.starting import first_start, start_after
from tests.reliability.sizes import examples
from tests.slicing.changing import ALIKE, MIXES, Model, check_edges, check_step
from tests.strategies import AGGREGATES, cuts, rows_of, specs, streams, watermarks, windows

SECOND = 1_000_000
TIME = ("tumbling", "sliding", "cumulative", "own", "session")


def at(seconds: float) -> dt.datetime:
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=seconds)


def seconds(table: Any) -> list[tuple[Any, ...]]:
    """Query, start and end in seconds, and the first aggregate."""
    value = table.column_names[table.column_names.index("rows") + 1]
    return [
        (row["query"], row["window"]["start"].timestamp(), row["window"]["end"].timestamp(), row[value])
        for row in table.to_pylist()
    ]


# -- from when a window is exact ---------------------------------------------------------------------------------------


@given(windows(TIME[:4]), st.integers(-50, 50))
def test_the_first_start_is_the_first(window: Any, time: int) -> None:
    found = first_start(window, time)
    listed = {start for t in range(time - 40, time + 80) for start, _ in window.containing(t)}
    if type(window).__name__ == "Pairs":  # of a user's own windows edges are known, not which of them are starts
        assert time <= found <= min(start for start in listed if start >= time)
    else:
        assert found == min(start for start in listed if start >= time)


def test_a_window_begins_after_the_newest_event_where_slices_do_not_help() -> None:
    # events  x    x     x
    # s       [--------)[--------)      slices of the engine, whole: no edge at 1.5
    # half              |    |    [---)[---)
    #         0    0.7  1    1.7  2
    engine = mt.over("ts").window("s", mt.tumbling("1 s"), n=mt.count()).engine()
    engine.push({"ts": [0, 700_000, 1_700_000]})
    assert engine.add_window("half", mt.tumbling("500 ms"), n=mt.count()) == at(2)
    assert engine.starts == {"s": None, "half": at(2)}
    due = engine.push({"ts": [1_800_000, 2_000_000, 2_500_000]})
    assert seconds(due) == [("s", 1, 2, 2), ("half", 2, 2.5, 1)]


def test_a_window_uses_the_slices_that_are_there() -> None:
    # slices  [ 1 )[ 2 )[ 3 )[ 4 )     of "s" and "long"
    # two               [--------)      slices 2 to 3 are there with the count, and the window is not due
    engine = (
        mt.over("ts").window("s", mt.tumbling("1 s"), n=mt.count()).window("long", mt.tumbling("10 s"), n=mt.count())
    ).engine()
    engine.push({"ts": [i * SECOND for i in range(4)]})
    assert engine.add_window("two", mt.tumbling("2 s"), n=mt.count()) == at(2)
    assert seconds(engine.push({"ts": [4 * SECOND]})) == [("s", 3, 4, 1), ("two", 2, 4, 2)]


def test_where_nothing_is_gone_a_window_begins_with_the_stream() -> None:
    engine = mt.over("ts").window("s", mt.tumbling("1 s"), n=mt.count()).engine(watermark="manual")
    assert engine.add_window("early", mt.session("1 s"), n=mt.count()) is None
    engine.push({"ts": [0, SECOND]})
    assert engine.add_window("two", mt.tumbling("2 s"), n=mt.count()) is None
    assert ("two", 0, 2, 2) in seconds(engine.advance(2 * SECOND))


def test_an_aggregate_that_was_added_later_is_not_taken_for_complete() -> None:
    engine = mt.over("ts").window("long", mt.tumbling("10 s"), n=mt.count()).engine(watermark="manual")
    engine.push({"ts": [0, 6 * SECOND], "x": [1, 2]})
    assert engine.add_window("sum", mt.tumbling("10 s"), n=mt.sum("x")) == at(10)
    engine.push({"ts": [7 * SECOND, 12 * SECOND], "x": [3, 4]})
    # The cell of 0 to 10 has a sum now, but not of all: 1 and 2 came before. That of 10 to 20 can be cut after 12.
    assert engine.add_window("again", mt.tumbling("10 s"), n=mt.sum("x")) == at(10)
    assert engine.add_window("five", mt.tumbling("5 s"), n=mt.sum("x")) == at(10)
    assert engine.add_window("two", mt.tumbling("2 s"), n=mt.sum("x")) == at(14)
    assert engine.add_window("one", mt.tumbling("1 s"), n=mt.sum("x")) == at(13)


@pytest.mark.parametrize("by", [(), ("k",)])
def test_slices_that_have_refused_an_event_are_not_used(by: tuple[str, ...]) -> None:
    # An event at 15 comes when the watermark is 20: no window needs it, so it is not taken.
    engine = mt.over("ts", by=by).window("w", mt.tumbling("5 us"), n=mt.count()).engine()
    engine.push({"ts": [1, 11, 20], "k": [1, 1, 1]})
    engine.push({"ts": [15], "k": [1]})
    assert engine.add_window("long", mt.sliding("30 us", every="10 us"), n=mt.count()) == at(20e-6)
    due = engine.push({"ts": [60], "k": [1]}).to_pylist()
    assert [(row["window"]["start"].microsecond, row["n"]) for row in due if row["query"] == "long"] == [(20, 1)]


def test_a_window_that_was_due_before_is_not_reported() -> None:
    # With lateness the slices of 0 to 2 are there, but a window that ended at 2 would have been reported before.
    engine = mt.over("ts", lateness="9 s").window("w", mt.tumbling("1 s"), n=mt.count()).engine()
    engine.push({"ts": [0, SECOND, 2 * SECOND, 3 * SECOND]})
    assert engine.add_window("two", mt.tumbling("2 s"), n=mt.count()) == at(2)
    assert engine.add_window("sum", mt.cumulative("3 s", every="1 s"), n=mt.count()) == at(3)
    assert engine.add_window("visit", mt.session("8 s"), n=mt.count()) == at(12)


def test_a_session_that_may_have_begun_before_is_not_reported() -> None:
    # added at 1; gap 1.  before: x x    x x    after: a session from 2 on is surely one that began there
    engine = mt.over("ts").window("s", mt.tumbling("1 s"), n=mt.count()).engine()
    engine.push({"ts": [0, SECOND]})
    start = engine.add_window("visit", mt.session("1 s"), n=mt.count())
    assert start is not None
    assert at(2) < start <= at(2.2)
    due = engine.push({"ts": [int(1.9 * SECOND), int(2.8 * SECOND), 5 * SECOND, 9 * SECOND]})
    assert [row for row in seconds(due) if row[0] == "visit"] == [("visit", 5, 6, 1)]


def test_a_late_event_after_the_start_of_a_session_query_is_late() -> None:
    # The watermark is ahead of all events: the newest one is at -39, and the window is exact from -30 on.
    spec = mt.over("ts").window("w", mt.tumbling("2 us"), all=mt.collect("ts"))
    engine = spec.engine(watermark="manual")
    engine.advance(0)
    engine.push({"ts": [-39]})
    assert engine.add_window("s", mt.session("8 us"), all=mt.collect("ts")) == at(-30e-6)
    engine.late()
    assert engine.push({"ts": [-31, -30]}).num_rows == 0
    missed = [(row["ts"], row["query"]) for row in engine.late().to_pylist()]
    assert missed == [(-31, "w"), (-30, "w"), (-30, "s")]


def test_rows_count_from_the_start() -> None:
    engine = mt.over("ts", disorder="10 s").window("s", mt.tumbling("1 s"), n=mt.count()).engine()
    engine.push({"ts": [5 * SECOND], "x": [1]})
    assert engine.add_window("two", mt.tumbling("2 rows"), all=mt.collect("x")) == at(5.000001)
    engine.push({"ts": [6 * SECOND, 4 * SECOND, 5 * SECOND, 7 * SECOND], "x": [2, 3, 4, 5]})
    rows = [row for row in engine.flush().to_pylist() if row["query"] == "two"]
    assert [(row["rows"], row["all"]) for row in rows] == [({"start": 0, "end": 2}, [2, 5])]
    assert engine.late().num_rows == 0


@examples(50)
@given(specs(kinds=TIME, mixes=MIXES), windows(TIME), windows(), st.sampled_from(MIXES), st.data())
def test_added_windows_equal_the_reference(spec: mt.Spec, first: Any, second: Any, mix: Any, data: Any) -> None:
    names = tuple(name for name, _ in spec.queries[0].aggregates)
    check_added(spec, [("same", first, names), ("other", second, mix)], data)


@examples(100)
@given(st.data())
def test_windows_added_to_slices_that_fit_equal_the_reference(data: Any) -> None:
    check_alike(data, data.draw(st.sampled_from([(), ("key",)])), 1)


def test_windows_added_to_sparse_cells_equal_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "SMALL", 1)
    monkeypatch.setattr(slices, "FEW", 9.0)
    monkeypatch.setattr(slices, "MOST", 99.0)

    @examples(30)
    @given(st.data())
    def equal(data: Any) -> None:
        check_alike(data, ("key",), 1)

    equal()


@examples(20)
@given(st.data())
def test_windows_added_in_threads_equal_the_reference(data: Any) -> None:
    check_alike(data, ("key",), 3)


def check_alike(data: Any, by: tuple[str, ...], threads: int) -> None:
    """Windows that often use the slices of others."""
    lateness, mix = data.draw(st.sampled_from([0, 5, 20])), data.draw(st.sampled_from(MIXES))
    spec = mt.over("ts", by=by, disorder="5 us", lateness=f"{lateness} us")
    for i, window in enumerate(data.draw(st.lists(st.sampled_from(ALIKE), min_size=1, max_size=3))):
        spec = spec.window(f"w{i}", window, **{name: AGGREGATES[name] for name in mix})
    more = [(name, data.draw(st.sampled_from(ALIKE)), mix) for name in ("first", "second")]
    check_added(spec, more, data, threads)


def check_added(spec: mt.Spec, more: list[tuple[str, Any, tuple[str, ...]]], data: Any, threads: int = 1) -> None:
    """Windows that are added at two places in a stream, and one that is removed, give what they must."""
    steps = data.draw(watermarks(data.draw(cuts(data.draw(streams())))))
    engine: Any = spec.engine(watermark="manual", threads=threads)
    gone = data.draw(st.integers(0, len(steps)))
    model = Model(spec)
    for query in spec.queries:
        model.add(query, None)
    places = sorted(data.draw(st.lists(st.integers(0, len(steps)), min_size=2, max_size=2)))
    uncut = None
    for i, step in enumerate([*steps, (None, None)]):
        for place, (name, window, aggregates) in zip(places, more, strict=True):
            if place == i:
                since = engine.add_window(name, window, **{part: AGGREGATES[part] for part in aggregates})
                model.add(query_named(engine.spec, name), since)
                uncut = engine._newest
                check_edges(engine, uncut)
        if gone == i and len(engine.spec.queries) > 1:
            engine.remove_window("w0")
            del model.queries["w0"]
            check_edges(engine, uncut)
        check_step(engine, model, step, flush=i == len(steps))
        check_edges(engine, uncut)


# -- removing ----------------------------------------------------------------------------------------------------------


@examples(40)
@given(specs(mixes=MIXES), st.data())
def test_after_a_removal_slices_are_as_few_as_if_it_had_never_been(spec: mt.Spec, data: Any) -> None:
    mix = dict(spec.queries[0].aggregates)
    spec = spec.window("gone", data.draw(windows(TIME)), **mix).window("too", data.draw(windows()), **mix)
    steps = data.draw(watermarks(data.draw(cuts(data.draw(streams())))))
    engine: Any = spec.engine(engine="slicing", watermark="manual")
    model = Model(spec)
    for query in spec.queries:
        model.add(query, None)
    for i, step in enumerate([*steps, (None, None)]):
        if i == len(steps) // 2:
            for name in ("gone", "too"):
                engine.remove_window(name)
                del model.queries[name]
                check_edges(engine, None)
        check_step(engine, model, step, flush=i == len(steps))
        check_edges(engine, None)


def test_what_only_a_removed_window_needed_is_dropped() -> None:
    spec = mt.over("ts", by="k").window("s", mt.tumbling("1 s"), n=mt.count())
    engine: Any = spec.window("day", mt.sliding("1 day", every="100 ms"), all=mt.collect("x")).engine()
    n = 20_000
    engine.push({"ts": np.arange(n) * 10_000, "k": np.arange(n) % 7, "x": np.arange(n)})
    before = engine.nbytes
    engine.remove_window("day")
    assert engine.nbytes < before / 20
    assert not engine._kept.stores
    assert len(engine._sliced.slices) == 1
    due = engine.push({"ts": [n * 10_000], "k": [0], "x": [0]})
    assert sorted(due["n"].to_pylist()) == [14, 14, 14, 14, 14, 15, 15]
    assert engine._dump()["decoder"]["columns"] == []


def test_result_columns_follow_the_windows() -> None:
    engine = mt.over("ts").window("s", mt.tumbling("1 s"), n=mt.count()).engine()
    engine.push({"ts": [0], "x": [1]})
    engine.add_window("m", mt.tumbling("1 s"), top=mt.max("x"))
    assert engine.push({"ts": [SECOND], "x": [1]}).column_names == ["query", "window", "rows", "n", "top", "revision"]
    engine.remove_window("s")
    due = engine.push({"ts": [2 * SECOND], "x": [1]})
    assert due.column_names == ["query", "window", "rows", "top", "revision"]
    assert engine.spec == mt.over("ts").window("m", mt.tumbling("1 s"), top=mt.max("x"))


def test_many_queries_that_keep_events_come_and_go() -> None:
    spec = mt.over("ts", disorder="1 s")
    for i in range(70):
        spec = spec.window(f"w{i}", mt.tumbling(f"{i + 1} s"), all=mt.collect("x"))
    engine: Any = spec.engine()
    engine.push({"ts": [0, 1, 2], "x": [1, 2, 3]})
    for i in range(0, 60, 2):
        engine.remove_window(f"w{i}")
    for i in range(40):
        assert engine.add_window(f"v{i}", mt.tumbling("100 s"), all=mt.collect("x")) == at(0)
    assert len(engine._kept.stores) == 2
    engine.push({"ts": [3], "x": [4]})
    found = {row["query"]: row["all"] for row in engine.flush().to_pylist()}
    assert len(found) == 80
    assert all(values == [1, 2, 3, 4] for values in found.values())


# -- names, errors, other engines --------------------------------------------------------------------------------------


def test_the_newest_event_of_all_sources_counts() -> None:
    spec = mt.over("ts", by="k").window("s", mt.tumbling("1 s"), n=mt.count())
    for threads in (1, 2):
        engine = spec.engine(sources=["a", "b"], threads=threads)
        engine.push({"ts": [7 * SECOND], "k": [1]}, source="a")
        engine.push({"ts": [SECOND], "k": [2]}, source="b")
        assert engine.add_window("two", mt.tumbling("2 rows"), n=mt.count()) == at(7.000001)
        assert engine.starts == {"s": None, "two": at(7.000001)}


def test_threads_restore_under_other_windows() -> None:
    spec = mt.over("ts", by="k").window("s", mt.tumbling("1 s"), n=mt.count())
    engine = spec.engine(threads=2)
    engine.push({"ts": [0, 1, 2, 1_500_000], "k": [1, 2, 3, 4]})
    more = spec.window("half", mt.tumbling("500 ms"), n=mt.count()).without("s").engine(threads=2)
    more.restore(engine.snapshot(), changed=True)
    assert more.starts == {"half": at(2)}
    due = more.push({"ts": [int(2.1 * SECOND), 3 * SECOND], "k": [1, 2]})
    assert seconds(due) == [("half", 2, 2.5, 1)]


def test_names_and_refusals() -> None:
    spec = mt.over("ts").window("minute", mt.tumbling("1 minute"), n=mt.count())
    engine = spec.engine()
    with pytest.raises(mt.SpecError, match="two windows are named 'minute'"):
        engine.add_window("minute", mt.tumbling("1 s"), n=mt.count())
    with pytest.raises(mt.SpecError, match="Did you mean 'minute'"):
        engine.remove_window("minutes")
    with pytest.raises(mt.SpecError, match="only window"):
        engine.remove_window("minute")
    engine.push({"ts": [0], "x": [1.5]})
    with pytest.raises(mt.FrameError, match="no column 'y'"):
        engine.add_window("y", mt.tumbling("1 s"), n=mt.sum("y"))
    with pytest.raises(mt.FrameError, match="One name has one type"):
        engine.add_window("y", mt.tumbling("1 s"), n=mt.sum("x"))
    assert engine.spec == spec
    assert engine.push({"ts": [1], "x": [1.5]}).num_rows == 0
    engine.flush()
    with pytest.raises(mt.EngineEnded, match="add_window"):
        engine.add_window("z", mt.tumbling("1 s"), n=mt.count())
    with pytest.raises(mt.EngineEnded, match="remove_window"):
        engine.remove_window("minute")


@examples(25)
@given(specs(), windows(), st.data())
def test_the_reference_changes_too(spec: mt.Spec, window: Any, data: Any) -> None:
    steps = data.draw(watermarks(data.draw(cuts(data.draw(streams())))))
    engine: Any = spec.engine(engine="reference", watermark="manual")
    model = Model(spec)
    for query in spec.queries:
        model.add(query, None)
    for i, step in enumerate([*steps, (None, None)]):
        if i == len(steps) // 2:
            since = engine.add_window("more", window, all=mt.collect("x"))
            if engine._newest is not None:
                assert since == at(start_after(window, engine._newest) / SECOND)
            model.add(engine.spec.queries[-1], since)
            engine.remove_window(spec.queries[0].name)
            del model.queries[spec.queries[0].name]
        check_step(engine, model, step, flush=i == len(steps))


@pytest.mark.parametrize("window", [mt.tumbling("10 us"), mt.session("5 us"), mt.sliding("9 us", every="2 us")])
def test_a_watermark_before_the_first_batch_counts(window: Any) -> None:
    spec = mt.over("ts").window("w", window, n=mt.count())
    steps = [(None, 100), ({"ts": [5, 6, 101]}, None), (None, 200)]
    expected = run(spec, steps)
    engine = spec.engine(watermark="manual")
    for i, (batch, watermark) in enumerate(steps):
        found = engine.push(batch) if watermark is None else engine.advance(watermark)
        assert rows_of(found) == rows_of(expected.results[i])
        assert engine.late().to_pylist() == expected.late[i].to_pylist()


# -- restoring under another spec --------------------------------------------------------------------------------------


def test_a_state_is_restored_under_other_windows() -> None:
    over = mt.over("ts", by="k", lateness="1 s")
    spec = over.window("s", mt.tumbling("1 s"), n=mt.count()).window("ten", mt.tumbling("10 s"), n=mt.count())
    engine = spec.engine(watermark="manual")
    engine.push({"ts": [0, 2 * SECOND], "k": ["a", "b"]})
    engine.advance(SECOND)
    other = (
        over.window("new", mt.tumbling("5 s"), n=mt.count())
        .window("s", mt.tumbling("1 s"), n=mt.count())
        .window("ten", mt.tumbling("20 s"), n=mt.count())
    )
    with pytest.raises(mt.SpecError, match="changed=True"):
        other.engine().restore(engine.snapshot())
    again = other.engine(watermark="manual")
    again.restore(engine.snapshot(), changed=True)
    # "ten" is another one now; both new ones use the slices from the beginning, for nothing of theirs is gone.
    assert again.starts == {"new": at(0), "s": None, "ten": at(0)}
    rows = again.push({"ts": [int(0.5 * SECOND)], "k": ["a"]}).to_pylist()  # corrects what was said before
    rows += again.advance(30 * SECOND).to_pylist()
    found = {(row["query"], row["k"], row["n"], row["revision"]) for row in rows}
    assert found == {
        ("s", "a", 2, 1), ("s", "b", 1, 0), ("new", "a", 2, 0), ("new", "b", 1, 0), ("ten", "a", 2, 0),
        ("ten", "b", 1, 0),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("over", "what"),
    [
        (mt.over("time"), "time='ts'"),
        (mt.over("ts", by="k"), "by=\\[\\]"),
        (mt.over("ts", disorder="1 s"), "disorder=0"),
        (mt.over("ts", lateness="1 s"), "lateness=0"),
        (mt.over("ts", order="k"), "order=None"),
        (mt.over("ts", idle="1 s"), "idle=None"),
    ],
)
def test_all_but_windows_must_be_the_same(over: mt.Spec, what: str) -> None:
    engine = mt.over("ts").window("s", mt.tumbling("1 s"), n=mt.count()).engine()
    engine.push({"ts": [0], "k": [1]})
    other = over.window("s", mt.tumbling("1 s"), n=mt.count()).engine()
    with pytest.raises(mt.SpecError, match=f"the snapshot has {what}"):
        other.restore(engine.snapshot(), changed=True)


def test_another_version_of_an_aggregate_is_another_one() -> None:
    class Total(mt.Aggregate):
        """A sum of one's own."""

        partial: ClassVar = {"total": float}
        identity = (0.0,)
        commutative, kind = True, "distributive"

        def lift(value):
            return value

        def combine(a, b):
            return a.total + b.total

        def lower(p):
            return p.total

    engine = mt.over("ts").window("s", mt.tumbling("9 s"), n=Total("x")).engine()
    engine.push({"ts": [0], "x": [1.0]})
    state = engine.snapshot()
    Total.version = 2
    again = mt.over("ts").window("s", mt.tumbling("9 s"), n=Total("x")).engine()
    again.restore(state, changed=True)
    assert again.starts == {"s": at(9)}
