"""The minima that paper 4 begins with are those of a plain recomputation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.bench.figures.hammer_ablation import NAMES, minima
from muntin.kernels.stacks import evicting


def plain(values: np.ndarray, window: int, every: int) -> list[int]:
    return [int(values[i : i + window].min()) for i in range(0, len(values) - window + 1, every)]


@pytest.mark.parametrize("how", list(NAMES))
@given(st.integers(1, 9), st.integers(1, 7), st.lists(st.integers(-9, 9), min_size=64, max_size=300))
def test_all_ways_give_the_same_minima(how: str, every: int, slides: int, given: list[int]) -> None:
    values = np.array(given, np.int32)
    assert minima(how, values, every * slides, every).tolist() == plain(values, every * slides, every)


@given(st.integers(1, 20), st.lists(st.integers(0, 9), min_size=20, max_size=80))
def test_a_minimum_that_leaves_is_looked_for_again(window: int, given: list[int]) -> None:
    values = np.array(given, np.int32)
    out = np.empty(len(values) - window + 1, np.int32)
    scans = evicting(values, window, out)
    assert out.tolist() == plain(values, window, 1)
    gone = values[: len(values) - window]
    assert scans == np.count_nonzero(gone == out[:-1])
