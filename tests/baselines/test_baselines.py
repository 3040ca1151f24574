"""The techniques that papers 1 and 2 compare with give the same rows as the reference, or refuse with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.baselines.aggregates import sum_without_invert
from muntin.baselines.slicers import CuttySlices
from tests.reliability.sizes import examples
from tests.spanning.drawn import check
from tests.strategies import AGGREGATES, Pairs, cuts, rows_of, specs, streams, watermarks

# Mixes that other tests compile, too; the last one has what is computed from runs of values and from kept events.
MIXES = (("n", "total", "low", "m4"), ("fsum", "var", "first", "high", "ties"), ("all", "mode", "last", "mid"))
TIME = ("tumbling", "sliding", "cumulative", "session")
WINDOWS = {
    "tuple_buffer": TIME,
    "aggregate_tree": TIME,
    "aggregate_buckets": TIME,
    "tuple_buckets": TIME,
    "panes": ("tumbling", "sliding", "cumulative"),
    "pairs": ("tumbling", "sliding"),
    "cutty": (*TIME, "own"),
}
IN_ORDER = ("pairs", "cutty")
SNAPSHOTS = tuple(engine for engine in WINDOWS if engine != "panes")


def in_order(spec: mt.Spec) -> mt.Spec:
    """The same windows over a stream that is declared to come in order."""
    made = mt.over("ts", by=spec.by)
    for query in spec.queries:
        made = made.window(query.name, query.window, **dict(query.aggregates))
    return made


@pytest.mark.parametrize("engine", list(WINDOWS))
def test_equals_the_reference(engine: str) -> None:
    @examples(15)
    @given(specs(kinds=WINDOWS[engine], mixes=MIXES), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        spec = in_order(spec) if engine in IN_ORDER else spec
        steps = data.draw(watermarks(data.draw(cuts(data.draw(streams())))))
        check(spec, steps, restarts=(1,) if engine in SNAPSHOTS else (), engine=engine)

    equal()


@examples(25)
@given(specs(kinds=("rows", "rows tumbling", "rows cumulative"), mixes=MIXES, idle=False), st.data())
def test_a_buffer_of_rows_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, data.draw(watermarks(data.draw(cuts(data.draw(streams()))))), restarts=(1,), engine="tuple_buffer")


def test_a_sum_without_invert_is_the_sum() -> None:
    random = np.random.default_rng(5)
    time = np.arange(3_000) - random.integers(0, 50, 3_000)
    for values in (random.integers(-(2**40), 2**40, 3_000), random.random(3_000)):  # of floats none is ever subtracted
        table = pa.table({"ts": time, "x": values})
        spec = mt.over("ts", disorder="50 us")
        both = {"with_": mt.sum("x"), "without": sum_without_invert("x")}
        spec = spec.window("rows", mt.sliding("300 rows", every="70 rows"), **both)
        engine = spec.engine()
        found = pa.concat_tables([*(engine.push(table.slice(at, 500)) for at in range(0, 3_000, 500)), engine.flush()])
        assert found.num_rows > 20
        assert found["without"].to_pylist() == pytest.approx(found["with_"].to_pylist(), rel=1e-12)
    assert not sum_without_invert("x").invertible


@pytest.mark.parametrize("engine", list(WINDOWS))
def test_many_rows_in_many_batches(engine: str) -> None:
    """Long enough that columns move, trees grow, and what is past is let go."""
    random = np.random.default_rng(3)
    late = 0 if engine in IN_ORDER else 40
    values = {"x": random.integers(0, 100, 6_000), "f": random.integers(0, 100, 6_000) / 2}
    time = np.arange(6_000) * 3 - random.integers(0, late + 1, 6_000)
    table = pa.table({"ts": time, "key": random.integers(0, 3, 6_000), **values})
    for by in ((), ("key",)):
        spec = mt.over("ts", by=by, disorder=f"{late} us")
        # An end lies between two starts; and a window longer than a batch. The aggregates are those of the first mix.
        for name, window in (("a", mt.sliding("70 us", every="20 us")), ("b", mt.sliding("3 ms", every="500 us"))):
            spec = spec.window(name, window, **{part: AGGREGATES[part] for part in MIXES[0]})
        # Rescans: other ways from slices to windows are compiled at length, and tested elsewhere.
        final = "auto" if engine == "cutty" else "rescan"
        running, same = spec.engine(engine=engine, final=final), spec.engine(final="rescan")
        for at in range(0, 6_000, 500):
            batch = table.slice(at, 500)
            assert rows_of(running.push(batch)) == rows_of(same.push(batch))
        assert rows_of(running.flush()) == rows_of(same.flush())
        assert running.late().num_rows == 0
        assert running.nbytes > 0


@pytest.mark.parametrize("engine", list(WINDOWS))
def test_the_same_window_twice(engine: str) -> None:
    """Found by Hypothesis: tuple buckets gave it to one of two queries only."""
    spec = mt.over("ts").window("a", mt.tumbling("3 us"), n=mt.count()).window("b", mt.tumbling("3 us"), n=mt.count())
    assert spec.apply({"ts": [0]}, engine=engine)["query"].to_pylist() == ["a", "b"]


@pytest.mark.parametrize("engine", [engine for engine in WINDOWS if engine != "pairs"])
def test_a_window_of_two_families(engine: str) -> None:
    """Found by Hypothesis: [4, 6) is one of the cumulative windows as well, and buckets gave it twice."""
    spec = mt.over("ts").window("a", mt.cumulative("3 us", every="1 us", align="1 us"), n=mt.count())
    spec = spec.window("b", mt.tumbling("2 us"), n=mt.count())
    assert rows_of(spec.apply({"ts": [4, 5]}, engine=engine)) == rows_of(spec.apply({"ts": [4, 5]}, engine="reference"))


def test_ends_that_are_past_part_no_slices_of_cutty() -> None:
    spec = mt.over("ts").window("w", mt.sliding("1000 us", every="3 us"), n=mt.count())
    cutty, pairs = spec.engine(engine="cutty"), spec.engine(engine="pairs")
    for engine in (cutty, pairs):
        for at in range(0, 3_000, 100):
            engine.push({"ts": list(range(at, at + 100))})
    assert isinstance(cutty._sliced, CuttySlices)  # type: ignore[attr-defined]
    assert len(cutty.slices()) < 0.7 * len(pairs.slices())  # 1,000 is no multiple of 3: half of the edges only end


@pytest.mark.parametrize(
    ("engine", "window", "why"),
    [
        ("pairs", mt.session("1 s"), "slide at a fixed distance"),
        ("pairs", Pairs(), "slide at a fixed distance"),
        ("panes", mt.session("1 s"), "greatest common divisor"),
        ("cutty", mt.punctuated("mark"), "when its first event comes"),
        ("cutty", mt.tumbling("3 rows"), "when its first event comes"),
        ("aggregate_buckets", mt.tumbling("3 rows"), "needs tuples"),
        ("tuple_buckets", mt.frame("mark"), "known in advance"),
        ("aggregate_tree", mt.tumbling("3 rows"), "in the order of time"),
        ("tuple_buffer", mt.sliding("3 rows", every="1 s"), "windows in rows have another"),
        ("tuple_buffer", mt.punctuated("mark"), "other windows are not done"),
    ],
)
def test_what_does_not_apply_is_refused_with_the_reason(engine: str, window: Any, why: str) -> None:
    spec = mt.over("ts").window("w", window, n=mt.count())
    with pytest.raises(mt.SpecError, match=why):
        spec.engine(engine=engine)


@pytest.mark.parametrize("engine", IN_ORDER)
@pytest.mark.parametrize("given", [{"disorder": "1 s"}, {"lateness": "1 s"}])
def test_out_of_order_is_refused_with_the_reason(engine: str, given: dict[str, str]) -> None:
    spec = mt.over("ts", **given).window("w", mt.tumbling("1 s"), n=mt.count())
    with pytest.raises(mt.SpecError, match="Declare neither"):
        spec.engine(engine=engine)


def test_windows_cannot_change() -> None:
    engine = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).engine(engine="tuple_buffer")
    engine.push({"ts": [1]})
    with pytest.raises(mt.SpecError, match="engine='tuple_buffer' cannot change its windows"):
        engine.add_window("v", mt.tumbling("2 s"), n=mt.count())


@pytest.mark.parametrize("engine", [*(engine for engine in WINDOWS if engine != "pairs"), "auto"])
def test_events_in_the_gaps_between_windows_alone(engine: str) -> None:
    """Then there is a family of windows without one when keys are forgotten: found by `make soak`."""
    spec = mt.over("ts", by="key").window("w", mt.sliding("1 us", every="2 us", align="1 us"), n=mt.count())
    running = spec.engine(engine=engine, watermark="manual")
    found = [running.push({"ts": [0], "key": ["a"]}), running.advance(5), running.push({"ts": [7], "key": ["b"]})]
    assert [table.num_rows for table in found] == [0, 0, 0]
    assert running.flush().select(["key", "n"]).to_pylist() == [{"key": "b", "n": 1}]
