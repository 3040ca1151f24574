"""How much memory: the techniques of paper 1, Table 1, and what this engine holds for a spec.

The table counts, within the allowed lateness and the longest window, events, windows and slices, and how large each of
them is. Slices do not grow with the number of events; what does is printed as such.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from muntin.errors import FrameError
from muntin.layout import BoundQuery, Layout, layout
from muntin.slicing.along.regular import Regular, edges_along
from muntin.slicing.plan import is_along, is_bare, is_sliced, way
from muntin.slicing.slicer import Slicer
from muntin.slicing.slices import FEW, MANY, SMALL, SOME
from muntin.slicing.texts import coded
from muntin.slicing.values import dtype_of, is_opaque, stored
from muntin.spec import Spec
from muntin.units import Measure
from muntin.windows import Cumulative, Frame, MixedSliding, Punctuated, Session, Sliding

__all__ = ["TABLE_1", "Held", "Part", "Predicted", "amount", "assumed", "held", "predicted"]

SECOND = 1_000_000
SPAN = 16  # bytes of the start and the end of a slice or bucket
TIMES = 16  # bytes of the times of the first and last event of a slice; of one key they are part of its cell
SPARSE = 48  # bytes that a cell has on top where only those with events exist: two places of a table, key, next one
PLACE = 24  # bytes of an event that the watermark has not passed: its key, time and measure
ROOM = 4.5  # how much larger buffers are than what is in them, at the most: 4 by doubling, and a tree over slices
KEYS, KEY = 1 << 17, 128  # bytes of the table of keys, and of a key of a few words
OWN = 32  # bytes that each kept event has beside its values: key, time, arrival, and which queries need it


@dataclass(frozen=True)
class Held:
    """What there is to hold (how many), and how large each thing is (in bytes): the terms of Table 1.

    >>> held = Held(events=50_000, windows=20, slices=40, per_window=2_500, event=40, aggregate=24, slice=40, bucket=16)
    >>> lazy_slicing(held), tuple_buffer(held)
    (1600, 2000000)
    """

    events: float
    windows: float
    slices: float
    per_window: float
    """Events in a window, on average."""
    event: float
    aggregate: float
    slice: float
    """A slice with its aggregate."""
    bucket: float
    """A bucket without its aggregate."""


def tuple_buffer(h: Held) -> float:
    """Table 1, row 1: all events."""
    return h.events * h.event


def aggregate_tree(h: Held) -> float:
    """Row 2: all events, and a tree of partial aggregates over them."""
    return h.events * h.event + (h.events - 1) * h.aggregate


def aggregate_buckets(h: Held) -> float:
    """Row 3: an aggregate per window."""
    return h.windows * h.aggregate + h.windows * h.bucket


def tuple_buckets(h: Held) -> float:
    """Row 4: the events of each window, so that windows which overlap hold them more than once."""
    return h.windows * (h.per_window * h.event + h.bucket)


def lazy_slicing(h: Held) -> float:
    """Row 5: slices with their aggregates."""
    return h.slices * h.slice


def eager_slicing(h: Held) -> float:
    """Row 6: slices, and a tree of partial aggregates over them."""
    return h.slices * h.slice + (h.slices - 1) * h.aggregate


def lazy_slicing_on_tuples(h: Held) -> float:
    """Row 7: slices, and the events as well."""
    return h.events * h.event + h.slices * h.slice


def eager_slicing_on_tuples(h: Held) -> float:
    """Row 8: slices, a tree over them, and the events as well."""
    return h.events * h.event + h.slices * h.slice + (h.slices - 1) * h.aggregate


TABLE_1: dict[str, Callable[[Held], float]] = {
    "tuple buffer": tuple_buffer,
    "aggregate tree": aggregate_tree,
    "aggregate buckets": aggregate_buckets,
    "tuple buckets": tuple_buckets,
    "lazy slicing": lazy_slicing,
    "eager slicing": eager_slicing,
    "lazy slicing on tuples": lazy_slicing_on_tuples,
    "eager slicing on tuples": eager_slicing_on_tuples,
}
"""The eight rows of Table 1, as functions of what is held."""


# -- our sizes -------------------------------------------------------------------------------------------------------


def assumed(spec: Spec) -> Layout | None:
    """A layout where no frame is at hand: 8 bytes for each value that is no text; None where no types fit the spec.

    >>> import muntin as mt
    >>> assumed(mt.over("ts").window("w", mt.tumbling("1 s"), low=mt.min("x"))).schema.field("x").type
    DataType(double)
    """
    start = None if spec.spans is None else spec.spans.start
    types = {key: pa.int64() for key in (spec.time, start, spec.order, *spec.by) if key is not None}
    for query in spec.queries:
        marks = isinstance(query.window, Punctuated | Frame)
        on = getattr(query.window, "on", None)
        for name in query.window.columns:
            types.setdefault(name, pa.bool_() if marks else pa.int64() if name == on else pa.float64())
    texts = [a for query in spec.queries for _, a in query.aggregates if a.takes == "text"]
    types.update((name, pa.string()) for aggregate in texts for name in aggregate.columns)
    for query in spec.queries:
        for _, aggregate in query.aggregates:
            for name in aggregate.columns:
                types.setdefault(name, pa.float64())
    try:
        return layout(spec, pa.schema(list(types.items())), finite=spec.time is not None)
    except FrameError:
        return None


def cell_bytes(bound: Layout) -> int:
    """The bytes of one key in one slice: how many events, and the partials of all aggregates in cells."""
    from muntin.fused import fused

    sliced = [query for query in bound.queries if is_sliced(query.window)]
    aggregates = [aggregate for query in sliced for aggregate in query.aggregates.values()]
    in_cells = {a.aggregate: coded(a) for a in aggregates if way(a, bound.spec.time is None) == "cells"}
    return sum(slot.itemsize for slot in fused(list(in_cells.values())).slots)


def event_bytes(bound: Layout) -> int:
    """The bytes of one kept event: key, time, arrival and who needs it, and all columns that the spec names."""
    names = {name for query in bound.queries for a in query.aggregates.values() for name in a.aggregate.columns}
    size = OWN + (0 if bound.spec.order is None else 8)
    measures = set()
    for query in bound.queries:
        on = getattr(query.window, "on", None)
        measures |= set() if on is None else {on}
        names |= {name for name in query.window.columns if name != on}
    for name in names:
        type_ = stored(bound.schema.field(name).type)
        dtype = dtype_of(type_)
        size += dtype.itemsize if dtype is not None else 1 if is_opaque(type_) else 8
    return size + 8 * len(measures)


def longest(query: BoundQuery) -> int:
    """How far back the slices of an open window reach, in microseconds; a session's are folded as it goes on."""
    window = query.window
    if isinstance(window, Sliding | Cumulative):
        return int(window.size.amount)
    return int(window.cell) if isinstance(window, Session) else 0


