"""Slices on a circular array: the same rows as the reference, alone and beside what is swept or has levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.kernels import circular as kernels
from muntin.spanning import auto, edges, levels, ring
from tests.reliability.sizes import examples
from tests.spanning.drawn import FIXED, check, specs, steps_of, streams
from tests.strategies import rows_of

ADDED = (("n", "total", "low", "high"),)


@examples(40)
@given(specs(mixes=ADDED, techniques=("auto",)), st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    steps = data.draw(steps_of(data.draw(streams())))
    emit = data.draw(st.sampled_from(["final", "updates"]))
    check(spec, steps, restarts=data.draw(st.sampled_from([(), tuple(range(len(steps)))])), emit=emit)


@pytest.mark.parametrize(
    ("small", "share", "few", "most"),
    [(0, 4, 16, 1 << 18), (0, 16, 0, 1 << 18), (64, 1_000, 16, 6)],
    ids=["swept batch by batch", "levels batch by batch", "levels by length"],
)
def test_events_of_one_window_are_in_several_places(
    small: int, share: int, few: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (auto, "SMALL", small),
        (auto, "SHARE", share),
        (auto, "FEW", few),
        (kernels, "MOST", most),
        (ring, "LEAST", 2),
        (ring, "LOOKS", 2),
    ):
        monkeypatch.setattr(module, name, value)

    @examples(20)
    @given(specs(mixes=ADDED, techniques=("auto",)), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        check(spec, data.draw(steps_of(data.draw(streams()))), restarts=(1,))

    equal()


@pytest.mark.parametrize("small", [0, 64, 1 << 18], ids=["hashed", "hashed later", "circular"])
def test_levels_on_a_circular_array_equal_the_reference(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices take the places of those that have gone; higher ones and more keys find room, or a table instead."""
    for module, name, value in (
        (edges, "AHEAD", 1),
        (levels, "SMALL", small),
        (levels, "SHARE", 0),
        (levels, "LOOKS", 2),
    ):
        monkeypatch.setattr(module, name, value)

    @examples(30)
    @given(specs(mixes=ADDED, techniques=("single", "multi")), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        longest = data.draw(st.sampled_from([3, 40, 400]))
        check(spec, data.draw(steps_of(data.draw(streams(longest=longest)))), restarts=(2,))

    equal()


def test_slices_that_go_make_room_for_those_that_come() -> None:
    """A thousand slices pass over a circular array for about as many as are held at once."""
    spec = mt.over(span=("start", "end"), postpone="40 us", technique="multi", height=4)
    spec = spec.window("w", mt.sliding("30 us", every="10 us"), n=mt.count(), spread=mt.var("x"))
    engine, most = spec.engine(), 0
    ends = np.arange(0, 10_000, 3)
    rows = {"start": ends - ends % 37, "end": ends, "x": ends % 11}
    found = []
    for at in range(0, len(ends), 20):
        found.append(engine.push({name: values[at : at + 20] for name, values in rows.items()}))
        most = max(most, engine._fixed.cells._levels._ring.nbytes)
    assert most == 128 * 4 * 2 * 4  # slices, levels, parts, bytes
    assert rows_of(*found, engine.flush()) == rows_of(spec.apply(rows, engine="reference"))


def test_a_snapshot_goes_on_with_another_technique() -> None:
    def spec(technique: str) -> mt.Spec:
        over = mt.over(span=("start", "end"), postpone="1 ms", technique=technique)
        return over.window("w", mt.sliding("50 us", every="10 us"), n=mt.count(), top=mt.max("x"))

    techniques = ["auto", "single", "sweeping", "multi", "auto"]
    rows = {"start": np.arange(50) * 7, "end": np.arange(50) * 8 + 60, "x": np.arange(50) * 37 % 50}
    engine = spec("auto").engine()
    for i, technique in enumerate(techniques):
        before, engine = engine, spec(technique).engine()
        if i:
            engine.restore(before.snapshot())
        assert not engine.push({name: values[10 * i : 10 * i + 10] for name, values in rows.items()}).num_rows
    assert rows_of(engine.flush()) == rows_of(spec("auto").apply(rows, engine="reference"))


@examples(15)
@given(specs(kinds=FIXED, mixes=ADDED, techniques=("auto",)), streams())
def test_a_finite_frame_has_all_windows(spec: mt.Spec, table: pa.Table) -> None:
    good = table.filter(pa.compute.less_equal(table["start"], table["ts"]))
    assert rows_of(spec.apply(good)) == rows_of(spec.apply(good, engine="reference"))


def test_numbers_at_the_ends_of_their_types() -> None:
    """NaN is larger than any number, infinities and the least integer are values like others, sums do not overflow."""
    rows = {
        "start": [0, 1, 2, 3, 12, 14, 22],
        "end": [5, 9, 31, 4, 13, 19, 25],
        "f": [float("nan"), -float("inf"), None, 1.0, float("inf"), None, float("nan")],
        "x": [-(2**63), 2**63 - 1, None, -1, 5, None, 2**62],
        "s": [1, -1, 7, None, 3, 0, 2],
    }
    table = pa.table({name: pa.array(values, pa.int8() if name == "s" else None) for name, values in rows.items()})
    spec = mt.over(span=("start", "end")).window(
        "w",
        mt.sliding("6 us", every="2 us"),
        a=mt.max("f"), b=mt.min("f"), c=mt.max("x"), d=mt.min("x"), e=mt.sum("x", overflow="null"), f=mt.max("s"),
        g=mt.min("s"), h=mt.count("x"), i=mt.sum("s"),
    )  # fmt: skip
    assert rows_of(spec.apply(table)) == rows_of(spec.apply(table, engine="reference"))


def test_slices_after_a_silence_have_numbers_of_their_own() -> None:
    """Slices were numbered on from those that had gone; made before the first again, they had the numbers of old ones.

    time   0       601   637          2000     4345    5000
    event  [)       [-----)            silence   [)      [)
    """
    spans = [[(0, 5), (601, 635), (628, 637)], [], [(5_000, 5_003)], [(4_345, 4_359)]]
    names = {"start": 0, "ts": 1}
    batches = [
        pa.table({name: pa.array([span[at] for span in some], pa.int64()) for name, at in names.items()})
        for some in spans
    ]
    for technique in ("auto", "single"):
        spec = mt.over(span=("start", "ts"), postpone=0, disorder="200 us", technique=technique)
        spec = spec.window("w", mt.tumbling("10 us"), n=mt.count())
        check(spec, list(zip(batches, [None, 2_000, None, None], strict=True)))


def test_keys_that_fall_silent_are_forgotten() -> None:
    spec = mt.over(span=("start", "end"), by="key", postpone=0).window("w", mt.tumbling("10 us"), n=mt.count())
    engine = spec.engine()
    for i in range(60):
        keys = np.arange(100) + 100 * i
        start = np.full(100, 20 * i)
        found = engine.push({"start": start, "end": start + 5, "key": keys})
        assert found.num_rows == (100 if i else 0)
    assert engine._decoder.keys.size < 3_000
    assert engine.flush().num_rows == 100


def test_an_event_costs_the_same_whatever_its_length() -> None:
    """Four thousand slices, or a million: no more places than slices that are held, and few levels."""
    spec = mt.over(span=("start", "end"), postpone=0).window(
        "w", mt.sliding("50 us", every="10 us"), n=mt.count(), top=mt.max("x")
    )
    engine = spec.engine(watermark="manual")
    engine.push({"start": [0, 100, 200], "end": [40_000, 40_500, 10_000_000], "x": [3, 4, 5]})
    assert engine.nbytes < 20_000_000  # the edges of a million slices, and a table over them
    assert "3 events were swept: most slices were empty" in engine.explain()
    table = engine.flush()
    assert table["n"].to_pylist()[2_000] == 3
    assert table["top"].to_pylist()[3_000] == 5
    engine = spec.engine(watermark="manual")
    engine.push({"start": [0, 100], "end": [40_000, 40_500], "x": [3, 4]})
    assert "levels of minima and maxima now: 12" in engine.explain()
    begins = np.arange(-40, 40_500, 10)
    expected = (begins < 40_000).astype(int) + (begins + 50 > 100)
    assert engine.flush()["n"].to_pylist() == expected.tolist()


def test_levels_for_a_long_event_go_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring, "LOOKS", 4)
    spec = mt.over(span=("start", "end"), postpone="4 ms").window(
        "w", mt.tumbling("1 us"), n=mt.count(), top=mt.max("x")
    )
    engine, buckets = spec.engine(), spec.engine(engine="aggregate_buckets")
    most = 0
    for at in range(0, 16_000, 1_000):
        end = np.arange(at, at + 1_000, 2)
        rows = {"start": end - np.where(end == 5_000, 3_500, 1), "end": end, "x": end % 7}
        assert rows_of(engine.push(rows)) == rows_of(buckets.push(rows))
        most = max(most, engine.nbytes)
    assert "levels of minima and maxima now: 1" in engine.explain()  # 12 for a while
    assert engine.nbytes < most / 2
    assert rows_of(engine.flush()) == rows_of(buckets.flush())
