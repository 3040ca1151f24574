"""A batch DataFrame: the same stages as on a stream, over a grouped frame; nothing is late."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from muntin.crossing import crossing
from muntin.engines import make
from muntin.layout import Layout, layout
from muntin.slicing.engine import Slicing
from muntin.slicing.partials import absorb, why_events
from muntin.spark.ipc import EVENTS, PARTIALS, opened
from muntin.spark.pack import PACKED, Packer
from muntin.spark.source import source
from muntin.spark.step import refuse_final
from muntin.spark.types import spark_schema
from muntin.spec import Spec

__all__ = ["apply_batch"]


@dataclass(frozen=True)
class _Finite:
    """All windows of the keys of one bucket; given to `applyInArrow`."""

    bound: Layout
    engine: str
    final: str

    def __call__(self, rows: pa.Table) -> pa.Table:
        kinds, blobs = rows.column("kind").to_pylist(), rows.column("blob")
        tables = [(kind, opened(blobs[i].as_buffer())) for i, kind in enumerate(kinds)]
        events = [table for kind, table in tables if kind == EVENTS]
        partials = [table for kind, table in tables if kind == PARTIALS]
        running = make(self.bound.spec, self.engine, "manual", None, final=self.final)
        running._layout = self.bound
        running._begin(self.bound)
        for table in partials:
            assert isinstance(running, Slicing)
            absorb(running, table)
        # Of rows without a measure nothing is said: on a worker it would be read by no one.
        running._take(pa.concat_tables(events) if events else self.bound.schema.empty_table(), None)
        return running._report(True)


def apply_batch(spec: Spec, frame: DataFrame, engine: str, names: tuple[int, ...], final: str = "auto") -> DataFrame:
    """All windows of a finite DataFrame, as a DataFrame."""
    read = source(spec, frame, late=False)
    bound = layout(spec, read.schema, finite=True)
    refuse_final(bound, final)
    results = spark_schema(bound.results, frame.schema, spec.by)
    by = None if engine == "reference" or why_events(bound) is not None else bound
    packer = Packer(read, names, late=False, ticks=False, layout=by, crossing=None if by is None else crossing())
    finite = _Finite(bound, engine, final)
    rows = read.select(frame, finite=True).mapInArrow(packer, PACKED)
    return rows.groupBy("bucket").applyInArrow(lambda table: finite(table), results)
