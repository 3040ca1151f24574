"""The way into Spark: `spec.apply` on a Spark DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame

from muntin.errors import FrameError, SpecError
from muntin.spark.batch import apply_batch
from muntin.spark.rows import prepared
from muntin.spark.stream import bucket_labels, stream
from muntin.spec import Spec

__all__ = ["apply_spark"]


def apply_spark(spec: Spec, frame: object, engine: str, buckets: int | None, final: str = "auto") -> DataFrame:
    """All windows of a DataFrame, batch or streaming, as a plain DataFrame."""
    if not isinstance(frame, DataFrame):
        raise FrameError(f"cannot read a frame from {type(frame).__module__}.{type(frame).__qualname__}.")
    frame = prepared(spec, frame)
    names = bucket_labels(spec, frame, buckets)
    if not frame.isStreaming:
        return apply_batch(spec, frame, engine, names, final)
    if engine not in ("auto", "slicing"):
        raise SpecError(f"engine={engine!r} does not run on a stream. Leave it out, or apply it to a finite frame.")
    return stream(spec, frame, names, late=False, final=final).results()
