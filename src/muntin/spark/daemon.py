"""Python workers that find Muntin loaded: Spark's daemon of workers, which loads it once and then forks them.

Spark forks Python workers from a daemon, and each of them loaded Numba, Arrow and Muntin for itself, also one that took
the place of another. A session of `muntin.spark.session` names this module as its daemon (the setting
`spark.python.daemon.module`), which loads them before the first fork; the workers share that memory too. A cluster on
which Muntin is installed can be told the same.

Spark's own daemon loads little before it forks: a thread that holds a lock at that moment would leave it locked in the
worker for ever. Of what is loaded here only Arrow's allocator has a thread, and jemalloc takes care of forks; the pools
of Arrow start when they are first used, which is in a worker.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from pathlib import Path

__all__ = ["main", "preload", "unzipped"]


def unzipped(path: list[str]) -> list[str]:
    """A path for modules without `pyspark.zip`, where the package that this zip lies in is on it as well.

    Spark puts the zip first, and Python compiles what it loads from there in every process anew: half a second.

    >>> unzipped(["/venv/pyspark/python/lib/pyspark.zip", "/venv"])
    ['/venv']
    >>> unzipped(["/opt/spark/python/lib/pyspark.zip", "/venv"])
    ['/opt/spark/python/lib/pyspark.zip', '/venv']
    """
    inside = Path("pyspark", "python", "lib", "pyspark.zip")
    packed = {str(Path(folder) / inside) for folder in path}
    return [place for place in path if place not in packed]


def preload() -> None:
    """Load what the workers of a query need whatever its spec is, and keep it out of their garbage collections."""
    # What cannot be loaded is said by the worker that needs it, with the task that it is for.
    with contextlib.suppress(ImportError):
        import pyspark.worker  # noqa: F401
        from pyspark.sql.pandas.utils import require_minimum_pandas_version

        import muntin.spark.bucket
        import muntin.spark.pack
        import muntin.spark.processor
        import muntin.spark.unpack  # noqa: F401

        require_minimum_pandas_version()  # loads it: the stateful stage of PySpark does
    gc.collect()
    gc.freeze()


def main() -> None:
    """Load, then be Spark's daemon."""
    sys.path[:] = unzipped(sys.path)
    preload()
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
