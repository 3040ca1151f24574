"""A running engine: rows in order and late, watermarks, windows added and removed, snapshots, in any order."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import muntin as mt
from muntin.spec import query_named
from tests.reliability.sizes import examples
from tests.slicing.changing import ALIKE, MIXES, Model, check_edges, check_step
from tests.strategies import AGGREGATES, streams, windows

some_windows = st.sampled_from(ALIKE) | st.sampled_from(ALIKE) | windows()


def shifted(table: pa.Table, by: int) -> pa.Table:
    for name in ("ts", "m"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pc.add(table[name], by))
    return table


class Running(RuleBasedStateMachine):
    @initialize(
        by=st.sampled_from([(), ("key",)]),
        disorder=st.sampled_from([0, 0, 5]),
        lateness=st.sampled_from([0, 0, 5, 20]),
        idle=st.sampled_from([None, None, "8 us"]),
        first=some_windows,
        mix=st.sampled_from(MIXES),
        rows=st.none() | streams(),
    )
    def begin(
        self, by: Any, disorder: int, lateness: int, idle: Any, first: Any, mix: tuple[str, ...], rows: Any
    ) -> None:
        over = mt.over("ts", by=by, disorder=f"{disorder} us", lateness=f"{lateness} us", idle=idle)
        spec = over.window("w0", first, **{name: AGGREGATES[name] for name in mix})
        self.engine: Any = spec.engine(engine="slicing", watermark="manual")
        self.model = Model(spec)
        self.model.add(spec.queries[0], None)
        self.newest = 0
        self.added = 1
        self.uncut: int | None = None
        if rows is not None:
            self.step(rows, None)

    def step(self, batch: pa.Table | None, watermark: int | None) -> None:
        if batch is not None:
            self.newest = max(self.newest, *batch["ts"].to_pylist())
        check_step(self.engine, self.model, (batch, watermark))

    @rule(table=streams(max_rows=8), lag=st.none() | st.integers(-5, 30))
    def push(self, table: pa.Table, lag: int | None) -> None:
        batch = shifted(table, self.newest)
        newest = max(self.newest, *batch["ts"].to_pylist())
        self.step(batch, None if lag is None else newest - lag)

    @rule(table=streams(max_rows=6), lag=st.none() | st.integers(0, 5))
    def push_in_order(self, table: pa.Table, lag: int | None) -> None:
        batch = table.sort_by("ts")
        batch = shifted(batch, self.newest - batch["ts"][0].as_py())
        newest = max(self.newest, *batch["ts"].to_pylist())
        self.step(batch, None if lag is None else newest - lag)

    @rule(table=streams(max_rows=4), back=st.integers(10, 60))
    def push_late(self, table: pa.Table, back: int) -> None:
        self.step(shifted(table, self.newest - back - 20), None)

    @rule(ahead=st.integers(-30, 10))
    def advance(self, ahead: int) -> None:
        self.step(None, self.newest + ahead)

    @rule(window=some_windows, mix=st.sampled_from(MIXES))
    def add_window(self, window: Any, mix: tuple[str, ...]) -> None:
        if len(self.engine.spec.queries) == 4:
            return
        name = f"w{self.added}"
        self.added += 1
        since = self.engine.add_window(name, window, **{name: AGGREGATES[name] for name in mix})
        assert self.engine.starts[name] == since
        self.model.add(query_named(self.engine.spec, name), since)
        self.uncut = self.newest

    @precondition(lambda self: len(self.engine.spec.queries) > 1)
    @rule(data=st.data())
    def remove_window(self, data: Any) -> None:
        name = data.draw(st.sampled_from([query.name for query in self.engine.spec.queries]))
        self.engine.remove_window(name)
        del self.model.queries[name]

    @rule()
    def restart(self) -> None:
        state = self.engine.snapshot()
        self.engine = self.engine.spec.engine(engine="slicing", watermark="manual")
        self.engine.restore(state)
        assert self.engine.snapshot() == state

    @rule(data=st.data(), window=some_windows, mix=st.sampled_from(MIXES))
    def restart_changed(self, data: Any, window: Any, mix: tuple[str, ...]) -> None:
        spec, name = self.engine.spec, f"w{self.added}"
        self.added += 1
        gone = data.draw(st.sampled_from([query.name for query in spec.queries]))
        spec = spec.window(name, window, **{name: AGGREGATES[name] for name in mix}).without(gone)
        state = self.engine.snapshot()
        self.engine = spec.engine(engine="slicing", watermark="manual")
        self.engine.restore(state, changed=True)
        del self.model.queries[gone]
        self.model.add(spec.queries[-1], self.engine.starts[name])
        self.uncut = self.newest

    @invariant()
    def slices_are_few(self) -> None:
        if hasattr(self, "engine"):
            check_edges(self.engine, self.uncut)

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            check_step(self.engine, self.model, (None, None), flush=True)


TestRunning = Running.TestCase
TestRunning.settings = examples(50, stateful_step_count=15)
