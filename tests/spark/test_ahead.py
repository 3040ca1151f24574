"""Rows that are ahead of Spark's clock: those within `max_ahead` count and move the watermark, the others are told."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.spark.ipc import REASON, UNJUDGED, opened
from muntin.spark.pack import Packer
from muntin.spark.source import AHEAD, BACKWARDS, TIME, source
from tests.spark.logs import Collected, Folder

MINUTE, HOUR, DAY = 60_000_000, 3_600_000_000, 86_400_000_000
NOW = {"availableNow": True}


@pytest.mark.parametrize(
    ("ahead", "zone"),
    [(HOUR, "UTC"), (3 * DAY, "UTC"), (3 * DAY, "Pacific/Kiritimati"), (3 * DAY, "Pacific/Pago_Pago")],
)
def test_rows_ahead_of_the_clock_are_judged_one_by_one(spark: Any, tmp_path: Path, ahead: int, zone: str) -> None:
    now = time.time_ns() // 1_000
    first = [now - HOUR, now, now + ahead - 20 * MINUTE, now + ahead + 20 * MINUTE, now + 2_000 * DAY]
    second, third = [now + HOUR // 2], [now, now + ahead - 20 * MINUTE, now + ahead + 30 * MINUTE]
    typed = pa.timestamp("us", "UTC")
    keys = ["a", "b", "a", "b", "a"]
    folder, results, late = Folder(tmp_path / "in"), Collected(), Collected()
    folder.put(*(pa.table({"ts": pa.array(ts, typed), "key": keys[: len(ts)]}) for ts in (first, second, third)))
    spec = mt.over("ts", by="key", max_ahead=f"{ahead} us").window("w", mt.tumbling("1 minute"), n=mt.count())
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", zone)
        assert source(spec, folder.stream(spark), late=True).judged_later == (ahead > HOUR)
        where = str(tmp_path / "c")
        spec.start(folder.stream(spark), results=results, late=late, checkpoint=where, trigger=NOW, flush=True)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    counted = sum(sum(part.column("n").to_pylist()) for part in results.tables.values())
    gone = [row for part in late.tables.values() for row in part.to_pylist()]
    assert counted == 5  # three of the first batch, that of the second, and in the third the one at the watermark
    assert sorted((row["reason"], row["ts"]) for row in gone) == sorted(
        (reason, pa.scalar(ts, typed).as_py())
        for reason, ts in [
            ("too far ahead", first[3]),
            ("too far ahead", first[4]),
            ("late", third[0]),  # the row ahead of the first batch has moved the watermark of the second
            ("too far ahead", third[2]),
        ]
    )


def test_spans_that_end_before_they_start_are_told_apart(spark: Any) -> None:
    schema = "start timestamp, ts timestamp"
    spec = mt.over(span=("start", "ts"), max_ahead="2 days").window("w", mt.tumbling("1 minute"), n=mt.count())
    read = source(spec, spark.createDataFrame([], schema), late=False)
    times = np.array([10 * DAY + AHEAD, 10 * DAY + 2 * AHEAD, -5 * DAY])
    starts = pa.array(np.zeros(3, np.int64)).cast(read.schema.field("start").type)
    packer = Packer(read, (7,), late=False, ticks=False, layout=None)
    rows = pa.RecordBatch.from_arrays([pa.array(times), starts], names=[TIME, "c0"])
    (out,) = packer([rows])
    (at,) = [i for i, kind in enumerate(out.column("kind").to_pylist()) if kind == UNJUDGED]
    assert out.column("unjudged")[at].as_py() == [10 * DAY]
    table = opened(out.column("blob")[at].as_buffer())
    assert table.column(TIME).to_pylist() == [10 * DAY, 10 * DAY]
    assert table.column(REASON).to_pylist() == [0, BACKWARDS]
