"""Muntin on Spark: one plan for streams and tables.

    rows ─ derived time column ─ withWatermark ─ mapInArrow: pack per bucket
         ─ groupBy(bucket) ─ transformWithState: the engine of all keys of a bucket; out: (kind, blob)
         ─ mapInArrow: unpack results into typed columns

In a batch job the same stages run over a grouped DataFrame. Only public DataFrame API is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muntin.spark.local import session
    from muntin.spark.progress import Progress, watch
    from muntin.spark.since import starts

__all__ = ["Progress", "session", "starts", "watch"]

# No module has the name of what it is asked for: once loaded, it would stand in its place.
_WHERE = {"Progress": "progress", "session": "local", "starts": "since", "watch": "progress"}


def __getattr__(name: str) -> Any:
    # On demand: for each query Spark starts a process that looks at the state variables of the stateful stage and ends,
    # and to load all of Muntin there took a second. The daemon of workers (`muntin.spark.daemon`) has to come before
    # PySpark itself.
    if name in _WHERE:
        return getattr(importlib.import_module(f"muntin.spark.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