def held(bound: Layout, rate: float, keys: int = 1) -> Held | None:
    """The terms of Table 1 for a spec, at a rate of events per second of event time, all keys together.

    None where a window is not known in advance, so that the number of windows depends on the events.
    """
    spec, queries = bound.spec, bound.queries
    known = [q for q in queries if q.window.measure is Measure.TIME and isinstance(q.window, Sliding | Cumulative)]
    if len(known) < len(queries):
        return None
    allowed = spec.disorder + spec.lateness
    sizes = [longest(query) for query in known]
    spans = [(allowed + size) / SECOND for size in sizes]
    steps = [int(query.window.every.amount) / SECOND for query in known]  # type: ignore[attr-defined]
    counts = [keys * math.ceil(span / step) for span, step in zip(spans, steps, strict=True)]
    cell = cell_bytes(bound)
    in_windows = sum(count * rate * size / SECOND / keys for count, size in zip(counts, sizes, strict=True))
    return Held(
        events=rate * max(spans),
        windows=sum(counts),
        slices=keys * math.ceil(max(spans) * Slicer([q.window for q in known]).per_second()),
        per_window=in_windows / sum(counts),
        event=event_bytes(bound),
        aggregate=cell,
        slice=cell + _slice_bytes(bound) / keys,
        bucket=SPAN,
    )


# -- what the engine holds ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One part of the state: how many things of how many bytes, and what comes on top."""

    name: str
    count: float
    size: float
    note: str = ""

    @property
    def nbytes(self) -> int:
        """The bytes of all of them."""
        return round(self.count * self.size)


@dataclass(frozen=True)
class Predicted:
    """The state of an engine, part by part."""

    parts: tuple[Part, ...]
    ahead: int = 0
    """The bytes of what is made ahead, of cells that are dense while they are few, and of the table of keys."""

    @property
    def nbytes(self) -> int:
        """The bytes of all parts."""
        return sum(part.nbytes for part in self.parts)

    @property
    def most(self) -> int:
        """What the buffers take at the most: they double when they are full, and a tree over slices may be on top."""
        return round(ROOM * self.nbytes) + self.ahead


def predicted(bound: Layout, rate: float, keys: int = 1, batch: float = 0) -> Predicted:
    """What an engine holds of a stream of `rate` events per second of event time, with so many keys.

    `batch` is how many seconds of event time one batch spans: its slices are there before older ones go. Buffers have
    room to grow: the real ones are up to four times as large, and slices are made ahead (`muntin.slicing.slices`).

    >>> import muntin as mt
    >>> spec = mt.over("ts", disorder="2 s").window("w", mt.sliding("10 s", every="1 s"), n=mt.count(), top=mt.max("x"))
    >>> predicted(assumed(spec), rate=10_000).nbytes, predicted(assumed(spec), rate=1_000_000).nbytes
    (784, 784)
    """
    spec = bound.spec
    sliced = [query for query in bound.queries if is_sliced(query.window)]
    behind = (spec.disorder + spec.lateness) / SECOND + batch
    parts: list[Part] = []
    if sliced:
        reach = behind + max(longest(query) for query in sliced) / SECOND
        slices = math.ceil(reach * Slicer([query.window for query in sliced]).per_second()) + 2
        cell = cell_bytes(bound)
        if is_bare(sliced, bool(spec.by), spec.time is None):
            parts.append(Part("slices, without cells: kept events say all", slices, _slice_bytes(bound), _own(sliced)))
        else:
            parts.append(_cells(slices, reach * rate / slices, keys, cell, _slice_bytes(bound), _own(sliced)))
        sessions = sum(isinstance(query.window, Session) for query in sliced)
        if sessions:
            parts.append(Part("open sessions", sessions * keys, cell))
        parts += _runs(bound, sliced, rate, behind)
    parts += _along(bound, rate, keys, behind)
    kept = [events for query in bound.queries if (events := _kept(bound, query, rate, keys, behind)) is not None]
    if kept:
        notes = dict.fromkeys(note for _, note in kept if note)
        parts.append(Part("kept events", max(count for count, _ in kept), event_bytes(bound), "; ".join(notes)))
    return Predicted(tuple(parts), _ahead(bound, parts, keys))


