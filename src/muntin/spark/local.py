"""A local Spark session that is ready for Muntin."""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.sql import SparkSession

from muntin.errors import SpecError

__all__ = ["PROVIDER", "check_state_store", "session"]

PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The state store that `transformWithState` needs."""

_PROVIDER_KEY = "spark.sql.streaming.stateStore.providerClass"


def session(
    name: str = "muntin",
    *,
    cores: int | str = "*",
    partitions: int = 4,
    retries: int = 4,
    memory: str = "2g",
    log: str = "ERROR",
    **conf: Any,
) -> SparkSession:
    """A local session: RocksDB for state, UTC, few shuffle partitions, failed tasks tried again, no web page.

    Any other setting goes in by name, with `__` for a dot: `session(spark__ui__enabled=True)`. Where a session runs
    already, it is given back with these settings as far as they can still change. Stop it with `.stop()`.

    ```
    spark = muntin.spark.session(cores=2)
    ```
    """
    # Workers are started with the python3 on PATH unless told; it may lack our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        _PROVIDER_KEY: PROVIDER,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": partitions,
        "spark.log.level": log,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Workers are forked from a process that has loaded Muntin.
        "spark.python.daemon.module": "muntin.spark.daemon",
        # Spark gives this to the stages of Arrow and not to the stateful one, which therefore had a daemon and workers
        # of its own: one to three seconds of the first batch.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": False,
        # NumPy's algebra, of which Muntin uses none, would start threads before they are forked.
        "spark.executorEnv.OPENBLAS_NUM_THREADS": 1,
        # Columns of a batch are some MB each. By itself glibc gives them back to the system at once, which clears them
        # page by page when the next batch asks for them: 68 instead of 40 ms of CPU for a million rows. 32 MiB is the
        # largest block that it takes.
        "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": 256 << 20,
        "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": 32 << 20,
        # To be given huge pages took the workers of rows windows half of their time.
        "spark.executorEnv.NUMPY_MADVISE_HUGEPAGE": 0,
        # RocksDB uploads only what changed since the last batch, not whole files.
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100_000,
        # With any limit on bytes Spark adds up the size of the batch anew for every row that it writes for Python:
        # half of the time of its way there.
        "spark.sql.execution.arrow.maxBytesPerBatch": 2**31 - 1,
        # Hadoop sets the mode of every local file by starting a process, and again for the file of its checksum: half
        # of the time of a commit. Spark keeps checksums of its own beside the files of the state.
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
        "spark.driver.extraJavaOptions": "-Djdk.lang.Process.launchMechanism=VFORK",
    }
    settings.update({key.replace("__", "."): value for key, value in conf.items()})
    builder = SparkSession.builder.appName(name).master(f"local[{cores},{retries}]")
    for key, value in settings.items():
        builder = builder.config(key, str(value).lower() if isinstance(value, bool) else str(value))
    return builder.getOrCreate()


def check_state_store(spark: SparkSession) -> None:
    """Refuse a session whose state store cannot hold the state of a stream."""
    found = spark.conf.get(_PROVIDER_KEY, None)
    if found is None or "RocksDB" not in found:
        raise SpecError(
            f"a stream needs the RocksDB state store, and this session has {found}. Set it before the stream starts: "
            f"spark.conf.set({_PROVIDER_KEY!r}, {PROVIDER!r}); muntin.spark.session() does."
        )
