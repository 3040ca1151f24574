"""Texts in cells and runs: no events kept for their sake, the same results as the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing.values import Interner
from tests.reliability.sizes import examples
from tests.slicing.test_engine import check, steps_of
from tests.strategies import AGGREGATES, optional, streams, windows

CHOOSING = {
    "low": mt.min("s"),
    "high": mt.max("s"),
    "lows": mt.min_count("s"),
    "highs": mt.max_count("s"),
    "first": mt.first("s"),
    "last": mt.last("s"),
    "m4": mt.m4("s"),
    "where": mt.arg_max("s", by="x"),
    "when": mt.arg_min("x", by="s"),
    "both": mt.arg_max("s", by="s"),
    "total": mt.sum("x"),
}
COUNTING = {
    "mode": mt.mode("s"),
    "kinds": mt.count_distinct("s"),
    "third": mt.nth_smallest("s", 3),
    "often": mt.heavy_hitters("s", share=0.3),
    "mid": mt.median("x"),
    "n": mt.count("s"),
}
# One mix compiles one set of kernels.
MIXES = (CHOOSING, COUNTING, CHOOSING | {"also": mt.count_distinct("s")}, COUNTING | {"all": AGGREGATES["text"]})


@st.composite
def text_specs(draw: Any) -> mt.Spec:
    spec = mt.over(
        "ts",
        by=draw(st.sampled_from([(), ("key",)])),
        disorder=f"{draw(st.sampled_from([0, 5, 15]))} us",
        lateness=f"{draw(st.sampled_from([0, 5, 20]))} us",
    )
    mix = draw(st.sampled_from(MIXES))
    for i in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["tumbling", "sliding", "session", "cumulative"]))
        spec = spec.window(f"w{i}", draw(windows((kind,))), **mix)
    return spec


@st.composite
def text_streams(draw: Any) -> pa.Table:
    """Rows with texts that come and go: their ranks move all the time."""
    table = draw(streams())
    words = optional(st.text("abé\x00😀", max_size=3))
    column = pa.array([draw(words) for _ in range(table.num_rows)], pa.string())
    return table.set_column(table.schema.get_field_index("s"), "s", column)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("after", ["none", "0 s"])
def test_a_column_of_nulls_alone(threads: int, after: str) -> None:
    """Nothing was ever held when it was first asked which texts are: an IndexError, found by `make soak`."""
    spec = mt.over("ts", by="key", idle="8 us").window("w", mt.sliding("1 row", every="1 row"), text=mt.concat("s"))
    engine = (spec if after == "none" else spec.compress(after)).engine(threads=threads, watermark="manual")
    engine.push({"ts": [0, 0, 25], "key": ["a", "a", "b"], "s": pa.nulls(3, pa.string())})
    found = pa.concat_tables([engine.advance(25), engine.flush()])
    assert found["text"].to_pylist() == [None] * 3


@examples(50)
@given(text_specs(), st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    check(spec, steps_of(data, data.draw(text_streams())))


@examples(25)
@given(text_specs(), st.data())
def test_a_snapshot_continues_exactly(spec: mt.Spec, data: Any) -> None:
    steps = steps_of(data, data.draw(text_streams()))
    check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), min_size=1, max_size=3))))


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that nothing holds are looked for all the time."""
    monkeypatch.setattr("muntin.slicing.texts._LEAST", 0)
    monkeypatch.setattr("muntin.slicing.texts.GROWTH", 1)


@pytest.mark.usefixtures("forgetful")
def test_texts_that_nothing_holds_are_forgotten_exactly() -> None:
    @examples(35)
    @given(text_specs(), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        steps = steps_of(data, data.draw(text_streams()))
        check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2))))

    equal()


WINDOWS = {
    "tumbling": mt.tumbling("1 second"),
    "sliding": mt.sliding("4 seconds", every="1 second"),
    "session": mt.session("100 ms"),
}


def many(rows: int, seconds: int, words: int = 50, keys: int = 4, since: int = 0, moments: int = 1_000) -> pa.Table:
    """Rows spread evenly over some seconds, at as many moments, with a break after each second; texts of one length.

    Of the types of other streams, and with some nulls in every batch: so they need no kernels of their own.
    """
    random = np.random.default_rng(7)
    step = np.arange(rows) * moments // rows * seconds / moments
    time = ((since + step // 1 + step % 1 * 0.7) * 1_000_000).astype(np.int64)
    text = np.array([f"w{i:02}" for i in range(words)], object)[random.integers(0, words, rows)]
    x = pa.array(random.integers(0, 1_000, rows), mask=np.arange(rows) % 20 == 7)
    return pa.table({"ts": time, "key": np.arange(rows) % keys, "x": x, "s": pa.array(text)})


@pytest.mark.parametrize("by", [(), ("key",)], ids=["no key", "keys"])
@pytest.mark.parametrize("name", WINDOWS)
def test_no_events_are_kept_and_state_does_not_grow_with_rows(name: str, by: tuple[str, ...]) -> None:
    spec = mt.over("ts", by=by, disorder="1 second", lateness="1 second")
    spec = spec.window("w", WINDOWS[name], **CHOOSING)

    def after(rows: int) -> tuple[int, int]:
        engine = spec.engine()
        table = many(rows, 20)
        for i in range(0, rows, rows // 40):
            engine.push(table.slice(i, rows // 40))
        assert not engine._kept.stores
        parts = [*engine._sliced.groups, *engine._sliced.sessions]
        said = sum(part.reported.nbytes for part in parts)  # with the texts themselves, which differ in length
        return engine.nbytes - said, said

    (held, said), (few_held, few_said) = after(20_000), after(2_000)
    assert held == few_held
    assert said < 2 * few_said


@pytest.mark.parametrize("name", WINDOWS)
def test_counting_texts_keeps_no_events(name: str) -> None:
    engine = mt.over("ts", disorder="1 second").window("w", WINDOWS[name], **COUNTING).engine()
    engine.push(many(1_000, 5))
    assert not engine._kept.stores


def test_texts_that_are_never_seen_again_do_not_pile_up() -> None:
    spec = mt.over("ts", by="key", disorder="1 second").window("w", WINDOWS["sliding"], **CHOOSING)
    spec = spec.window("all", mt.tumbling("1 second"), all=mt.collect("s"), kinds=mt.count_distinct("s"))
    engine, sizes = spec.engine(), []
    for second in range(0, 60, 2):
        table = many(2_000, 2, since=second)
        fresh = pa.array([f"{second}-{i}" for i in range(2_000)])
        found = engine.push(table.set_column(3, "s", fresh))
        sizes.append(len(engine._decoder.interners["s"]))
        assert found["last"].null_count < found.num_rows or second < 6
    assert max(sizes) < 30_000  # 60,000 texts have come; a window holds 8,000, and as many again may wait


def test_order_is_kept_up_as_texts_come() -> None:
    words = Interner()
    seen: list[str] = []
    random = np.random.default_rng(3)
    for size in (1, 5, 0, 30, 200):
        fresh = ["".join(random.choice(list("abé\x00z"), random.integers(0, 6))) for _ in range(size)]
        words.encode(pa.chunked_array([pa.array(fresh, pa.string())]))
        seen = sorted({*seen, *fresh})
        assert words.decode(words.order()).to_pylist() == seen
        assert words.ranks()[words.order()].tolist() == list(range(len(seen)))
