"""The exact semantics, each rule on a small stream worked out by hand. Times are microseconds."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
from muntin.reference import run

FAR = 10**6


def micros(time: dt.datetime | None) -> int | None:
    return None if time is None else pa.scalar(time, pa.timestamp("us")).value


def said(table: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    """Results as (start, end, columns..., revision), in the order reported."""
    return [
        (micros(row["window"]["start"]), micros(row["window"]["end"]), *(row[c] for c in columns), row["revision"])
        for row in table.to_pylist()
    ]


def missed(table: pa.Table) -> list[tuple[Any, ...]]:
    return [
        (
            row["ts"],
            row["reason"],
            row["query"],
            row["missed"] and tuple(micros(row["missed"][e]) for e in ("start", "end")),
        )
        for row in table.to_pylist()
    ]


def steps(spec: mt.Spec, *given: tuple[Any, int | None], flush: bool = False) -> tuple[list[Any], list[Any]]:
    """Results and late rows per step; a batch is a list of times, or a dict of columns."""
    batches = [(batch if isinstance(batch, dict) or batch is None else {"ts": batch}, w) for batch, w in given]
    done = run(spec, batches, flush=flush)
    names = [name for name, _ in spec.queries[0].aggregates]
    return [said(t, *names) for t in done.results], [missed(t) for t in done.late]


def counting(window: mt.windows.Window, **options: Any) -> mt.Spec:
    return mt.over("ts", **options).window("w", window, n=mt.count())


# -- lateness, revisions ---------------------------------------------------------------------------------------------


def test_lateness_is_per_event_and_window() -> None:
    #        0    5    10   15   20
    # w0     [---------)              closed at 12
    # w1          [---------)         closed at 17
    # event         ~                 at 6, when the watermark is 13: misses w0, counts in w1
    spec = counting(mt.sliding("10 us", every="5 us"), lateness="2 us")
    results, late = steps(spec, ([1, 6, 13], 13), ([6], None), (None, 15))
    assert results[0] == [(-5, 5, 1, 0), (0, 10, 2, 0)]
    assert results[1] == []
    assert late[1] == [(6, "late", "w", (0, 10))]
    assert results[2] == [(5, 15, 3, 0)]


def test_a_late_event_within_lateness_gives_the_next_revision() -> None:
    spec = counting(mt.tumbling("10 us"), lateness="5 us")
    results, late = steps(spec, ([1, 12], 12), ([3], None), ([4], 15), ([5], None))
    assert results == [[(0, 10, 1, 0)], [(0, 10, 2, 1)], [(0, 10, 3, 2)], []]
    assert late[3] == [(5, "late", "w", (0, 10))]


def test_rows_of_a_batch_are_judged_as_a_set_against_the_previous_watermark() -> None:
    spec = counting(mt.tumbling("10 us"))
    results, late = steps(spec, ([25, 1], 25), ([2], None))
    assert results[0] == [(0, 10, 1, 0)]
    assert late == [[], [(2, "late", "w", (0, 10))]]


def test_a_tie_at_the_watermark_is_not_late() -> None:
    results, late = steps(counting(mt.tumbling("10 us")), ([5], 10), ([10], 20))
    assert results == [[(0, 10, 1, 0)], [(10, 20, 1, 0)]]
    assert late == [[], []]


def test_an_event_that_changes_nothing_is_not_reported_again() -> None:
    spec = mt.over("ts", lateness="9 us").window("w", mt.tumbling("10 us"), top=mt.max("x"))
    results, _ = steps(spec, ({"ts": [1], "x": [5]}, 10), ({"ts": [2], "x": [4]}, None), ({"ts": [2], "x": [6]}, None))
    assert results == [[(0, 10, 5, 0)], [], [(0, 10, 6, 1)]]


def test_late_rows_come_once_per_query_with_their_columns() -> None:
    spec = counting(mt.tumbling("10 us")).window("wide", mt.tumbling("100 us"), n=mt.count())
    done = run(spec, [({"ts": [50], "name": ["a"]}, 50), ({"ts": [7], "name": ["b"]}, None)])
    assert done.late[1].select(["ts", "name", "reason", "query"]).to_pylist() == [
        {"ts": 7, "name": "b", "reason": "late", "query": "w"}
    ]


def test_times_before_1970_floor() -> None:
    results, _ = steps(counting(mt.tumbling("10 us")), ([-1, -10, -11], 0))
    assert results == [[(-20, -10, 1, 0), (-10, 0, 2, 0)]]


def test_rejected_rows_go_to_the_late_output_and_do_not_move_the_watermark() -> None:
    spec = counting(mt.tumbling("10 us"), max_ahead="1 second")
    engine = spec.engine(engine="reference", clock=lambda: 1_000)
    year_1 = -62_135_596_800_000_000
    table = engine.push(pa.table({"ts": pa.array([5, None, 2_000_000, year_1 - 1, year_1, 1_001_000], pa.int64())}))
    assert [row["reason"] for row in engine.late().to_pylist()] == ["null time", "too far ahead", "time out of range"]
    assert said(table, "n") == [(year_1, year_1 + 10, 1, 0), (0, 10, 1, 0)]
    assert spec.apply({"ts": [2_000_000]}).num_rows == 1  # a finite frame has no clock


# -- sessions --------------------------------------------------------------------------------------------------------


def test_events_exactly_a_gap_apart_share_a_session() -> None:
    results, _ = steps(counting(mt.session("10 us")), ([0, 10, 21], 60))
    assert results == [[(0, 20, 2, 0), (21, 31, 1, 0)]]


def test_a_session_is_reported_once_the_watermark_is_past_its_end() -> None:
    results, _ = steps(counting(mt.session("4 us")), ([0], 4), (None, 5))
    assert results == [[], [(0, 4, 1, 0)]]


def test_session_watermarks_are_rounded_down_to_a_cell() -> None:
    # gap 80, cells of 10: the session ends at 80; 89 rounds to 80, 90 is past it
    results, late = steps(counting(mt.session("80 us")), ([0], 89), ([85], 90), ([89, 90], None))
    assert results == [[], [(0, 80, 1, 0)], []]
    assert late == [[], [], [(89, "late", "w", (89, 169))]]


def test_two_sessions_grow_together() -> None:
    #        0    5    10   15   20   25   30
    # before  [----)        [----)             both reported
    # event         ~  ~                       5 and 10 join them
    # after   [------------------)             1 is revised, 14 is retracted
    spec = counting(mt.session("5 us"), lateness="30 us")
    results, _ = steps(spec, ([1, 14], 25), ([5, 10], None))
    assert results == [[(1, 6, 1, 0), (14, 19, 1, 0)], [(1, 19, 4, 1), (14, 19, None, -1)]]


def test_a_session_that_grows_past_the_watermark_waits() -> None:
    spec = counting(mt.session("10 us"), lateness="30 us")
    results, _ = steps(spec, ([1], 20), ([11, 19], None), (None, 30))
    assert results == [[(1, 11, 1, 0)], [], [(1, 29, 3, 1)]]


# -- rows ------------------------------------------------------------------------------------------------------------


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return [(tuple(row["rows"].values()), *row["all"], row["revision"]) for row in table.to_pylist()]


def test_a_late_event_shifts_rows_and_revises() -> None:
    spec = mt.over("ts", lateness="100 us").window("w", mt.tumbling("2 rows"), all=mt.collect("ts"))
    done = run(spec, [({"ts": [1, 5, 7]}, 10), ({"ts": [3]}, None)])
    assert [rows(table) for table in done.results] == [[((0, 2), 1, 5, 0)], [((0, 2), 1, 3, 1), ((2, 4), 5, 7, 0)]]
    assert said(done.results[1])[0][:2] == (1, 4)


def test_an_event_before_a_closed_rows_window_takes_no_position() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("2 rows"), all=mt.collect("ts"))
    done = run(spec, [({"ts": [1, 5]}, 10), ({"ts": [3, 5, 7]}, 20)])
    assert missed(done.late[1]) == [(3, "late", "w", (3, 6))]
    assert rows(done.results[1]) == [((2, 4), 5, 7, 0)]


def test_positions_start_again_after_idle() -> None:
    spec = mt.over("ts", idle="10 us").window("w", mt.tumbling("2 rows"), all=mt.collect("ts"))
    assert rows(spec.apply({"ts": [1, 2, 3, 20, 30]})) == [((0, 2), 1, 2, 0), ((0, 2), 20, 30, 0)]


def test_a_run_is_over_when_the_watermark_has_left_it_behind() -> None:
    #  idle 10, lateness 5   0    5    10   15   20   25   30
    #  run                    1 2                              over once the watermark is past 2 + 10 + 5
    spec = mt.over("ts", idle="10 us", lateness="5 us").window("w", mt.tumbling("3 rows"), all=mt.collect("ts"))
    going_on = run(spec, [({"ts": [1, 2]}, 17), ({"ts": [3]}, 17)])
    assert rows(going_on.results[1]) == [((0, 3), 1, 2, 3, 0)]
    over = run(spec, [({"ts": [1, 2]}, 18), ({"ts": [3, 13, 14, 15]}, 30), ({"ts": [16, 25]}, 30)])
    assert missed(over.late[1]) == [(3, "late", "w", (3, 13))]
    # A new run goes on from 13 on: what is earlier than it but no earlier than the watermark was then is in time.
    assert rows(over.results[1]) == [((0, 3), 13, 14, 15, 0)]
    assert missed(over.late[2]) == []


def test_runs_before_one_that_goes_on_are_over_too() -> None:
    spec = mt.over("ts", idle="10 us").window("w", mt.tumbling("3 rows"), all=mt.collect("ts"))
    done = run(spec, [({"ts": [1, 2, 20, 30]}, 31), ({"ts": [12, 13]}, 31), (None, 50)])
    assert missed(done.late[1]) == [(12, "late", "w", (12, 13))]
    assert rows(done.results[1]) == [((0, 3), 13, 20, 30, 0)]


def test_the_last_rows_every_so_often() -> None:
    # ends at 5, 10 and 20; none at 15, since nothing came in [10, 15)
    spec = mt.over("ts").window("w", mt.sliding("2 rows", every="5 us"), all=mt.collect("ts"))
    assert rows(spec.apply({"ts": [1, 6, 7, 19]})) == [((0, 1), 1, 0), ((1, 3), 6, 7, 0), ((2, 4), 7, 19, 0)]
    assert said(spec.apply({"ts": [1, 6, 7, 19]}))[1] == (6, 10, 0)


def test_slide_by_rows_counts_ties_together() -> None:
    # counts 1, 3, 4: with every=2 rows the second time passes 2, the third reaches 4
    spec = mt.over("ts").window("w", mt.sliding("4 us", every="2 rows"), all=mt.collect("ts"))
    table = spec.apply({"ts": [1, 3, 3, 6]})
    assert rows(table) == [((0, 3), 1, 3, 3, 0), ((1, 4), 3, 3, 6, 0)]
    assert said(table) == [(0, 4, 0), (3, 7, 0)]


# -- another column --------------------------------------------------------------------------------------------------


def test_windows_on_another_column_wait_for_the_key_to_pass_their_end() -> None:
    spec = mt.over("ts", by="car").window("w", mt.tumbling(10, on="km"), all=mt.collect("ts"))
    done = run(
        spec,
        [
            ({"ts": [1, 2, 3], "car": ["a", "a", "b"], "km": [4, 9, 3]}, 90),
            ({"ts": [91, 92], "car": ["a", "b"], "km": [10, 9]}, 91),
            ({"ts": [95], "car": ["a"], "km": [5]}, 95),
        ],
    )
    assert [rows(table) for table in done.results] == [[], [((0, 10), 1, 2, 0)], []]
    assert missed(done.late[2]) == [(95, "late", "w", None)]
    assert said(done.results[1])[0][:2] == (1, 3)


def test_a_null_measure_goes_to_the_late_output() -> None:
    spec = mt.over("ts").window("w", mt.tumbling(10, on="km"), n=mt.count())
    done = run(spec, [(pa.table({"ts": [1], "km": pa.array([None], pa.int64())}), None)])
    assert missed(done.late[0]) == [(1, "null measure", "w", None)]


@pytest.mark.parametrize(
    ("column", "size"),
    [
        (pa.array([0, 90, 100], pa.int16()), 100),
        (pa.array([0, 90, 100], pa.uint64()), 100),
        (pa.array(["0.0", "9.0", "10.0"]).cast(pa.decimal128(5, 1)), 100),
        (pa.array([0, 90, 100], pa.int32()).cast(pa.date32()), 100),
        (pa.array([0, 90, 100], pa.int64()).cast(pa.timestamp("us")), 100),
        (pa.array([0, 90_999, 100_000], pa.int64()).cast(pa.timestamp("ns")), 100),
    ],
)
def test_measures_of_every_exact_type(column: pa.Array, size: int) -> None:
    spec = mt.over("ts").window("w", mt.tumbling(size, on="at"), all=mt.collect("ts"))
    table = spec.apply(pa.table({"ts": [1, 2, 3], "at": column}))
    assert rows(table) == [((0, 100), 1, 2, 0), ((100, 200), 3, 0)]


# -- windows cut by the data -----------------------------------------------------------------------------------------


def test_a_late_punctuation_splits_a_reported_window() -> None:
    spec = counting(mt.punctuated("cut"), lateness="100 us")
    data = {"ts": [1, 6, 20], "cut": [False, False, True]}
    results, _ = steps(spec, (data, 20), ({"ts": [5], "cut": [True]}, None), ({"ts": [0], "cut": [False]}, None))
    assert results[0] == [(1, 20, 2, 0)]
    assert results[1] == [(1, 5, 1, 1), (5, 20, 2, 0)]
    assert results[2] == [(0, 5, 2, 0), (1, 5, None, -1)]


def test_an_open_window_has_no_end_at_flush() -> None:
    spec = counting(mt.punctuated("cut"))
    results, _ = steps(spec, ({"ts": [1, 5], "cut": [False, True]}, 5), flush=True)
    assert results == [[(1, 5, 1, 0)], [(5, None, 1, 0)]]


def test_start_and_end_marks() -> None:
    #        1   2   3   4   5   6   7   8   9
    # on         x       x           x       x
    # off    x               x   x   x
    # w          [-----------)       [-------------  open
    on, off = {2, 4, 7, 9}, {1, 5, 6, 7}
    times = list(range(1, 10))
    data = {"ts": times, "on": [t in on for t in times], "off": [t in off for t in times]}
    table = mt.over("ts").window("w", mt.punctuated(start="on", end="off"), n=mt.count()).apply(data)
    assert said(table, "n") == [(2, 5, 3, 0), (7, None, 3, 0)]


def test_frames_last_while_the_condition_holds() -> None:
    # at 4 a row that does not hold comes first, and ends the frame; the one that holds begins the next
    data = {"ts": [1, 2, 3, 4, 4, 6, 8], "fast": [False, True, True, True, False, None, True]}
    table = mt.over("ts").window("w", mt.frame("fast"), all=mt.collect("ts")).apply(data)
    assert said(table, "all") == [(2, 4, [2, 3], 0), (4, 6, [4], 0), (8, None, [8], 0)]


def test_an_event_before_a_closed_frame_is_late_and_one_in_an_open_frame_counts() -> None:
    spec = counting(mt.frame("on"))
    results, late = steps(
        spec,
        ({"ts": [1, 5, 8], "on": [True, False, True]}, 50),
        ({"ts": [3, 6, 9], "on": [True, True, True]}, None),
        flush=True,
    )
    assert results == [[(1, 5, 1, 0)], [], [(6, None, 3, 0)]]
    assert late[1] == [(3, "late", "w", (3, 5))]


def test_without_an_open_window_the_past_is_closed() -> None:
    spec = counting(mt.frame("on"), by="key", lateness="5 us")
    _, late = steps(
        spec,
        ({"ts": [1], "on": [False], "key": ["a"]}, 50),
        ({"ts": [44, 45], "on": [True, True], "key": ["b", "b"]}, None),
    )
    assert late[1] == [(44, "late", "w", (44, 45))]


# -- the rest --------------------------------------------------------------------------------------------------------


def test_cumulative_windows_grow() -> None:
    table = counting(mt.cumulative("6 us", every="2 us", align="1 us")).apply({"ts": [1, 4, 7]})
    assert said(table, "n") == [(1, 3, 1, 0), (1, 5, 2, 0), (1, 7, 2, 0), (7, 9, 1, 0), (7, 11, 1, 0), (7, 13, 1, 0)]


def test_gaps_between_sliding_windows_belong_to_none() -> None:
    table = counting(mt.sliding("2 us", every="5 us")).apply({"ts": [0, 1, 2, 3, 4, 5]})
    assert said(table, "n") == [(0, 2, 2, 0), (5, 7, 1, 0)]


def test_arrival_time_goes_by_the_clock_of_the_batch() -> None:
    now = iter([3, 3, 12, 12]).__next__
    engine = mt.over(None).window("w", mt.tumbling("10 us"), n=mt.count(), first=mt.first("x"))
    running = engine.engine(engine="reference", clock=now)
    assert running.push({"x": [1, 2]}).num_rows == 0
    assert running.push({"x": [3]}).num_rows == 0
    assert said(running.push({"x": [4]}), "n", "first") == [(0, 10, 3, 1, 0)]


def test_order_decides_between_equal_times() -> None:
    spec = mt.over("ts", order="seq").window("w", mt.tumbling("10 us"), all=mt.collect("x"), last=mt.last("x"))
    data = {"ts": [1, 1, 1, 0], "seq": [3, 1, None, 9], "x": ["c", "b", "a", "z"]}
    (row,) = spec.apply(data).to_pylist()
    assert (row["all"], row["last"]) == (["z", "a", "b", "c"], "c")


def test_keys_null_nan_and_zero() -> None:
    data = pa.table({"ts": [1] * 6, "k": pa.array([None, math.nan, -math.nan, -0.0, 0.0, None], pa.float64())})
    table = counting(mt.tumbling("10 us"), by="k").apply(data)
    assert sorted((repr(row["k"]), row["n"]) for row in table.to_pylist()) == [("0.0", 2), ("None", 2), ("nan", 2)]


def test_keys_of_many_types_come_back_as_they_are() -> None:
    keys = {
        "s": pa.array(["a", None]),
        "d": pa.array([1, 2], pa.int32()).cast(pa.date32()),
        "t": pa.array([1, -1], pa.timestamp("ns", "Europe/Paris")),
        "b": pa.array([True, False]),
        "x": pa.array([b"a", b"b"]),
        "m": pa.array(["1.0", "2.5"]).cast(pa.decimal128(5, 2)),
        "i": pa.array([1, 2], pa.uint8()),
    }
    data = pa.table({"ts": [1, 2], **keys})
    table = mt.over("ts", by=list(keys)).window("w", mt.tumbling("1 us"), n=mt.count()).apply(data)
    assert table.select(list(keys)).equals(data.select(list(keys)))


def test_window_times_have_the_zone_of_the_time_column() -> None:
    stamps = pa.array([0, FAR], pa.int64()).cast(pa.timestamp("ms", "Asia/Tokyo"))
    table = counting(mt.tumbling("1 hour")).apply(pa.table({"ts": stamps}))
    assert table.schema.field("window").type.field("start").type == pa.timestamp("us", "Asia/Tokyo")
    assert [micros(w["start"]) for w in table.column("window").to_pylist()] == [0]


def test_results_of_several_queries_share_columns() -> None:
    spec = (
        mt.over("ts", by="k")
        .window("a", mt.tumbling("10 us"), n=mt.count(), top=mt.max("x"))
        .window("b", mt.tumbling("5 us"), n=mt.count(), mean=mt.mean("x"))
    )
    table = spec.apply({"ts": [1, 6], "k": ["u", "u"], "x": [3, 4]})
    assert table.schema.names == ["k", "query", "window", "rows", "n", "top", "mean", "revision"]
    assert [(r["query"], r["n"], r["top"], r["mean"]) for r in table.to_pylist()] == [
        ("b", 1, None, 3.0),
        ("a", 2, 4, None),
        ("b", 1, None, 4.0),
    ]


def test_an_empty_frame_gives_an_empty_result_with_columns() -> None:
    table = counting(mt.tumbling("1 s"), by="k").apply(
        pa.table({"ts": pa.array([], pa.int64()), "k": pa.array([], pa.string())})
    )
    assert (table.num_rows, table.schema.names) == (0, ["k", "query", "window", "rows", "n", "revision"])


def test_an_overflow_is_an_error_or_null() -> None:
    data = {"ts": [1, 2], "x": [2**63 - 1, 1]}
    with pytest.raises(mt.SumOverflow, match="overflow='null'"):
        mt.over("ts").window("w", mt.tumbling("10 us"), x=mt.sum("x")).apply(data)
    spec = mt.over("ts").window("w", mt.tumbling("10 us"), x=mt.sum("x", overflow="null"))
    assert spec.apply(data).column("x").to_pylist() == [None]


def test_a_watermark_never_moves_backwards() -> None:
    results, late = steps(counting(mt.tumbling("10 us")), ([5], 10), (None, 0), ([3], None))
    assert results == [[(0, 10, 1, 0)], [], []]
    assert late[2] == [(3, "late", "w", (0, 10))]
