"""A streaming DataFrame: the whole plan, up to the blobs that come out of the buckets."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as st

from muntin.crossing import crossing
from muntin.errors import FrameError, SpecError
from muntin.layout import Layout, layout
from muntin.slicing.partials import why_events
from muntin.spark.buckets import labels
from muntin.spark.local import check_state_store
from muntin.spark.pack import NEWEST, PACKED, Packer
from muntin.spark.processor import OUTPUT, Processor
from muntin.spark.source import SHIFT, source
from muntin.spark.step import COMPRESSION, Wanted, bucket_spec, refuse_final
from muntin.spark.types import spark_schema
from muntin.spark.unpack import unpacked
from muntin.spec import Spec

__all__ = ["METRICS", "Stream", "bucket_labels", "combined", "stream"]

METRICS = "muntin"
"""The name under which a query's progress shows the counts of each batch."""

_WATERMARK = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class Stream:
    """The blobs of a stream, and how to read them."""

    blobs: DataFrame
    layout: Layout
    wanted: Wanted
    results_schema: st.StructType
    late_schema: st.StructType

    def results(self, blobs: DataFrame | None = None) -> DataFrame:
        """The results, as typed columns."""
        return unpacked(self.blobs if blobs is None else blobs, "results", self.results_schema)

    def late(self, blobs: DataFrame | None = None) -> DataFrame:
        """The late and rejected rows with their original columns."""
        return unpacked(self.blobs if blobs is None else blobs, "late", self.late_schema)


def combined(bound: Layout, late: bool) -> Layout | None:
    """By what rows are combined before the shuffle; None where they go on as they are.

    With a late output they do: it may need any of them whole.
    """
    return None if late or why_events(bound) is not None else bound


def bucket_labels(spec: Spec, frame: DataFrame, buckets: int | None) -> tuple[int, ...]:
    """The labels of the buckets: one where there is no key, else as many as there are shuffle partitions."""
    partitions = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    if buckets is not None and (not isinstance(buckets, int) or buckets < 1):
        raise SpecError(f"buckets={buckets!r} is no number of buckets. Give 1 or more, or leave it out.")
    return tuple(labels(1 if not spec.by else buckets or partitions, partitions))


def _judged(rows: DataFrame, spec: Spec) -> DataFrame:
    """Blobs whose rows that are not too far ahead by Spark's clock of the batch move the watermark as all others.

    The clock is another one in each batch, so it must not stand in the code that Spark generates, which would be
    compiled anew, 20 ms of a batch: what a filter of an array compares with does not.
    """
    last = F.unix_micros(F.current_timestamp()) + F.lit(spec.max_ahead)
    newest = F.timestamp_micros(F.array_max(F.filter("unjudged", lambda time: time <= last)) + F.lit(SHIFT))
    return rows.select("bucket", "kind", "clock", "size", "blob", F.greatest(NEWEST, newest).alias(NEWEST))


def stream(
    spec: Spec,
    frame: DataFrame,
    names: tuple[int, ...],
    *,
    late: bool,
    emit: str = "final",
    since: dict[str, int] | None = None,
    final: str = "auto",
) -> Stream:
    """The plan of a spec over a stream; `since` says from when windows are exact that were added later."""
    check_state_store(frame.sparkSession)
    for field in frame.schema.fields:
        if _WATERMARK in (field.metadata or {}):
            raise FrameError(
                f"the stream has a watermark on {field.name!r} already. Muntin sets its own, from disorder=: take "
                f".withWatermark({field.name!r}, ...) away."
            )
    read = source(spec, frame, late=late)
    inner = bucket_spec(spec)
    bound = layout(inner, read.schema)
    wanted = Wanted(inner, bound.schema, emit, since or {}, final)
    refuse_final(bound, final, emit)
    by = combined(bound, late)
    packer = Packer(read, names, late, ticks=True, layout=by, crossing=None if by is None else crossing())
    rows = read.select(frame, finite=False).mapInArrow(packer, PACKED)
    if read.judged_later:
        rows = _judged(rows, spec)
    # Without the column of the watermark the stateful stage drops no late rows on its own.
    rows = rows.withWatermark(NEWEST, "0 seconds").drop(NEWEST)
    blobs = rows.groupBy("bucket").transformWithState(
        statefulProcessor=Processor(wanted, bound, spec.disorder, late, spec.max_ahead),
        outputStructType=OUTPUT,
        outputMode="Append",
        timeMode="EventTime",
    )
    late_rows = [
        F.sum(F.element_at("late_rows", i + 1)).alias(f"late {query.name}") for i, query in enumerate(spec.queries)
    ]
    sums = [F.sum(name).alias(name) for name in ("rows_in", "windows_out", "rejected")]
    held = [F.sum(F.element_at("compression", i + 1)).alias(name) for i, name in enumerate(COMPRESSION)]
    blobs = blobs.observe(METRICS, *sums, *late_rows, *(held if spec.compression is not None else []))
    return Stream(
        blobs,
        bound,
        wanted,
        spark_schema(bound.results, frame.schema, spec.by),
        spark_schema(bound.late, frame.schema, read.schema.names),
    )
