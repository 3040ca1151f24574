"""The examples from NEXMark give what Spark SQL gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import muntin as mt
from examples.nexmark import Q5, Q7, Q11, Q12, SPECS, bids, highest_bids, hot_items, user_sessions

Q5_SPARK = """
    WITH counted AS (
        SELECT window, auction, count(*) AS bids FROM bids GROUP BY window(at, '10 seconds', '2 seconds'), auction
    ), ranked AS (SELECT *, max(bids) OVER (PARTITION BY window) AS most FROM counted)
    SELECT window, auction, bids FROM ranked WHERE bids = most"""
Q7_SPARK = """
    WITH highest AS (SELECT window, max(price) AS top FROM bids GROUP BY window(at, '10 seconds'))
    SELECT window, bids.* FROM bids JOIN highest ON price = top AND at >= window.start AND at < window.end"""
Q11_SPARK = """
    SELECT bidder, count(*) AS bids, session_window.start AS window_start, session_window.end AS window_end
    FROM bids GROUP BY bidder, session_window(at, '10 seconds')"""


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    made = spark.createDataFrame(bids(30_000, rate=500)).repartition(3).cache()
    made.createOrReplaceTempView("bids")
    return made


def rows(found: Any) -> list[str]:
    return sorted(str(row) for row in found.collect())


@pytest.mark.parametrize("text", SPECS, ids=["5", "7", "11", "12"])
def test_the_queries_are_the_specs(text: str) -> None:
    assert mt.sql(text) == SPECS[text]


def test_the_generator_makes_the_shape_of_the_suites() -> None:
    made = bids(100_000)
    assert made.num_rows == 92_000
    hottest = made.slice(0, 1_000)["auction"].value_counts().to_pylist()
    assert max(part["counts"] for part in hottest) > 400
    assert min(made["price"].to_pylist()) >= 100
    assert max(made["price"].to_pylist()) <= 100_000_000


def test_query_5_hot_items(spark: Any, frame: Any) -> None:
    found = hot_items(frame)
    assert rows(found) == rows(spark.sql(Q5_SPARK))
    assert rows(SPECS[Q5].apply(frame).select("window", "auction", "bids")) == rows(
        spark.sql(
            "SELECT window, auction, count(*) AS bids FROM bids GROUP BY window(at, '10 seconds', '2 seconds'), auction"
        )
    )


def test_query_7_highest_bid(spark: Any, frame: Any) -> None:
    found = highest_bids(frame)
    assert rows(found) == rows(spark.sql(Q7_SPARK))
    assert rows(SPECS[Q7].apply(frame).select("window", "price")) == rows(
        mt.sql(Q7, bids=frame).select("window", "price")
    )


def test_query_11_user_sessions(spark: Any, frame: Any) -> None:
    found = user_sessions(frame)
    assert found.columns == ["bidder", "bids", "window_start", "window_end"]
    assert rows(found) == rows(spark.sql(Q11_SPARK))
    assert SPECS[Q11].apply(frame).count() == found.count()


def test_query_12_counts_by_the_clock(spark: Any, frame: Any, tmp_path: Path) -> None:
    """Windows of arrival need a stream; each batch arrives at one moment, so that it lies in one window."""
    frame.coalesce(1).write.parquet(str(tmp_path / "bids"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "bids"))
    mt.sql(Q12).start(
        stream,
        results=str(tmp_path / "results"),
        checkpoint=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
        flush=True,
    )
    found = spark.read.parquet(str(tmp_path / "results"))
    assert rows(found.select("bidder", "bids")) == rows(
        spark.sql("SELECT bidder, count(*) AS bids FROM bids GROUP BY bidder")
    )
    (window,) = found.select("window").distinct().collect()
    assert (window[0].end - window[0].start).total_seconds() == 10
    assert window[0].start.second % 10 == 0