def _ahead(bound: Layout, parts: list[Part], keys: int) -> int:
    """What there is on top of the parts: slices made ahead or not yet dropped, cells that begin dense, and keys."""
    cells = [part for part in parts if part.name.startswith("slices") and "along" not in part.name]
    made = MANY + SOME + (SMALL if any("only" in part.name for part in cells) else 0)
    return (2 * made * cell_bytes(bound) if cells else 0) + KEYS + KEY * keys


def _slice_bytes(bound: Layout) -> int:
    """What a slice has once, however many keys share it."""
    return SPAN + TIMES if bound.spec.by else SPAN


def _cells(slices: int, events: float, keys: int, cell: int, once: int, note: str) -> Part:
    """Cells of all keys, or only those that have an event where few have: `events` is how many there are in a slice."""
    filled = keys * -math.expm1(-events / keys)  # keys come at random
    if keys > 1 and slices * keys > SMALL and filled < FEW * keys:
        return Part("slices, only cells with events", slices * filled, cell + SPARSE, note)
    return Part("slices", slices * keys, cell + once / keys, note)


def _own(sliced: list[BoundQuery]) -> str:
    """Windows that say their edges one by one are not counted."""
    own = [q.name for q in sliced if not isinstance(q.window, Sliding | Cumulative | Session)]
    return f"and those of {', '.join(own)}, whose edges are not known here" if own else ""


def _runs(bound: Layout, sliced: list[BoundQuery], rate: float, behind: float) -> list[Part]:
    """Sorted values with their counts: at the most one of each for every event, where all of them differ."""
    reach: dict[tuple[str, str], float] = {}
    for query in sliced:
        for aggregate in query.aggregates.values():
            if way(aggregate, bound.spec.time is None) == "runs":
                session = isinstance(query.window, Session)
                where = (query.name if session else "", aggregate.aggregate.columns[0])
                reach[where] = max(reach.get(where, 0), longest(query) / SECOND)
    count = sum(rate * (behind + seconds) for seconds in reach.values())
    return [Part("values in runs", count, 24, "at the most: equal values in a slice are one")] if count else []


def _along(bound: Layout, rate: float, keys: int, behind: float) -> list[Part]:
    """Slices along other columns: those of open windows of each key, where it has events; how far keys have come."""
    from muntin.fused import fused

    columns: dict[str, list[BoundQuery]] = {}
    for query in bound.queries:
        if is_along(query, bound.spec.order is not None):
            columns.setdefault(query.window.on, []).append(query)  # type: ignore[attr-defined]
    parts = []
    for on, queries in columns.items():
        windows = [Regular.of(query.window) for query in queries]
        slices = math.ceil(max(w.size for w in windows) * sum(1 / step for step, _ in edges_along(windows))) + 1
        aggregates = {a.aggregate: a for query in queries for a in query.aggregates.values()}
        cell = 8 + sum(slot.itemsize for slot in fused(list(aggregates.values())).slots)
        note = "at the most, and more where events come ahead of the time"
        parts.append(Part(f"slices along {on}", slices * keys, cell, note))
        parts.append(Part(f"times and places along {on}", rate * behind, PLACE))
        parts.append(Part(f"how far keys have come along {on}", keys, 16))
    return parts


def _kept(bound: Layout, query: BoundQuery, rate: float, keys: int, behind: float) -> tuple[float, str] | None:
    """How many events a query keeps, and what cannot be known; None: it keeps none."""
    window, events = query.window, rate * behind
    if is_sliced(window):
        if all(way(aggregate, bound.spec.time is None) != "events" for aggregate in query.aggregates.values()):
            return None
        session = isinstance(window, Session)
        return events + rate * longest(query) / SECOND, f"and those of open sessions of {query.name}" if session else ""
    if is_along(query, bound.spec.order is not None):
        return None
    if isinstance(window, MixedSliding) and window.size.measure is Measure.TIME:
        return events + rate * window.size.amount / SECOND, ""
    if isinstance(window, Sliding | Cumulative | MixedSliding) and window.size.measure is Measure.ROWS:
        return events + keys * window.size.amount, ""
    return events, f"and those of open windows of {query.name}"


def amount(size: float) -> str:
    """A number of bytes, short.

    >>> amount(512), amount(3_400_000)
    ('512 bytes', '3.4 MB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"
