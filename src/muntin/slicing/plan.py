"""How the engine computes each query: over shared slices, and each aggregate in cells, from runs, or from kept events.

The engine goes by these answers and `explain` prints them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from muntin.aggregates import Bound
from muntin.compile import compiled
from muntin.layout import BoundQuery
from muntin.slicing.runs import by_runs
from muntin.slicing.texts import coded
from muntin.units import Measure
from muntin.windows import ContextFreeWindow, Cumulative, MixedSliding, Session, Sliding, Window

__all__ = ["Way", "is_along", "is_bare", "is_rows", "is_sliced", "overlapping", "way"]

Way = Literal["cells", "runs", "events"]


def is_sliced(window: Window) -> bool:
    """Whether windows are combined from shared slices of time.

    >>> import muntin as mt
    >>> is_sliced(mt.session("1 minute")), is_sliced(mt.tumbling("10 rows"))
    (True, False)
    """
    return window.measure is Measure.TIME and isinstance(window, ContextFreeWindow | Session)


def is_rows(window: Window) -> bool:
    """Whether windows are combined from slices of positions.

    >>> import muntin as mt
    >>> is_rows(mt.tumbling("10 rows")), is_rows(mt.sliding("10 rows", every="1 minute"))
    (True, False)
    """
    return isinstance(window, Sliding | Cumulative) and window.measure is Measure.ROWS


def overlapping(window: Window) -> bool:
    """Whether an event is in several windows of a query over kept events, so that slices of them are worth caching.

    Windows of a user's own do not tell.

    >>> import muntin as mt
    >>> overlapping(mt.sliding("10 rows", every="1 minute")), overlapping(mt.punctuated("mark"))
    (True, False)
    """
    if isinstance(window, MixedSliding | Cumulative):
        return True
    return isinstance(window, Sliding) and window.size.amount > window.every.amount


def is_along(query: BoundQuery, ordered: bool) -> bool:
    """Whether windows on another column are combined from slices along it; else they are found among kept events.

    `ordered`: the spec has an order column. Slices along another column do not stand in the order of time, so all
    aggregates must be commutative; and where one of equal times was first is told by the arrival, which an order column
    leaves no room for.

    >>> import muntin as mt, pyarrow as pa
    >>> from muntin.layout import layout
    >>> spec = mt.over("ts").window("w", mt.tumbling(10, on="km"), top=mt.max("x"))
    >>> spec = spec.window("all", mt.tumbling(10, on="km"), all=mt.collect("x"))
    >>> schema = pa.schema([("ts", pa.int64()), ("km", pa.int64()), ("x", pa.float64())])
    >>> [is_along(query, ordered=False) for query in layout(spec, schema).queries]
    [True, False]
    """
    window = query.window
    if not isinstance(window, Sliding | Cumulative) or window.measure is not Measure.COLUMN:
        return False
    bounds = query.aggregates.values()
    if ordered and any(bound.aggregate.timed for bound in bounds):
        return False
    return all(bound.aggregate.commutative and compiled(bound) is not None for bound in bounds)


def way(bound: Bound, by_arrival: bool) -> Way:
    """Where an aggregate over slices is computed from: fixed-size partials in cells, sorted runs, or kept events.

    An aggregate that is not commutative needs its events in order. `by_arrival`: times are those of arrival, so that
    they come in order for certain. Where that is only declared, an event that comes late after all is still counted, at
    its place.

    >>> import muntin as mt, pyarrow as pa
    >>> made = [mt.max("city"), mt.mode("city"), mt.concat("city")]
    >>> [way(aggregate.bind([pa.string()]), by_arrival=False) for aggregate in made]
    ['cells', 'runs', 'events']
    """
    over = coded(bound)
    if (over.aggregate.commutative or by_arrival) and compiled(over) is not None:
        return "cells"
    return "runs" if by_runs(over) else "events"


def is_bare(queries: Collection[BoundQuery], keyed: bool, by_arrival: bool) -> bool:
    """Whether queries over shared slices compute all from kept events, so that cells of keys would say nothing more.

    Sessions are found among cells.

    >>> import muntin as mt, pyarrow as pa
    >>> from muntin.layout import layout
    >>> spec = mt.over("ts", by="k").window("w", mt.tumbling("1 s"), all=mt.collect("x"))
    >>> schema = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("x", pa.float64())])
    >>> is_bare(layout(spec, schema).queries, keyed=True, by_arrival=False)
    True
    """
    if not keyed or any(isinstance(query.window, Session) for query in queries):
        return False
    ways = [way(bound, by_arrival) for query in queries for bound in query.aggregates.values()]
    return all(query.aggregates for query in queries) and set(ways) == {"events"}
