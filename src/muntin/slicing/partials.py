"""Partials in place of events: slices are cut and combined in one place, and merged into a store in another.

This is the split of paper 2, section 3: a pane-level query runs where the rows are, a window-level query over its
results. Slices come from times alone, so both places agree on them. All events of a slice belong to the same windows:
whether they are late is the same for all of them, and a count per slice and key tells how many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.fused import fused
from muntin.kernels.values import starts_of
from muntin.layout import Layout
from muntin.slicing.batch import Decoder
from muntin.slicing.engine import Slicing
from muntin.slicing.keys import _Numbers
from muntin.slicing.partial_runs import absorb_runs, columns_of_runs, is_summed, needs_texts
from muntin.slicing.plan import is_sliced, way
from muntin.slicing.sliced import Sliced
from muntin.slicing.slices import FIRST, LAST, N
from muntin.windows import Cumulative, Session, Sliding

if TYPE_CHECKING:
    from muntin.crossing import Crossing

__all__ = ["Combiner", "absorb", "joined", "why_events"]

Int64s = npt.NDArray[np.int64]

START = "start"
NEWEST = b"newest"
"""In the metadata of a table of partials: the time of the newest event."""


def why_events(layout: Layout) -> str | None:
    """Why the events themselves must be passed on; None where partials per slice and key do.

    >>> import muntin as mt
    >>> from muntin.layout import layout
    >>> spec = mt.over("ts").window("w", mt.tumbling("1 s"), all=mt.collect("x"))
    >>> why_events(layout(spec, pa.schema([("ts", pa.int64()), ("x", pa.int64())])))
    "'all' of 'w' is collect('x'), which is not commutative"
    """
    spec = layout.spec
    if spec.time is None:
        return "events go by the time of arrival"
    if spec.spans is not None:
        return "events have a duration, and partials of slices do not tell which of them go on"
    for text in Decoder(layout).interners:
        if needs_texts(layout.queries, text):
            return f"the texts of {text!r} are numbered in each place on its own"
    for query in layout.queries:
        if not is_sliced(query.window):
            return f"the windows of {query.name!r} are found among events"
        if not isinstance(query.window, Sliding | Cumulative | Session):
            return f"the edges of {query.name!r} are found by walking from one to the next"
        for name, bound in query.aggregates.items():
            aggregate = bound.aggregate
            if not aggregate.commutative:
                return f"{name!r} of {query.name!r} is {aggregate!r}, which is not commutative"
            if way(bound, spec.time is None) != "cells" and not is_summed(aggregate):
                return f"{name!r} of {query.name!r} is {aggregate!r}, which has no partial of fixed size"
    return None


class Combiner:
    """Turns tables of rows into tables of partials, one row per slice and key.

    With what a `crossing` costs, only where that is cheaper than to pass the rows on (paper 2, section 3.3.1).

    >>> import muntin as mt
    >>> from muntin.layout import layout
    >>> rows = pa.table({"ts": [1, 2, 3, 1_000_000], "x": [1, 2, 3, 4]})
    >>> spec = mt.over("ts").window("w", mt.tumbling("1 s"), total=mt.sum("x"))
    >>> found = Combiner(layout(spec, rows.schema)).combine(rows)
    >>> found.column("start").to_pylist(), found.column("n").to_pylist()
    ([0, 1000000], [3, 1])
    """

    def __init__(self, layout: Layout, crossing: Crossing | None = None) -> None:
        self._layout, self._crossing = layout, crossing
        self._decoder = Decoder(layout)
        self._sliced = Sliced(layout, list(range(len(layout.queries))), self._decoder.interners)
        # With the first and last times of each key: they are parted by key later.
        self._fused = fused(self._sliced.bounds)
        self.shared = 1.0
        """How many rows of the last table there were for each slice and key."""

    def combine(self, table: pa.Table) -> pa.Table | None:
        """The partials of some rows, none of which is to be rejected; None where it is cheaper to pass the rows on."""
        batch, rejected = self._decoder.decode(table, None)
        assert not len(rejected)
        if not len(batch):
            return None
        slicer, keys = self._sliced.slicer, self._decoder.keys
        low, high = int(batch.time.min()), int(batch.time.max())
        if slicer.count(low, high) <= len(batch) + 4096:
            starts = slicer.edges(low, high)[:-1]
        else:
            starts, _ = slicer.slices_of(batch.time)
        cell = np.searchsorted(starts, batch.time, "right") - 1
        wide = keys.size if batch.key is not None else 1
        if batch.key is not None:
            cell = cell * wide + batch.key
        numbers = _Numbers()
        ids = numbers.ids(cell, None)
        self.shared = len(batch) / numbers.size
        row, partial = table.nbytes / len(table), self.partial_bytes
        if self._crossing is not None and not self._crossing.pays(len(batch), numbers.size, row, partial):
            return None
        state = self._fused.new(numbers.size)
        sliced = self._sliced
        sliced.texts.meet()
        values = sliced.sketched.added(batch.values, sliced.texts.ranked(batch.values))
        self._fused.update_cells(state, ids, batch.time, batch.order, values)
        known = numbers.known[: numbers.size]
        columns: dict[str, pa.Array] = {START: pa.array(starts[known // wide])}
        if batch.key is not None:
            named = zip(self._layout.spec.by, keys.arrays(known % wide), strict=True)
            columns |= {f"key {name}": array for name, array in named}
        columns["n"] = pa.array(state[N])
        columns |= {f"p{i}": pa.array(column) for i, column in enumerate(state) if i != N}
        if sliced.has_runs:
            columns |= columns_of_runs(sliced, ids, numbers.size, values)
        found = pa.table(columns, metadata={NEWEST: str(batch.newest)})
        if sliced.has_runs and self._crossing is not None:
            # How large summaries are is only known now.
            each = found.nbytes / numbers.size
            return found if self._crossing.pays(len(batch), numbers.size, row, each) else None
        return found

    @property
    def partial_bytes(self) -> int:
        """The bytes of a partial of fixed size, with its slice and key; a key counts as a number."""
        return sum(slot.itemsize for slot in self._fused.slots) + 8 + 8 * len(self._layout.spec.by)


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of partials as one. A slice and key may be in it several times."""
    newest = max(int(table.schema.metadata[NEWEST]) for table in tables)
    return pa.concat_tables([table.replace_schema_metadata({NEWEST: str(newest)}) for table in tables])


