"""Windows over kept events, step by step against the reference, which lets nothing go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.layout import Layout, layout
from muntin.reference.engine import Reference
from muntin.slicing.batch import Batch, Column, Decoder
from muntin.slicing.families import KeptFamily, kept_family
from muntin.slicing.store_events import EventStore
from muntin.windows import NEVER
from tests.reliability.sizes import examples
from tests.strategies import cuts, specs, streams, watermarks

ALONG = ("measure", "measure tumbling", "measure cumulative", "measure session")
MIXED = ("rows by time", "time by rows", "measure by time", "time by measure", "measure by rows", "rows by measure")
MARKED = ("punctuated", "punctuated pair", "frame")
OWN = ("own aware",)
ONLY = (("all",),)  # the events of each window are compared themselves
KINDS = (*ALONG, *MIXED, *MARKED, *OWN)


class Kept:
    """The loop of the engine, as far as kept events go: judge, insert, find windows, close, let go."""

    def __init__(self, bound: Layout) -> None:
        self.decoder = Decoder(bound)
        self.families: list[KeptFamily] = [kept_family(query, bound.spec) for query in bound.queries]
        self.store = EventStore()
        self.watermark: int | None = None
        self.by = bool(bound.spec.by)

    def take(self, table: pa.Table) -> list[list[tuple[Any, ...]]]:
        """The late rows of each query: row, reason, what was missed."""
        batch, _ = self.decoder.decode(table, None)
        taken = np.zeros(len(batch), np.uint64)
        late = []
        for bit, family in enumerate(self.families):
            family.grow(self.decoder.keys.size if self.by else 1)
            judged = family.judge(batch, self.watermark)
            null = np.zeros(len(batch), np.bool_) if judged.null_measure is None else judged.null_measure
            assert not (judged.late & null).any()
            mine = ~null if family.takes_late else ~null & ~judged.late
            taken[mine] |= np.uint64(1 << bit)
            found: list[tuple[Any, ...]] = [(int(row), "null measure", None) for row in np.flatnonzero(null)]
            for row in np.flatnonzero(judged.late):
                missed = (int(judged.start[row]), int(judged.end[row])) if judged.known else None
                found.append((int(row), "late", missed))
            late.append(sorted(found, key=lambda entry: entry[0]))
        self.store.insert(batch, None, taken)
        return late

    def report(self, flush: bool) -> list[list[tuple[Any, ...]]]:
        """The windows of each query: key, identity, start, end, rows, arrivals of its events, due; closed or not."""
        found = []
        for bit, family in enumerate(self.families):
            view = self.store.view(bit)
            wins = family.windows(view, self.watermark, flush)
            columns = [wins.key, *wins.identity, wins.start, wins.end, *(wins.rows or ()), wins.lo, wins.hi, wins.due]
            assert {len(column) for column in columns} == {len(wins)}
            where = np.arange(len(view)) if wins.take is None else wins.take
            listed = []
            for i in range(len(wins)):
                end = None if wins.end[i] == NEVER else int(wins.end[i])
                rows = None if wins.rows is None else (int(wins.rows[0][i]), int(wins.rows[1][i]))
                identity = tuple(int(part[i]) for part in wins.identity)
                seqs = view.seq[where[wins.lo[i] : wins.hi[i]]].tolist()
                listed.append((int(wins.key[i]), identity, int(wins.start[i]), end, rows, seqs, bool(wins.due[i])))
            keep = family.close(view, wins, self.watermark)
            closed = family.closed(wins) if self.watermark is not None else np.zeros(len(wins), np.bool_)
            found.append(sorted((*row, bool(shut)) for row, shut in zip(listed, closed, strict=True)))
            self.store.release(bit, view, keep)
            assert view.time is not None
        return found


@dataclass
class Law:
    """The same from the reference, whose steps run beside."""

    engine: Reference

    def marks(self) -> list[dict[Any, Any]]:
        return [{key: state.mark for key, state in states.items()} for states in self.engine._states]

    def report(self, keys: dict[Any, int], marks: list[dict[Any, Any]], flush: bool) -> list[list[tuple[Any, ...]]]:
        found = []
        for kind, states, before in zip(self.engine._families, self.engine._states, marks, strict=True):
            listed = []
            for key, state in states.items():
                mark = before.get(key)
                for win in kind.windows(state.taken):
                    if mark is not None and kind.past(win, mark):
                        continue
                    watermark = self.engine._watermark
                    due = flush or (watermark is not None and kind.due(win, state.taken, watermark))
                    closed = watermark is not None and state.mark is not None and kind.past(win, state.mark)
                    seqs = [event.arrival for event in win.events]
                    listed.append((keys[key], win.identity, win.start, win.end, win.rows, seqs, due, closed))
            found.append(sorted(listed))
        return found


def late_of(table: pa.Table, spec: mt.Spec) -> list[list[tuple[Any, ...]]]:
    found: dict[str, list[tuple[Any, ...]]] = {query.name: [] for query in spec.queries}
    missed = (
        table.column("missed").cast(pa.struct([("start", pa.int64()), ("end", pa.int64())]))
        if table.num_rows
        else table.column("missed")
    )
    for row, reason, query, span in zip(
        table.column("id").to_pylist(),
        table.column("reason").to_pylist(),
        table.column("query").to_pylist(),
        missed.to_pylist(),
        strict=True,
    ):
        found[query].append((row, reason, None if span is None else (span["start"], span["end"])))
    return list(found.values())


def check(spec: mt.Spec, steps: list[tuple[pa.Table, int | None]]) -> EventStore:
    """Late rows and windows are those of the reference at every step, and at flush."""
    law = Law(Reference(spec, "manual", lambda: 0))
    kept: Kept | None = None
    keys: dict[Any, int] = {}
    for batch, watermark in [*steps, (None, None)]:
        flush = batch is None
        marks: list[dict[Any, Any]] = []
        if batch is not None:
            batch = batch.append_column("id", pa.array(range(batch.num_rows), pa.int64()))
            if kept is None:
                bound = layout(spec, batch.schema)
                kept = Kept(bound)
                law.engine._layout = bound
                law.engine._begin(bound)
            late = kept.take(batch)
            ids = kept.decoder.keys.encode([batch.column(name) for name in spec.by]) if spec.by else None
            for i, row in enumerate(batch.to_pylist()):
                keys[tuple(row[name] for name in spec.by)] = 0 if ids is None else int(ids[i])
            fresh = [law.engine._fresh_mark(kind) for kind in law.engine._families]
            marks = [dict.fromkeys(keys, mark) | known for mark, known in zip(fresh, law.marks(), strict=True)]
            law.engine._run(batch, watermark, False)
            assert late == late_of(law.engine.late(), spec)
        else:
            marks = law.marks()
            law.engine.flush()
        assert kept is not None
        kept.watermark = law.engine._watermark
        assert kept.report(flush) == law.report(keys, marks, flush)
        assert_sorted(kept.store)
    assert kept is not None
    return kept.store


def assert_sorted(store: EventStore) -> None:
    order = [0] * len(store) if store.order is None else store.order.tolist()
    places = list(zip(store.key.tolist(), store.time.tolist(), order, store.seq.tolist(), strict=True))
    assert places == sorted(places)


@st.composite
def measured(draw: Any, table: pa.Table) -> pa.Table:
    """The stream with another measure: any numbers, some null."""
    if draw(st.booleans()):
        return table
    values = draw(st.lists(st.integers(-15, 25) | st.none(), min_size=table.num_rows, max_size=table.num_rows))
    return table.set_column(table.schema.get_field_index("m"), "m", pa.array(values, pa.int64()))


def steps_of(data: Any) -> list[tuple[pa.Table, int | None]]:
    table = data.draw(measured(data.draw(streams())))
    return data.draw(watermarks(data.draw(cuts(table))))


@pytest.mark.parametrize("kind", KINDS)
def test_each_family_equals_the_reference(kind: str) -> None:
    @examples(25)
    @given(specs(kinds=(kind,), mixes=ONLY), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        check(spec, steps_of(data))

    equal()


@examples(30)
@given(specs(kinds=KINDS, mixes=ONLY), st.data())
def test_several_queries_share_one_store(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data))


@examples(30)
@given(specs(kinds=(*ALONG, *MIXED, *MARKED), mixes=ONLY), st.data())
def test_an_order_column_decides_between_equal_times(spec: mt.Spec, data: Any) -> None:
    check(replace(spec, order="x"), steps_of(data))


@pytest.mark.parametrize(
    ("window", "most"),
    [
        (mt.sliding("30 rows", every="10 us"), 50),
        (mt.sliding("30 us", every="10 rows"), 50),
        (mt.sliding(30, every="10 us", on="m"), 50),
        (mt.sliding("30 us", every=10, on="m"), 50),
        (mt.sliding(30, every="10 rows", on="m"), 50),
        (mt.sliding("30 rows", every=10, on="m"), 50),
        (mt.sliding(30, every=10, on="m"), 40),
        (mt.session(5, on="m"), 30),
        (mt.punctuated("mark"), 30),
        (mt.punctuated(start="mark", end="stop"), 30),
        (mt.frame("mark"), 30),
    ],
    ids=repr,
)
def test_events_that_no_window_needs_are_let_go(window: mt.windows.Window, most: int) -> None:
    spec = mt.over("ts", by="key").window("w", window, all=mt.collect("x"))
    kept, batch = None, 20
    for step in range(50):
        at = np.arange(step * batch, (step + 1) * batch)
        table = pa.table(
            {
                "ts": np.repeat(at, 2),
                "key": np.tile([1, 2], batch),
                "x": np.repeat(at, 2),
                "m": np.repeat(at + at // 20 * 20, 2),  # with gaps, so that sessions end
                "mark": np.repeat(at % 20 < 3, 2),
                "stop": np.repeat(at % 20 == 15, 2),
            }
        )
        kept = kept or Kept(layout(spec, table.schema))
        kept.take(table)
        kept.watermark = int(at[-1])
        kept.report(False)
    assert kept is not None
    assert int(np.count_nonzero(kept.store.taken)) <= 2 * most


def batch_of(rows: list[tuple[int, int, int | None]], seq0: int, keyed: bool) -> Batch:
    """Rows of key, time and value."""
    key, time = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    valid = np.array([row[2] is not None for row in rows], np.bool_)
    values = np.array([row[2] or 0 for row in rows], np.int64)
    column = Column(pa.int64(), values, None if valid.all() else valid)
    newest = int(time.max()) if len(rows) else None
    return Batch(None, key if keyed else None, time, None, None, {"x": column}, {}, newest, seq0)


@examples(100)
@given(st.data(), st.booleans())
def test_a_store_is_a_sorted_list(data: Any, keyed: bool) -> None:
    store, mirror, seq = EventStore(), {}, 0
    row = st.tuples(st.integers(0, 3) if keyed else st.just(0), st.integers(0, 30), st.none() | st.integers(1, 9))
    for _ in range(data.draw(st.integers(1, 6))):
        rows = data.draw(st.lists(row, max_size=12))
        if data.draw(st.booleans()):
            rows = sorted(rows, key=lambda r: r[:2])
        taken = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))), np.uint64)
        store.insert(batch_of(rows, seq, keyed), None, taken)
        for i, ((key, time, x), bits) in enumerate(zip(rows, taken.tolist(), strict=True)):
            mirror[key, time, seq + i] = [x, bits]
        seq += len(rows)
        for bit in (0, 1):
            view = store.view(bit)
            expected = [place for place in sorted(mirror) if mirror[place][1] >> bit & 1]
            column = view.column("x")
            found = list(zip(view.key.tolist(), view.time.tolist(), view.seq.tolist(), strict=True))
            valid = [True] * len(view) if column.valid is None else column.valid.tolist()
            values = [v if ok else None for v, ok in zip(column.values.tolist(), valid, strict=True)]
            assert found == expected
            assert values == [mirror[place][0] for place in expected]
            keys, starts = np.array([0, 2, 7]), np.array([3, 10, 0])
            lo, hi = view.ranges(keys, starts, starts + 12)
            for k, s, a, b in zip(keys, starts, lo, hi, strict=True):
                assert found[a:b] == [place for place in expected if place[0] == k and s <= place[1] < s + 12]
            keep = np.array([data.draw(st.integers(0, 2)) > 0 for _ in expected], np.bool_)
            store.release(bit, view, keep)
            for place, stays in zip(expected, keep, strict=True):
                if not stays:
                    mirror[place][1] &= ~(1 << bit)
