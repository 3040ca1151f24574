"""Every final aggregation gives the results of the reference: sliding windows, keys, disorder and cuts at random."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import muntin as mt


def spec_of(size: int, every: int, keyed: bool, disorder: int, inverse: bool) -> mt.Spec:
    spec = mt.over("ts", by="key" if keyed else (), disorder=f"{disorder} us")
    aggregates = {"n": mt.count(), "total": mt.sum("x")}
    if not inverse:
        aggregates |= {"low": mt.min("x"), "mean": mt.mean("x")}
    return spec.window("w", mt.sliding(f"{size} us", every=f"{every} us"), **aggregates)


@settings(max_examples=50, deadline=None)
@given(
    final=st.sampled_from(["auto", "blocks", "two_stacks", "daba", "rescan", "subtract_on_evict"]),
    size=st.integers(1, 300),
    every=st.integers(1, 40),
    keyed=st.booleans(),
    disorder=st.sampled_from([0, 20]),
    cuts=st.lists(st.integers(0, 200), max_size=3),
    seed=st.integers(0, 2**32),
)
def test_results_are_those_of_the_reference(
    final: str, size: int, every: int, keyed: bool, disorder: int, cuts: list[int], seed: int
) -> None:
    random = np.random.default_rng(seed)
    ts = np.sort(random.integers(0, 600, 200))
    if disorder:
        ts = np.maximum(ts - random.integers(0, disorder, 200), 0)
    rows = {"ts": ts, "key": random.integers(0, 3, 200), "x": random.integers(-(2**40), 2**40, 200)}
    spec = spec_of(size, every, keyed, disorder, final == "subtract_on_evict")
    engines = [spec.engine(final=final), spec.engine(engine="reference")]
    edges = [0, *sorted(cuts), 200]
    found: list[list[dict[str, object]]] = [[], []]
    for i, engine in enumerate(engines):
        for lo, hi in itertools.pairwise(edges):
            found[i] += engine.push({name: column[lo:hi] for name, column in rows.items()}).to_pylist()
        found[i] += engine.flush().to_pylist()
        found[i].sort(key=lambda row: (row["window"]["start"], row.get("key", 0)))  # type: ignore[index]
    for ours, theirs in zip(*found, strict=True):
        assert ours == {**theirs, **({"mean": pytest.approx(theirs["mean"])} if "mean" in theirs else {})}


def test_what_cannot_be_subtracted_is_refused() -> None:
    spec = mt.over("ts").window("w", mt.sliding("10 us", every="1 us"), high=mt.max("x"))
    with pytest.raises(mt.UnsupportedAggregate, match="'max' has no invert, so values cannot be subtracted"):
        spec.engine(final="subtract_on_evict").push({"ts": [0], "x": [1]})


def test_choices_that_contradict_are_refused() -> None:
    spec = mt.over("ts", lateness="1 second").window("w", mt.sliding("10 us", every="1 us"), mean=mt.mean("x"))
    with pytest.raises(mt.SpecError, match="Leave final='auto'"):
        spec.engine(final="blocks").push({"ts": [0], "x": [1.0]})
    with pytest.raises(mt.SpecError, match="store='eager'"):
        spec.engine(final="daba", store="eager")
    with pytest.raises(mt.SpecError, match="Did you mean 'daba'"):
        spec.engine(final="dabba")


def test_explain_says_which_and_why() -> None:
    spec = mt.over("ts").window("w", mt.sliding("1 minute", every="1 second"), mean=mt.mean("x"))
    assert "Final aggregation: blocks (two-stacks over slices) where several windows are due at once" in spec.explain()
