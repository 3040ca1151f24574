"""The engines by name, and one made for a spec."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from muntin.engine import AUTO, Engine, prepared
from muntin.errors import SpecError, nearest
from muntin.frames import to_arrow
from muntin.layout import layout
from muntin.sources import Sources
from muntin.spec import Spec
from muntin.stores import asked_for
from muntin.units import Measure

__all__ = ["ENGINES", "SPAN_ENGINES", "apply", "make"]


def _reference() -> type[Engine]:
    from muntin.reference import Reference

    return Reference


def _slicing() -> type[Engine]:
    from muntin.slicing.engine import Slicing

    return Slicing


def _spanning() -> type[Engine]:
    from muntin.spanning.engine import Spanning

    return Spanning


def _baseline(module: str, name: str) -> Callable[[], type[Engine]]:
    def found() -> type[Engine]:
        made: type[Engine] = getattr(importlib.import_module(f"muntin.baselines.{module}"), name)
        return made

    return found


ENGINES: dict[str, Callable[[], type[Engine]]] = {
    "auto": _slicing,
    "slicing": _slicing,
    "reference": _reference,
    "tuple_buffer": _baseline("engines", "TupleBuffer"),
    "aggregate_tree": _baseline("engines", "AggregateTree"),
    "aggregate_buckets": _baseline("engines", "AggregateBuckets"),
    "tuple_buckets": _baseline("engines", "TupleBuckets"),
    "panes": _baseline("slicers", "Panes"),
    "pairs": _baseline("slicers", "Pairs"),
    "cutty": _baseline("slicers", "Cutty"),
}
"""The engines by name, imported when first asked for; all but the first three are to compare with (papers 1 and 2)."""

SPAN_ENGINES: dict[str, Callable[[], type[Engine]]] = {
    "auto": _spanning,
    "slicing": _spanning,
    "reference": _reference,
    "aggregate_buckets": _baseline("span_engines", "AggregateBuckets"),
    "tuple_buckets": _baseline("span_engines", "TupleBuckets"),
    "sweeping": _baseline("span_engines", "Sweeping"),
}
"""The same for events with a duration, with the techniques that paper 3 compares with."""


def make(
    spec: Spec,
    engine: str,
    watermark: str,
    clock: Callable[[], Any] | None,
    sources: Iterable[str] | None = None,
    idle_source: object = None,
    threads: int = 1,
    store: str = AUTO,
    latency: str | None = None,
    emit: str = "final",
    final: str = AUTO,
) -> Engine:
    """An engine by name."""
    made = _class(engine, spec)
    if not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise SpecError(f"threads={threads!r} is not a number of threads. Give 1 or more, up to 1024.")
    if threads == 1:
        return made(spec, watermark, clock, Sources(sources, idle_source), asked_for(store, latency), emit, final)
    from muntin.slicing.parallel import Parallel

    if spec.spans is not None:
        raise SpecError(f"threads={threads}: events with a duration are handled by one thread. Leave threads= out.")
    if made is not _slicing():
        raise SpecError(f"threads={threads} with engine={engine!r}: only the slicing engine runs in several threads.")
    return Parallel(
        spec, watermark, clock, Sources(sources, idle_source), threads, asked_for(store, latency), emit, final
    )


def apply(spec: Spec, frame: Any, engine: str, final: str = AUTO) -> Any:
    """All windows of a finite frame: nothing is late, and every window that exists is reported."""
    given = to_arrow(frame)
    table = prepared(spec, given.table)
    running = _class(engine, spec)(spec, "manual", final=final)
    running._layout = layout(spec, table.schema, finite=True)
    running._begin(running._layout)
    return given.restore(running._finite(table))


def _class(engine: str, spec: Spec) -> type[Engine]:
    engines = ENGINES if spec.spans is None else SPAN_ENGINES
    if engine not in engines:
        raise SpecError(f"engine={engine!r} is unknown. {nearest(engine, engines)}")
    if engine == "tuple_buffer" and any(query.window.measure is Measure.ROWS for query in spec.queries):
        return _baseline("rows", "RowsBuffer")()
    return engines[engine]()
