"""Results and columns of users' own aggregates: what does not fit is refused, never changed in silence."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pytest

import muntin as mt
from muntin.compile import compiled


class Narrow(mt.Aggregate):
    """A sum that promises to be small."""

    partial: ClassVar = {"total": int}
    returns = pa.int8()

    def lift(value: Any) -> Any:
        return value

    def combine(a: Any, b: Any) -> Any:
        return a.total + b.total

    def lower(p: Any) -> Any:
        return p.total


class Unsigned(Narrow):
    """A sum that promises not to be negative."""

    returns = pa.uint64()


class InOrder(Narrow):
    """The same over kept events, out of order."""

    commutative = False


class Any1(mt.Aggregate):
    """Counts values of any type."""

    partial: ClassVar = {"n": int}
    takes, returns = "any", int

    def lift(value: Any) -> Any:
        return 1

    def combine(a: Any, b: Any) -> Any:
        return a.n + b.n

    def lower(p: Any) -> Any:
        return p.n


@pytest.mark.parametrize("engine", ["slicing", "reference"])
@pytest.mark.parametrize(
    ("aggregate", "values", "fits"),
    [(Narrow("x"), [100, 100], [100, 27]), (Unsigned("x"), [-1, 0], [1, 0]), (InOrder("x"), [100, 100], [100, 27])],
    ids=["int8", "uint64", "kept events"],
)
def test_a_result_that_does_not_fit_its_type_is_an_error(
    aggregate: mt.Aggregate, values: list[int], fits: list[int], engine: str
) -> None:
    assert compiled(aggregate.bind([pa.int64()])) is not None
    spec = mt.over("ts", disorder="1 second").window("w", mt.tumbling("1 second"), small=aggregate)
    found = spec.apply({"ts": [0, 1], "x": fits}, engine=engine)
    assert found["small"].to_pylist() == [sum(fits)]
    assert found.schema.field("small").type == aggregate.returns
    with pytest.raises(mt.FrameError, match="'small' is not of its type"):
        spec.apply({"ts": [0, 1], "x": values}, engine=engine)


@pytest.mark.parametrize("type_", [pa.list_(pa.int64()), pa.struct([("a", pa.int64())])], ids=str)
def test_nested_values_are_only_counted(type_: pa.DataType) -> None:
    value = {"a": 1} if pa.types.is_struct(type_) else [1, 2]
    table = pa.table({"ts": [0, 1], "x": pa.array([value, None], type_)})
    spec = mt.over("ts").window("w", mt.tumbling("1 second"), n=mt.count("x"))
    assert spec.apply(table)["n"].to_pylist() == [1]
    for engine in ("slicing", "reference"):
        with pytest.raises(mt.FrameError, match=r"can only be counted\. Take its fields"):
            mt.over("ts").window("w", mt.tumbling("1 second"), n=Any1("x")).apply(table, engine=engine)


def test_any_takes_bytes_and_decimals() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("1 second"), n=Any1("x"))
    for values in (pa.array([b"a", None]), pa.array([1, None]).cast(pa.decimal128(21, 2))):
        table = pa.table({"ts": [0, 1], "x": values})
        assert spec.apply(table).equals(spec.apply(table, engine="reference"))
