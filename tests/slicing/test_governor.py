"""Budgets of memory and service levels: D moves, the results do not."""

from __future__ import annotations

import gc
import re
import tracemalloc
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.compression import NEVER, Compression
from muntin.slicing.governor import LONG, SECOND, Governor
from tests.reliability.sizes import examples
from tests.slicing.test_cold import CARS, minutes
from tests.slicing.test_engine import check, steps_of
from tests.strategies import rows_of, specs, streams

ALL = CARS.without("w").window("w", mt.tumbling("3 hours"), all=mt.collect("speed"))


def grown(spec: mt.Spec, count: int = 60, cars: int = 100, **given: Any) -> Any:
    engine = spec.engine(**given)
    for batch in minutes(cars, 0, count):
        engine.push(batch)
    return engine


@pytest.mark.parametrize("threads", [1, 2])
def test_a_budget_is_kept_and_what_was_chosen_is_told(threads: int) -> None:
    plain = grown(ALL, threads=threads)
    budget = plain.nbytes * 2 // 3
    engine = ALL.memory(budget).engine(threads=threads)
    chosen = []
    for batch in minutes(100, 0, 60):
        engine.push(batch)
        assert engine.nbytes <= budget
        chosen.append(engine.metrics().after)
    assert chosen[0] is None  # there was room
    assert chosen[-1] is not None
    assert engine.metrics().codec is not None
    assert "compressed: after" in str(engine.explain())
    assert rows_of(engine.flush()) == rows_of(plain.flush())


def test_a_budget_that_is_too_small_says_what_is_needed() -> None:
    engine = ALL.memory("100 KiB").engine()

    def fill() -> None:
        for batch in minutes(100, 0, 60):
            engine.push(batch)

    with pytest.raises(mt.BudgetExceeded, match=r"takes .* with D = 0, and the budget is 100.0 KiB") as raised:
        fill()
    error = raised.value
    assert error.needed == engine.nbytes > 100 * 1024
    assert isinstance(error.results, pa.Table)
    assert engine.metrics().after == 0
    assert engine.metrics().codec == "zstd:9"
    said = re.search(r"memory\('(.*?)'\)", str(error))
    assert said is not None
    assert ALL.memory(said[1]).compression.budget >= error.needed  # type: ignore[union-attr]


def test_d_grows_again_where_there_is_room() -> None:
    engine = grown(ALL.memory("10 MiB"), 3)
    engine._governor.after = 0
    for batch in minutes(100, 3, 40):
        engine.push(batch)
    assert engine.metrics().after is None


def test_the_bytes_are_those_of_the_process() -> None:
    gc.collect()
    tracemalloc.start()
    try:
        for spec in (ALL, ALL.compress("1 minute"), ALL.compress(0)):
            grown(spec, 2)  # what is made once
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            engine = grown(spec, 60, 300)
            gc.collect()
            found = tracemalloc.get_traced_memory()[0] - before
            assert 0.7 * engine.nbytes < found < 1.4 * engine.nbytes
            del engine
    finally:
        tracemalloc.stop()


@examples(15)
@given(specs(), st.sampled_from([{"latency": "1 us"}, {"latency": "1 hour", "throughput": 0.001}]), st.data())
def test_a_service_level_changes_no_result(spec: mt.Spec, level: dict[str, Any], data: Any) -> None:
    check(spec.target(**level), steps_of(data, data.draw(streams())))


def test_a_service_level_moves_d() -> None:
    governor = Governor(Compression(60 * SECOND, latency=0.1))
    governor.went(10, 10, 1.0)
    assert governor.after == 120 * SECOND
    for _ in range(20):
        governor.went(10, 10, 1.0)
    assert governor.after == NEVER
    for _ in range(60):
        governor.went(10, 10, 0.01)
    assert governor.after == 0
    steady = Governor(Compression(60 * SECOND, throughput=100.0))
    steady.went(150, 0, 1.0)
    assert steady.after == 60 * SECOND  # enough, and not by far
    steady.went(1, 0, 1.0)
    steady.went(1, 0, 1.0)
    assert steady.after == 120 * SECOND
    assert Governor(Compression(LONG)).rule.moves is False


def test_wrong_budgets_and_levels_are_refused() -> None:
    for wrong in ("2 GiBs", "-1 MB", 0, -5, True, None, 1.5):
        with pytest.raises(mt.SpecError, match="memory takes a number of bytes"):
            ALL.memory(wrong)
    with pytest.raises(mt.SpecError, match="asks for nothing"):
        ALL.target()
    with pytest.raises(mt.SpecError, match="latency=0"):
        ALL.target(latency=0)
    for rate in (0, -1, True, "many"):
        with pytest.raises(mt.SpecError, match="throughput="):
            ALL.target(throughput=rate)  # type: ignore[arg-type]
    both = ALL.memory("1 GiB", codec="lz4").target(latency="1 s")
    assert repr(both).endswith(".memory(1073741824, codec='lz4').target(latency=1.0)")
