"""The techniques that paper 3 compares with give the same rows as the reference, and as each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.errors import UnsupportedAggregate
from tests.reliability.sizes import examples
from tests.spanning.drawn import check, specs, steps_of, streams

SWEPT = (("n", "total", "low", "high"),)


@pytest.mark.parametrize("engine", ["aggregate_buckets", "tuple_buckets"])
def test_buckets_equal_the_reference(engine: str) -> None:
    @examples(25)
    @given(specs(techniques=("auto",)), st.data())
    def equal(spec: mt.Spec, data: Any) -> None:
        steps = data.draw(steps_of(data.draw(streams())))
        check(spec, steps, restarts=(1,), engine=engine)

    equal()


@examples(40)
@given(specs(mixes=SWEPT, techniques=("sweeping",)), st.data())
def test_sweeping_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    check(
        spec,
        data.draw(steps_of(data.draw(streams()))),
        restarts=(1,),
        engine=data.draw(st.sampled_from(["auto", "sweeping"])),
    )


def test_sweeping_refuses_what_it_cannot_subtract() -> None:
    spec = mt.over(span=("start", "end"), technique="sweeping").window("w", mt.tumbling("1 s"), v=mt.var("x"))
    with pytest.raises(UnsupportedAggregate, match="technique='auto'"):
        spec.apply({"start": [0], "end": [1], "x": [1.0]})
