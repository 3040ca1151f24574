"""What `explain` says of a Spark DataFrame: the plan, what crosses the shuffle, what is kept, how much state."""

from __future__ import annotations

import math

import pyarrow as pa
from pyspark.sql import DataFrame

from muntin.crossing import crossing
from muntin.explain_costs import Statistics
from muntin.layout import Layout, layout
from muntin.slicing.batch import Decoder
from muntin.slicing.partial_runs import summary_bytes
from muntin.slicing.partials import Combiner, why_events
from muntin.slicing.plan import is_sliced
from muntin.slicing.sliced import Sliced
from muntin.spark.rows import prepared
from muntin.spark.source import source
from muntin.spark.step import bucket_spec
from muntin.spark.stream import bucket_labels
from muntin.spec import Spec
from muntin.units import Measure, show_duration
from muntin.windows import Session

__all__ = ["explain_spark", "spark_columns"]


def spark_columns(spec: Spec, frame: DataFrame) -> pa.Schema:
    """The columns of a Spark DataFrame that a spec needs, as Arrow has them."""
    return source(spec, prepared(spec, frame), late=False).schema


def explain_spark(
    spec: Spec, frame: DataFrame, late: bool = False, buckets: int | None = None, found: Statistics | None = None
) -> str:
    """The lines for Spark; `late` says whether there is a late output."""
    frame = prepared(spec, frame)
    streaming = frame.isStreaming
    read = source(spec, frame, late=late and streaming)
    bound = layout(bucket_spec(spec), read.schema, finite=not streaming)
    count = len(bucket_labels(spec, frame, buckets))
    names = ", ".join(read.carried) or "none"
    why = "a late output may need any row whole" if late and streaming else why_events(bound)
    lines = [f"On Spark ({'a stream' if streaming else 'a table'}):"]
    lines.append(f"  read:     the time, and {len(read.carried)} of {len(frame.columns)} columns: {names}")
    if why is None:
        size = _cell(bound)
        lines.append(f"  before the shuffle: slices are cut and combined, {size} bytes per slice and key")
        lines.append("    (a task passes its rows on where that is cheaper)")
        lines += [] if found is None else [f"    {line}" for line in _combined(bound, found)]
    else:
        lines.append(f"  before the shuffle: rows pass as they are, since {why}")
    shown = "1 bucket, since there is no key" if count == 1 and not spec.by else f"{count} buckets of keys"
    lines.append(f"  after it: {shown}; each is one call per batch" if streaming else f"  after it: {shown}")
    lines += [f"  state:    {line}" for line in _state(bound)] if streaming else []
    hot = "the kept events of all keys of a bucket" if _keeps(bound) else "the slices of all keys of a bucket"
    lines.append(f"  must fit into one worker: {hot if streaming else 'all rows or partials of a bucket'}")
    return "\n".join(lines)


def _combined(bound: Layout, found: Statistics) -> list[str]:
    """Whether slices are combined before the shuffle or after it, as far as statistics tell."""
    sliced, k = _sliced(bound), crossing()
    assert sliced is not None
    events = found.rate / sliced.slicer.per_second()
    if found.groups is None:
        cells = found.keys * -math.expm1(-events / found.keys)
    else:
        cells = found.groups(max(int(1e6 / sliced.slicer.per_second()), 1))
    row, partial = sum(map(_width, bound.schema.types)), Combiner(bound).partial_bytes
    partial += round(summary_bytes(sliced, events / cells))
    before, after = (cost / events for cost in k.costs(events, cells, row, partial))
    pays = "panes pay, and are combined before the shuffle"
    if before >= after:
        pays = "panes do not pay, so rows are combined after the shuffle"
    each = f"{before:.3g} ns a row before it, {after:.3g} after (formulas 3.1 and 3.3)"
    numbers = f"{row} bytes a row, {partial} a partial: {each}"
    least = f"it pays from {k.least(row, partial):.2g} on"
    return [f"a slice and key has about {events / cells:.3g} events: {pays}", f"{numbers}; {least}"]


def _sliced(bound: Layout) -> Sliced | None:
    found = [i for i, query in enumerate(bound.queries) if is_sliced(query.window)]
    return Sliced(bound, found, Decoder(bound).interners) if found else None


def _cell(bound: Layout) -> int:
    sliced = _sliced(bound)
    return 0 if sliced is None else sum(slot.itemsize for slot in sliced.fused.slots)


def _keeps(bound: Layout) -> bool:
    sliced = _sliced(bound)
    return any(not is_sliced(query.window) for query in bound.queries) or bool(
        sliced and (sliced.keeping or sliced.has_runs)
    )


def _state(bound: Layout) -> list[str]:
    """How much is held, as far as the spec alone tells."""
    spec, sliced, lines = bound.spec, _sliced(bound), []
    if sliced is not None:
        longest = max(_reach(query.window) for query in bound.queries if is_sliced(query.window))
        held = longest + spec.disorder + spec.lateness
        slices = max(1.0, sliced.slicer.per_second() * held / 1e6)
        size = slices * _cell(bound)
        lines.append(
            f"about {slices:,.0f} slices over {show_duration(held)}, {size:,.0f} bytes for each key in all of them"
        )
    if _keeps(bound):
        width = sum(_width(type_) for type_ in bound.schema.types)
        lines.append(f"kept events, about {width} bytes each, as long as an open window may need them")
    lines.append("written as what each batch brings, folded now and then; read only after a restart")
    return lines


def _width(type_: pa.DataType) -> int:
    """The bytes of a kept value: numbers as they are, anything else as a number that stands for it."""
    return max(type_.bit_width // 8, 1) if pa.types.is_primitive(type_) else 8


def _reach(window: object) -> int:
    """How much of time a window looks back on."""
    if isinstance(window, Session):
        return int(window.gap.amount)
    size = getattr(window, "size", None)
    return int(size.amount) if size is not None and size.measure is Measure.TIME else 0
