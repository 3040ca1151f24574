"""Queries by what they compute: what is found out about aggregates is found out once, however many queries ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from muntin.aggregates import Aggregate, Bound
from muntin.layout import BoundQuery
from muntin.slicing.plan import way
from muntin.slicing.texts import coded

__all__ = ["Shape", "shapes"]


@dataclass
class Shape:
    """Queries with the same aggregates under the same names; those that take texts take their ranks."""

    aggregates: dict[str, Bound]
    fixed: dict[str, int]
    """Aggregates in cells: their place among all that are."""
    runs: list[str]
    """Aggregates over sorted runs of values."""
    kept: list[str]
    """Aggregates computed from kept events."""
    members: list[tuple[int, BoundQuery]] = field(default_factory=list)


def shapes(queries: Iterable[tuple[int, BoundQuery]], by_arrival: bool) -> tuple[list[Shape], list[Bound]]:
    """The shapes of some queries of a layout, and the aggregates in cells: one update for equal ones.

    >>> import muntin as mt, pyarrow as pa
    >>> from muntin.layout import layout
    >>> spec = mt.over("ts").window("a", mt.tumbling("1 s"), n=mt.count(), m=mt.median("x"))
    >>> bound = layout(spec.window("b", mt.tumbling("2 s"), n=mt.count()), pa.schema({"ts": "int64", "x": "int64"}))
    >>> found, cells = shapes(enumerate(bound.queries), by_arrival=True)
    >>> [(shape.fixed, shape.runs) for shape in found], cells[0].aggregate
    ([({'n': 0}, ['m']), ({'n': 0}, [])], count())
    """
    found: dict[object, Shape] = {}
    cells: dict[Aggregate, int] = {}
    bounds: list[Bound] = []
    for index, query in queries:
        # A layout binds equal aggregates once, so that their identities tell them apart.
        same = tuple([(name, id(bound)) for name, bound in query.aggregates.items()])
        shape = found.get(same)
        if shape is None:
            shape = found[same] = Shape({name: coded(bound) for name, bound in query.aggregates.items()}, {}, [], [])
            for name, bound in query.aggregates.items():
                where = way(bound, by_arrival)
                if where != "cells":
                    (shape.runs if where == "runs" else shape.kept).append(name)
                    continue
                over = shape.aggregates[name]
                if over.aggregate not in cells:
                    cells[over.aggregate] = len(bounds)
                    bounds.append(over)
                shape.fixed[name] = cells[over.aggregate]
        shape.members.append((index, BoundQuery(query.query, shape.aggregates)))
    return list(found.values()), bounds
