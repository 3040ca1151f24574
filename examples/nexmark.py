"""NEXMark queries 5, 7, 11 and 12 on Spark, in SQL and as specs: `python examples/nexmark.py`.

The bids are made as the Beam and Flink suites make them: of 50 events one is a person, three are auctions, and 46 are
bids; half of the bids go to the hot auction of the moment, three quarters come from the hot bidder; prices are
log-uniform.
"""

from __future__ import annotations

from typing import Any

import muntin as mt
from muntin.bench.data import auction_bids as bids

# Which auctions have seen the most bids in the last period? The windows here, the ranking after them.
Q5 = """
    SELECT auction, count(*) AS bids
    FROM bids [WATTR at RANGE 10 SECONDS SLIDE 2 SECONDS AS hot]
    GROUP BY auction"""
# The highest bid of each period; the bids that hold it are joined to it.
Q7 = """
    SELECT max(price) AS price
    FROM bids [WATTR at RANGE 10 SECONDS AS highest]"""
# How many bids did a user make in each session of activity? As Flink writes it.
Q11 = """
    SELECT bidder, count(*) AS bids, window_start, window_end
    FROM SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(at), INTERVAL '10' SECONDS)
    GROUP BY bidder, window_start, window_end"""
# How many bids did a user make in each period, by the clock of the machine?
Q12 = """
    SELECT bidder, count(*) AS bids
    FROM bids [WATTR PROCTIME() RANGE 10 SECONDS AS arrived]
    GROUP BY bidder"""

SPECS = {
    Q5: mt.over("at", by="auction").window("hot", mt.sliding("10 seconds", every="2 seconds"), bids=mt.count()),
    Q7: mt.over("at").window("highest", mt.tumbling("10 seconds"), price=mt.max("price")),
    Q11: mt.over("at", by="bidder").window("session", mt.session("10 seconds"), bids=mt.count()),
    Q12: mt.over(None, by="bidder").window("arrived", mt.tumbling("10 seconds"), bids=mt.count()),
}
"""The same queries as specs."""


def hot_items(frame: Any) -> Any:
    """Query 5: of each window the auctions with the most bids."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    counted = mt.sql(Q5, bids=frame)
    most = F.max("bids").over(Window.partitionBy("window"))
    return counted.withColumn("most", most).where("bids = most").select("window", "auction", "bids")


def highest_bids(frame: Any) -> Any:
    """Query 7: of each window the bids that hold the highest price."""
    highest = mt.sql(Q7, bids=frame).select("window", "price")
    inside = (frame["at"] >= highest["window.start"]) & (frame["at"] < highest["window.end"])
    return frame.join(highest, (frame["price"] == highest["price"]) & inside).select("window", frame["*"])


def user_sessions(frame: Any) -> Any:
    """Query 11: the bids of each session of a user."""
    return mt.sql(Q11, bids=frame)


def main() -> None:
    """Run those queries that need no stream, and show their first rows."""
    import muntin.spark

    spark = muntin.spark.session("NEXMark")
    try:
        frame = spark.createDataFrame(bids(200_000))
        for query in (hot_items, highest_bids, user_sessions):
            print(query.__doc__)
            query(frame).show(5, truncate=False)
        print(mt.sql(Q5).panes())
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
