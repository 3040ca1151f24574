"""A model of an engine whose windows change: one reference per query, each over the whole history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import muntin as mt
from muntin.engine import Engine
from muntin.reference import Reference
from muntin.slicing.engine import Slicing
from muntin.spec import Query
from muntin.units import microseconds
from tests.strategies import Pairs, comparable

MIXES = (("all", "n", "total"), ("n", "total"), ("all", "mid"), ("mid", "n"), ("last", "mode"), ("all",))
"""With kept events and without, with sorted runs, with texts; few, since each compiles its own kernels."""

ALIKE = [
    mt.tumbling("2 us"),
    mt.tumbling("8 us"),
    mt.sliding("8 us", every="4 us"),
    mt.sliding("30 us", every="10 us"),
    mt.cumulative("12 us", every="4 us"),
    mt.session("8 us"),
    mt.session("16 us"),
    mt.session("3 us"),
    Pairs(),
]
"""Windows whose edges often fall together, so that one that is added can use the slices of another."""

Step = tuple[pa.Table | None, int | None]


class Model:
    """What each query must give, from when it is exact, had it been there from the beginning."""

    def __init__(self, over: mt.Spec) -> None:
        self.over = replace(over, queries=())
        self.history: list[Step] = []
        self.queries: dict[str, Reference] = {}

    def add(self, query: Query, since: Any) -> None:
        """A query that is exact since a time; None: from the beginning."""
        alone = Reference(replace(self.over, queries=(query,)), "manual")
        if since is not None:
            alone._since = {query.name: microseconds(since, "since")}
        for batch, watermark in self.history:
            alone._run(batch, watermark, False)
        alone.late()
        self.queries[query.name] = alone

    def run(self, batch: pa.Table | None, watermark: int | None, flush: bool = False) -> tuple[Any, Any]:
        """The results and the late rows of a step, by query."""
        self.history.append((batch, watermark))
        results = {name: rows(query._run(batch, watermark, flush)) for name, query in self.queries.items()}
        return results, {name: rows(query.late()) for name, query in self.queries.items()}


def rows(table: pa.Table) -> list[Any]:
    """The rows of a table, without their query and without nulls: columns of other queries do not matter."""
    listed = [
        {name: row[name] for name in sorted(row) if row[name] is not None and name != "query"}
        for row in table.to_pylist()
    ]
    return sorted((comparable(row) for row in listed), key=repr)


def check_step(engine: Engine, model: Model, step: Step, flush: bool = False) -> None:
    """The same results and late rows for every query."""
    found = engine.flush() if flush else engine._run(*step, False)
    late = engine.late()
    results, missed = model.run(*step, flush)
    for name in model.queries:
        assert rows(of_query(found, name)) == results[name], name
        assert rows(of_query(late, name)) == missed[name], f"late rows of {name}"
    for table in (found, late):
        if table.num_rows:
            assert set(table["query"].to_pylist()) <= set(model.queries)


def of_query(table: pa.Table, name: str) -> pa.Table:
    """The rows of one query."""
    if not table.num_rows:
        return table
    return table.filter(pa.compute.equal(table["query"], name))


def check_edges(engine: Engine, uncut: int | None) -> None:
    """Slice edges are the edges of windows and the cells of sessions, no more and no less.

    A slice that held an event when a window was added is not cut: up to the newest event of then, `uncut`, edges may
    be missing, but none is there that no window has.
    """
    if not isinstance(engine, Slicing) or engine._layout is None:
        return
    if engine._sliced is None or not len(engine._sliced.slices):
        return
    slicer, slices = engine._sliced.slicer, engine._sliced.slices
    if slicer._own:  # a user's window has no edge before; where the walk began stands for one
        return
    starts, ends = slices.starts, slices.ends
    assert (starts < ends).all()
    assert (ends[:-1] <= starts[1:]).all()
    assert (slicer.around(starts)[0] == starts).all()
    assert (slicer.around(ends)[0] == ends).all()
    whole = np.ones(len(starts), np.bool_) if uncut is None else starts > uncut
    assert (slicer.around(starts)[1] == ends)[whole].all()
    if slices.meet and whole.all():
        assert slicer.edges(int(starts[0]), int(ends[-1]) - 1).tolist() == [*starts.tolist(), int(ends[-1])]
