"""Queries: what spec they give, and that frames of every kind give the rows of the reference."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from tests.strategies import rows_of

MINUTE = 60_000_000
BIDS = pa.table(
    {
        "timestamp": [0, 10, MINUTE, 3 * MINUTE, 3 * MINUTE + 5, 5 * MINUTE],
        "item_id": ["a", "b", "a", "a", "c", "b"],
        "bid_price": [3, 9, 4, 1, None, 7],
    }
)
FOUR = mt.sliding("4 minutes", every="1 minute")
NAME = "RANGE 4 MINUTES SLIDE 1 MINUTE"

# The four queries of paper 2, as printed (the fourth from its description), with _ for -.
PAPER = {
    """SELECT max(bid_price)
       FROM bids[WATTR timestamp
                 RANGE 4 minutes
                 SLIDE 1 minute]""": mt.over("timestamp").window(NAME, FOUR, max_bid_price=mt.max("bid_price")),
    """SELECT max (bid_price)
       FROM bids [WATTR timestamp
                  RANGE 4 minutes
                  SLIDE 1 tuple]""": mt.over("timestamp").window(
        "RANGE 4 MINUTES SLIDE 1 TUPLE", mt.sliding("4 minutes", every="1 row"), max_bid_price=mt.max("bid_price")
    ),
    """SELECT count(*) FROM bids
       GROUP BY item_id [WATTR timestamp
                         RANGE 4 minutes
                         SLIDE 1 minute]""": mt.over("timestamp", by="item_id").window(NAME, FOUR, count=mt.count()),
    """SELECT heavy_hitters(item_id, 0.05)
       FROM bids [WATTR timestamp
                  RANGE 10 minutes
                  SLIDE 1 minute]""": mt.over("timestamp").window(
        "RANGE 10 MINUTES SLIDE 1 MINUTE",
        mt.sliding("10 minutes", every="1 minute"),
        heavy_hitters_item_id=mt.heavy_hitters("item_id", share=0.05),
    ),
}


@pytest.mark.parametrize("number", range(4))
def test_the_queries_of_the_paper(number: int) -> None:
    text, spec = list(PAPER.items())[number]
    assert mt.sql(text) == spec
    assert rows_of(mt.sql(text, bids=BIDS)) == rows_of(spec.apply(BIDS, engine="reference"))


SPECS = {
    "SELECT count(*) FROM t [WATTR ts RANGE 100 ROWS]": mt.over("ts").window(
        "RANGE 100 ROWS", mt.tumbling("100 rows"), count=mt.count()
    ),
    "SELECT item, avg(price) AS mean FROM t [WATTR ts SESSION GAP 30 SECONDS AS visit] GROUP BY item": mt.over(
        "ts", by="item"
    ).window("visit", mt.session("30 seconds"), mean=mt.mean("price")),
    """select count(distinct user) as users from t as events
       [wattr ts range 1 hour slide 5 minutes as hour] [range 10 rows slide 1 tuple as ten]
       with disorder 2 seconds lateness 1 minute""": mt.over("ts", disorder="2 s", lateness="1 min")
    .window("hour", mt.sliding("1 hour", every="5 minutes"), users=mt.count_distinct("user"))
    .window("ten", mt.sliding("10 rows", every="1 row"), users=mt.count_distinct("user")),
    "SELECT max_by(city, t.heat) AS hot FROM t [WATTR ts RANGE 1 DAY ALIGN 6 HOURS AS day]": mt.over("ts").window(
        "day", mt.tumbling("1 day", align="6 hours"), hot=mt.arg_max("city", by="heat")
    ),
    "SELECT upper(city) AS place, sum(price * 2 + 1) AS twice FROM t [WATTR ts RANGE 1 s AS w] "
    "WHERE price > 0 AND NOT city IS NULL GROUP BY upper(city)": mt.over("ts", by="place")
    .where("price > 0 AND NOT city IS NULL")
    .computed(**{"price * 2 + 1": "price * 2 + 1", "place": "UPPER(city)"})
    .window("w", mt.tumbling("1 s"), twice=mt.sum("price * 2 + 1")),
    "SELECT count(*) AS n FROM t [WATTR km RANGE 10 SLIDE 5 AS far] [WATTR ts RANGE 1 s AS w]": mt.over("ts")
    .window("far", mt.sliding(10, every=5, on="km"), n=mt.count())
    .window("w", mt.tumbling("1 s"), n=mt.count()),
    "SELECT count(*) AS n FROM t [WATTR PROCTIME() RANGE 10 SECONDS AS w] GROUP BY bidder": mt.over(
        None, by="bidder"
    ).window("w", mt.tumbling("10 s"), n=mt.count()),
    "SELECT window_start, sum(x) AS s FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES)) "
    "GROUP BY window_start, window_end": mt.over("ts").window("tumble", mt.tumbling("10 minutes"), s=mt.sum("x")),
    "SELECT sum(x) AS s FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) "
    "GROUP BY window_start, window_end": mt.over("ts").window(
        "hop", mt.sliding("10 minutes", every="5 minutes"), s=mt.sum("x")
    ),
    "SELECT sum(x) AS s FROM CUMULATE(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), STEP => INTERVAL '10' MINUTES, "
    "SIZE => INTERVAL '1' HOUR) GROUP BY window_start, window_end": mt.over("ts").window(
        "cumulate", mt.cumulative("1 hour", every="10 minutes"), s=mt.sum("x")
    ),
    "SELECT bidder, count(*) AS n FROM SESSION(TABLE t PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECONDS) "
    "GROUP BY bidder, window_start, window_end": mt.over("ts", by="bidder").window(
        "session", mt.session("10 seconds"), n=mt.count()
    ),
}


@pytest.mark.parametrize("text", SPECS, ids=range(len(SPECS)))
def test_a_query_is_a_spec(text: str) -> None:
    found = mt.sql(text)
    assert found == SPECS[text]


def test_frames_of_every_kind_come_back_in_kind() -> None:
    text = "SELECT item_id, max(bid_price) AS top FROM bids [WATTR timestamp RANGE 4 MINUTES SLIDE 1 MINUTE] "
    text += " WHERE bid_price > 1 GROUP BY item_id"
    expected = mt.sql(text, bids=BIDS)
    assert expected.num_rows == 13
    assert rows_of(expected) == rows_of(mt.sql(text).apply(BIDS, engine="reference"))
    assert mt.sql(text, bids=BIDS.drop_null().to_pandas()).equals(expected.to_pandas())
    assert mt.sql(text, bids=pl.from_arrow(BIDS)).equals(pl.from_arrow(expected))
    assert rows_of(mt.sql(text, bids=BIDS.to_pydict())) == rows_of(expected)


def test_a_table_function_gives_the_columns_that_are_selected() -> None:
    text = """SELECT window_start, window_end AS until, window_time, item_id AS item, max(bid_price) AS top
              FROM TUMBLE(TABLE bids, DESCRIPTOR(timestamp), INTERVAL '4' MINUTES)
              GROUP BY item_id, window_start, window_end"""
    found = mt.sql(text, bids=BIDS.to_pandas())
    assert list(found.columns) == ["window_start", "until", "window_time", "item", "top"]
    first = found[found["item"] == "b"].iloc[0]
    assert (first["window_start"], first["until"], first["top"]) == (pd.Timestamp(0), pd.Timestamp(240, unit="s"), 9)
    assert first["window_time"] == pd.Timestamp(239_999, unit="ms")
    corrected = mt.sql(text + " WITH LATENESS 1 MINUTE", bids=BIDS)
    assert corrected.column_names[-1] == "revision"


def test_an_engine_of_a_query_leaves_out_the_other_rows_and_saves_its_condition() -> None:
    text = "SELECT sum(x * 2) AS s FROM t [WATTR ts RANGE 1 s AS w] WHERE x > 0"
    engine = mt.sql(text).engine()
    engine.push({"ts": [0, 1, 2], "x": [5, -7, 1]})
    saved = engine.snapshot()
    again = mt.sql(text).engine()
    again.restore(saved)
    assert again.push({"ts": [5, 1_000_000], "x": [1, 1]})["s"].to_pylist() == [14]
    with pytest.raises(mt.SpecError, match="where='x > 0', and this spec has where='x > 1'"):
        mt.sql(text.replace("x > 0", "x > 1")).engine().restore(saved, changed=True)
    plain = mt.sql(text.replace(" WHERE x > 0", "")).engine()
    with pytest.raises(mt.SpecError, match="where"):
        plain.restore(saved, changed=True)


def test_a_spec_of_a_query_is_shown_as_code_that_makes_it() -> None:
    for spec in SPECS.values():
        names = {name: getattr(mt, name) for name in mt.__all__}
        lines = repr(spec).replace("\n", "")
        assert eval(lines, names) == spec


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["a", "b", None]), st.integers(-3, 9)), min_size=1),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(-2, 5),
)
def test_conditions_and_windows_equal_the_reference_over_the_rows_that_count(
    rows: list[tuple[int, Any, int]], size: int, slide: int, least: int
) -> None:
    frame = pa.table(
        {"ts": [r[0] for r in rows], "k": pa.array([r[1] for r in rows], pa.string()), "x": [r[2] for r in rows]}
    )
    text = f"""SELECT k, sum(x) AS s, max(x * x - 1) AS top
               FROM t [WATTR ts RANGE {size} us SLIDE {slide} us AS w] WHERE x >= {least} OR k = 'b' GROUP BY k"""
    counted = [(t, k, x, x * x - 1) for t, k, x in rows if x >= least or k == "b"]
    kept = pa.table(
        {"ts": [r[0] for r in counted], "k": pa.array([r[1] for r in counted], pa.string())}
        | {"x": pa.array([r[2] for r in counted], pa.int64()), "y": pa.array([r[3] for r in counted], pa.int64())}
    )
    window = mt.sliding(f"{size} us", every=f"{slide} us")
    plain = mt.over("ts", by="k").window("w", window, s=mt.sum("x"), top=mt.max("y"))
    kept = kept.cast(pa.schema([("ts", pa.int64()), ("k", pa.string()), ("x", pa.int64()), ("y", pa.int64())]))
    assert rows_of(mt.sql(text, t=frame)) == rows_of(plain.apply(kept, engine="reference"))
