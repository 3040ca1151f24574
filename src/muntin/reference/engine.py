"""The reference engine: every step recomputes every open window of every key from all events."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.concurrent import Concurrent
from muntin.aggregates.types import scalars, typed
from muntin.columns import measures, times
from muntin.engine import Engine
from muntin.errors import FrameError
from muntin.frames import to_arrow
from muntin.layout import BoundQuery, Layout
from muntin.reference.events import Event, Key, Missed, Win, canonical
from muntin.reference.families import family
from muntin.reference.family import Family
from muntin.spec import Spec
from muntin.starting import start_after
from muntin.units import microseconds

__all__ = ["Reference", "Run", "run"]

ORDER_NULL = -(2**63)  # a null in the order column comes first


@dataclass
class KeyState:
    """What is known of one key in one query: events taken, up to where windows are closed, what was reported."""

    taken: list[Event] = field(default_factory=list)
    mark: Any = None
    reported: dict[tuple[Any, ...], Report] = field(default_factory=dict)


class Report(NamedTuple):
    """What was last said of a window. `value` is None once it is retracted."""

    win: Win
    value: tuple[Any, ...] | None
    revision: int


class Row(NamedTuple):
    """One result row, before it becomes part of a table."""

    key: Key
    query: int
    start: int
    end: int | None
    rows: tuple[int, int] | None
    values: dict[str, Any]
    revision: int


class Late(NamedTuple):
    """One row of the late output: which row of the batch, why, for which query, what it missed."""

    row: int
    reason: str
    query: str | None
    missed: Missed | None


class Reference(Engine):
    """A plain recomputation of the semantics from all events: no slices, no cleverness.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count())
    >>> isinstance(spec.engine(engine="reference"), Reference)
    True
    """

    def _begin(self, bound: Layout) -> None:
        self._bound = bound
        self._families: list[Family] = [self._family(query) for query in bound.queries]
        self._keys: dict[Key, Key] = {}
        self._states: list[dict[Key, KeyState]] = [{} for _ in bound.queries]
        self._arrivals = itertools.count()

    def _family(self, query: BoundQuery) -> Family:
        kind = family(query, self._bound)
        kind.since = self._since.get(query.name)
        return kind

    def _change(self, bound: Layout) -> None:
        """Queries of the same name go on; one that is new sees no event up to the newest."""
        before = {query.name: states for query, states in zip(self._bound.queries, self._states, strict=True)}
        self._bound = self._layout = bound
        self.spec = bound.spec
        if self._seen is not None:
            added = [query for query in bound.queries if query.name not in before]
            self._since |= {query.name: start_after(query.window, self._seen) for query in added}
        self._families = [self._family(query) for query in bound.queries]
        self._states = [before.get(query.name, {}) for query in bound.queries]

    # -- taking rows in --------------------------------------------------------------------------------------------

    def _take(self, table: pa.Table, now: int | None) -> pa.Table:
        """Judge all rows of a batch against the watermark so far, then take them in; gives the late rows."""
        late: list[Late] = []
        taken: list[tuple[KeyState, Event]] = []
        for row, (event, key, reason) in enumerate(self._events(table, now)):
            if reason is not None:
                late.append(Late(row, reason, None, None))
                continue
            self._newest = event.time if self._newest is None else max(self._newest, event.time)
            if event.start is not None:
                self._longest = max(self._longest or 0, event.time - event.start)
            for query, kind, states in zip(self._bound.queries, self._families, self._states, strict=True):
                if kind.ignores(event):
                    continue
                state = states.get(key)
                if state is None:
                    state = states[key] = KeyState(mark=self._fresh_mark(kind))
                if kind.measure is not None and event.measures[kind.measure] is None:
                    late.append(Late(row, "null measure", query.name, None))
                    continue
                missed = None if state.mark is None else kind.judge(event, state.mark)
                if missed is not None and not kind.before(event):
                    late.append(Late(row, "late", query.name, missed))
                if missed is None or kind.takes_late:
                    taken.append((state, event))
        for state, event in taken:
            state.taken.append(event)
        for states in self._states:
            for state in states.values():
                state.taken.sort(key=lambda e: e.place)
        return self._late_table(table, late)

    def _fresh_mark(self, kind: Family) -> Any:
        return None if self._released is None else kind.mark(None, [], [], self._released)

    def _events(self, table: pa.Table, now: int | None) -> Iterable[tuple[Event, Key, str | None]]:
        """The rows as events, each with its key and, where it is rejected, the reason."""
        spec, n = self.spec, table.num_rows
        rows = {name: _scalars(table.column(name)) for name in self._needed()}
        if spec.time is None:
            assert now is not None
            stamps, null, outside = [now] * n, [False] * n, [False] * n
        else:
            found = times(table.column(spec.time), spec.time)
            stamps, null, outside = found.micros.tolist(), found.null.tolist(), found.out_of_range.tolist()
        starts: list[int] | None = None
        if spec.spans is not None:
            begun = times(table.column(spec.spans.start), spec.spans.start)
            starts = begun.micros.tolist()
            null = [a or b for a, b in zip(null, begun.null.tolist(), strict=True)]
            outside = [a or b for a, b in zip(outside, begun.out_of_range.tolist(), strict=True)]
        orders = [0] * n
        if spec.order is not None:
            orders = [ORDER_NULL if value is None else value for value in rows[spec.order]]
        along: dict[str, list[int | None]] = {}
        for kind in self._families:
            if kind.measure is not None:
                values, nulls = measures(table.column(kind.measure), kind.measure)
                along[kind.measure] = [None if none else v for v, none in zip(values.tolist(), nulls, strict=True)]
        for i in range(n):
            reason = None
            if null[i]:
                reason = "null time"
            elif outside[i]:
                reason = "time out of range"
            elif now is not None and spec.time is not None and spec.max_ahead is not None:
                reason = "too far ahead" if stamps[i] > now + spec.max_ahead else None
            if reason is None and starts is not None and stamps[i] < starts[i]:
                reason = "span ends before it starts"
            event = Event(
                stamps[i],
                orders[i],
                next(self._arrivals),
                {name: column[i] for name, column in rows.items()},
                {name: column[i] for name, column in along.items()},
                None if starts is None else starts[i],
            )
            key = tuple(canonical(rows[name][i]) for name in spec.by)
            self._keys.setdefault(key, tuple(_zero(rows[name][i]) for name in spec.by))
            yield event, key, reason

    def _needed(self) -> set[str]:
        """The columns that the spec names, beside the time."""
        named = {*self.spec.by, *([] if self.spec.order is None else [self.spec.order])}
        for query in self._bound.queries:
            named.update(query.window.columns)
            named.update(column for bound in query.aggregates.values() for column in bound.aggregate.columns)
        return named

    def _late_table(self, table: pa.Table, late: list[Late]) -> pa.Table:
        schema = self._bound.late
        rows = table.take(pa.array([entry.row for entry in late], pa.int64()))
        missed = [None if e.missed is None or e.missed.start is None else _span(*e.missed) for e in late]
        columns = [
            *rows.columns,
            pa.array([entry.reason for entry in late], pa.string()),
            pa.array([entry.query for entry in late], pa.string()),
            typed(missed, schema.field("missed").type),
        ]
        return pa.table(columns, schema=schema)

    # -- reporting -------------------------------------------------------------------------------------------------

    def _report(self, flush: bool) -> pa.Table:
        """Every window that is due and was not reported as it is now; then close what is to be closed."""
        rows: list[Row] = []
        for index, (query, kind, states) in enumerate(
            zip(self._bound.queries, self._families, self._states, strict=True)
        ):
            for key, state in states.items():
                rows += self._report_key(index, query, kind, key, state, flush)
        rows.sort(key=lambda row: (row.end is None, row.end or 0, row.start, row.query))
        return self._results(rows)

    def _report_key(
        self, index: int, query: BoundQuery, kind: Family, key: Key, state: KeyState, flush: bool
    ) -> Iterable[Row]:
        watermark = self._released
        wins = kind.existing(state.taken)
        still_open = [win for win in wins if state.mark is None or not kind.past(win, state.mark)]
        for identity, report in list(state.reported.items()):
            gone = state.mark is None or not kind.past(report.win, state.mark)
            if gone and report.value is not None and all(win.identity != identity for win in wins):
                state.reported[identity] = report._replace(value=None)
                win = report.win
                yield Row(key, index, win.start, win.end, win.rows, {}, -1)
        for win in still_open:
            if not flush and (watermark is None or not kind.due(win, state.taken, watermark)):
                continue
            values = {name: evaluate_in(win, bound) for name, bound in query.aggregates.items()}
            said = (win.start, win.end, win.rows, *map(_comparable, values.values()))
            before = state.reported.get(win.identity)
            if before is not None and before.value == said:
                continue
            revision = 0 if before is None else before.revision + 1
            state.reported[win.identity] = Report(win, said, revision)
            yield Row(key, index, win.start, win.end, win.rows, values, revision)
        if watermark is not None:
            state.mark = kind.mark(state.mark, state.taken, wins, watermark)

    def _results(self, rows: list[Row]) -> pa.Table:
        schema, bound = self._bound.results, self._bound
        columns: dict[str, list[Any]] = {name: [] for name in schema.names}
        for row in rows:
            query = bound.queries[row.query]
            for name, value in zip(self.spec.by, self._keys[row.key], strict=True):
                columns[name].append(value)
            columns["query"].append(query.name)
            columns["window"].append(_span(row.start, row.end))
            columns["rows"].append(None if row.rows is None else _span(*row.rows))
            columns["revision"].append(row.revision)
            for name in schema.names[len(self.spec.by) + 3 : -1]:
                columns[name].append(row.values.get(name))
        return pa.table([self._typed(name, columns[name]) for name in schema.names], schema=schema)

    def _typed(self, name: str, values: list[Any]) -> pa.Array:
        type_ = self._bound.results.field(name).type
        try:
            return typed(values, type_)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise FrameError(
                f"a value of {name!r} is not of its type, {type_}: {error}. Declare another type."
            ) from error


def evaluate_in(win: Win, bound: Bound) -> Any:
    """An aggregate of a window."""
    if isinstance(bound.aggregate, Concurrent):
        assert win.end is not None
        spans = [(event.start, event.stop) for event in win.events if event.start is not None]
        return bound.aggregate.over(spans, win.start, win.end)
    return evaluate(bound, win.events)


def evaluate(bound: Bound, events: list[Event]) -> Any:
    """An aggregate straight from its definition, or else folded from all events one by one."""
    aggregate = bound.aggregate
    rows = [(event, tuple(event.row[column] for column in aggregate.columns)) for event in events]
    rows = [(event, values) for event, values in rows if all(value is not None for value in values)]
    if len(rows) < aggregate.least:
        return None
    if aggregate.plain is not None:
        single = len(aggregate.columns) == 1
        return aggregate.settle(aggregate.plain([values[0] if single else values for _, values in rows]))
    place = (lambda e: (e.time, e.order)) if aggregate.timed else (lambda e: ())
    partials = [bound.lift(*values, *place(event)) for event, values in rows]
    return aggregate.settle(bound.lower(reduce(bound.combine, partials)))


class Run(NamedTuple):
    """What a run of the reference gave: one table of results and one of late rows per step."""

    results: list[pa.Table]
    late: list[pa.Table]


def run(
    spec: Spec,
    steps: Iterable[tuple[Any, Any]],
    *,
    flush: bool = False,
    clock: Callable[[], Any] | None = None,
    emit: str = "final",
) -> Run:
    """Run the reference over steps of (batch, watermark).

    A batch is any frame, or None for a step without rows; a watermark is a datetime or microseconds, or None where
    it stays; it never moves backwards. With `flush` one more step reports what is left.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count())
    >>> [table.column("n").to_pylist() for table in run(spec, [({"ts": [1, 2]}, None), (None, 1_000_000)]).results]
    [[], [2]]
    """
    engine = Reference(spec.checked(), "manual", clock, emit=emit)
    results, late = [], []
    for batch, watermark in steps:
        table = None if batch is None else to_arrow(batch).table
        moved = None if watermark is None else microseconds(watermark, "watermark")
        results.append(engine._run(table, moved, False))
        late.append(engine.late())
    if flush:
        results.append(engine.flush())
        late.append(engine.late())
    return Run(results, late)


def _span(start: Any, end: Any) -> dict[str, Any]:
    return {"start": start, "end": end}


def _zero(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value


def _comparable(value: Any) -> Any:
    """A value such that NaN equals NaN, also inside lists and structs."""
    if isinstance(value, list | tuple):
        return tuple(_comparable(part) for part in value)
    if isinstance(value, dict):
        return tuple(_comparable(part) for part in value.values())
    return canonical(value)


def _scalars(column: pa.ChunkedArray) -> list[Any]:
    """Plain scalars; nested values stay as they are, since they are only counted."""
    values: list[Any] = column.to_pylist() if pa.types.is_nested(column.type) else scalars(column)
    return values
