"""The text of `explain`: what a spec will do, and why."""

from __future__ import annotations

from muntin.slicing.slicer import Slicer
from muntin.spec import Query, Spec
from muntin.units import Measure, show_duration
from muntin.windows import ContextFreeWindow, Session
from muntin.windows.base import takes_arrays
from muntin.workload import Workload, workload

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


def explain(spec: Spec) -> Explanation:
    """The explanation of a spec."""
    answers = [workload(spec, query) for query in spec.queries]
    parts = [_head(spec)]
    parts += [_query(query, answer) for query, answer in zip(spec.queries, answers, strict=True)]
    parts.append("\n".join(_together(spec, answers)))
    return Explanation("\n\n".join(parts))


def _head(spec: Spec) -> str:
    if spec.in_order:
        order = "in order"
    else:
        order = f"out of order by up to {show_duration(spec.disorder)}, corrected for {show_duration(spec.lateness)}"
    keys = "no key" if not spec.by else "keyed by " + ", ".join(spec.by)
    return f"over({spec.time!r}): {order}, {keys}"


def _query(query: Query, answer: Workload) -> str:
    window = query.window
    lines = [f"{query.name}: {window!r}"]
    lines.append(
        f"  {window.window_class}, measured in {_MEASURES[window.measure]}; a window is identified by its "
        f"{window.identity}"
    )
    for name, aggregate in query.aggregates:
        lines.append(f"  {name} = {aggregate!r}: {', '.join(aggregate.properties)}")
    lines.append(f"  events kept: {answer.keep_events.answer}. {answer.keep_events.reason}")
    lines.append(f"  splits:      {answer.splits.answer}. {answer.splits.reason}")
    lines.append(f"  removal:     {answer.removal.answer}. {answer.removal.reason}")
    if isinstance(window, ContextFreeWindow) and not takes_arrays(window):
        lines.append("  note: next_edge takes one time at a time, so it is called for each; over arrays it is faster")
    return "\n".join(lines)


def _together(spec: Spec, answers: list[Workload]) -> list[str]:
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
    shared = [q.window for q in spec.queries if q.window.measure is Measure.TIME]
    shared = [window for window in shared if isinstance(window, ContextFreeWindow | Session)]
    if shared:
        rate = Slicer(shared).per_second()
        count = "1 query" if len(shared) == 1 else f"{len(shared)} queries"
        lines.append(f"Slices: about {rate:.4g} per second of event time, shared by all keys and by {count}.")
    if spec.idle is None and any(query.window.measure is Measure.ROWS for query in spec.queries) and spec.by:
        lines.append(
            "Warning: rows are counted per key for ever, so every key ever seen keeps a little state. "
            "over(idle=...) lets positions start again after a silence."
        )
    if spec.max_ahead is not None and spec.time is not None:
        lines.append(f"A row further than {show_duration(spec.max_ahead)} ahead of the clock is rejected (max_ahead).")
    return lines
