"""A spec for frames of one schema: columns looked up, aggregates bound to types, the schemas that come out."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from muntin.aggregates import Aggregate, Bound
from muntin.columns import check_time, time_zone
from muntin.errors import FrameError, SpecError, nearest
from muntin.spec import Query, Spec
from muntin.windows import Frame, Punctuated, Window

__all__ = ["BoundQuery", "Layout", "layout"]


@dataclass(frozen=True)
class BoundQuery:
    """A query whose aggregates know the types of their columns."""

    query: Query
    aggregates: dict[str, Bound]

    @property
    def name(self) -> str:
        """The name given to `.window`."""
        return self.query.name

    @property
    def window(self) -> Window:
        """The window type."""
        return self.query.window


@dataclass(frozen=True)
class Layout:
    """What follows from a spec and the schema of its frames.

    >>> import muntin as mt
    >>> spec = mt.over("ts", by="city").window("w", mt.tumbling("1 hour"), n=mt.count())
    >>> layout(spec, pa.schema([("ts", pa.timestamp("us")), ("city", pa.string())])).results.names
    ['city', 'query', 'window', 'rows', 'n', 'revision']
    """

    spec: Spec
    schema: pa.Schema
    queries: tuple[BoundQuery, ...]
    results: pa.Schema
    late: pa.Schema


def layout(spec: Spec, schema: pa.Schema, *, finite: bool = False) -> Layout:
    """Look up every column that the spec names; a clear error where one is missing or of the wrong type."""
    if spec.time is not None:
        check_time(_column(schema, spec.time, "the time" if spec.spans is None else "the end"), spec.time)
        if spec.spans is not None:
            _check_start(spec.spans.start, schema, spec.spans.end)
    elif finite:
        raise FrameError(
            "over(None) goes by the time of arrival, which the rows of a finite frame do not have. Name a column of "
            "event times, or push batches to spec.engine()."
        )
    for key in spec.by:
        _check_key(key, _column(schema, key, "the key"))
    if spec.order is not None:
        _check_order(spec.order, _column(schema, spec.order, "the order"))
    if not finite:
        for name in ("reason", "query", "missed"):
            if name in schema.names:
                raise FrameError(
                    f"the frame has a column {name!r}, a name that the late output needs. Rename the column."
                )
    _check_lossy(spec)
    known: dict[Aggregate, Bound] = {}  # equal aggregates are bound once, however many queries ask for them
    queries = tuple(_bind(query, schema, known) for query in spec.queries)
    stamp = pa.timestamp("us", _zone(spec, schema))
    span = pa.struct([("start", stamp), ("end", stamp)])
    places = pa.struct([("start", pa.int64()), ("end", pa.int64())])
    fields = [schema.field(key) for key in spec.by]
    fields += [pa.field("query", pa.string()), pa.field("window", span), pa.field("rows", places)]
    fields += [pa.field(name, type_) for name, type_ in _outputs(queries).items()]
    fields.append(pa.field("revision", pa.int32()))
    late = [
        *schema,
        pa.field("reason", pa.string()),
        pa.field("query", pa.string()),
        pa.field("missed", span),
    ]
    return Layout(spec, schema, queries, pa.schema([_plain(field) for field in fields]), pa.schema(late))


def _check_lossy(spec: Spec) -> None:
    """A name that nothing reads would be rounded nowhere, and nobody told."""
    rule = spec.compression
    read = {name for query in spec.queries for _, aggregate in query.aggregates for name in aggregate.columns}
    for name, _ in rule.lossy if rule is not None and isinstance(rule.lossy, tuple) else ():
        if name not in read:
            raise SpecError(f"lossy= names {name!r}, which no aggregate reads. {nearest(name, sorted(read))}")


def _column(schema: pa.Schema, name: str, what: str) -> pa.DataType:
    if name not in schema.names:
        raise FrameError(f"the frame has no column {name!r}, which is {what}. {nearest(name, schema.names)}")
    return schema.field(name).type


def _bind(query: Query, schema: pa.Schema, known: dict[Aggregate, Bound]) -> BoundQuery:
    for column in query.window.columns:
        _check_window(query, column, _column(schema, column, f"what window {query.name!r} goes by"))
    bound = {}
    for name, aggregate in query.aggregates:
        if aggregate not in known:
            types = [_column(schema, column, f"what {name!r} of {query.name!r} takes") for column in aggregate.columns]
            known[aggregate] = aggregate.bind(types)
        bound[name] = known[aggregate]
    return BoundQuery(query, bound)


def _check_window(query: Query, column: str, type_: pa.DataType) -> None:
    window, types = query.window, pa.types
    if isinstance(window, Punctuated | Frame):
        if not types.is_boolean(type_) and not types.is_null(type_):
            raise FrameError(
                f"window {query.name!r}: column {column!r} has type {type_}, but a mark or condition is boolean. "
                f"Compute it as a boolean column first."
            )
    elif getattr(window, "on", None) == column:
        if types.is_floating(type_):
            raise FrameError(
                f"window {query.name!r}: on={column!r} has type {type_}. A measure must be exact: scale and cast it "
                f"to an integer or decimal, for instance metres instead of kilometres."
            )
        exact = types.is_integer(type_) or types.is_decimal(type_) or types.is_date(type_) or types.is_timestamp(type_)
        if not exact:
            raise FrameError(
                f"window {query.name!r}: on={column!r} has type {type_}. A measure is an integer, decimal, date or "
                f"timestamp column."
            )


def _check_start(start: str, schema: pa.Schema, end: str) -> None:
    """Both ends of a span are told in the same way: else a time zone would lie between them."""
    begins, ends = _column(schema, start, "the start"), schema.field(end).type
    check_time(begins, start)
    kinds = [(pa.types.is_integer(kind), time_zone(kind) is None) for kind in (begins, ends)]
    if kinds[0] != kinds[1] and not any(map(pa.types.is_null, (begins, ends))):
        raise FrameError(
            f"the span begins with {start!r} of type {begins} and ends with {end!r} of type {ends}. Cast one of them, "
            f"so that both are told in the same way."
        )


def _check_key(name: str, type_: pa.DataType) -> None:
    if pa.types.is_nested(type_):
        raise FrameError(
            f"the key {name!r} has type {type_}. A key is a plain value: take its fields as columns first."
        )


def _check_order(name: str, type_: pa.DataType) -> None:
    types = pa.types
    if not (types.is_integer(type_) or types.is_timestamp(type_) or types.is_date(type_)):
        raise FrameError(f"order={name!r} has type {type_}. An order is an integer, date or timestamp column.")


def _outputs(queries: tuple[BoundQuery, ...]) -> dict[str, pa.DataType]:
    found: dict[str, tuple[str, pa.DataType]] = {}
    for query in queries:
        for name, bound in query.aggregates.items():
            other, type_ = found.setdefault(name, (query.name, bound.output))
            if type_ != bound.output:
                raise FrameError(
                    f"{name!r} has type {type_} in window {other!r} and {bound.output} in {query.name!r}. One name has "
                    f"one type: give one of them another name."
                )
    return {name: type_ for name, (_, type_) in found.items()}


def _zone(spec: Spec, schema: pa.Schema) -> str | None:
    return None if spec.time is None else time_zone(schema.field(spec.time).type)


def _plain(field: pa.Field) -> pa.Field:
    return pa.field(field.name, field.type)
