"""The text of `explain`: what a spec will do, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from muntin.aggregates import Aggregate
from muntin.aggregates.ordered import Process
from muntin.compile import compiled, why_not
from muntin.explain_compression import compression_lines
from muntin.explain_costs import Statistics, cost_lines
from muntin.final import explained as final_explained
from muntin.layout import BoundQuery, Layout, layout
from muntin.memory import TABLE_1, Part, amount, assumed, held, predicted
from muntin.panes import panes
from muntin.slicing.covered import size_of
from muntin.slicing.pieces import from_pieces
from muntin.slicing.plan import is_along, is_rows, is_sliced, overlapping, way
from muntin.slicing.rows.cells import edges_of
from muntin.slicing.slicer import Slicer
from muntin.slicing.split_costs import LEVELS
from muntin.spanning.explain import explain_spans
from muntin.spec import Query, Spec
from muntin.stores import explained
from muntin.units import Measure, show_duration
from muntin.windows import ContextAwareWindow, ContextFreeWindow, Cumulative, Sliding
from muntin.windows.base import takes_arrays
from muntin.workload import Decision, Workload, workload

__all__ = ["Explanation", "explain"]

_MEASURES = {Measure.TIME: "time", Measure.ROWS: "rows", Measure.COLUMN: "another column"}


class Explanation(str):
    """A text that shows its lines in an interactive session too.

    >>> Explanation("one\\ntwo")
    one
    two
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(spec: Spec, schema: pa.Schema | None = None, found: Statistics | None = None) -> Explanation:
    """The explanation of a spec; with the schema of its frames the types of columns are known, too."""
    bound = assumed(spec) if schema is None else layout(spec, schema)
    if spec.spans is not None:
        return Explanation(explain_spans(spec, bound))
    answers = [truth(spec, query, bound) for query in spec.queries]
    parts = [_head(spec)]
    for query, answer in zip(spec.queries, answers, strict=True):
        parts.append(
            _query(spec, query, answer, in_python(query, bound, schema is not None), _bound_query(query, bound))
        )
    parts.append("\n".join(_together(spec, answers, bound)))
    if found is not None:
        parts += ["\n".join(cost_lines(bound, found))] if bound is not None else []
        parts.append("\n".join(_state(spec, bound, found.rate, found.keys)))
    return Explanation("\n\n".join(parts))


# -- what really happens -----------------------------------------------------------------------------------------------


def truth(spec: Spec, query: Query, bound: Layout | None) -> Workload:
    """The answers for a query, as the engine goes by them: it keeps events also where Figure 4 does not ask for them.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("km", mt.session(1000, on="odometer"), n=mt.count())
    >>> truth(spec, spec.queries[0], None).keep_events.answer
    'yes'
    """
    answer = workload(spec, query)
    if answer.keep_events:
        return answer
    reason = _also_kept(spec, query, bound)
    if reason is None:
        return answer
    return replace(answer, keep_events=Decision("yes", f"Figure 4 does not ask for them, but {reason}."))


def _also_kept(spec: Spec, query: Query, bound: Layout | None) -> str | None:
    window = query.window
    if not is_sliced(window):
        if is_rows(window):
            return "one that comes out of order after all takes its position where no window after it is closed"
        if window.measure is Measure.ROWS:
            return "positions are counted among kept events"
        if window.measure is Measure.COLUMN:
            return _kept_along(spec, query, bound)
        return "the edges that events bring are found among kept events"
    found = _bound_query(query, bound)
    names = [] if found is None else [n for n, b in found.aggregates.items() if way(b, spec.time is None) == "events"]
    waits = [] if found is None else [name for name in names if compiled(found.aggregates[name]) is not None]
    if waits:
        return (
            f"{', '.join(waits)} is not commutative, and one that comes out of order after all is counted at its place"
        )
    own = [name for name, aggregate in query.aggregates if name in names and _is_own(aggregate)]
    if own:
        return f"{', '.join(own)} runs in Python, over the events of each window"
    return f"the partial of {', '.join(names)} has no fixed size" if names else None


