"""The split of windows into panes: how many there are, what is computed at each level, and that it is the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.panes import cut
from muntin.slicing.slicer import Slicer


@given(st.integers(1, 40), st.integers(1, 40))
def test_slices_are_never_more_than_panes_and_are_those_that_the_slicer_cuts(size: int, slide: int) -> None:
    window = mt.sliding(f"{size} us", every=f"{slide} us")
    pane = cut(window)
    assert pane is not None
    assert (pane.size, pane.per_window * pane.size, pane.per_slide * pane.size) == (math.gcd(size, slide), size, slide)
    start = 100 * slide
    edges = Slicer([window]).edges(start, start + size - 1)
    assert pane.slices_per_window == np.count_nonzero((edges >= start) & (edges < start + size))
    assert pane.slices_per_window <= pane.per_window
    assert pane.slices_per_slide <= pane.per_slide


def test_the_levels_follow_from_the_declarations() -> None:
    class Range(mt.Aggregate):
        """Largest less smallest: nothing but its declaration is known of it."""

        partial = {"low": float, "high": float}  # noqa: RUF012
        commutative, kind = True, "algebraic"

        def lift(value: float) -> object:
            return value, value

        def combine(a: object, b: object) -> object:
            return min(a.low, b.low), max(a.high, b.high)  # type: ignore[attr-defined]

        def lower(p: object) -> float:
            return p.high - p.low  # type: ignore[attr-defined]

    window = mt.sliding("4 minutes", every="1 minute")
    spec = mt.over("ts", by="item").window(
        "w", window, n=mt.count(), top=mt.max("x"), mean=mt.mean("x"), often=mt.heavy_hitters("x", 0.1), span=Range("x")
    )
    plan = spec.panes()["w"]
    pane, level = plan.lines()[1], plan.lines()[2]
    assert "[RANGE 1 minute]" in pane
    for part in ("count(*) AS n", "max(x) AS top", "sum(x) AS mean_total", "count(x) AS mean_n",
                 "count(*) BY x AS often_counts", "min(x) AS span_low", "max(x) AS span_high"):  # fmt: skip
        assert part in pane
    for part in ("sum(n) AS n", "max(top) AS top", "lower(sum(mean_total), sum(mean_n)) AS mean",
                 "lower(min(span_low), max(span_high)) AS span", "[RANGE 4 minutes SLIDE 1 minute]"):  # fmt: skip
        assert part in level
    text = str(spec.panes())
    assert "full-differential: n, mean (" in text
    assert "pseudo-differential: often (" in text
    assert "not differential: top, span (" in text
    assert plan.lines()[0] in str(spec.explain())


@pytest.mark.parametrize(
    ("window", "told"),
    [
        (mt.sliding("100 rows", every="30 rows"), "10 rows (gcd of 100 rows and 30 rows), 10 in a window, 3 new"),
        (mt.cumulative("1 hour", every="10 minutes"), "10 minutes (gcd of 1 hour and 10 minutes), 6 in a window"),
        (mt.session("1 minute"), "no panes: a session has neither RANGE nor SLIDE"),
        (mt.sliding("4 minutes", every="1 row"), "no panes: it slides by tuple"),
        (mt.sliding("10 rows", every="1 minute"), "no panes: it slides by another measure"),
        (mt.punctuated("mark"), "no panes: its edges come with the events"),
    ],
)
def test_every_kind_of_window_says_what_its_panes_are(window: mt.windows.Window, told: str) -> None:
    assert told in str(mt.over("ts").window("w", window, n=mt.count()).panes())


def test_pane_level_then_window_level_gives_the_windows() -> None:
    """Section 3.1 by hand: the pane-level query as one spec, the window-level query as another over its results."""
    rng = np.random.default_rng(1)
    frame = {"ts": np.sort(rng.integers(0, 60, 200)), "x": rng.normal(size=200)}
    spec = mt.over("ts").window("w", mt.sliding("9 us", every="6 us"), n=mt.count(), top=mt.max("x"))
    low = mt.over("ts").window("p", mt.tumbling("3 us"), n=mt.count(), top=mt.max("x")).apply(frame)
    starts = [window["start"] for window in low["window"].to_pylist()]
    high = mt.over("ts").window("w", mt.sliding("9 us", every="6 us"), n=mt.sum("n"), top=mt.max("top"))
    found = high.apply({"ts": starts, "n": low["n"], "top": low["top"]})
    assert found.select(["window", "n", "top"]).equals(spec.apply(frame).select(["window", "n", "top"]))
