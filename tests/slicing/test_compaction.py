"""Keys and texts that fall silent leave no state, and forgetting them changes no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing import compaction, texts
from tests.reliability.sizes import examples
from tests.slicing.test_engine import MARKS, MEASURES, MIXED, ROWS, SESSIONS, TIME, check, steps_of
from tests.strategies import specs, streams


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for silent keys and texts at almost every step."""
    monkeypatch.setattr(compaction, "LEAST", 1)
    monkeypatch.setattr(texts, "_LEAST", 0)
    monkeypatch.setattr(texts, "GROWTH", 1)


def passing(table: pa.Table, span: int) -> pa.Table:
    """The stream with keys and texts that come, stay for a while and go."""
    ts, keys, texts = (table.column(name).to_pylist() for name in ("ts", "key", "s"))
    rows = list(zip(ts, keys, texts, strict=True))
    key = [None if k is None and t % 2 else f"{k}{t // span}" for t, k, _ in rows]
    text = [None if s is None else f"{s}{t // span}" for t, _, s in rows]
    table = table.set_column(table.schema.get_field_index("key"), "key", pa.array(key, pa.string()))
    return table.set_column(table.schema.get_field_index("s"), "s", pa.array(text, pa.string()))


@pytest.mark.parametrize("kinds", [TIME, SESSIONS, ROWS, MIXED, MEASURES, MARKS], ids=lambda k: k[0])
@pytest.mark.usefixtures("eager")
def test_forgetting_changes_no_result(kinds: tuple[str, ...]) -> None:
    @examples(30)
    @given(specs(kinds=kinds), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        steps = steps_of(data, passing(data.draw(streams(max_rows=60)), data.draw(st.sampled_from([3, 10]))))
        check(spec, steps, tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2))))

    equal()


@pytest.mark.parametrize(
    "by", [("key",), ("key", "place")], ids=["one key column of texts", "two key columns of texts and numbers"]
)
@pytest.mark.parametrize(
    "window",
    [mt.tumbling("1 second"), mt.session("1 second"), mt.frame("holds"), mt.punctuated(start="holds", end="stops")],
    ids=lambda window: type(window).__name__,
)
def test_a_hundred_thousand_keys_of_one_event_leave_nothing(window: Any, by: tuple[str, ...]) -> None:
    spec = mt.over("ts", by=by, disorder="1 second").window(
        "w", window, n=mt.count(), mid=mt.median("x"), texts=mt.concat("text")
    )
    engine = spec.engine()
    count, rows, sizes = 100_000, 4_000, []
    for first in range(0, count, rows):
        index = np.arange(first, first + rows)
        names = pa.array([f"key {i}" for i in index])
        sets = np.zeros(rows, np.bool_)
        batch = {"ts": index * 1_000, "key": names, "place": index, "x": index / 2, "text": names}
        engine.push(batch | {"holds": sets, "stops": sets})
        sizes.append(engine.nbytes)
    # 2,000 keys are alive at a time; what is held does not grow with those that were
    assert max(sizes[8:]) <= 2 * max(sizes[:8])
    engine.advance(count * 1_000 + 10_000_000)
    # tables of keys at their least, a thousand texts, and room for few rows
    assert engine.nbytes < (150_000 if len(by) == 1 else 350_000)
    assert engine.late().num_rows == 0
    assert engine._decoder.keys.size == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("lateness", ["0 s", "1 s"])
def test_keys_whose_runs_of_rows_are_over_leave_nothing(lateness: str) -> None:
    spec = mt.over("ts", by="key", disorder="1 second", lateness=lateness, idle="3 seconds")
    spec = spec.window("w", mt.tumbling("2 rows"), n=mt.count(), all=mt.collect("x"))
    engine = spec.window("slide", mt.sliding("5 rows", every="1 row"), total=mt.sum("x")).engine()
    count, rows, sizes, found = 100_000, 4_000, [], 0
    for first in range(0, count, rows):
        index = np.arange(first, first + rows)
        # Each key has three rows, so that a window is closed and a row is left over.
        found += engine.push({"ts": index * 1_000, "key": [f"key {i // 3}" for i in index], "x": index}).num_rows
        sizes.append(engine.nbytes)
    assert max(sizes[8:]) <= 2 * max(sizes[:8])
    found += engine.advance(count * 1_000 + 10_000_000).num_rows
    assert found == count // 3
    assert engine.late().num_rows == 0
    assert engine._decoder.keys.size == 0  # type: ignore[attr-defined]
    assert engine.nbytes < 150_000


def test_runs_of_a_key_that_are_over_leave_nothing() -> None:
    """None of them ever fills a window, so none is closed by one."""
    spec = mt.over("ts", by="key", idle="10 us").window("w", mt.tumbling("5 rows"), n=mt.count(), all=mt.collect("ts"))
    engine, sizes = spec.engine(), []
    for run in range(300):
        engine.push({"ts": np.repeat(np.arange(4) + run * 20, 10), "key": list(range(10)) * 4})
        sizes.append(engine.nbytes)
    assert sizes[-1] == sizes[10]
    assert engine.flush().num_rows == 0


def test_texts_without_keys_are_forgotten() -> None:
    engine = mt.over("ts").window("w", mt.tumbling("1 second"), kinds=mt.count_distinct("s")).engine()
    total = 0
    for first in range(0, 60_000, 3_000):
        index = np.arange(first, first + 3_000)
        due = engine.push({"ts": index * 1_000, "s": [f"text number {i}" for i in index]})
        total += sum(due.column("kinds").to_pylist())
    assert total == 59_000
    assert len(engine._decoder.interners["s"]) < 5_000  # type: ignore[attr-defined]


def test_few_but_long_texts_are_forgotten() -> None:
    engine = mt.over("ts").window("w", mt.tumbling("1 second"), last=mt.last("s")).engine()
    for i in range(200):
        engine.push({"ts": [i * 1_000_000], "s": [f"{i} " + "x" * 100_000]})
    assert engine.nbytes < 8_000_000


def test_all_that_holds_keys_is_counted() -> None:
    engine = mt.over("ts", by="key").window("w", mt.tumbling("1 hour"), n=mt.count()).engine()
    engine.push({"ts": [0], "key": ["a"]})
    before = engine.nbytes
    engine.push({"ts": np.zeros(10_000, np.int64), "key": [f"{i:0100}" for i in range(10_000)]})
    assert engine.nbytes - before > 10_000 * (100 + 8 + 8)  # the text, its end, the count
