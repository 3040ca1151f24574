"""Events with a duration on Spark: a stream with a restart, and a batch beside a plain range join in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.bench.spans_spark import PLAIN, compare
from tests.spark.logs import Folder, cut, table
from tests.spark.test_restart import NOW, check, start
from tests.strategies import rows_of


def spans(seed: int, **options: Any) -> pa.Table:
    """Random logs in which each event began up to 30 ms before its time; some begin after their end."""
    made = table(seed, **options)
    back = np.random.default_rng(seed).integers(-1, 30, made.num_rows) * 1_000
    ends = made["ts"].cast(pa.int64()).to_numpy(zero_copy_only=False)
    start = pa.array([None if end != end else int(end) - int(b) for end, b in zip(ends, back, strict=True)], pa.int64())
    return made.append_column("start", start.cast(made.schema.field("ts").type))


def the_spec() -> mt.Spec:
    spec = mt.over(span=("start", "ts"), by="key", disorder="8 ms", lateness="15 ms", postpone="12 ms")
    spec = spec.window("w", mt.sliding("20 ms", every="5 ms"), n=mt.count(), top=mt.max("x"), going=mt.concurrent())
    return spec.window("s", mt.session("6 ms"), n=mt.count(), mid=mt.median("x"))


def test_a_stream_that_is_stopped_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    spec, batches = the_spec(), cut(spans(1, behind=300, bad=True), 1, 5)
    folder = Folder(tmp_path / "in")
    folder.put(*batches[:3])
    start(spark, spec, folder, tmp_path, trigger=NOW).awaitTermination()
    folder.put(*batches[3:])
    start(spark, spec, folder, tmp_path, trigger=NOW, flush=True)
    check(spec, batches, tmp_path)


def test_windows_do_not_change_within_a_checkpoint(spark: Any, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "in")
    folder.put(spans(2))
    start(spark, the_spec(), folder, tmp_path, trigger=NOW).awaitTermination()
    with pytest.raises(mt.SpecError, match="do not change within a checkpoint"):
        start(spark, the_spec().without("s"), folder, tmp_path, trigger=NOW)


def test_a_batch_is_as_here(spark: Any) -> None:
    rows = spans(3)
    good = rows.filter(pa.compute.less_equal(rows["start"], rows["ts"]))
    found = the_spec().apply(spark.createDataFrame(good)).toArrow()
    here = the_spec().apply(good)
    assert rows_of(found.select(here.column_names).cast(here.schema)) == rows_of(here)


def test_the_flights_as_a_range_join_has_them(spark: Any) -> None:
    """In the air every 5 minutes over the last 15, per origin: the same as a join of flights and windows in SQL."""
    rows, wrong, _ = compare(spark, 1, PLAIN)
    assert wrong == 0
    assert rows > 20_000
