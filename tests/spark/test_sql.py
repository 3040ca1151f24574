"""Queries on Spark: expressions mean the same there and in Arrow, and results are those of the embedded engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt
import muntin.spark.explain
from muntin import explain_costs
from muntin.costs import Constants
from muntin.crossing import Crossing
from muntin.spark.rows import prepared
from muntin.sql.rows import prepared as embedded
from tests.strategies import rows_of

NAN = float("nan")
ROWS = pa.table(
    {
        "n": pa.array(range(8), pa.int64()),
        "i": pa.array([0, 1, -7, None, 1000, 3, -1, 5], pa.int32()),
        "j": pa.array([2, -3, 2, 4, 1, None, 5, 5], pa.int64()),
        "x": pa.array([0.5, NAN, -0.0, 2.5, None, -1.5, float("inf"), NAN], pa.float64()),
        "y": pa.array([0.5, NAN, 0.0, -2.5, 1.0, None, 1.0, 1.0], pa.float64()),
        "s": pa.array(["abc", "", None, "Äb_c", "a%c", "xyz", "abc", "b"], pa.string()),
        "b": pa.array([True, False, None, True, None, False, True, False], pa.bool_()),
        "t": pa.array([0, 1, 2, None, 4, 86_400_000_000, 6, 7], pa.timestamp("us", "UTC")),
    }
)
EXPRESSIONS = [
    "i + 1", "i - j", "i * 2", "-i", "j / 4", "i / 2.5", "j % 3", "x % 0.4", "j DIV 2", "i + 0.5", "i * j",
    "i = 1", "i <> j", "x = y", "x <> y", "x > y", "x >= y", "x < y", "x <= y", "x <=> y", "i <=> j", "s < 'b'",
    "b AND i > 0", "b OR i > 0", "NOT b", "b IS NULL", "b IS TRUE", "NOT b IS FALSE", "x IS NOT NULL",
    "i IN (1, 3, NULL)", "s IN ('abc', 'b')", "i NOT IN (1, 3)", "i BETWEEN 0 AND 3", "x NOT BETWEEN 0.0 AND 1.0",
    "s LIKE 'a%'", "s LIKE '_b_'", "s NOT LIKE '%c'", "s LIKE 'a\\%c'",
    "CASE WHEN i > 1 THEN 'big' WHEN i IS NULL THEN 'none' ELSE s END", "CASE j WHEN 5 THEN 1 WHEN 2 THEN 2.5 END",
    "IF(b, i, j)", "COALESCE(i, j, 0)", "COALESCE(x, i)", "NULLIF(j, 5)", "NULLIF(x, y)",
    "ABS(i)", "FLOOR(IF(n = 1, 0.0, y))", "CEIL(IF(n = 1, 1.5, y))",
    "FLOOR(i)", "SQRT(y)", "UPPER(s)", "LOWER(s)", "LENGTH(s)", "CONCAT(s, '-', s)",
    "s || '!'", "CAST(IF(n = 1, -1.9, y) AS BIGINT)",
    "CAST(i AS DOUBLE)", "CAST(j AS STRING)", "CAST('12' AS INT)", "CAST(i AS BOOLEAN)",
    "t > '1970-01-01 00:00:00.000003'", "t = t", "(i + 1) * 2", "TRUE", "NULL IS NULL", "1 + 1",
]  # fmt: skip


def test_expressions_mean_on_spark_what_they_mean_in_arrow(spark: Any) -> None:
    spec = mt.over("t").computed(**{f"e{i}": text for i, text in enumerate(EXPRESSIONS)})
    on_spark = prepared(spec, spark.createDataFrame(ROWS)).orderBy("n").toArrow()
    in_arrow = embedded(spec, ROWS)
    for i, text in enumerate(EXPRESSIONS):
        ours, theirs = in_arrow.column(f"e{i}"), on_spark.column(f"e{i}")
        assert [str(v) for v in ours.to_pylist()] == [str(v) for v in theirs.to_pylist()], text
        assert ours.type == theirs.type or pa.types.is_string(ours.type), (text, ours.type, theirs.type)
    for where in ("i > 0", "x > y", "b", "NOT b", "s LIKE 'a%' OR i IS NULL", "t >= '1970-01-02'"):
        spec = mt.over("t").where(where)
        found = prepared(spec, spark.createDataFrame(ROWS)).orderBy("n").toArrow().column("n")
        assert found.to_pylist() == embedded(spec, ROWS).column("n").to_pylist(), where


QUERY = """SELECT s, count(*) AS n, sum(i * 2) AS twice FROM events [WATTR t RANGE 4 us SLIDE 2 us AS w]
           [SESSION GAP 1 us AS v] WHERE i < 100 OR i IS NULL GROUP BY s"""


def test_a_query_on_a_table_and_on_a_stream(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame(ROWS).filter("t IS NOT NULL")
    expected = rows_of(mt.sql(QUERY, events=ROWS.filter(pa.compute.is_valid(ROWS["t"]))))
    assert rows_of(mt.sql(QUERY, events=frame).toArrow()) == expected
    frame.coalesce(1).write.parquet(str(tmp_path / "rows"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "rows"))
    assert mt.sql(QUERY, events=stream).isStreaming
    mt.sql(QUERY).start(
        stream,
        results=str(tmp_path / "results"),
        checkpoint=str(tmp_path / "checkpoint"),
        trigger={"availableNow": True},
        flush=True,
    )
    found = spark.read.parquet(str(tmp_path / "results")).drop("batch_id").toArrow()
    assert rows_of(found) == expected


def test_a_table_function_and_what_is_wrong_on_spark(spark: Any) -> None:
    frame = spark.createDataFrame(ROWS).filter("t IS NOT NULL")
    text = """SELECT window_start, window_end, window_time, s AS word, max(i) AS top
              FROM TABLE(HOP(TABLE events, DESCRIPTOR(t), INTERVAL '2' SECONDS, INTERVAL '4' SECONDS))
              GROUP BY window_start, window_end, s"""
    found = mt.sql(text, events=frame)
    assert found.columns == ["window_start", "window_end", "window_time", "word", "top"]
    expected = mt.sql(text, events=ROWS.filter(pa.compute.is_valid(ROWS["t"])))
    rows = sorted(map(str, found.toArrow().select(found.columns).to_pylist()))
    assert rows == sorted(map(str, expected.to_pylist()))
    with pytest.raises(mt.SqlError, match="events has no column 'tt'"):
        mt.sql("SELECT count(*) FROM events [WATTR tt RANGE 1 s]", events=frame)
    with pytest.raises(mt.SqlError, match="the frame has no column 'ii'"):
        mt.over("t").where("ii > 1").window("w", mt.tumbling("1 s"), n=mt.count()).apply(frame)
    assert "On Spark" in mt.sql(QUERY).explain(frame)


def test_explain_says_on_which_side_of_the_shuffle_rows_are_combined(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not what is measured on this machine, on which it would depend what pays.
    monkeypatch.setattr(explain_costs, "constants", lambda: Constants(a=3.0, b=8.0, c=4.0, a_window=2.5))
    told = Crossing(combine=10.0, give=50.0, take=100.0, row=40.0, pack=1.0)
    monkeypatch.setattr(muntin.spark.explain, "crossing", lambda: told)
    frame = spark.createDataFrame(ROWS)
    spec = mt.over("t", by="i").window("w", mt.sliding("4 s", every="1 s"), top=mt.max("j"))
    many = spec.explain(frame, rate=10_000, keys=10)
    assert "a slice and key has about 1e+03 events: panes pay, and are combined before the shuffle" in many
    assert "ns a row before it, " in many
    assert "(formulas 3.1 and 3.3); it pays from " in many
    few = spec.explain(frame, rate=100, keys=100_000)
    assert "a slice and key has about 1 events: panes do not pay, so rows are combined after the shuffle" in few
    assert "panes do not pay, since a group has about 1 tuple in a pane" in few
    with pytest.raises(mt.SpecError, match="would run a job on Spark"):
        spec.explain(frame, rate="sample")
