"""The text of `explain` where events have a duration."""

from __future__ import annotations

from muntin.aggregates import Bound
from muntin.layout import Layout
from muntin.slicing.plan import way
from muntin.slicing.slicer import Slicer
from muntin.spans import AUTO
from muntin.spec import Query, Spec
from muntin.units import show_duration
from muntin.windows import Session

__all__ = ["explain_spans"]

_ASKED = {"single": "slices, one level each", "sweeping": "starts and ends of events are swept"}


def explain_spans(spec: Spec, bound: Layout | None) -> str:
    """What will be done, and why."""
    spans = spec.spans
    assert spans is not None
    order = "in the order of their ends"
    if not spec.in_order:
        order = f"out of order of their ends by up to {show_duration(spec.disorder)}"
        order += f", corrected for {show_duration(spec.lateness)}"
    keys = "no key" if not spec.by else "keyed by " + ", ".join(spec.by)
    parts = [f"over(span=({spans.start!r}, {spans.end!r})): {order}, {keys}"]
    known = {} if bound is None else {query.name: query.aggregates for query in bound.queries}
    parts += [_query(query, known.get(query.name, {}), spec.order is not None) for query in spec.queries]
    parts.append("\n".join(_together(spec)))
    return "\n\n".join(parts)


def kept(bound: Bound, ordered: bool) -> bool:
    """Whether an aggregate is computed from kept events."""
    return way(bound, False) != "cells" or (ordered and bound.aggregate.timed)


def _query(query: Query, bounds: dict[str, Bound], ordered: bool) -> str:
    window = query.window
    lines = [f"{query.name}: {window!r}", "  an event is in every window that it overlaps"]
    session = isinstance(window, Session)
    if session:
        lines[1] = "  an event joins a session when it starts at most the gap after all of that have ended"
    for name, aggregate in query.aggregates:
        lines.append(f"  {name} = {aggregate!r}: {', '.join(aggregate.properties)}")
        if session or name not in bounds:
            continue
        if kept(bounds[name], ordered):
            lines.append("    from kept events: it has no partial of fixed size that says all it needs")
        elif aggregate.selective:
            lines.append("    the best of all that overlap a slice: counting an event twice changes nothing")
        else:
            lines.append("    two partials per slice: of events that end in it, and of events that go on")
    if session:
        lines.append("  events kept: yes. What lies between two events decides whether they are in one session.")
    return "\n".join(lines)


def _technique(spec: Spec) -> str:
    spans = spec.spans
    assert spans is not None
    if spans.technique in _ASKED:
        return _ASKED[spans.technique]
    high = "as high as the lengths of events call for" if spans.height == AUTO else f"{spans.height} high"
    if spans.technique == AUTO and spans.height == AUTO:
        return (
            "counts, sums of integers, minima and maxima of numbers on a circular array of slices, or swept where\n"
            f"most slices are empty; with any other aggregate, or many keys, slices with levels, {high}"
        )
    return f"slices with levels, {high}"


def _together(spec: Spec) -> list[str]:
    spans = spec.spans
    assert spans is not None
    if spans.postpone == AUTO:
        lines = ["Postponed: a window is released the longest duration seen so far after its end (engine.postpone)."]
    else:
        lines = [f"Postponed: a window is released {show_duration(spans.postpone)} after its end. An event longer than"]
        lines.append("that is late for windows that are closed by then, and still counts in all others.")
    windows = [query.window for query in spec.queries if not isinstance(query.window, Session)]
    if windows:
        rate = Slicer(windows).per_second()
        lines.append(f"Slices: about {rate:.4g} per second of event time, cut where any window starts or ends.")
        lines.append(f"Technique: {_technique(spec)}.")
    if spec.compression is not None:
        lines.append(
            f"{spec.compression!r}: kept events are compressed, key by key as over points; a window that is due reads "
            f"those of its key. So are cells of slices with levels, and swept events; the circular array of few keys, "
            f"which is no larger than some batches, is not."
        )
        if len(windows) < len(spec.queries):
            lines.append("Warning: sessions are found among the events of all keys, so each step opens all of them.")
    if spec.max_ahead is not None:
        lines.append(
            f"A row that ends more than {show_duration(spec.max_ahead)} ahead of the clock is rejected (max_ahead)."
        )
    return lines
