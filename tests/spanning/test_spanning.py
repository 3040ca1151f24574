"""Events with a duration: the engine against the reference, row for row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.reference import run
from tests.reliability.sizes import examples
from tests.spanning.drawn import FIXED, MIXES, check, specs, steps_of, streams
from tests.strategies import rows_of


@examples(60)
@given(specs(), st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, data.draw(steps_of(data.draw(streams()))))


@examples(30)
@given(specs(kinds=("session", "session", *FIXED)), st.data())
def test_sessions_equal_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, data.draw(steps_of(data.draw(streams()))))


@examples(20)
@given(specs(kinds=("session", *FIXED)), st.data())
def test_goes_on_from_a_snapshot_at_every_step(spec: mt.Spec, data: Any) -> None:
    steps = data.draw(steps_of(data.draw(streams())))
    check(spec, steps, restarts=tuple(range(len(steps) + 1)))


@examples(15)
@given(specs(kinds=("session", *FIXED), mixes=(MIXES[0], MIXES[2])), st.sampled_from([0, "3 us", "20 us"]), st.data())
def test_compressed_events_equal_the_reference(spec: mt.Spec, after: object, data: Any) -> None:
    steps = data.draw(steps_of(data.draw(streams())))
    check(spec.compress(after), steps, restarts=tuple(range(0, len(steps), 3)))


@pytest.mark.parametrize("emit", ["final", "updates"])
def test_a_budget_is_kept(emit: str) -> None:
    """Calls of 100 towers, all kept for their medians: more than fits, so that D moves."""
    spec = mt.over(span=("start", "end"), by="tower", postpone="1 s", max_ahead=None)
    spec = spec.window("w", mt.tumbling("100 s"), mid=mt.median("x"), going=mt.concurrent())
    plain = spec.engine(emit=emit)
    batches = []
    for second in range(0, 90, 3):
        end = second * 1_000_000 + np.arange(0, 3_000_000, 600)
        batches.append({"start": end - 500_000, "end": end, "tower": np.arange(5_000) // 50 + second, "x": end % 7})
    expected = [rows_of(plain.push(batch)) for batch in batches]
    budget = plain.nbytes // 2
    engine = spec.memory(budget).engine(emit=emit)
    for batch, rows in zip(batches, expected, strict=True):
        assert rows_of(engine.push(batch)) == rows
        assert engine.nbytes <= budget
    assert engine.metrics().after is not None
    assert "compressed: after" in str(engine.explain())
    assert rows_of(engine.flush()) == rows_of(plain.flush())
    with pytest.raises(mt.BudgetExceeded, match="what can be compressed takes"):
        spec.memory("1 KiB").engine().push(batches[0])


def test_a_service_level_moves_d() -> None:
    spec = mt.over(span=("start", "end"), by="k", postpone=0, max_ahead=None).window(
        "w", mt.tumbling("10 s"), all=mt.collect("x")
    )
    engine = spec.target(latency="10 minutes").engine()  # far from it: as much is compressed as can be
    for second in range(40):
        end = second * 1_000_000 + np.arange(0, 1_000_000, 10_000)
        engine.push({"start": end - 5, "end": end, "k": np.arange(100), "x": end})
    assert engine.metrics().after == 0
    assert engine.metrics().bytes_compressed > 0


def test_a_step_opens_only_keys_whose_windows_are_due() -> None:
    spec = mt.over(span=("start", "end"), by="k", postpone=0, max_ahead=None).window(
        "w", mt.tumbling("1 s"), all=mt.collect("x")
    )
    engine = spec.compress(0).engine()
    for key in range(20):
        end = np.arange(100) * 10 + 1_000 * key
        engine.push({"start": end - 5, "end": end, "k": np.full(100, key), "x": end})
    assert engine.metrics().decompressions <= 20  # no window was due
    assert engine.metrics().keys_compressed == 20


@examples(20)
@given(specs(kinds=("session", *FIXED)), st.data())
def test_updates_equal_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, data.draw(steps_of(data.draw(streams()))), emit="updates")


@examples(20)
@given(specs(mixes=(("all", "n", "total", "low", "m4"),)), st.data())
def test_long_events_equal_the_reference(spec: mt.Spec, data: Any) -> None:
    """Thousands of slices: aligned stretches in place of hops, at release handed down."""
    check(spec, data.draw(steps_of(data.draw(streams(max_rows=5, longest=4_000, bad=False)))))


@examples(20)
@given(specs(kinds=("session", *FIXED)), streams())
def test_a_finite_frame_has_all_windows(spec: mt.Spec, table: pa.Table) -> None:
    good = table.filter(pa.compute.less_equal(table["start"], table["ts"]))
    assert rows_of(spec.apply(good)) == rows_of(spec.apply(good, engine="reference"))


@examples(20)
@given(specs(kinds=("session", *FIXED), mixes=(("all", "n", "total", "low", "m4"),)), st.data())
def test_events_without_length_are_points(spec: mt.Spec, data: Any) -> None:
    """Where no event has a length, and none is waited for, all is as over points."""
    table = data.draw(streams(longest=0, bad=False))
    table = table.set_column(0, "start", table["ts"])
    steps = data.draw(steps_of(table))
    points = mt.over("ts", by=spec.by, disorder=f"{spec.disorder} us", lateness=f"{spec.lateness} us")
    spans = mt.over(
        span=("start", "ts"), by=spec.by, disorder=f"{spec.disorder} us", lateness=f"{spec.lateness} us", postpone=0
    )
    for query in spec.queries:
        points = points.window(query.name, query.window, **dict(query.aggregates))
        spans = spans.window(query.name, query.window, **dict(query.aggregates))
    expected, found = run(points, steps, flush=True), run(spans, steps, flush=True)
    assert [rows_of(t) for t in found.results] == [rows_of(t) for t in expected.results]
    assert [t.to_pylist() for t in found.late] == [t.to_pylist() for t in expected.late]


@pytest.mark.parametrize("technique", ["single", "multi"])
def test_an_event_over_a_million_slices_is_a_few_cells(technique: str) -> None:
    spec = mt.over(span=("start", "end"), postpone="0 us", technique=technique)
    spec = spec.window("w", mt.sliding("50 us", every="10 us"), n=mt.count(), total=mt.sum("x"), top=mt.max("x"))
    engine = spec.engine(watermark="manual")
    engine.push({"start": [0, 5, 9_999_990], "end": [10_000_000, 9_000_001, 9_999_999], "x": [3, 4, 5]})
    assert engine._fixed.cells.turned[1] < 200  # cells, of 1,000,000 slices
    table = engine.flush()
    assert table.num_rows == 1_000_004
    n, top = table["n"].to_numpy(), table["top"].to_numpy()
    assert (set(n[:900_005]), set(n[900_005:-5]), set(n[-5:])) == ({2}, {1}, {2})
    assert (set(top[:900_005]), set(top[-5:])) == ({4}, {5})
    assert set(table["total"].to_pylist()[-5:]) == {8}
