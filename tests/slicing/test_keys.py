"""Key ids against plain Python: a dict of canonical tuples."""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.types import scalars
from muntin.reference.events import canonical
from muntin.slicing.keys import KeyTable
from tests.reliability.sizes import examples

NUMBERS = st.integers(-3, 3)
FLOATS = st.sampled_from([0.0, -0.0, 1.5, math.nan, -math.nan, math.inf, -math.inf])
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): NUMBERS,
    pa.int64(): st.sampled_from([-(2**63), -1, 0, 1, 2**32, 2**63 - 1]),
    pa.uint64(): st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    pa.bool_(): st.booleans(),
    pa.float16(): FLOATS,
    pa.float32(): FLOATS,
    pa.float64(): FLOATS,
    pa.timestamp("ns", "UTC"): NUMBERS,
    pa.date32(): NUMBERS,
    pa.date64(): NUMBERS.map(lambda day: day * 86_400_000),
    pa.time32("s"): st.integers(0, 3),
    pa.duration("ms"): NUMBERS,
    pa.string(): st.sampled_from(["", "a", "b", "ab", "\0", "é", "\U0001f600"]),
    pa.binary(): st.sampled_from([b"", b"a", b"\xff\x00"]),
    pa.binary(2): st.sampled_from([b"ab", b"\0\0"]),
    pa.decimal128(5, 2): NUMBERS.map(lambda n: decimal.Decimal(n) / 4),
    pa.decimal64(5, 2): NUMBERS.map(lambda n: decimal.Decimal(n) / 4),
    pa.null(): st.none(),
}


@st.composite
def batches(draw: Any) -> tuple[list[pa.DataType], list[list[pa.ChunkedArray]]]:
    """Key columns of one to three types, in batches of several chunks."""
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    made = []
    for _ in range(draw(st.integers(1, 4))):
        lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3))
        columns = []
        for type_ in types:
            some = st.one_of(VALUES[type_], VALUES[type_], st.none())
            chunks = [array(draw(st.lists(some, min_size=n + 1, max_size=n + 1)), type_)[1:] for n in lengths]
            columns.append(pa.chunked_array(chunks, type_))
        made.append(columns)
    return types, made


def array(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(type_):
        return pa.array(values, pa.int32() if type_.bit_width == 32 else pa.int64()).cast(type_)
    if pa.types.is_float16(type_):
        values = [None if value is None else np.float16(value) for value in values]
    return pa.array(values, type_)


def tuples(columns: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(map(canonical, row)) for row in zip(*map(scalars, columns), strict=True)]


@given(batches())
@examples(75)
def test_ids_are_those_of_a_dict(drawn: Any) -> None:
    types, made = drawn
    table, expected = KeyTable(types), {}
    for columns in made:
        ids = table.encode(columns)
        assert ids.dtype == np.int64
        assert ids.tolist() == [expected.setdefault(key, len(expected)) for key in tuples(columns)]
        assert table.size == len(expected)
    back = table.arrays(np.arange(table.size))
    assert [column.type for column in back] == types
    assert tuples(back) == list(expected)
    floats = [value for column in back for value in column.to_pylist() if isinstance(value, float)]
    assert not any(math.copysign(1, value) < 0 for value in floats if value == 0)


@given(batches(), st.randoms(use_true_random=False))
@examples(50)
def test_forgotten_keys_leave_the_rest_in_order(drawn: Any, random: Any) -> None:
    types, made = drawn
    table = KeyTable(types)
    for columns in made[:-1]:
        table.encode(columns)
    known = tuples(table.arrays(np.arange(table.size)))
    keep = np.array([random.random() < 0.5 for _ in known], bool)
    moved = table.compact(keep)
    kept = [key for key, here in zip(known, keep, strict=True) if here]
    assert moved.tolist() == [kept.index(key) if here else -1 for key, here in zip(known, keep, strict=True)]
    assert table.size == len(kept)
    assert tuples(table.arrays(np.arange(table.size))) == kept
    expected = {key: i for i, key in enumerate(kept)}
    ids = table.encode(made[-1])
    assert ids.tolist() == [expected.setdefault(key, len(expected)) for key in tuples(made[-1])]


@pytest.mark.parametrize("kind", ["int", "text", "pair"])
def test_many_keys_make_the_tables_grow(kind: str) -> None:
    numbers = np.random.default_rng(1).permutation(30_000) * 2**40
    columns = [pa.chunked_array([numbers])]
    if kind != "int":
        columns[0] = columns[0].cast(pa.string())
    if kind == "pair":
        columns.append(pa.chunked_array([numbers % 7]))
    table = KeyTable([column.type for column in columns])
    for part in (slice(0, 10), slice(0, 20_000), slice(10_000, 30_000)):
        assert table.encode([column[part] for column in columns]).tolist() == list(range(30_000))[part]
    assert table.arrays(np.arange(30_000))[0].equals(columns[0].combine_chunks())
    assert (table.compact(np.arange(30_000) % 3 == 0) >= 0).sum() == table.size == 10_000
    third = pa.array(np.arange(0, 30_000, 3))
    assert table.encode([column.take(third) for column in columns]).tolist() == list(range(10_000))


def test_without_columns_there_is_one_key() -> None:
    table = KeyTable([])
    assert table.size == 1
    assert table.arrays(np.zeros(3, np.int64)) == []
    assert table.compact(np.array([True])).tolist() == [0]


def test_keys_of_an_extension_type_come_back_as_such() -> None:
    column = pa.chunked_array([pa.array([b"a" * 16, None, b"b" * 16, b"a" * 16], pa.uuid())])
    table = KeyTable([column.type])
    assert table.encode([column]).tolist() == [0, 1, 2, 0]
    assert table.arrays(np.array([2, 1]))[0].equals(column.combine_chunks().take(pa.array([2, 1])))


@settings(deadline=None)
@given(
    st.lists(
        st.lists(
            st.integers(-3, 40) | st.sampled_from([-(2**63), 2**63 - 1, 10**12, 10**12 + 1]) | st.none(), max_size=30
        ),
        max_size=6,
    )
)
def test_numbers_close_together_and_far_apart_get_ids_by_first_appearance(batches: list[list[int | None]]) -> None:
    # Values that lie close together are looked up in a list beside the table, those of later batches too.
    keys = KeyTable([pa.int64()])
    first: dict[int | None, int] = {}
    for batch in batches:
        right = [first.setdefault(value, len(first)) for value in batch]
        assert keys.encode([pa.chunked_array([pa.array(batch, pa.int64())])]).tolist() == right
    assert keys.arrays(np.arange(len(first)))[0].to_pylist() == list(first)


def test_many_numbers_in_a_row() -> None:
    keys = KeyTable([pa.int64()])
    for low in (5_000, 0, 20_000, 9_000):  # the list is made anew as the table grows
        values = np.arange(low, low + 9_000)
        ids = keys.encode([pa.chunked_array([pa.array(values)])])
        assert keys.arrays(ids)[0].to_pylist() == values.tolist()
    assert keys.size == 27_000
