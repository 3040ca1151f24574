"""Sparse cells give what dense ones give, and cells turn from one to the other as slices fill and empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing import compaction, slices, sparse
from tests.reliability.sizes import examples
from tests.slicing.test_compaction import passing
from tests.slicing.test_engine import FIXED, SESSIONS, TIME, check, steps_of
from tests.strategies import rows_of, specs, streams


@pytest.mark.parametrize(("few", "most"), [(9.0, 99.0), (0.5, 0.6)], ids=["sparse", "to and fro"])
@pytest.mark.parametrize("mixes", [FIXED, None], ids=["cells alone", "all"])
def test_equals_the_reference(monkeypatch: pytest.MonkeyPatch, few: float, most: float, mixes: Any) -> None:
    monkeypatch.setattr(slices, "SMALL", 1)
    monkeypatch.setattr(slices, "FEW", few)
    monkeypatch.setattr(slices, "MOST", most)
    monkeypatch.setattr(sparse, "LEAST", 4)
    monkeypatch.setattr(sparse, "AT_ONCE", 5)
    monkeypatch.setattr(compaction, "LEAST", 2)

    @examples(50)
    @given(specs(kinds=TIME + SESSIONS, **({} if mixes is None else {"mixes": mixes})), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        stream = data.draw(streams(max_rows=60))
        if data.draw(st.booleans()):
            stream = passing(stream, 10)
        steps = steps_of(data, stream)
        check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2))))

    equal()


def batch(first: int, rows: int, keys: int, rate: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    ts = (first + np.arange(rows)) * (1_000_000 // rate)
    return pa.table({"ts": ts, "key": random.integers(0, keys, rows), "x": random.integers(0, 100, rows)})


def test_the_layout_follows_the_fill() -> None:
    #             keys of a slice    cells
    # first       1,000 of 20,000    sparse
    # then        all of 500         dense, once the many keys are forgotten
    # then        1,000 of 20,000    sparse again
    spec = mt.over("ts", by="key").window(
        "w", mt.sliding("20 seconds", every="1 second"), n=mt.count(), top=mt.max("x")
    )
    engine, tables, seen, first = spec.engine(), [], [], 0
    stream = [(200_000, 1_000)] * 10 + [(500, 10_000)] * 10 + [(200_000, 1_000)] * 10
    pushed = []
    for seed, (keys, rate) in enumerate(stream):
        rows = batch(0, 4 * rate, keys, rate, seed)
        rows = rows.set_column(0, "ts", pa.array(rows["ts"].to_numpy() + first))
        first += 4_000_000
        pushed.append(rows)
        tables.append(engine.push(rows))
        seen.append(engine._sliced.slices.sparse is not None)  # type: ignore[attr-defined]
    tables.append(engine.flush())
    assert seen[6:10] == [True] * 4
    assert seen[16:20] == [False] * 4
    assert seen[26:] == [True] * 4
    # Dense cells, and one batch, as the other way to the same results.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "FEW", 0.0)
        whole = spec.apply(pa.concat_tables(pushed))
    sides = []
    for side in (pa.concat_tables(tables), whole):
        ends = pa.chunked_array([chunk.field("end") for chunk in side["window"].chunks])
        side = side.append_column("end", ends).sort_by([("key", "ascending"), ("end", "ascending")])
        sides.append(side.combine_chunks())
    assert sides[0].equals(sides[1])


def test_state_is_that_of_the_cells_with_events() -> None:
    spec = mt.over("ts", by="key").window("w", mt.sliding("20 seconds", every="1 second"), n=mt.count())
    engine = spec.engine()
    for i in range(20):
        engine.push(batch(10_000 * i, 10_000, 1_000_000, 1_000, i))
    cells = 20_000  # of 20 slices, each with 1,000 events of as many keys
    dense = 20 * engine._decoder.keys.size * 24  # type: ignore[attr-defined]
    assert engine._sliced.slices.nbytes < min(200 * cells, dense / 3)  # type: ignore[attr-defined]


def test_many_windows_are_put_together_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mt.over("ts", by="key").window("w", mt.sliding("5 seconds", every="1 second"), n=mt.count())
    stream = batch(0, 20_000, 100_000, 1_000, 1)
    whole = spec.apply(stream)
    monkeypatch.setattr(sparse, "AT_ONCE", 10_000)
    assert rows_of(spec.apply(stream)) == rows_of(whole)
    assert sum(whole.column("n").to_pylist()) == 5 * 20_000
