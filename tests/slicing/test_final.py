"""Every final aggregation gives the results of the reference: time and rows, keys, disorder and cuts at random."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.final import chosen_for_rows
from muntin.fused import fused
from tests.reliability.sizes import examples

FINALS = ["auto", "blocks", "two_stacks", "daba", "rescan", "subtract_on_evict"]


def spec_of(unit: str, sizes: list[int], every: int, keyed: bool, disorder: int, inverse: bool) -> mt.Spec:
    """Several queries with the same aggregates: their windows are combined in one call."""
    spec = mt.over("ts", by="key" if keyed else (), disorder=f"{disorder} us", max_ahead=None)
    aggregates = {"n": mt.count(), "total": mt.sum("x")}
    if not inverse:
        aggregates |= {"low": mt.min("x"), "mean": mt.mean("x")}
    for i, size in enumerate(sizes):
        spec = spec.window(f"w{i}", mt.sliding(f"{size} {unit}", every=f"{every} {unit}"), **aggregates)
    return spec


def check(final: str, spec: mt.Spec, cuts: list[int], seed: int, disorder: int = 0) -> None:
    random = np.random.default_rng(seed)
    ts = np.sort(random.integers(0, 600, 200))
    if disorder:
        ts = np.maximum(ts - random.integers(0, disorder, 200), 0)
    rows = {"ts": ts, "key": random.integers(0, 3, 200), "x": random.integers(-(2**40), 2**40, 200)}
    engines = [spec.engine(final=final), spec.engine(engine="reference")]
    edges = [0, *sorted(cuts), 200]
    found: list[list[dict[str, object]]] = [[], []]
    for i, engine in enumerate(engines):
        for lo, hi in itertools.pairwise(edges):
            found[i] += engine.push({name: column[lo:hi] for name, column in rows.items()}).to_pylist()
        found[i] += engine.flush().to_pylist()
        found[i].sort(key=lambda row: repr((row["query"], row.get("key"), row["window"], row["rows"])))
    for ours, theirs in zip(*found, strict=True):
        assert ours == {**theirs, **({"mean": pytest.approx(theirs["mean"])} if "mean" in theirs else {})}


@examples(25)
@given(
    final=st.sampled_from(FINALS),
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
    spec = spec_of("us", [size], every, keyed, disorder, final == "subtract_on_evict")
    check(final, spec, cuts, seed, disorder)


@examples(15)
@given(
    final=st.sampled_from(FINALS),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=2),
    every=st.integers(1, 8),
    cuts=st.lists(st.integers(0, 200), max_size=3),
    seed=st.integers(0, 2**32),
)
def test_windows_in_rows_are_those_of_the_reference(
    final: str, sizes: list[int], every: int, cuts: list[int], seed: int
) -> None:
    check(final, spec_of("rows", sizes, every, True, 0, True), cuts, seed)


@pytest.mark.parametrize("final", FINALS)
def test_windows_in_rows_begin_where_their_first_event_is(final: str) -> None:
    """The first event leaves a window with each step: so its time cannot be kept from the window before."""
    check(final, spec_of("rows", [2], 1, True, 0, True), [70], 0)


def test_windows_in_rows_go_in_blocks_where_that_takes_less() -> None:
    a = np.concatenate([np.arange(100), np.arange(500, 600)])  # two keys, windows of 64 slices, one with each
    cells = fused([mt.mean("x").bind([pa.float64()])], spans=False)
    assert chosen_for_rows(a, a + 64, cells, False) == "blocks"
    assert chosen_for_rows(a, a + 64, cells, True) == "rescan"  # corrected floats are combined as ever
    assert chosen_for_rows(a * 64, a * 64 + 64, cells, False) == "rescan"  # nothing is shared


def test_what_cannot_be_subtracted_is_refused() -> None:
    spec = mt.over("ts").window("w", mt.sliding("10 us", every="1 us"), high=mt.max("x"))
    with pytest.raises(mt.UnsupportedAggregate, match="'max' has no invert, so values cannot be subtracted"):
        spec.engine(final="subtract_on_evict").push({"ts": [0], "x": [1]})


def test_choices_that_contradict_are_refused() -> None:
    spec = mt.over("ts", lateness="1 second").window("w", mt.sliding("10 us", every="1 us"), mean=mt.mean("x"))
    with pytest.raises(mt.SpecError, match="Leave final='auto'"):
        spec.engine(final="blocks").push({"ts": [0], "x": [1.0]})
    rows = mt.over("ts", lateness="1 second").window("w", mt.sliding("10 rows", every="1 row"), mean=mt.mean("x"))
    with pytest.raises(mt.SpecError, match="Leave final='auto'"):
        rows.engine(final="blocks").push({"ts": [0], "x": [1.0]})
    with pytest.raises(mt.SpecError, match="store='eager'"):
        spec.engine(final="daba", store="eager")
    with pytest.raises(mt.SpecError, match="Did you mean 'daba'"):
        spec.engine(final="dabba")


def test_explain_says_which_and_why() -> None:
    spec = mt.over("ts").window("w", mt.sliding("1 minute", every="1 second"), mean=mt.mean("x"))
    assert "Final aggregation: blocks (two-stacks over slices) where several windows are due at once" in spec.explain()
