"""The final aggregation that is asked for reaches the engines in the workers, and gives the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.spark.step import Wanted, bucket_spec
from tests.spark.logs import Collected, Folder
from tests.strategies import rows_of

NOW = {"availableNow": True}


def events(count: int = 600) -> pa.Table:
    random = np.random.default_rng(4)
    values = random.normal(0, 1, count) * 10.0 ** random.integers(-6, 9, count)
    ts = pa.array(np.arange(count) * 1_000, pa.timestamp("us", "UTC"))
    return pa.table({"ts": ts, "key": random.integers(0, 3, count), "x": values, "n": random.integers(0, 99, count)})


def spec_of(**aggregates: mt.Aggregate) -> mt.Spec:
    spec = mt.over("ts", by="key").window("time", mt.sliding("60 ms", every="2 ms"), **aggregates)
    return spec.window("rows", mt.sliding("40 rows", every="1 row"), **aggregates)


def test_a_table_is_combined_as_asked_for(spark: Any) -> None:
    """Sums of floats differ in their last digits by algorithm: so it shows which one ran in the worker."""
    spec, rows = spec_of(total=mt.sum("x")), events()
    frame = spark.createDataFrame(rows).coalesce(1)
    asked = rows_of(spec.apply(rows, final="subtract_on_evict"))
    assert asked != rows_of(spec.apply(rows, final="rescan"))
    assert rows_of(spec.apply(frame, final="subtract_on_evict").toArrow()) == asked


def test_a_stream_is_combined_as_asked_for(spark: Any, tmp_path: Path) -> None:
    spec, rows = spec_of(low=mt.min("n"), total=mt.sum("n")), events()
    folder = Folder(tmp_path / "in")
    folder.put(rows.slice(0, 250), rows.slice(250))
    results = Collected()
    spec.start(
        folder.stream(spark), results=results, checkpoint=str(tmp_path / "c"), trigger=NOW, flush=True, final="daba"
    )
    assert rows_of(*results.tables.values()) == rows_of(spec.apply(rows, engine="reference"))


def test_the_engine_of_a_bucket_is_asked() -> None:
    wanted = Wanted(bucket_spec(spec_of(low=mt.min("n"))), events().schema, final="two_stacks")
    assert wanted.engine().engine.final == "two_stacks"


def test_what_cannot_be_is_refused_before_a_job_runs(spark: Any) -> None:
    frame = spark.createDataFrame(events(10))
    with pytest.raises(mt.UnsupportedAggregate, match="'max' has no invert"):
        spec_of(high=mt.max("n")).apply(frame, final="subtract_on_evict")
    with pytest.raises(mt.SpecError, match="Did you mean 'daba'"):
        spec_of(high=mt.max("n")).apply(frame, final="dabba")
