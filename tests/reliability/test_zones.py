"""Time zones and daylight saving change nothing in UTC, and a tie with the watermark is never late."""

from __future__ import annotations

import datetime as dt
import os
import time
import zoneinfo
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt
from tests.reliability.sizes import sized
from tests.strategies import rows_of, specs, streams

ZONES = ["UTC", "Europe/Zurich", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]
SPEC = (
    mt.over("ts", disorder="1 minute")
    .window("hour", mt.tumbling("1 hour"), n=mt.count(), last=mt.max("ts"))
    .window("day", mt.tumbling("1 day"), n=mt.count(), last=mt.max("ts"))
    .window("visit", mt.session("20 minutes"), n=mt.count(), last=mt.max("ts"))
)
# Both changes of 2024 in Zurich and in New York, every five minutes around them; the hour that comes twice comes twice.
CHANGES = [dt.datetime(2024, *day, tzinfo=dt.UTC) for day in [(3, 31, 1), (10, 27, 1), (3, 10, 7), (11, 3, 6)]]
TIMES = sorted({change + dt.timedelta(minutes=5 * i) for change in CHANGES for i in range(-30, 31)})
MICROS = [(t - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) for t in TIMES]


def of_utc(table: pa.Table) -> list[Any]:
    """Results as moments: columns of times keep the zone of their input, and the moments are what counts."""
    times = [pc.struct_field(table["window"], "start"), pc.struct_field(table["window"], "end"), table["last"]]
    moments = [column.cast(pa.int64()) for column in times]
    return rows_of(pa.table([*moments, table["query"], table["n"]], names=["start", "end", "last", "query", "n"]))


@pytest.fixture(params=["UTC", "America/New_York"])
def local(request: pytest.FixtureRequest) -> Iterator[str]:
    """A machine in another zone."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_the_zone_of_a_column_or_of_the_machine_changes_nothing(local: str) -> None:
    wanted = of_utc(SPEC.apply(pa.table({"ts": MICROS})))
    assert len(wanted) > 30
    for zone in ZONES:
        column = pa.array(MICROS).cast(pa.timestamp("us", zone))
        assert of_utc(SPEC.apply(pa.table({"ts": column}))) == wanted
        here = [t.astimezone(zoneinfo.ZoneInfo(zone)) for t in TIMES]
        assert of_utc(SPEC.apply({"ts": here})) == wanted
    assert of_utc(SPEC.apply(pa.table({"ts": pa.array(MICROS).cast(pa.timestamp("us"))}))) == wanted  # none is UTC
    frame = SPEC.apply(pd.DataFrame({"ts": pd.to_datetime(TIMES).tz_convert("Europe/Zurich")}))
    assert frame["n"].tolist() == SPEC.apply(pa.table({"ts": MICROS}))["n"].to_pylist()


@pytest.mark.parametrize("zone", ZONES)
def test_an_engine_takes_its_watermark_in_any_zone(zone: str) -> None:
    engine = SPEC.engine(watermark="manual")
    engine.push({"ts": TIMES})
    at = dt.datetime(2024, 11, 3, 7, tzinfo=dt.UTC)
    due = engine.advance(at.astimezone(zoneinfo.ZoneInfo(zone)))
    ends = [row["window"]["end"] for row in due.to_pylist() if row["query"] == "hour"]
    assert max(ends) == at


@given(st.data())
@settings(max_examples=sized(60, 3_000))
def test_a_tie_with_the_watermark_is_never_late(data: st.DataObject) -> None:
    """In order, with nothing declared: the watermark is the newest time, and more rows of that time come after it."""
    spec = plain(data.draw(specs(mixes=(("all", "n", "total", "low", "m4"),))))
    table = data.draw(streams(spec)).sort_by("ts")
    for engine in ("slicing", "reference"):
        running = spec.engine(engine=engine)
        for i in range(table.num_rows):
            running.push(table.slice(i, 1))
        running.flush()
        assert running.late().num_rows == 0


def plain(spec: mt.Spec) -> mt.Spec:
    """The same windows over a stream in order."""
    found = mt.over("ts", by=spec.by)
    for query in spec.queries:
        found = found.window(query.name, query.window, **dict(query.aggregates))
    return found