def _kept_along(spec: Spec, query: Query, bound: Layout | None) -> str | None:
    found = _bound_query(query, bound)
    if found is None or not isinstance(query.window, Sliding | Cumulative):
        return "windows of this kind on another column are found among kept events"
    if is_along(found, spec.order is not None):
        return None
    names = [name for name, aggregate in found.aggregates.items() if compiled(aggregate) is None]
    if names:
        return f"{', '.join(names)} has no partial of a fixed size in slices along another column"
    return "slices along another column do not keep what order= decides between events of equal times"


def _is_own(aggregate: Aggregate) -> bool:
    return not type(aggregate).__module__.startswith("muntin.aggregates.")


def in_python(query: Query, bound: Layout | None, known: bool) -> dict[str, str]:
    """The aggregates of a query that run in Python, and why. `known`: the types of columns are not assumed.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling("1 s"), climb=mt.process(max, "x"), n=mt.count())
    >>> in_python(spec.queries[0], None, False)
    {'climb': 'its function is called once per window'}
    """
    found, reasons = _bound_query(query, bound), {}
    for name, aggregate in query.aggregates:
        if isinstance(aggregate, Process):
            reasons[name] = "its function is called once per window"
        elif found is not None and _is_own(aggregate):
            reason = why_not(found.aggregates[name])
            if reason is not None:
                reasons[name] = reason if known else f"{reason} (with float64 values; explain(frame) knows the types)"
    return reasons


def _bound_query(query: Query, bound: Layout | None) -> BoundQuery | None:
    found = [] if bound is None else [other for other in bound.queries if other.name == query.name]
    return found[0] if found else None


# -- the text ----------------------------------------------------------------------------------------------------------


def _head(spec: Spec) -> str:
    if spec.in_order:
        order = "in order"
    else:
        order = f"out of order by up to {show_duration(spec.disorder)}, corrected for {show_duration(spec.lateness)}"
    keys = "no key" if not spec.by else "keyed by " + ", ".join(spec.by)
    return f"over({spec.time!r}): {order}, {keys}"


def _decomposed(spec: Spec, query: Query) -> list[str]:
    """The pane-level and the window-level query, where a window has several panes."""
    plan = panes(spec)[query.name]
    return plan.lines() if plan.pane is not None and plan.pane.per_window > 1 else []


def _query(spec: Spec, query: Query, answer: Workload, reasons: dict[str, str], bound: BoundQuery | None) -> str:
    window = query.window
    lines = [f"{query.name}: {window!r}"]
    lines.append(
        f"  {window.window_class}, measured in {_MEASURES[window.measure]}; a window is identified by its "
        f"{window.identity}"
    )
    for name, aggregate in query.aggregates:
        lines.append(f"  {name} = {aggregate!r}: {', '.join(aggregate.properties)}")
        if name in reasons:
            lines.append(f"    runs in Python: {reasons[name]}")
    lines += [f"  {line}" for line in _decomposed(spec, query)]
    lines.append(f"  events kept: {answer.keep_events.answer}. {answer.keep_events.reason}")
    lines.append(f"  splits:      {answer.splits.answer}. {answer.splits.reason}")
    cached = cached_slices(query, bound) if answer.keep_events else None
    if cached is not None:
        lines.append(f"  slice size:  {cached.answer}. {cached.reason}")
    lines.append(f"  removal:     {answer.removal.answer}. {answer.removal.reason}")
    if isinstance(window, ContextFreeWindow) and not takes_arrays(window):
        lines.append("  note: next_edge takes one time at a time, so it is called for each; over arrays it is faster")
    return "\n".join(lines)


def cached_slices(query: Query, bound: BoundQuery | None) -> Decision | None:
    """Whether slices over kept events are cached from step to step; None where windows are not found among them.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.punctuated("mark"), total=mt.sum("x"))
    >>> cached_slices(spec.queries[0], None).answer
    'none'
    """
    window = query.window
    if is_sliced(window) or is_rows(window):
        return None
    if isinstance(window, ContextAwareWindow):
        return Decision(
            "none", "Windows of your own do not tell whether they overlap: nothing is cached between steps."
        )
    if not overlapping(window):
        return Decision(
            "none", "An event is in one window only, so nothing is cached between steps, but for emit='updates'."
        )
    if bound is not None and not from_pieces(bound):
        return Decision("none", "No aggregate has a compiled partial of fixed size that would be worth caching.")
    sizes = f"{size_of(1):,} to {size_of(LEVELS):,}"
    return Decision(
        f"{sizes} events, as measured",
        "Where windows overlap from step to step, slices of kept events are cached, and split where a window begins or "
        "ends. Their size follows what splits cost; results do not depend on it. engine.explain() shows both.",
    )


