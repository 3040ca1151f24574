"""Approximate aggregates: their error bounds, their size, and that cuts into batches do not matter."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.aggregates.sketches import STANDARD_ERROR, rounded
from muntin.slicing import runs
from muntin.slicing.bounded import BoundedRuns, pruned
from muntin.slicing.codings import OTHERS
from muntin.slicing.engine import Slicing
from tests.reliability.sizes import examples
from tests.slicing.test_engine import check, steps_of
from tests.strategies import MIXES, specs, streams

RNG = np.random.default_rng(7)
FINITE = st.floats(1e-150, 1e150) | st.floats(-1e150, -1e-150) | st.just(0.0)


@given(st.lists(FINITE, min_size=1), st.sampled_from([0.25, 0.1, 0.01, 0.001, 1e-6]), st.floats(0, 1))
def test_a_quantile_is_off_by_no_more_than_its_error(values: list[float], error: float, share: float) -> None:
    aggregate = mt.approx_quantile("x", share, error=error)
    near = rounded(np.array(values), aggregate.bits)
    assert (np.abs(near - values) <= error * np.abs(values)).all()
    low, high = np.quantile(values, share, method="lower"), np.quantile(values, share, method="higher")
    if low * high >= 0:
        found = aggregate.plain(values)
        slack = error + 1e-12
        least, most = sorted((abs(low), abs(high)))
        assert least * (1 - slack) <= abs(found) <= most * (1 + slack)


@pytest.mark.parametrize("kind", ["int", "float", "text"])
@pytest.mark.parametrize("many", [1, 50, 3_000, 60_000])
def test_distinct_values_are_counted_within_a_few_standard_errors(kind: str, many: int) -> None:
    numbers = RNG.choice(2**52, many, replace=False)
    values: Any = {"int": numbers, "float": numbers / 8, "text": numbers.astype(str)}[kind]
    values = np.concatenate([values, values[: many // 2]])  # what comes again counts once
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.approx_count_distinct("x"))
    (found,) = spec.apply({"ts": np.zeros(len(values), np.int64), "x": values})["n"].to_pylist()
    assert abs(found - many) <= max(1, 4 * STANDARD_ERROR * many)


def skewed(rows: int, seed: int) -> npt.NDArray[np.int64]:
    """Half of the rows are of a few values, all others differ."""
    rng = np.random.default_rng(seed)
    few = rng.choice(12, rows, p=np.arange(12, 0, -1) / 78)
    return np.where(rng.random(rows) < 0.5, few, rng.integers(100, 2**40, rows))


@pytest.mark.parametrize(("share", "batch"), [(0.07, 40_000), (0.05, 40_000), (0.03, 40_000), (0.05, 700)])
def test_heavy_hitters_keep_their_promise(share: float, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Summaries are made of whole slices, or merged batch by batch."""
    monkeypatch.setattr(runs, "WAITING", batch)
    values = skewed(40_000, 1)
    times = np.arange(len(values))
    aggregate = mt.heavy_hitters("x", share, approx=True)
    spec = mt.over("ts").window("w", mt.sliding("20 ms", every="5 ms"), often=aggregate)
    table, engine = pa.table({"ts": times, "x": values}), spec.engine()
    parts = [engine.push(table.slice(start, batch)) for start in range(0, len(values), batch)]
    found = pa.concat_tables([*parts, engine.flush()])
    left_out = 0
    for row in found.to_pylist():
        start, end = (int(np.datetime64(row["window"][side], "us").astype(np.int64)) for side in ("start", "end"))
        inside = values[max(start, 0) : max(end, 0)]
        true, listed = Counter(inside.tolist()), {hit["value"]: hit["count"] for hit in row["often"]}
        for value, count in true.items():
            assert count < share * len(inside) or value in listed
        for value, count in listed.items():
            assert true[value] >= 0.9 * share * len(inside)
            assert true[value] - share / 10 * len(inside) <= count <= true[value]
            left_out += true[value] - count
    assert left_out > 0, "nothing was left out, so nothing was tested"


def test_a_slice_keeps_a_bounded_number_of_values() -> None:
    values = skewed(50_000, 2)
    sizes = {}
    for approx in (False, True):
        spec = mt.over("ts").window(
            "w", mt.sliding("40 ms", every="10 ms"), often=mt.heavy_hitters("x", 0.1, approx=approx)
        )
        engine = spec.engine()
        engine.push({"ts": np.arange(len(values)), "x": values})
        assert isinstance(engine, Slicing)
        assert engine._sliced is not None
        (store,) = engine._sliced.runs.values()
        sizes[approx] = len(store._values)
    slices = 5
    assert sizes[True] <= slices * (100 + 1)
    assert sizes[False] > 50 * sizes[True]


