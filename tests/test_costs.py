"""The cost model of paper 2, section 3.3.1: its formulas, when it says that panes do not pay, what explain prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import muntin as mt
from muntin import costs, explain_costs, machine
from muntin.bench.panes import measure
from muntin.costs import Constants, Sizes, paned, why_not, windowed
from muntin.explain_costs import sampled
from muntin.given import rows_of

K = Constants(a=3.0, b=8.0, c=4.0, a_window=2.5)


def test_the_formulas_as_printed() -> None:
    s = Sizes(tuples=1_200, panes=4, per_slide=1, groups=10)
    assert paned(K, s, False) == K.a * 1_200 / 4 + K.b * 10 + K.c * 4 * 10  # 3.1
    assert paned(K, s, True) == K.a * 1_200 / 4 + K.b * 10 + 2 * K.c * 10 * 1  # 3.2
    assert windowed(K, s, False) == K.a_window * 1_200  # 3.3
    assert windowed(K, s, True) == 2 * K.a_window * 1 * (1_200 / 4)  # 3.4: SLIDE * T / RANGE is a pane


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        (Sizes(tuples=12_000, panes=6, per_slide=1, groups=10), None),
        (Sizes(tuples=60, panes=6, per_slide=1, groups=10), "a group has about 1 tuple in a pane"),
        (Sizes(tuples=3, panes=6, per_slide=1, groups=0.4), "arrivals are slow: 3 tuples in 6 panes"),
        (Sizes(tuples=4_000, panes=2, per_slide=2, groups=10), "a tuple is in 1 windows only"),
    ],
)
def test_when_panes_do_not_pay(sizes: Sizes, told: str | None) -> None:
    found = why_not(K, sizes, False)
    assert found is None if told is None else told in str(found)


def test_explain_prints_cost_buffer_and_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not those of this machine: where a group has one tuple in a pane, panes nearly cost what they save.
    monkeypatch.setattr(explain_costs, "constants", lambda: K)
    spec = mt.over("ts", by="k").window("w", mt.sliding("1 minute", every="10 s"), top=mt.max("x"))
    spec = spec.window("rows", mt.sliding("50 rows", every="1 row"), n=mt.count())
    text = str(spec.explain(rate=10_000, keys=100))
    assert "w: T = 600,000 tuples, P = 6 panes, G = 100 groups in a pane; 1,000 tuples" in text
    assert "(formulas 3.1 and 3.3): panes take 0." in text
    assert "buffer: P × G × partial = 6 × 100 × 40 bytes = 24 kB" in text
    assert "(formulas 3.2 and 3.4): panes do not pay, since a group has about 1 tuple in a pane" in text
    sparse = str(spec.without("rows").explain(rate=10, keys=100_000))
    assert "panes do not pay, since a group has about 1 tuple in a pane" in sparse
    assert "Cost" not in spec.explain()


def test_statistics_are_taken_from_a_frame() -> None:
    rng = np.random.default_rng(1)
    frame = {
        "ts": np.sort(rng.integers(0, 100_000_000, 20_000)),
        "k": rng.integers(0, 50, 20_000),
        "x": rng.random(20_000),
    }
    spec = mt.over("ts", by="k").where("k < 25").window("w", mt.sliding("20 s", every="5 s"), top=mt.max("x"))
    found = sampled(spec, rows_of(spec, frame))
    assert found.rate == pytest.approx(100, rel=0.05)
    assert found.keys == 25
    assert found.groups is not None
    assert found.groups(5_000_000) == 25
    assert "P = 4 panes, G = 25 groups in a pane" in spec.explain(frame, rate="sample")
    with pytest.raises(mt.SpecError, match="takes the rate from a frame"):
        spec.explain(rate="sample")
    with pytest.raises(mt.SpecError, match="no two times"):
        spec.explain({"ts": [1], "k": [1], "x": [0.5]}, rate="sample")
    with pytest.raises(mt.SpecError, match="time of arrival"):
        mt.over(None).window("w", mt.tumbling("1 s"), n=mt.count()).explain({"x": [1]}, rate="sample")


def test_constants_are_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(machine, "folder", lambda: tmp_path)
    calls = []
    monkeypatch.setattr(costs, "measured", lambda: calls.append(1) or K)
    costs.constants.cache_clear()
    try:
        assert costs.constants() == K
        costs.constants.cache_clear()
        assert costs.constants() == K
        assert len(calls) == 1
        (tmp_path / "costs.json").write_text('{"format": 1}')
        costs.constants.cache_clear()
        assert costs.constants() == K
        assert len(calls) == 2
    finally:
        costs.constants.cache_clear()


def test_figure_3_at_a_small_size() -> None:
    """Runs as the benchmark does, which checks that windows with panes and without agree; no time is asserted."""
    k = costs.measured(rounds=3)
    assert min(k.a, k.b, k.c, k.a_window) > 0
    for tuples in (100, 1):
        assert measure(k, tuples, 10, rounds=1).measured > 0


def test_panes_pay_with_many_tuples_in_them_and_not_with_one() -> None:
    """The figure's shape, as predicted where a partial costs more than a tuple."""
    k = costs.Constants(a=2.0, b=10.0, c=3.0, a_window=2.0)
    many, one = (measure(k, tuples, 10, rows=2_000, rounds=1).predicted for tuples in (100, 1))
    assert many < 0.6
    assert one > 1