def _size(window: ContextFreeWindow) -> int | None:
    """How long a window may be; a user's own does not tell."""
    return window.size.amount if isinstance(window, Sliding | Cumulative) else None


def _together(spec: Spec, answers: list[Workload], bound: Layout | None) -> list[str]:
    kept = any(answer.keep_events for answer in answers)
    split = any(answer.splits for answer in answers)
    removed = sorted({answer.removal.answer for answer in answers if answer.removal})
    lines = [
        "Together: events are "
        + ("kept" if kept else "not kept")
        + ", slices are "
        + ("split where edges appear" if split else "never split")
        + ", events are "
        + (f"removed ({' and '.join(removed)})" if removed else "never removed")
        + "."
    ]
    shared = [query.window for query in spec.queries if is_sliced(query.window)]
    if shared:
        rate = Slicer(shared).per_second()
        count = "1 query" if len(shared) == 1 else f"{len(shared)} queries"
        lines.append(f"Slices: about {rate:.4g} per second of event time, shared by all keys and by {count}.")
        sizes = [_size(window) for window in shared if isinstance(window, ContextFreeWindow)]
        if sizes:
            longest = None if None in sizes else rate * max(size for size in sizes if size is not None) / 1e6
            lines.append(explained(spec.lateness > 0, longest))
            if longest is None or longest > 2:
                lines.append(final_explained(longest, spec.lateness > 0))
    in_rows: list[Any] = [query.window for query in spec.queries if is_rows(query.window)]
    if in_rows:
        steps, _ = edges_of(in_rows)
        longest = max(window.size.amount for window in in_rows) * min(float((1 / steps).sum()), 1.0)
        if longest > 2:
            lines.append(final_explained(longest, spec.lateness > 0, "Final aggregation of rows windows, key by key"))
    if spec.idle is None and any(query.window.measure is Measure.ROWS for query in spec.queries) and spec.by:
        lines.append(
            "Warning: rows are counted per key for ever, so every key ever seen keeps a little state. "
            "over(idle=...) lets positions start again after a silence."
        )
    if any(getattr(query.window, "on", None) is not None for query in spec.queries) and spec.by:
        lines.append(
            "Warning: how far each key has come along another column is kept for ever, a little for every key."
        )
    if spec.compression is not None:
        pairs = zip(spec.queries, answers, strict=True)
        keeping = [query for query, answer in pairs if answer.keep_events and not is_rows(query.window)]
        lines += compression_lines(spec, spec.compression, keeping, bound)
    if spec.max_ahead is not None and spec.time is not None:
        lines.append(f"A row further than {show_duration(spec.max_ahead)} ahead of the clock is rejected (max_ahead).")
    return lines


def _state(spec: Spec, bound: Layout | None, rate: float, keys: int) -> list[str]:
    shown = "1 key" if keys == 1 else f"{keys:,} keys"
    head = f"State at {rate:,.6g} events per second of event time and {shown}"
    if bound is None:
        return [f"{head}: not known without the types of columns. Use explain(frame, rate=...)."]
    found = predicted(bound, rate, keys)
    lines = [f"{head}: about {amount(found.nbytes)}, and room to grow."]
    lines += [f"  {_part(part)}" for part in found.parts]
    if not any(part.note for part in found.parts):  # a note is about what cannot be known
        lines.append(f"  With that room, slices made ahead and the table of keys: at most {amount(found.most)}.")
    terms = held(bound, rate, keys)
    if terms is not None:
        # Of the ways that slice only those that this spec allows are compared.
        kept = any(part.name == "kept events" for part in found.parts)
        rows = {
            name: size(terms)
            for name, size in TABLE_1.items()
            if "slicing" not in name or name.endswith("on tuples") == kept
        }
        lines.append("  By Table 1 of paper 1: " + ", ".join(f"{name} {amount(n)}" for name, n in rows.items()) + ".")
    return lines


def _part(part: Part) -> str:
    note = f", {part.note}" if part.note else ""
    return f"{part.name}: {part.count:,.0f} of {part.size:.4g} bytes, {amount(part.nbytes)}{note}"
