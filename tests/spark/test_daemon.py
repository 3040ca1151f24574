"""Workers of a session come from a daemon that has loaded Muntin."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa


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
