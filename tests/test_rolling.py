"""`mt.rolling` against plain recomputation of every window by the reference's functions."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin import rolling_timed
from muntin.kernels.final.lane_text import Op
from muntin.rolling_lanes import op_for
from tests.reliability.sizes import examples
from tests.strategies import Order

ODD = [math.nan, math.inf, -math.inf, 0.0, -0.0]
FINALS = ("auto", "blocks", "two_stacks", "subtract_on_evict", "rescan", "daba")
PLAIN = {"min": mt.min, "max": mt.max, "sum": mt.sum, "mean": mt.mean}


class Span(mt.Aggregate):
    """Largest less smallest: a user's own, without invert."""

    partial: ClassVar[dict[str, Any]] = {"low": float, "high": float}
    identity = (math.inf, -math.inf)

    def lift(value: Any) -> Any:
        return value, value

    def combine(a: Any, b: Any) -> Any:
        return min(a.low, b.low), max(a.high, b.high)

    def lower(p: Any) -> Any:
        return p.high - p.low


def expected(agg: Any, values: list[Any], type_: pa.DataType) -> Any:
    """One window, recomputed."""
    aggregate = agg("x") if isinstance(agg, type) else agg
    bound = aggregate.bind([type_])
    kept = [value for value in values if value is not None]
    if len(kept) < bound.aggregate.least:
        return None
    if bound.aggregate.plain is not None:
        return bound.aggregate.plain(kept)
    partial = bound.lift(kept[0])
    for value in kept[1:]:
        partial = bound.combine(partial, bound.lift(value))
    return bound.lower(partial)


def close(found: Any, right: Any, scale: float) -> bool:
    if found is None or right is None:
        return found is right
    if isinstance(right, float) and not math.isfinite(right):
        return found == right or (math.isnan(right) and math.isnan(found))
    return bool(abs(found - right) <= 1e-9 * max(scale, 1.0))


def check(agg: Any, values: list[Any], type_: pa.DataType, window: int, every: int, final: str) -> None:
    column = pa.array(values, type_)
    found = mt.rolling(column, window=window, every=every, agg=agg, final=final)
    count = max((len(values) - window) // every + 1, 0)
    assert len(found) == count
    plain = column.to_pylist()
    exact = not pa.types.is_floating(found.type)
    for i, got in enumerate(found.to_pylist()):
        part = plain[i * every : i * every + window]
        right = expected(agg, part, type_)
        scale = sum(abs(v) for v in part if v is not None and math.isfinite(v))
        assert got == right if exact else close(got, right, scale), (i, part, got, right)


numbers = {
    "int32": st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), 2**31 - 1, 0]),
    "int64": st.integers(-(2**52), 2**52),
    "float64": st.floats(-1e6, 1e6, width=32) | st.sampled_from(ODD),
    "float32": st.floats(-1e6, 1e6, width=32) | st.sampled_from(ODD),
}
TYPES = {"int32": pa.int32(), "int64": pa.int64(), "float64": pa.float64(), "float32": pa.float32()}


@pytest.mark.parametrize("final", ["blocks", "rescan", "auto"])
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_all_lengths_at_all_alignments(name: str, dtype: str, final: str) -> None:
    """Lengths 0 to 257, from eight places in memory, at several rates of NaN."""
    random = np.random.default_rng(len(name) + len(dtype))
    most = random.integers(-1000, 1000, 300).astype(dtype)
    for length in range(258):
        values = most[length % 8 : length % 8 + length].copy()
        values = np.concatenate([np.zeros(length % 8, dtype), values])[length % 8 :]
        if dtype == "float64":
            values[random.random(length) < (0.0, 0.05, 0.5, 1.0)[length % 4]] = np.nan
            values[random.random(length) < 0.02] = np.inf
        for window in {1, 7, 8, 9, 24 + length % 8, 64, length} - {0}:
            every = (1, 1, 3, 8, 11, 64)[length % 6]
            found = mt.rolling(values, window=window, every=every, agg=PLAIN[name], final=final)
            assert len(found) == max((length - window) // every + 1, 0)
            if not len(found):
                continue
            rows = np.lib.stride_tricks.sliding_window_view(values, window)[::every]
            with np.errstate(invalid="ignore"):
                right = {"min": np.fmin.reduce, "max": np.maximum.reduce, "sum": np.add.reduce, "mean": np.mean}[name](
                    rows, axis=1
                )
            np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-9)


