"""A batch DataFrame gives the rows of the reference and of the embedded engine."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as st

import muntin as mt
from muntin.layout import layout
from muntin.slicing.partials import why_events
from muntin.spark.buckets import partition_of
from muntin.spark.types import arrow_schema, spark_type
from tests.spark.logs import spec_of, table
from tests.strategies import rows_of


def test_all_windows_and_aggregates_equal_the_reference(spark: Any) -> None:
    rows = table(1, behind=30)
    spec = spec_of(disorder="10 ms")
    found = spec.apply(spark.createDataFrame(rows).repartition(3)).toArrow()
    assert rows_of(found) == rows_of(spec.apply(rows, engine="reference"))
    assert found.schema.names == spec.apply(rows.slice(0, 1)).schema.names


def test_aggregates_and_windows_of_ones_own(spark: Any) -> None:
    class Range(mt.Aggregate):
        """Largest less smallest."""

        partial = {"low": int, "high": int}  # noqa: RUF012
        identity = (2**62, -(2**62))
        commutative, kind = True, "algebraic"

        def lift(value: int) -> Any:
            return value, value

        def combine(a: Any, b: Any) -> Any:
            return min(a.low, b.low), max(a.high, b.high)

        def lower(p: Any) -> Any:
            return p.high - p.low

    rows = table(2)
    spec = mt.over("ts", by="key").window("w", mt.session("6 ms"), span=Range("x"), n=mt.count())
    found = spec.apply(spark.createDataFrame(rows)).toArrow()
    assert rows_of(found) == rows_of(spec.apply(rows, engine="reference"))


def test_summaries_of_approximate_aggregates_cross_the_shuffle(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muntin.spark.batch.crossing", lambda: None)  # whatever it costs
    rows = table(3)
    made = {
        "some": mt.heavy_hitters("s", share=0.3, approx=True),
        "kinds": mt.approx_count_distinct("s"),
        "mid": mt.approx_quantile("x", 0.5),
    }
    over = mt.over("ts", by="key").window("w", mt.sliding("8 ms", every="2 ms"), **made)
    spec = over.window("v", mt.session("6 ms"), **made)
    assert why_events(layout(spec, rows.schema)) is None
    found = spec.apply(spark.createDataFrame(rows).repartition(3)).toArrow()
    assert rows_of(found) == rows_of(spec.apply(rows, engine="reference"))


TIMES = {
    "timestamp": pa.array([0, 1_999_999, -1, None], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([0, 1_999_999, -1, None], pa.timestamp("us")),
    "date": pa.array([0, 1, -1, None], pa.date32()),
    "bigint": pa.array([0, 1_999_999, -(2**63), 2**63 - 1]),
    "int": pa.array([0, 1_999_999, -1, None], pa.int32()),
}


@pytest.mark.parametrize("kind", TIMES)
def test_every_type_of_time_is_read_as_in_python_in_any_time_zone(spark: Any, kind: str) -> None:
    rows = pa.table({"t": TIMES[kind], "x": [1, 2, 3, 4]})
    spec = mt.over("t").window("w", mt.tumbling("1 second"), n=mt.count(), top=mt.max("t"), xs=mt.collect("x"))
    frame = spark.createDataFrame(rows, f"t {kind}, x bigint")
    assert frame.schema["t"].dataType.simpleString() == kind
    before = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/St_Johns")
        found = spec.apply(frame).toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    with pytest.warns(mt.RejectedRows):
        expected = spec.apply(rows)
    assert rows_of(found) == rows_of(expected)
    assert found.schema.field("window").type == expected.schema.field("window").type


def test_keys_of_every_type(spark: Any) -> None:
    rows = pa.table(
        {
            "ts": [1, 2, 3, 4],
            "text": ["a", "a", None, ""],
            "number": [1.5, 1.5, -0.0, 0.0],
            "exact": pa.array([Decimal("1.50"), Decimal("1.50"), None, None], pa.decimal128(5, 2)),
            "day": pa.array([0, 0, 1, None], pa.date32()),
            "yes": [True, True, None, False],
            "raw": pa.array([b"a", b"a", b"", None]),
        }
    )
    spec = mt.over("ts", by=rows.schema.names[1:]).window("w", mt.tumbling("1 s"), n=mt.count())
    found = spec.apply(spark.createDataFrame(rows), buckets=5).toArrow()
    assert rows_of(found) == rows_of(spec.apply(rows))
    assert found.num_rows == 3


def test_names_with_dots_and_quotes(spark: Any) -> None:
    rows = pa.table({"a.b": [1, 2], "k`1": ["x", "x"], "two words": [3, 4]})
    spec = mt.over("a.b", by="k`1").window("w", mt.tumbling("1 s"), **{"sum.of": mt.sum("two words")})
    assert rows_of(spec.apply(spark.createDataFrame(rows)).toArrow()) == rows_of(spec.apply(rows))


def test_a_result_may_have_the_name_of_a_column_and_another_type(spark: Any) -> None:
    rows = table(5)
    spec = mt.over("ts", by="key").window("w", mt.tumbling("5 ms"), x=mt.mean("x"), s=mt.count("s"))
    assert rows_of(spec.apply(spark.createDataFrame(rows)).toArrow()) == rows_of(spec.apply(rows))


def test_labels_go_where_spark_sends_them(spark: Any) -> None:
    sent = spark.range(2000).select(F.expr("pmod(hash(cast(id as int)), 7)")).toArrow().column(0).to_numpy()
    assert sent.tolist() == partition_of(np.arange(2000, dtype=np.int32), 7).tolist()


def test_an_empty_frame_has_no_windows(spark: Any) -> None:
    rows = table(3)
    spec = spec_of(["tumbling", "rows"])
    found = spec.apply(spark.createDataFrame(rows).limit(0))
    assert found.schema["window"].dataType.simpleString() == "struct<start:timestamp,end:timestamp>"
    assert found.count() == 0


def test_refusals_name_the_column(spark: Any) -> None:
    frame = spark.createDataFrame(table(4))
    with pytest.raises(mt.FrameError, match="no column 'tss'"):
        mt.over("tss").window("w", mt.tumbling("1 s"), n=mt.count()).apply(frame)
    with pytest.raises(mt.FrameError, match="arrival"):
        mt.over(None).window("w", mt.tumbling("1 s"), n=mt.count()).apply(frame)
    with pytest.raises(mt.FrameError, match="'year' has type interval"):
        mt.over("ts", by="year").window("w", mt.tumbling("1 s"), n=mt.count()).apply(
            frame.withColumn("year", F.expr("interval '1' year"))
        )
    with pytest.raises(mt.SpecError, match="buckets=0"):
        spec_of(["tumbling"]).apply(frame, buckets=0)
    with pytest.raises(mt.FrameError, match="finite"):
        spec_of(["tumbling"]).start(frame, results="t", checkpoint="c")
    with pytest.raises(mt.FrameError, match="Spark frame"):
        spec_of(["tumbling"]).engine().push(frame)


def test_types_go_there_and_back() -> None:
    schema = st.StructType.fromDDL(
        "a boolean, b tinyint, c smallint, d int, e bigint, f float, g double, h string, i binary, j date, "
        "k timestamp, l timestamp_ntz, m interval day to second, n decimal(20, 3), o array<int>, "
        "p map<string, timestamp>, q struct<x: int, y: array<string>>"
    )
    arrow = arrow_schema(schema)
    back = [spark_type(field.type, field.name) for field in arrow]
    assert [t.simpleString() for t in back] == [f.dataType.simpleString() for f in schema.fields]
    with pytest.raises(mt.FrameError, match="'x' has type uint64"):
        spark_type(pa.uint64(), "x")
