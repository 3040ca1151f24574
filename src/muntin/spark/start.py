"""`spec.start`: a running query with two outputs, results and late rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st
from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import FrameError, SpecError
from muntin.spark import checkpoint as checkpoints
from muntin.spark.alone import Alone
from muntin.spark.change import described, former
from muntin.spark.flush import flushed
from muntin.spark.rows import prepared
from muntin.spark.since import common_starts
from muntin.spark.sinks import Sink, sink
from muntin.spark.step import Wanted
from muntin.spark.stream import Stream, bucket_labels, stream
from muntin.spark.unpack import unpacked
from muntin.spec import Spec

__all__ = ["start_spark"]

EMITS = ("final", "updates")


@dataclass(frozen=True)
class _Writer:
    """Writes one batch to both sinks; given to `foreachBatch`."""

    results: Sink
    late: Sink | None
    results_schema: st.StructType
    late_schema: st.StructType

    def __call__(self, blobs: DataFrame, batch_id: int) -> None:
        # Two outputs from one run of the engine: without this it would run twice.
        blobs.persist()
        try:
            windows = F.coalesce(F.sum("windows_out"), F.lit(0))
            gone = F.coalesce(F.sum(F.col("late").isNotNull().cast("long")), F.lit(0))
            counts = blobs.agg(windows, gone).collect()[0]
            self.results.write(unpacked(blobs, "results", self.results_schema), batch_id, counts[0])
            if self.late is not None:
                self.late.write(unpacked(blobs, "late", self.late_schema), batch_id, counts[1])
        finally:
            blobs.unpersist()


def start_spark(
    spec: Spec,
    frame: object,
    results: Any,
    late: Any,
    checkpoint: str,
    trigger: dict[str, Any] | None,
    flush: bool,
    emit: str,
    buckets: int | None,
    name: str | None,
    final: str,
) -> StreamingQuery:
    """Start a query; see `Spec.start`."""
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        raise FrameError(
            f"start takes a streaming Spark DataFrame, got {type(frame).__module__}.{type(frame).__qualname__}"
            f"{' that is finite' if isinstance(frame, DataFrame) else ''}. spec.apply(frame) takes finite ones."
        )
    if emit not in EMITS:
        raise SpecError(f"emit={emit!r} is neither 'final' nor 'updates'.")
    trigger = dict(trigger or {})
    if flush and not trigger.get("availableNow"):
        raise SpecError(
            "flush=True reports what is left when a stream ends, and only trigger={'availableNow': True} makes it end."
        )
    outputs = sink(results, "results"), None if late is None else sink(late, "late")
    frame = prepared(spec, frame)
    spark = frame.sparkSession
    names = bucket_labels(spec, frame, buckets)
    plan = stream(spec, frame, names, late=late is not None, emit=emit, final=final)
    wanted = checkpoints.Manifest(described(plan.wanted.spec, plan.wanted.schema), names, late is not None, emit)
    with Alone(checkpoints.place(checkpoint)) as alone:
        found = checkpoints.read(spark, checkpoint)
        manifest = checkpoints.agreed(found, wanted, buckets)
        if found is not None and found.spec != manifest.spec:
            manifest = _changed(spark, checkpoint, found, manifest, plan.wanted)
        if found is not None:
            # `final` is not in the manifest: a stream may go on with another, as the windows are the same.
            how: dict[str, Any] = {"late": late is not None, "emit": emit, "final": final}
            plan = stream(spec, frame, manifest.labels, since=manifest.starts, **how)
        if found is None or found.version < manifest.version:
            checkpoints.write(spark, checkpoint, manifest)
        alone.lock()  # a new checkpoint has a folder only now
        write = _Writer(*outputs, plan.results_schema, plan.late_schema)
        query = _run(plan.blobs, write, checkpoint, trigger, name)
        if flush:
            query.awaitTermination()
            _finish(plan, spark, checkpoint, manifest, write)
        else:
            alone.until_it_ends(query)
        return query


def _run(
    blobs: DataFrame,
    write: Callable[[DataFrame, int], None],
    checkpoint: str,
    trigger: dict[str, Any],
    name: str | None,
) -> StreamingQuery:
    writer = blobs.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    if trigger:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    return writer.foreachBatch(lambda frame, batch_id: write(frame, batch_id)).start()


def _changed(
    spark: SparkSession, checkpoint: str, found: checkpoints.Manifest, manifest: checkpoints.Manifest, wanted: Wanted
) -> checkpoints.Manifest:
    """The same with from when its windows are exact, or why they may not follow those that were there.

    Nothing is written: each bucket takes its state over when it is first called, and says in it what it belongs to. So
    a query that is killed on the way goes on rightly, with these windows or with the former ones.
    """
    former(found.spec, wanted.spec, wanted.schema)
    starts = common_starts(spark, checkpoint, replace(wanted, since=manifest.starts))
    return replace(manifest, starts=starts)


def _finish(plan: Stream, spark: SparkSession, checkpoint: str, manifest: checkpoints.Manifest, write: _Writer) -> None:
    """Report what is left, and mark the checkpoint. If it fails on the way, starting again does all of it again."""
    frame = flushed(spark, checkpoint, plan.wanted, plan.layout.results, write.results_schema).persist()
    try:
        write.results.write(frame, "flush", frame.count())
    finally:
        frame.unpersist()
    checkpoints.write(spark, checkpoint, replace(manifest, ended=True, version=manifest.version + 1))
