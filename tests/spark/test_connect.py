"""Spark Connect: the same code without a JVM in the process; it needs a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from muntin.reference import run
from tests.conftest import ROOT
from tests.spark.logs import Folder, cut, steps_of, table
from tests.spark.test_restart import the_spec, written
from tests.strategies import rows_of

SCRIPT = """
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as Remote

import muntin as mt
from muntin.spark.local import PROVIDER
from tests.spark.logs import Folder, table
from tests.spark.test_restart import the_spec
from tests.strategies import rows_of

path = Path(sys.argv[1])
os.environ["PYSPARK_PYTHON"] = sys.executable
builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", 2)
builder = builder.config("spark.sql.streaming.stateStore.providerClass", PROVIDER)
spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
assert isinstance(spark, Remote)
try:
    rows = table(7)
    spec = mt.over("ts", by="key").window("w", mt.session("6 ms"), n=mt.count(), total=mt.sum("x"))
    assert rows_of(spec.apply(spark.createDataFrame(rows)).toArrow()) == rows_of(spec.apply(rows))
    stream = Folder(path / "in").stream(spark)
    assert "rows pass as they are" in the_spec().explain(stream)
    query = the_spec().start(
        stream,
        results=str(path / "results"),
        late=str(path / "late"),
        checkpoint=str(path / "checkpoint"),
        trigger={"availableNow": True},
        flush=True,
    )
    assert not query.isActive
finally:
    spark.stop()
"""


@pytest.mark.spark
def test_a_stream_and_a_table_over_spark_connect(tmp_path: Path) -> None:
    spec, batches = the_spec(), cut(table(9, behind=300, bad=True), 9, 3)
    Folder(tmp_path / "in").put(*batches)
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        cwd=ROOT,
        timeout=400,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    expected = run(spec, steps_of(batches, spec), flush=True)
    assert rows_of(written(tmp_path / "results", expected.results[0].schema)) == rows_of(*expected.results)
    assert rows_of(written(tmp_path / "late", expected.late[0].schema)) == rows_of(*expected.late)