def absorb(engine: Slicing, table: pa.Table) -> Counter[int]:
    """Take in a table of partials as if its events had come; gives how many were late, by the place of the query."""
    sliced, decoder, by = engine._sliced, engine._decoder, engine.spec.by
    assert sliced is not None
    late: Counter[int] = Counter()
    starts = table.column(START).to_numpy()
    if not len(starts):
        return late
    # Of its cells only the starts are known; when a window is added, it counts which events may have come.
    newest = int(table.schema.metadata[NEWEST])
    engine._newest = newest if engine._newest is None else max(engine._newest, newest)
    key = decoder.keys.encode([table.column(f"key {name}") for name in by]) if by else None
    _ready(sliced, decoder.keys.size if by else 1)
    events = table.column("n").to_numpy()
    for index, missed in _missed(sliced, starts):
        late[index] += int(events[missed].sum())
    low = int(starts.min())
    sliced._touched = low if sliced._touched is None else min(sliced._touched, low)
    partials = [table.column("n" if i == N else f"p{i}").to_numpy() for i in range(len(sliced.fused.slots))]
    if sliced._needed is not None and low < sliced._needed:
        kept = np.flatnonzero(starts >= sliced._needed)
        starts, partials = starts[kept], [column[kept] for column in partials]
        key = None if key is None else key[kept]
        table = table.take(pa.array(kept)) if sliced.has_runs else table
        if not len(starts):
            return late
    low, high = int(starts.min()), int(starts.max())
    slices = sliced.slices
    slices.cover(starts, low, high)
    if slices.sparse is not None and key is not None:
        cells = slices.sparse.cells_of(slices.starts, starts, key)
    else:
        cells = slices.cells_of(starts, key)
    _merge(sliced, cells, partials)
    if slices.spans is not None:
        slices.spans.merge(slices.starts.searchsorted(starts, "right") - 1, partials[FIRST], partials[LAST])
    if sliced.has_runs:
        inside = np.empty(len(starts), np.int64)
        starts_of(slices.starts, starts, inside)
        absorb_runs(sliced, table, inside, key)
    sliced.store.touch(starts, low, high, sliced._keys)
    sliced.newest = high if sliced.newest is None else max(sliced.newest, high)
    return late


def _ready(sliced: Sliced, keys: int) -> None:
    sliced._keys = keys
    sliced.slices.grow(keys)
    for query in sliced.sessions:
        query.heads.grow(keys)


def _missed(sliced: Sliced, starts: Int64s) -> Iterator[tuple[int, Int64s]]:
    """For each query the slices that lie in windows already closed."""
    marks = sliced._marks()
    old = np.flatnonzero(starts < max(marks)) if marks else np.empty(0, np.int64)
    if not len(old):
        return
    if sliced.mark is not None:
        for group in sliced.groups:
            for index, missed, _, _ in group.missed(starts[old], sliced.mark):
                yield index, old[missed]
    for query in sliced.sessions:
        if query.mark is not None:
            missed = starts < query.mark
            if query.since is not None:  # sessions that start before are none of its
                missed &= starts >= query.since
            yield query.index, np.flatnonzero(missed)


def _merge(sliced: Sliced, cells: Int64s, partials: list[npt.NDArray[np.generic]]) -> None:
    """Each row of partials into its cell: what is there and what comes are merged as one range."""
    columns = sliced.slices.columns
    order = np.argsort(cells, kind="stable")
    target, first = np.unique(cells[order], return_index=True)
    ends = np.append(first[1:], len(cells))
    here = len(target)
    both = [
        np.concatenate([column[target], part.astype(column.dtype, copy=False)])
        for column, part in zip(columns, partials, strict=True)
    ]
    # For each cell: what is there, then all that comes.
    index = np.insert(order + here, first, np.arange(here))
    shift = np.arange(here)
    merged = sliced.fused.merge_gather(first + shift, ends + shift + 1, index, both)
    for column, result in zip(columns, merged, strict=True):
        column[target] = result
