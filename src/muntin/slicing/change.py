"""Another set of queries on the same state (paper 1, section 5: queries are added and removed, the aggregator adapts).

All decisions are made again for the new queries; then what the old ones left is carried over. Slices whose edges are
no longer needed become one, so that there are again as few as there can be; cells get the columns of the aggregates
that are asked for now. A slice that holds events is never cut: a new query begins where it need not be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.slicing.beginning import LOWEST, Beginning, Present, cells_of, columns_from
from muntin.slicing.kept_values import KeptValues
from muntin.slicing.sliced import Sliced
from muntin.slicing.slicer import Slicer
from muntin.slicing.slices import N, Partials
from muntin.slicing.spans import Spans

__all__ = ["Change", "move_sliced"]

Int64s = npt.NDArray[np.int64]


@dataclass
class Change:
    """Which queries go on, under which numbers, and where the stream stands."""

    stay: dict[int, int]
    """Old numbers of queries to new ones."""
    since: dict[int, int]
    """From when queries are exact, by new numbers; filled in for those that are added."""
    newest: int | None
    watermark: int | None
    lateness: int
    columns: frozenset[str]
    """The columns that were read so far."""
    same: dict[str, Any] | None = None
    """The old aggregates by how they are written, where they are at hand."""


def move_sliced(new: Sliced, tree: dict[str, Any] | None, change: Change, kept: KeptValues) -> None:
    """Carry the state of the old sliced queries, as `Sliced.dump` gives it, over to the new ones."""
    source: list[int | None] = [None] * len(new.fused.slots)
    if tree is not None:
        source = columns_from(new, tree, change.same)
    after = None if change.newest is None else change.newest + 1
    if tree is not None:
        for name in ("mark", "newest", "_touched", "_reached", "_needed", "_keys", "_runs_from"):
            setattr(new, name, tree[name])
        new.held = [after if old is None else tree["held"][old] for old in source]
        new.runs_held = {name: tree["runs_held"].get(name, after) for name in new.runs}
        _move_reported(new, tree, change)
        _move_heads(new, tree, source, change)
    else:
        new.held = [after] * len(source)
        new.runs_held = dict.fromkeys(new.runs, after)
    # Queries that go on know from when they keep events only with their start.
    new.begin(change.since)
    begins = _beginnings(new, tree, source, change, kept)
    if tree is not None:
        _move_slices(new, tree["slices"], source, change.newest)
        for name, store in new.runs.items():
            if name in tree["runs"]:
                store.load(tree["runs"][name])
        for store in (*new.runs.values(), *(runs for query in new.sessions for runs in query.stores().values())):
            store.merge_slices(new.slices.starts)
    for index, begin in begins.items():
        if begin.since is not None:
            change.since[index] = begin.since
    new.begin(change.since)
    for query in new.sessions:
        if query.index in begins:
            query.heads.grow(new._keys)
            query.mark = None if new.mark is None else query.rounded(new.mark)
            # What comes before the mark is late for it, also where slices take it for other queries.
            known = [time for time in (begins[query.index].read, query.mark) if time is not None]
            query.heads.folded = max(known, default=None)
    for index in new.keeping:
        if index in begins:
            kept.join(index, begins[index].near, begins[index].read)
    new.texts.meet()
    new.drop()


def _beginnings(
    new: Sliced, tree: dict[str, Any] | None, source: list[int | None], change: Change, kept: KeptValues
) -> dict[int, Beginning]:
    """When each query that is added begins."""
    gone_on = set(change.stay.values())
    added = [(group, i) for group in new.groups for i, _ in group.members if i not in gone_on]
    sessions = [query for query in new.sessions if query.index not in gone_on]
    if change.newest is None:
        return {i: Beginning(None, None) for i in [*(i for _, i in added), *(query.index for query in sessions)]}
    adding = len(added) + len(sessions)
    near = [(query, start) for query, start in _providers(new, gone_on) if kept.room(query) >= adding]
    present = Present(new, tree, source, change.newest, change.watermark, change.lateness, change.columns, near)
    return {i: present.fixed(group, i) for group, i in added} | {q.index: present.session(q) for q in sessions}


def _providers(new: Sliced, gone_on: set[int]) -> list[tuple[int, int]]:
    """Queries that go on and keep events: they have all of them from a time on."""
    found = []
    for group in new.groups:
        index = group.members[0][0]
        if group.kept and index in gone_on:
            start = group.since.get(index, LOWEST)
            found.append((index, start if new.mark is None else group.needed_from(new.mark)))
    sessions = [query for query in new.sessions if query.kept and query.index in gone_on]
    found += [(query.index, LOWEST if query.heads.folded is None else query.heads.folded) for query in sessions]
    return sorted(found, key=lambda pair: pair[1])


def _move_reported(new: Sliced, tree: dict[str, Any], change: Change) -> None:
    """What was said of windows that may still be corrected."""
    for group in new.groups:
        numbers = {i for i, _ in group.members}
        for members, reported in tree["groups"]:
            # Queries with the same aggregates were in one group before, so there is one old group at the most.
            stay = {old: change.stay[old] for old in members if change.stay.get(old) in numbers}
            if stay:
                group.reported.load(reported, stay)


def _move_heads(new: Sliced, tree: dict[str, Any], source: list[int | None], change: Change) -> None:
    """The beginnings of open sessions."""
    for old, part in tree["sessions"]:
        for query in new.sessions:
            if query.index == change.stay.get(old):
                query.heads.columns = _mapped(new, part["heads"]["columns"], source)
                query.heads.folded, query.mark = part["heads"]["folded"], part["mark"]
                query.reported.load(part["reported"], {old: query.index})
                for name, store in query.stores().items():
                    store.load(part["runs"][name])


def _mapped(new: Sliced, columns: Partials, source: list[int | None]) -> Partials:
    """Old cells with the columns of the new ones; what they did not hold is empty."""
    cells = new.fused.new(len(columns[N]))
    return [empty if old is None else columns[old] for empty, old in zip(cells, source, strict=True)]


def _move_slices(new: Sliced, old: dict[str, Any], source: list[int | None], newest: int | None) -> None:
    """The old slices, those that are no longer told apart as one, and new empty ones between them."""
    slices, key, columns = cells_of(old)
    if not len(slices) or newest is None:
        new.slices.grow(old["keys"])
        return
    used, slices = np.unique(slices, return_inverse=True)
    first, start, end = together(new.slicer, old["starts"][used], np.minimum(old["ends"][used], newest + 1))
    starts, ends, at, meet = filled(new.slicer, start, end)
    tree = {"starts": starts, "ends": ends, "stride": old["stride"], "meet": meet, "keys": old["keys"], "number": 0}
    spans = None if old["spans"] is None else Spans.load([times[used] for times in old["spans"]])
    tree["spans"] = None if spans is None else spans.together(first, at, len(starts)).dump()
    whole = np.searchsorted(first, slices, "right") - 1  # of which new slice each cell is a part
    cells = _mapped(new, columns, source)
    if len(first) < len(used):  # cells of a key in slices that become one are merged, in the order of time
        order = np.lexsort((slices, key, whole))
        opens = np.append(True, (np.diff(whole[order]) != 0) | (np.diff(key[order]) != 0))
        lo = np.flatnonzero(opens)
        cells = new.fused.merge_gather(lo, np.append(lo[1:], len(order)), order, cells)
        whole, key = whole[order[lo]], key[order[lo]]
    if "sparse" in old:
        new.slices.load(tree | {"sparse": {"slice": at[whole], "key": key, "columns": cells}})
        return
    dense = new.fused.new(len(starts) * old["stride"])
    for column, values in zip(dense, cells, strict=True):
        column[at[whole] * old["stride"] + key] = values
    new.slices.load(tree | {"columns": dense})


def together(slicer: Slicer, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Which slices, given by their bounds, become one: the first of each, and where it lies then.

    Edges that the slicer does not have go; where two slices lie between the same two edges they become one. One that
    reaches over an edge stays whole.

    >>> import muntin as mt
    >>> [part.tolist() for part in together(Slicer([mt.tumbling("10 us")]), np.array([0, 4, 12]), np.array([4, 8, 25]))]
    [[0, 2], [0, 10], [10, 30]]
    """
    before, after = slicer.around(np.concatenate([starts, ends - 1]))
    start, end = before[: len(starts)], after[len(starts) :]
    opens = np.append(True, start[1:] >= end[:-1])
    first = np.flatnonzero(opens)
    last = np.append(first[1:], len(starts)) - 1
    return first, start[first], end[last]


def filled(slicer: Slicer, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s, bool]:
    """Slices with those of the slicer between them: starts, ends, where the given ones stand, and whether all meet.

    Where that would be too many there are none between.

    >>> import muntin as mt
    >>> starts, ends, at, meet = filled(Slicer([mt.tumbling("5 us")]), np.array([0, 20]), np.array([10, 25]))
    >>> starts.tolist(), ends.tolist(), at.tolist(), meet
    ([0, 10, 15, 20], [10, 15, 20, 25], [0, 3], True)
    """
    low, high = int(starts[0]), int(ends[-1])
    if slicer.count(low, high) > 4 * len(starts) + 4096:
        return starts, ends, np.arange(len(starts)), bool((starts[1:] == ends[:-1]).all())
    edges = slicer.edges(low, high - 1)
    place = np.searchsorted(starts, edges, "left") - 1  # the last slice that starts before the edge
    edges = edges[(place < 0) | (edges >= ends[place])]
    return edges[:-1], edges[1:], np.searchsorted(edges, starts), True
