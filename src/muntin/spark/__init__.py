"""Muntin on Spark: one plan for streams and tables.

    rows ─ derived time column ─ withWatermark ─ mapInArrow: pack per bucket
         ─ groupBy(bucket) ─ transformWithState: the engine of all keys of a bucket; out: (kind, blob)
         ─ mapInArrow: unpack results into typed columns

In a batch job the same stages run over a grouped DataFrame. Only public DataFrame API is used.
"""

from __future__ import annotations

from muntin.spark.progress import Progress, watch
from muntin.spark.session import session
from muntin.spark.starts import starts

__all__ = ["Progress", "session", "starts", "watch"]
