"""The benchmark of the stores runs at a tiny size, and both stores give the same answer."""

from __future__ import annotations

import math

import pytest

import muntin as mt
from muntin.bench.store import AGGREGATES, measure


@pytest.mark.parametrize("name", AGGREGATES)
def test_it_runs(name: str) -> None:
    lazy, eager = measure(name, slices=2_000, rounds=2)
    assert (lazy.store, eager.store) == ("lazy", "eager")
    assert lazy.value == pytest.approx(eager.value, rel=1e-12)
    assert 0.4 < lazy.value / (8_000 if name == "sum" else 1) < 0.6
    assert min(lazy.whole, eager.whole, lazy.alone, eager.alone) > 0
    assert eager.state > lazy.state > 0


class Depth(mt.Aggregate):
    """How many times the longest chain behind a result was combined: the work that is left when a window is due."""

    partial = {"most": int}  # noqa: RUF012
    identity = (0,)
    commutative, kind = True, "distributive"
    returns = int

    def lift(value):
        return 1

    def combine(a, b):
        return max(a.most, b.most) + 1

    def lower(p):
        return p.most


def test_eager_combines_few_partials_where_lazy_combines_every_slice() -> None:
    """The promise of the store (`muntin.bench.store` measures what it gains): at most 30 log16(n) of a window of n."""
    slices = 50_000
    spec = mt.over("ts").window("fine", mt.tumbling("1 ms"), n=mt.count())
    spec = spec.window("long", mt.tumbling(f"{slices} ms"), depth=Depth("x"))
    found = {}
    for store in ("lazy", "eager"):
        engine = spec.engine(store=store)
        engine.push({"ts": [1_000 * i for i in range(slices)], "x": [0] * slices})
        rows = engine.flush().to_pylist()
        (found[store],) = (row["depth"] for row in rows if row["query"] == "long")
    assert found["lazy"] >= slices
    assert found["eager"] <= 46 * math.log(slices, 16)  # and 16 of a block below each of them