def test_summaries_are_made_as_rows_come() -> None:
    """No window is due, and yet rows do not pile up: what is held is bounded however many come."""
    made = {
        "q": mt.approx_quantile("x", 0.9),
        "d": mt.approx_count_distinct("x"),
        "h": mt.heavy_hitters("x", 0.1, approx=True),
    }
    sizes = {}
    for rows in (200_000, 400_000):
        engine: Any = mt.over("ts", by="k").window("w", mt.tumbling("1 hour"), **made).engine()
        values = skewed(rows, 3)
        for start in range(0, rows, 20_000):
            end = start + 20_000
            engine.push({"ts": np.arange(start, end), "k": np.arange(start, end) % 5, "x": values[start:end]})
        stores = list(engine._sliced.runs.values())
        assert len(stores) == 3
        # Of each key 4,096 registers, 100 values and one more, and some tens of buckets for each of 40 doublings.
        assert sum(store._live() for store in stores) < 5 * (4_096 + 101 + 40 * 64) + 3 * runs.WAITING
        sizes[rows] = sum(store.nbytes for store in stores)
    assert sizes[400_000] < 1.2 * sizes[200_000]
    assert sizes[400_000] < 400_000 * 8  # one column of the rows would take as much


@pytest.mark.parametrize("most", [1, 3, 20])
def test_summaries_that_are_merged_again_and_again_lack_no_more_than_their_share(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "WAITING", 1)
    rng = np.random.default_rng(most)
    store, every = BoundedRuns(most), []
    for _ in range(60):
        values = rng.geometric(0.15, rng.integers(1, 40))
        every.append(values)
        if rng.random() < 0.5:
            store.add(np.zeros(len(values), np.int64), None, values, None)
        else:
            one = np.zeros(1, np.int64)
            store.take(one, None, *BoundedRuns(most).counted(np.zeros(len(values), np.int64), 1, values, None))
    store._summarise(10**6)
    assert len(store.slice) == 1
    kept = dict(
        zip(store._values[-store._live() :].tolist(), np.diff(store._upto[-store._live() :], prepend=0), strict=True)
    )
    taken = int(kept.pop(OTHERS, 0))
    assert len(kept) <= most
    true = Counter(np.concatenate(every).tolist())
    assert sum(kept.values()) + taken == true.total()
    for value, count in true.items():
        assert 0 <= count - kept.get(value, 0) <= taken / (most + 1)


@examples(20)
@given(specs(kinds=("sliding", "session"), mixes=(MIXES[3],)), st.data())
def test_summaries_made_at_once_equal_the_reference(spec: mt.Spec, data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "WAITING", 1)
        steps = steps_of(data, data.draw(streams()))
        check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=1))))


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=60), min_size=1, max_size=4), st.integers(1, 8))
def test_what_is_left_of_runs_lacks_no_more_than_its_share(groups: list[list[int]], most: int) -> None:
    counts = [sorted(Counter(group).items()) for group in groups]
    values = np.array([value for group in counts for value, _ in group])
    upto = np.concatenate([np.cumsum([count for _, count in group]) for group in counts])
    offsets = np.cumsum([0, *map(len, counts[:-1])])
    found, rows, starts = pruned(values, upto, offsets, most)
    for group, a, b in zip(counts, starts, [*starts[1:], len(found)], strict=True):
        kept = dict(zip(found[a:b].tolist(), np.diff(rows[a:b], prepend=0).tolist(), strict=True))
        taken = kept.pop(OTHERS, 0)
        assert len(kept) <= most
        assert sum(kept.values()) + taken == sum(count for _, count in group)
        for value, count in group:
            assert 0 <= count - kept.get(value, 0) <= taken / (most + 1)


def test_cuts_and_snapshots_do_not_matter() -> None:
    frame = pa.table({"ts": np.arange(600), "x": RNG.normal(size=600), "s": RNG.integers(0, 90, 600).astype(str)})
    made = {
        "q": mt.approx_quantile("x", 0.9),
        "d": mt.approx_count_distinct("s"),
        "h": mt.heavy_hitters("s", 0.4, approx=True),
    }
    spec = (
        mt.over("ts").window("w", mt.sliding("200 us", every="70 us"), **made).window("v", mt.session("1 us"), **made)
    )
    whole = spec.apply(frame, engine="reference")
    engine, parts = spec.engine(), []
    for start in range(0, 600, 170):
        parts.append(engine.push(frame.slice(start, 170)))
        saved, engine = engine.snapshot(), spec.engine()
        engine.restore(saved)
    found = pa.concat_tables([*parts, engine.flush()])
    columns = ["window", "q", "d"]
    assert sorted(map(str, found.select(columns).to_pylist())) == sorted(map(str, whole.select(columns).to_pylist()))


def test_bad_arguments() -> None:
    with pytest.raises(mt.SpecError, match=r"error=0.5\): an error lies in"):
        mt.approx_quantile("x", 0.5, error=0.5)
    with pytest.raises(mt.SpecError, match="approx is True or False"):
        mt.heavy_hitters("x", 0.5, approx=1)  # type: ignore[arg-type]
