"""Workers of a session come from a daemon that has loaded Muntin."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import muntin as mt
from tests.spark.processes import daemons, workers


def told(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a worker is forked from, what it has loaded, and from where."""
    import pyspark

    started = Path(f"/proc/{os.getppid()}/cmdline")
    daemon = "muntin.spark.daemon" in started.read_text() if started.exists() else True
    loaded = all(name in sys.modules for name in ("numba", "pandas", "muntin.spark.pack", "muntin.spark.bucket"))
    for batch in batches:
        said = [f"{daemon} {loaded} {'.zip' in str(pyspark.__file__)}"] * batch.num_rows
        yield pa.record_batch([pa.array(said)], names=["said"])


def test_workers_find_muntin_loaded_and_pyspark_unpacked(spark: Any) -> None:
    found = spark.range(4).repartition(2).mapInArrow(told, "said string").collect()
    assert {row.said for row in found} == {"True True False"}


def test_the_stages_of_a_query_share_one_daemon(spark: Any, tmp_path: Path) -> None:
    """Spark has a daemon for each environment of workers; two would load everything twice, one after the other.

    By this variable those of Arrow differed from those of the stateful stage.
    """
    parts = [{"ts": [0, 1], "k": ["a", "b"]}, {"ts": [5_000_000], "k": ["a"]}]
    for i, part in enumerate(parts):
        times = pa.array(part["ts"], pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"ts": times, "k": part["k"]}), tmp_path / f"{i}.parquet")
    stream = spark.readStream.schema("ts timestamp, k string").parquet(str(tmp_path))
    spec = mt.over("ts", by="k").window("w", mt.tumbling("1 second"), n=mt.count())
    query = spec.apply(stream).writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    found = [Path(f"/proc/{pid}/environ").read_bytes() for pid in daemons()]
    assert found
    assert workers()
    assert not any(b"SPARK_SIMPLIFIED_TRACEBACK=" in environment for environment in found)
