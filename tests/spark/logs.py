"""Random logs for Spark: one example is a whole table, many logs as keys in one job."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import muntin as mt
from muntin.spark.source import SHIFT, from_spark
from tests.strategies import SCHEMA as PLAIN
from tests.strategies import Moved, rows_of

# As in the tests of the engines, with times as Spark has them, and a column that no spec needs.
SCHEMA = PLAIN.set(0, pa.field("ts", pa.timestamp("us", "UTC"))).append(pa.field("note", pa.string()))

WINDOWS: dict[str, mt.windows.Window] = {
    "tumbling": mt.tumbling("5 ms"),
    "sliding": mt.sliding("10 ms", every="3 ms", align="1 ms"),
    "hop": mt.sliding("2 ms", every="7 ms"),
    "cumulative": mt.cumulative("12 ms", every="4 ms"),
    "session": mt.session("6 ms"),
    "rows": mt.sliding("4 rows", every="2 rows"),
    "rows tumbling": mt.tumbling("3 rows"),
    "rows by time": mt.sliding("3 rows", every="5 ms"),
    "time by rows": mt.sliding("8 ms", every="2 rows"),
    "measure": mt.sliding(8, every=3, on="m"),
    "measure session": mt.session(5, on="m"),
    "measure by time": mt.sliding(6, every="4 ms", on="m"),
    "punctuated": mt.punctuated("mark"),
    "pair": mt.punctuated(start="mark", end="stop"),
    "frame": mt.frame("mark"),
    "own aware": Moved(delta=3),
}

AGGREGATES: dict[str, mt.Aggregate] = {
    "all": mt.collect("x"),
    "n": mt.count(),
    "total": mt.sum("x"),
    "low": mt.min("f"),
    "mean": mt.mean("x"),
    "last": mt.last("s"),
    "mid": mt.median("x"),
    "text": mt.concat("s", sep=","),
    "top": mt.arg_max("s", by="x"),
    "m4": mt.m4("x"),
    "kinds": mt.count_distinct("s"),
    "newest": mt.max("ts"),
    "about": mt.approx_count_distinct("s"),
}


def table(seed: int, keys: int = 8, rows: int = 200, behind: int = 0, bad: bool = False) -> pa.Table:
    """Rows in the order of arrival, milliseconds apart; times are distinct, so that every order of ties is one."""
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.choice([1, 1, 1, 2, 9], rows)) - 40
    late = np.where(rng.random(rows) < 0.3, rng.integers(0, behind + 1, rows), 0)
    order = np.argsort(at + late, kind="stable")
    at = at[order]
    ts = pa.array(at * 1_000)
    key = rng.choice([*(f"k{i}" for i in range(keys - 1)), None], rows)
    columns = {
        "ts": ts.cast(pa.timestamp("us", "UTC")),
        "key": pa.array(key.tolist(), pa.string()),
        "x": _some(rng, rng.integers(-4, 10, rows).tolist(), pa.int64()),
        "f": _some(rng, (rng.integers(-8, 8, rows) / 2).tolist(), pa.float64()),
        "s": _some(rng, rng.choice(["p", "q", "r"], rows).tolist(), pa.string()),
        "mark": _some(rng, (rng.random(rows) < 0.3).tolist(), pa.bool_()),
        "stop": _some(rng, (rng.random(rows) < 0.3).tolist(), pa.bool_()),
        "m": pa.array(at * 2 // 3),
        "note": pa.array([f"row {i}" for i in range(rows)]),
    }
    found = pa.table(columns, schema=SCHEMA)
    if bad:  # a null time, and one far ahead of the clock
        times = found.column("ts").to_pylist()
        times[rows // 3] = None
        stamps = pa.chunked_array([pa.array(times, SCHEMA.field("ts").type)])
        far = stamps.cast(pa.int64()).to_pylist()
        far[rows // 2] = 10**17
        found = found.set_column(0, "ts", pa.array(far, pa.int64()).cast(SCHEMA.field("ts").type))
    return found


def _some(rng: np.random.Generator, values: list[Any], type_: pa.DataType) -> pa.Array:
    return pa.array([None if rng.random() < 0.2 else value for value in values], type_)


def cut(whole: pa.Table, seed: int, batches: int) -> list[pa.Table]:
    """A table cut into batches, none of them empty."""
    rng = np.random.default_rng(seed)
    places = sorted(rng.choice(np.arange(1, whole.num_rows), batches - 1, replace=False).tolist())
    return [whole.slice(a, b - a) for a, b in zip([0, *places], [*places, whole.num_rows], strict=True)]


def steps_of(batches: list[pa.Table], spec: mt.Spec) -> list[tuple[pa.Table | None, int | None]]:
    """The steps that Spark makes: the watermark of a batch comes from earlier batches, in whole milliseconds."""
    steps: list[tuple[pa.Table | None, int | None]] = []
    newest = None
    for batch in [*batches, None]:
        mark = None if newest is None else (newest + SHIFT) // 1_000 * 1_000 - SHIFT - spec.disorder
        steps.append((batch, mark))
        if batch is not None:
            times = [t for t in batch.column("ts").cast(pa.int64()).to_pylist() if t is not None and t < 10**17]
            newest = max([*times, *([] if newest is None else [newest])], default=None)
    return steps


def committed(checkpoint: Path) -> int:
    """How many batches a query has committed."""
    commits = checkpoint / "commits"
    return len([file for file in commits.iterdir() if file.name.isdigit()]) if commits.exists() else 0


def taken(checkpoint: Path) -> int:
    """How many files a query has taken in, up to the last batch that it committed."""
    batches = committed(checkpoint)
    return _files(checkpoint, batches - 1) if batches else 0


def _files(checkpoint: Path, number: int) -> int:
    return int(json.loads((checkpoint / "offsets" / str(number)).read_text().splitlines()[2])["logOffset"]) + 1


def steps_made(checkpoint: Path, batches: list[pa.Table], spec: mt.Spec) -> list[tuple[pa.Table | None, int | None]]:
    """The steps that a query really made, as its checkpoint tells: its files, and batches without rows."""
    steps: list[tuple[pa.Table | None, int | None]] = []
    before = 0
    for number in range(committed(checkpoint)):
        lines = (checkpoint / "offsets" / str(number)).read_text().splitlines()
        mark = from_spark(json.loads(lines[1])["batchWatermarkMs"], spec.disorder)
        files = _files(checkpoint, number)
        # Mostly one: where Spark was stopped after it had listed a file, and before it said so, two.
        steps.append((pa.concat_tables(batches[before:files]) if files > before else None, mark))
        before = files
    assert before == len(batches)
    return steps


class Folder:
    """A folder that a stream reads, one file per batch."""

    def __init__(self, path: Path) -> None:
        self.path, self.files = path, 0
        path.mkdir(parents=True, exist_ok=True)

    def put(self, *batches: pa.Table) -> None:
        for batch in batches:
            file = self.path / f"{self.files:04}.parquet"
            hidden = file.with_name(f".{file.name}")
            pq.write_table(batch, hidden)
            # Spark reads files in the order of their times.
            os.utime(hidden, (1_000_000 + self.files, 1_000_000 + self.files))
            hidden.rename(file)
            self.files += 1

    def stream(self, spark: Any) -> Any:
        schema = spark.read.parquet(str(self.path)).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.path))


class Collected:
    """A sink that keeps what it gets, by batch."""

    def __init__(self) -> None:
        self.tables: dict[Any, pa.Table] = {}
        self.calls: dict[Any, int] = defaultdict(int)

    def __call__(self, frame: Any, batch_id: Any) -> None:
        self.tables[batch_id] = frame.toArrow()
        self.calls[batch_id] += 1

    def rows(self, batch_id: Any) -> list[Any]:
        return rows_of(*([self.tables[batch_id]] if batch_id in self.tables else []))


def spec_of(names: list[str] | None = None, **options: Any) -> mt.Spec:
    """A spec with these windows (all), each with all aggregates."""
    spec = mt.over("ts", by="key", **options)
    for name in names or list(WINDOWS):
        spec = spec.window(name, WINDOWS[name], **AGGREGATES)
    return spec