@examples(30)
@given(
    dtype=st.sampled_from(list(numbers)),
    name=st.sampled_from(list(PLAIN)),
    final=st.sampled_from(FINALS),
    window=st.integers(1, 40),
    every=st.integers(1, 45),
    nulls=st.booleans(),
    data=st.data(),
)
def test_built_in_aggregates(
    dtype: str, name: str, final: str, window: int, every: int, nulls: bool, data: st.DataObject
) -> None:
    element = st.none() | numbers[dtype] if nulls else numbers[dtype]
    values = data.draw(st.lists(element, max_size=90))
    if final == "daba" and name in ("min", "max"):
        values = [v for v in values if v is None or v != 0 or math.copysign(1, v) > 0]
    check(PLAIN[name], values, TYPES[dtype], window, every, final)


@examples(20)
@given(
    agg=st.sampled_from([Span, Order, mt.var, mt.max_count, mt.count, mt.median, mt.first, mt.collect]),
    final=st.sampled_from(FINALS),
    window=st.integers(1, 30),
    every=st.integers(1, 33),
    values=st.lists(st.none() | st.integers(-1000, 1000), max_size=70),
)
def test_other_aggregates(agg: Any, final: str, window: int, every: int, values: list[int | None]) -> None:
    if agg in (mt.median, mt.first, mt.collect):
        final = "auto"
    if final == "subtract_on_evict" and agg in (Span, Order, mt.max_count):
        with pytest.raises(mt.UnsupportedAggregate, match="subtracted"):
            mt.rolling(pa.array(values, pa.int64()), window=window, agg=agg, final=final)
        return
    column = pa.array(values, pa.int64())
    found = mt.rolling(column, window=window, every=every, agg=agg, final=final).to_pylist()
    assert len(found) == max((len(values) - window) // every + 1, 0)
    for i, got in enumerate(found):
        part = values[i * every : i * every + window]
        kept = [v for v in part if v is not None]
        if agg is mt.first:
            right: Any = kept[0] if kept else None
        elif agg is mt.collect:
            right = kept or None
        elif agg is mt.median:
            right = float(np.median(kept)) if kept else None
        else:
            right = expected(agg, part, pa.int64())
        assert got == right if not isinstance(right, float) else got == pytest.approx(right, rel=1e-9, abs=1e-6)


@examples(30)
@given(
    steps=st.lists(st.integers(0, 9), max_size=60),
    window=st.integers(1, 30),
    every=st.integers(1, 33),
    align=st.integers(-40, 40),
    name=st.sampled_from(["min", "sum", "mean", "var"]),
    final=st.sampled_from(["auto", "blocks", "two_stacks", "subtract_on_evict", "rescan"]),
    part=st.sampled_from([1, 3, 16_384]),
)
def test_windows_in_time_are_those_of_the_engine(
    steps: list[int], window: int, every: int, align: int, name: str, final: str, part: int
) -> None:
    times = np.cumsum(np.array([-20, *steps]))
    values = (np.arange(len(times)) * 7 % 11).astype(np.float64)
    agg = getattr(mt, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rolling_timed, "PART", part)
        starts, found = mt.rolling(values, times=times, window=window, every=every, align=align, agg=agg, final=final)
    sliding = mt.sliding(f"{window} us", every=f"{every} us", align=f"{align % every} us")
    spec = mt.over("ts").window("w", sliding, r=agg("x"))
    rows = spec.apply({"ts": times, "x": values}, engine="reference").to_pylist()
    zero, unit = dt.datetime(1970, 1, 1), dt.timedelta(microseconds=1)
    right = {(row["window"]["start"] - zero) // unit: row["r"] for row in rows}
    first = [s for s in range(int(times[0]) - 80, int(times[-1]) + 1) if (s - align) % every == 0]
    whole = [s for s in first if s >= times[0] and s + window <= times[-1] + 1]
    assert starts.tolist() == whole
    for start, got in zip(whole, np.ma.asarray(found).tolist(), strict=True):
        assert got == (None if right.get(start) is None else pytest.approx(right[start]))


# -- what is said about nulls, NaN, types and errors -------------------------------------------------------------------


def test_nan_goes_by_sparks_rules_and_nulls_are_skipped() -> None:
    values = np.array([np.nan, np.nan, 1.0, np.inf, 2.0])
    assert mt.rolling(values, window=2, agg=mt.min).tolist()[1:] == [1.0, 1.0, 2.0]
    assert np.isnan(mt.rolling(values, window=2, agg=mt.min)[0])
    assert np.isnan(mt.rolling(values, window=2, agg=mt.max)).tolist() == [True, True, False, False]
    assert np.isnan(mt.rolling(values, window=2, agg=mt.sum)).tolist() == [True, True, False, False]
    column = pa.array([None, None, 1.0, float("nan")])
    found = mt.rolling(column, window=2, agg=mt.max)
    assert found.is_null().to_pylist() == [True, False, False]
    assert found[1].as_py() == 1.0


def test_masked_arrays_in_and_out() -> None:
    values = np.ma.masked_array([1, 2, 3, 4], [True, True, False, False])
    found = mt.rolling(values, window=2, agg=mt.sum)
    assert found.tolist() == [None, 3, 7]
    assert mt.rolling(values, window=2, agg=mt.count).tolist() == [0, 1, 2]


def test_other_types() -> None:
    assert mt.rolling(np.array([3, 1, 2], np.uint8), window=2, agg=mt.min).dtype == np.uint8
    assert mt.rolling(np.array([True, False, True]), window=2, agg=mt.sum).tolist() == [1, 1]
    days = np.array(["2024-01-03", "2024-01-01", "2024-01-02"], "datetime64[s]")
    assert mt.rolling(days, window=2, agg=mt.max).tolist() == [days[0].item(), days[2].item()]
    assert mt.rolling(pa.array(["b", "a", "c"]), window=2, agg=mt.min).to_pylist() == ["a", "a"]
    assert mt.rolling([1.0, 2.0, 4.0], window=2, agg=mt.quantile("x", 0.5)).tolist() == [1.5, 3.0]


def test_a_sum_that_could_overflow_is_exact() -> None:
    big = np.array([2**62, 2**62, -(2**62), 5])
    assert op_for(mt.sum("x").bind([pa.int64()]), big, 3) is None
    assert mt.rolling(big, window=3, agg=mt.sum).tolist() == [2**62, 5]
    with pytest.raises(mt.SumOverflow):
        mt.rolling(big, window=2, agg=mt.sum)
    assert op_for(mt.sum("x").bind([pa.int64()]), np.arange(9), 3) == Op("sum", "int64", "int64")


def test_out_takes_the_results() -> None:
    values = np.arange(100.0)
    out = np.empty(91)
    assert mt.rolling(values, window=10, agg=mt.mean, out=out) is out
    assert out[0] == 4.5
    with pytest.raises(mt.SpecError, match=r"out= is float32 \(91,\), but the results are float64 \(91,\)"):
        mt.rolling(values, window=10, agg=mt.mean, out=np.empty(91, np.float32))


def test_errors_name_the_way_out() -> None:
    values = np.arange(10.0)
    with pytest.raises(mt.SpecError, match="Did you mean 'blocks'"):
        mt.rolling(values, window=2, agg=mt.min, final="block")
    with pytest.raises(mt.UnsupportedAggregate, match="'max_count' has no invert, so values cannot be subtracted when"):
        mt.rolling(values, window=2, agg=mt.max_count, final="subtract_on_evict")
    with pytest.raises(mt.UnsupportedAggregate, match="Leave out final='daba'"):
        mt.rolling(values, window=2, agg=mt.median, final="daba")
    with pytest.raises(mt.SpecError, match="needs times="):
        mt.rolling(values, window="2 seconds", agg=mt.min)
    with pytest.raises(mt.FrameError, match="do not go back"):
        mt.rolling(values, times=np.arange(10)[::-1], window=2, agg=mt.min)
    with pytest.raises(mt.SpecError, match="is no aggregate"):
        mt.rolling(values, window=2, agg=min)
    with pytest.raises(mt.SpecError, match="Give them"):
        mt.rolling(values, window=2, agg=mt.quantile)
    with pytest.raises(mt.SpecError, match="at least 1"):
        mt.rolling(values, window=0, agg=mt.min)


def test_explain_says_which_and_why() -> None:
    values = np.arange(10_000.0)
    told = mt.rolling(values, window=1024, agg=mt.min, explain=True)
    assert re.fullmatch(r"blocks: predicted \S+ [mµ]s, beside .*rescan \S+ [mµ]s.* \(1024 slides in a window\)\.", told)
    assert "subtract_on_evict" not in told  # it may scan a window for each value
    told = mt.rolling(values, window=4, every=4, agg=mt.min, explain=True)
    assert told == "rescan: windows share nothing, so each is made from its values."
    told = mt.rolling(values, window=64, agg=mt.var, explain=True)
    assert told.startswith("blocks: predicted ")
    assert mt.rolling(values, window=4, agg=mt.min, final="daba", explain=True) == "daba: as asked for."
