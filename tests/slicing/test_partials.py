"""Partials in place of events give the reference's results, and as many late events."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.crossing import Crossing
from muntin.layout import layout
from muntin.reference import run
from muntin.slicing import slices
from muntin.slicing.engine import Slicing
from muntin.slicing.partials import Combiner, absorb, why_events
from tests.reliability.sizes import examples
from tests.strategies import SCHEMA, cuts, rows_of, specs, streams, watermarks

KINDS = ("tumbling", "sliding", "cumulative", "session")
# As in other tests, so that kernels are shared. Summaries are never cut: there are too few values.
MIXES = (
    ("n", "total", "low", "m4"),
    ("fsum", "var", "first", "high", "ties"),
    ("n", "about_f", "about_s", "about_x", "some_s"),
)
# Rows of a group from which on it pays: 3.
CROSSING = Crossing(combine=10, give=90, take=100, row=40, pack=0)


@examples(60)
@given(specs(kinds=KINDS, mixes=MIXES), st.data())
def test_partials_equal_the_reference(spec: mt.Spec, data: Any) -> None:
    table = data.draw(streams())
    steps = data.draw(watermarks(data.draw(cuts(table))))
    expected = run(spec, steps, flush=True)
    bound = layout(spec, SCHEMA)
    assert why_events(bound) is None
    engine = spec.engine(watermark="manual")
    assert isinstance(engine, Slicing)
    engine._fit(SCHEMA.empty_table())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SMALL", data.draw(st.sampled_from([0, slices.SMALL])))  # dense or sparse cells
        for i, (batch, watermark) in enumerate(steps):
            late: Counter[int] = Counter()
            # Rows may be split over tasks, and some go as events.
            at = data.draw(st.integers(0, batch.num_rows))
            direct = data.draw(st.sampled_from([0, 0, batch.num_rows]))
            parts = [] if direct else [batch.slice(0, at), batch.slice(at)]
            for part in parts:
                found = Combiner(bound).combine(part)
                assert (found is None) == (part.num_rows == 0)
                if found is not None:
                    late += absorb(engine, found)
            rest = batch if direct else SCHEMA.empty_table()
            results = engine._run(rest, watermark, False)
            late += Counter(int(name[1:]) for name in engine.late().column("query").to_pylist())
            assert rows_of(results) == rows_of(expected.results[i]), f"step {i}"
            assert late == Counter(int(name[1:]) for name in expected.late[i].column("query").to_pylist())
    assert rows_of(engine.flush()) == rows_of(expected.results[-1])


def test_many_rows_become_few_partials_and_few_rows_stay() -> None:
    spec = mt.over("ts", by="key").window("w", mt.tumbling("1 s"), total=mt.sum("x"))
    bound = layout(spec, pa.schema([("ts", pa.int64()), ("key", pa.string()), ("x", pa.int64())]))
    many = pa.table({"ts": list(range(1000)), "key": ["a", "b"] * 500, "x": [1] * 1000})
    found = Combiner(bound, CROSSING).combine(many)
    assert found is not None
    assert found.select(["start", "key key", "n"]).to_pylist() == [
        {"start": 0, "key key": "a", "n": 500},
        {"start": 0, "key key": "b", "n": 500},
    ]
    few = pa.table({"ts": [1, 2, 2_000_000], "key": ["a", "b", "c"], "x": [1] * 3})
    assert Combiner(bound, CROSSING).combine(few) is None
    assert Combiner(bound).combine(few) is not None


def test_summaries_cross_where_they_are_smaller_than_rows() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), often=mt.heavy_hitters("x", 0.5, approx=True))
    bound = layout(spec, pa.schema([("ts", pa.int64()), ("x", pa.int64())]))
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2**60, 3_000)
    all_differ = pa.table({"ts": np.arange(3_000), "x": x})
    found = Combiner(bound, CROSSING).combine(all_differ)
    assert found is not None
    assert found.num_rows == 1
    assert len(found["values x\x1fmg20"][0]) <= 21
    few_in_each = all_differ.set_column(0, "ts", pa.array(np.arange(3_000) * 100_000))
    assert Combiner(bound, CROSSING).combine(few_in_each) is None


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (mt.over(None).window("w", mt.tumbling("1 s"), n=mt.count()), "arrival"),
        (mt.over("ts").window("w", mt.tumbling("3 rows"), n=mt.count()), "found among events"),
        (mt.over("ts").window("w", mt.tumbling("1 s"), m=mt.median("x")), "no partial of fixed size"),
        (mt.over("ts").window("w", mt.tumbling("1 s"), m=mt.count("s")), "texts of 's'"),
        (
            mt.over("ts").window("w", mt.tumbling("1 s"), m=mt.mode("s"), d=mt.approx_count_distinct("s")),
            "texts of 's'",
        ),
    ],
)
def test_why_events_are_passed_on(spec: mt.Spec, why: str) -> None:
    assert why in str(why_events(layout(spec, SCHEMA)))
