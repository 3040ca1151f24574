"""Several sources: the watermark is the smallest of theirs, and silent ones stop holding it back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.reference import run
from tests.reliability.sizes import examples
from tests.strategies import cuts, rows_of, specs, streams

SPEC = mt.over("ts").window("w", mt.tumbling("10 us"), n=mt.count())


class Model:
    """The watermark in plain Python: from all pushes so far, each time anew."""

    def __init__(self, disorder: int, declared: list[str], idle: int | None) -> None:
        self.disorder, self.declared, self.idle = disorder, declared, idle
        self.pushes: list[tuple[str, int, list[int]]] = []  # source, clock, times

    def push(self, source: str, clock: int, times: list[int]) -> int | None:
        self.pushes.append((source, clock, times))
        lowest = []
        for name in {*self.declared, *(name for name, _, _ in self.pushes)}:
            heard = [at for other, at, _ in self.pushes if other == name]
            since = heard[-1] if heard else self.pushes[0][1]
            if self.idle is not None and clock - since >= self.idle:
                continue
            seen = [time for other, _, times in self.pushes if other == name for time in times]
            if not seen:
                return None
            lowest.append(max(seen))
        return min(lowest) - self.disorder


@pytest.mark.parametrize("engine", ["slicing", "reference"])
def test_equals_the_reference_with_the_watermarks_of_a_plain_model(engine: str) -> None:
    @examples(30)
    @given(specs(kinds=("tumbling", "session", "rows tumbling", "punctuated")), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        names = ["a", "b", "c"]
        declared = data.draw(st.sampled_from([[], names]))
        idle = data.draw(st.sampled_from([None, 10, 40]))
        clock = {"now": 0}

        def make() -> Any:
            return spec.engine(
                engine=engine,
                clock=lambda: clock["now"],
                sources=declared or None,
                idle_source=None if idle is None else f"{idle} us",
            )

        model = Model(spec.disorder, declared, idle)
        running, steps, found, late = make(), [], [], []
        for batch in data.draw(cuts(data.draw(streams()))):
            source = data.draw(st.sampled_from(names))
            clock["now"] += data.draw(st.sampled_from([0, 5, 15]))
            if engine == "slicing" and idle is None and data.draw(st.booleans()):
                state, running = running.snapshot(), make()
                running.restore(state)
            found.append(running.push(batch, source=source))
            late.append(running.late())
            steps.append((batch, model.push(source, clock["now"], batch.column("ts").to_pylist())))
        found.append(running.flush())
        expected = run(spec, steps, flush=True)
        assert [rows_of(table) for table in found] == [rows_of(table) for table in expected.results]
        assert [t.to_pylist() for t in late] == [t.to_pylist() for t in expected.late[:-1]]

    equal()


def test_the_slowest_source_holds_the_watermark() -> None:
    engine = SPEC.engine()
    assert engine.push({"ts": [5, 25]}, source="fast").column("n").to_pylist() == [1]  # the only one so far
    assert engine.push({"ts": [21]}, source="slow").num_rows == 0
    assert engine.push({"ts": [45]}, source="fast").num_rows == 0
    assert engine.push({"ts": [33]}, source="slow").column("n").to_pylist() == [2]
    assert engine.advance(50).column("n").to_pylist() == [1, 1]  # told to, it moves past the slowest one
    assert engine.late().num_rows == 0


def test_declared_sources_are_waited_for() -> None:
    engine = SPEC.engine(sources=["a", "b"])
    assert engine.push({"ts": [5, 95]}, source="a").num_rows == 0
    assert engine.push({"ts": [4, 12]}, source="b").column("n").to_pylist() == [2]


def test_an_idle_source_holds_nothing_back_until_it_pushes_again() -> None:
    now = {"at": 0}
    engine = SPEC.engine(clock=lambda: now["at"], sources=["a", "b"], idle_source="30 seconds")
    engine.push({"ts": [5]}, source="b")
    now["at"] = 29_999_999
    assert engine.push({"ts": [15]}, source="a").num_rows == 0
    now["at"] = 30_000_000
    assert engine.push({"ts": [25]}, source="a").column("n").to_pylist() == [1, 1]
    assert engine.push({"ts": [6, 27]}, source="b").num_rows == 0  # 6 comes too late; b counts again
    assert engine.late().column("ts").to_pylist() == [6]
    assert engine.push({"ts": [99]}, source="a").num_rows == 0
    assert engine.push({"ts": [30]}, source="b").column("n").to_pylist() == [2]


def test_a_restart_waits_for_all_sources_anew() -> None:
    now = {"at": 0}

    def make() -> Any:
        return SPEC.engine(clock=lambda: now["at"], idle_source="30 seconds")

    engine = make()
    engine.push({"ts": [5]}, source="a")
    engine.push({"ts": [5]}, source="b")
    again = make()
    again.restore(engine.snapshot())
    now["at"] = 3_600_000_000  # an hour later: neither has been heard of since, and that is not their fault
    assert again.push({"ts": [15]}, source="a").num_rows == 0
    assert again.push({"ts": [15]}, source="b").column("n").to_pylist() == [2]
    fewer = SPEC.engine(sources=["a"])
    fewer.restore(engine.snapshot())
    assert fewer.push({"ts": [15]}, source="a").column("n").to_pylist() == [2]  # b is declared no longer


def test_what_cannot_be_is_refused() -> None:
    engine = SPEC.engine()
    engine.push({"ts": [1]})
    with pytest.raises(mt.SpecError, match="after a push without"):
        engine.push({"ts": [1]}, source="a")
    engine = SPEC.engine()
    engine.push({"ts": [1]}, source="a")
    with pytest.raises(mt.SpecError, match="has the sources 'a'"):
        engine.push({"ts": [1]})
    with pytest.raises(mt.SpecError, match="not a text"):
        engine.push({"ts": [1]}, source=3)  # type: ignore[arg-type]
    with pytest.raises(mt.SpecError, match="Did you mean 'cars'"):
        SPEC.engine(sources=["cars", "pumps"]).push({"ts": [1]}, source="car")
    with pytest.raises(mt.SpecError, match="without source="):
        SPEC.engine(sources=["cars"]).push({"ts": [1]})
    with pytest.raises(mt.SpecError, match="manual"):
        SPEC.engine(watermark="manual", sources=["a"])
    with pytest.raises(mt.SpecError, match="manual"):
        SPEC.engine(watermark="manual").push({"ts": [1]}, source="a")
    with pytest.raises(mt.SpecError, match="one clock"):
        mt.over(None).window("w", mt.tumbling("1 s"), n=mt.count()).engine(idle_source="1 s")
    with pytest.raises(mt.SpecError, match="one text"):
        SPEC.engine(sources="cars")
    with pytest.raises(mt.SpecError, match="not a list of names"):
        SPEC.engine(sources=[])
    with pytest.raises(mt.SpecError, match="idle_source is 0"):
        SPEC.engine(idle_source=0)
