"""Heavy hitters from the window before give what counting each window gives."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing import hitters
from tests.strategies import rows_of


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=12), min_size=2, max_size=12),
    st.data(),
    st.sampled_from([1.0, 0.5, 0.34, 0.1]),
)
def test_counts_that_move_equal_counts_of_each_window(runs: list[list[int]], data: st.DataObject, share: float) -> None:
    """Windows in any order, of any runs: those of another key, or far away, have nothing in common."""
    pairs = [sorted(Counter(run).items()) for run in runs]
    values = np.array([value for run in pairs for value, _ in run], np.int64)
    counts = np.array([count for run in pairs for _, count in run], np.int64)
    bounds = st.tuples(st.integers(0, len(runs)), st.integers(0, len(runs))).map(sorted)
    windows = data.draw(st.lists(bounds, min_size=1, max_size=40))
    full = [w for w in windows if any(runs[w[0] : w[1]])]
    if not full:
        return
    lo, hi = (np.array(side, np.int64) for side in zip(*full, strict=True))
    sizes = np.array(list(map(len, pairs)), np.int64)
    found = hitters.sliding(values, counts, sizes, lo, hi, mt.heavy_hitters("x", share), -1)
    if found is None:
        return
    got = {w: {} for w in range(len(full))}  # type: ignore[var-annotated]
    for window, value, count in zip(*(part.tolist() for part in found), strict=True):
        got[window][value] = count
    for w, (a, b) in enumerate(full):
        true = Counter(value for run in runs[a:b] for value in run)
        assert got[w] == {value: count for value, count in true.items() if count / true.total() >= share}


@pytest.mark.parametrize("keys", [1, 3])
def test_windows_that_overlap_go_that_way_and_equal_the_reference(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(keys)
    frame = {"ts": np.sort(rng.integers(0, 300, 900)), "k": rng.integers(0, keys, 900), "x": rng.geometric(0.3, 900)}
    spec = mt.over("ts", by="k").window("w", mt.sliding("60 us", every="5 us"), often=mt.heavy_hitters("x", 0.2))
    spec = spec.window("s", mt.sliding("48 us", every="3 us"), often=mt.heavy_hitters("x", 0.1, approx=True))
    calls = []
    plain = hitters.sliding
    monkeypatch.setattr("muntin.slicing.runs_answers.sliding", lambda *given: calls.append(1) or plain(*given))
    assert rows_of(spec.apply(frame)) == rows_of(spec.apply(frame, engine="reference"))
    assert calls


def test_windows_of_nulls_alone_have_no_hitters() -> None:
    hitters = mt.heavy_hitters("s", share=0.3, approx=True)
    engine = mt.over("ts", by="key").window("w", mt.sliding("2 us", every="1 us"), some=hitters).engine()
    engine.push(pa.table({"ts": [0], "key": ["a"], "s": pa.array([None], pa.string())}))
    assert engine.flush()["some"].to_pylist() == [None, None]
