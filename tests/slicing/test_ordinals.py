"""Runs of values, counted or sorted, against NumPy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.kernels.values import PLACES, starts_of
from muntin.slicing.ordinals import Counting, from_ordinal, ordinal
from tests.reliability.sizes import examples


@examples(30)
@given(st.integers(0, 10_000), st.lists(st.sampled_from([1, 3, 200, PLACES // 2, PLACES // 2 + 1, 5_000]), max_size=5))
def test_runs_are_the_distinct_values_of_each_stretch(seed: int, widths: list[int]) -> None:
    chance = np.random.default_rng(seed)
    counting = Counting()
    for _ in range(3):  # after too many distinct values it sorts for a while
        parts = [chance.permutation(np.tile(np.arange(w) * 977 - w // 2, 2)) for w in widths]
        values = np.concatenate([np.empty(0, np.int64), *parts])
        ends = np.cumsum([len(part) for part in parts]).astype(np.int64)
        starts = np.append(0, ends)[: len(parts)].astype(np.int64)
        distinct, upto, offsets = counting.runs(values, starts, ends)
        assert len(distinct) == sum(widths)
        for part, low in zip(parts, offsets.tolist(), strict=True):
            right, counts = np.unique(part, return_counts=True)
            assert distinct[low : low + len(right)].tolist() == right.tolist()
            assert upto[low : low + len(right)].tolist() == counts.cumsum().tolist()


@settings(deadline=None)
@given(st.lists(st.floats(), max_size=20))
def test_floats_and_their_ordinals_have_the_same_order(values: list[float]) -> None:
    floats = np.array(values, np.float64)
    numbers = ordinal(floats)
    ranked = np.sort(floats)  # NaN last
    back = from_ordinal(np.sort(numbers), pa.float64())
    assert np.array_equal(back, ranked, equal_nan=True)
    assert not (numbers < 0)[floats == 0.0].any()
    with np.errstate(over="ignore"):
        single = floats.astype(np.float32)
    assert np.array_equal(from_ordinal(ordinal(single), pa.float32()), single, equal_nan=True)


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20, unique=True), st.lists(st.integers(0, 200), max_size=30))
def test_each_time_finds_the_start_of_its_slice(edges: list[int], after: list[int]) -> None:
    starts = np.array(sorted(edges), np.int64)
    times = starts[0] + np.array(after, np.int64)
    found = np.empty(len(times), np.int64)
    starts_of(starts, times, found)
    assert found.tolist() == [max(edge for edge in edges if edge <= time) for time in times.tolist()]
