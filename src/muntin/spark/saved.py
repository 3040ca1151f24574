"""The snapshot of a bucket's engine with what it belongs to, and an engine from it, also with other windows.

Steps that were written since a snapshot have the columns and the partials of the windows of then. So these run first,
in an engine of the former spec; what they give is carried over to the new one, as `engine.restore(..., changed=True)`
does it (paper 1, section 5: queries are added and removed, and go on with the slices that are there).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from muntin.slicing.beginning import columns_from
from muntin.slicing.engine import Slicing
from muntin.spark.change import described, former
from muntin.spark.ipc import opened, packed
from muntin.spark.step import Running, Step, Wanted
from muntin.state.blob import pack, unpack
from muntin.state.understood import understood

__all__ = ["added_since", "restored", "saved"]


def saved(wanted: Wanted, running: Running) -> bytes:
    """The snapshot of an engine."""
    engine = running.engine
    told = {"spec": described(wanted.spec, wanted.schema), "schema": wanted.schema, "since": engine._since}
    return pack(told | {"engine": engine.snapshot()})


def added_since(snapshot: bytes) -> dict[str, int | None]:
    """From when each window of a snapshot is exact, in microseconds; None: from the beginning."""
    with understood():
        tree = unpack(snapshot, copy=False)
        return {name: tree["since"].get(name) for name, _, _ in tree["spec"]["windows"]}


def restored(wanted: Wanted, snapshot: bytes, steps: Iterable[bytes]) -> Running:
    """An engine from a snapshot and the steps since; a clear error where its spec may not follow theirs."""
    tree, now = unpack(snapshot), described(wanted.spec, wanted.schema)
    with understood():
        before, engine = tree["spec"], tree["engine"]
        same = all(before[name] == now[name] for name in ("over", "windows", "columns"))
    if same:
        running = wanted.engine()
        running.engine.restore(engine)
        for blob in steps:
            Step.of(unpack(blob, copy=False)).run(running, wanted.schema)
        return running
    return _moved(wanted, tree, steps)


def _moved(wanted: Wanted, tree: dict[str, Any], steps: Iterable[bytes]) -> Running:
    """An engine that goes on with other windows."""
    spec = former(tree["spec"], wanted.spec, wanted.schema)
    running = Wanted(spec, tree["schema"], wanted.emit, final=wanted.final).engine()
    engine = running.engine
    assert isinstance(engine, Slicing)
    state = unpack(tree["engine"])
    whole = len(spec.queries) == len(tree["spec"]["windows"])
    engine._take_over(state, not whole)
    for blob in steps:
        step = Step.of(unpack(blob, copy=False))
        if step.partials and not whole:
            step = step._replace(partials=[packed(_of_some(opened(blob), engine, state)) for blob in step.partials])
        step.run(running, tree["schema"])
    state = engine._dump()
    if "schema" in state:
        state["schema"] = wanted.schema  # the new windows may need more columns, or fewer
    moved = wanted.engine()
    engine = moved.engine
    assert isinstance(engine, Slicing)
    engine._take_over(state, True)
    # A window is exact once it is in all buckets.
    for name, start in wanted.since.items():
        engine._since[name] = max(start, engine._since.get(name, start))
    if engine._layout is not None:
        engine._tell_starts()
    moved.moved = True
    return moved


def _of_some(table: pa.Table, engine: Slicing, state: dict[str, Any]) -> pa.Table:
    """Partials with the cells of some of the windows that they were made for."""
    sliced = engine._sliced
    assert sliced is not None
    places = columns_from(sliced, state["sliced"], None)
    mine = {f"p{i}": table.column(f"p{old}") for i, old in enumerate(places) if i}
    others = {name: table.column(name) for name in table.column_names if name not in _cells(table)}
    return pa.table(others | mine, metadata=table.schema.metadata)


def _cells(table: pa.Table) -> set[str]:
    """The columns of partials beside the number of events: p1, p2, ..."""
    return {f"p{i}" for i in range(1, table.num_columns)}
