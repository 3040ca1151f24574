"""Decoded batches against plain Python: what is taken, what is rejected and why, which values come out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.aggregates.types import scalars, typed
from muntin.columns import measures
from muntin.errors import FrameError
from muntin.layout import layout
from muntin.slicing.batch import ORDER_NULL, Column, Decoder, Interner
from muntin.slicing.values import read_column
from muntin.units import MAX_TIME, MIN_TIME
from tests.reliability.sizes import examples
from tests.slicing.test_keys import VALUES, array
from tests.strategies import comparable

NOW, AHEAD = 1_000, 50
TIMES = [0, 7, NOW, NOW + AHEAD, NOW + AHEAD + 1, MAX_TIME, MAX_TIME + 1, MIN_TIME, MIN_TIME - 1, -(2**63), 2**63 - 1]


def chunked(values: list[Any], type_: pa.DataType, cut: int) -> pa.ChunkedArray:
    """In two chunks that start inside a longer array."""
    made = array([None, *values, None], type_)
    return pa.chunked_array([made.slice(1, cut), made.slice(1 + cut, len(values) - cut)])


def nullable(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


@st.composite
def tables(draw: Any) -> list[pa.Table]:
    """A few tables of one schema."""
    kind = draw(st.sampled_from([pa.int64(), pa.timestamp("us", "UTC")]))
    order = draw(st.sampled_from([pa.int64(), pa.date32(), pa.int8()]))
    return [draw(one_table(kind, order)) for _ in range(draw(st.integers(1, 3)))]


@st.composite
def one_table(draw: Any, kind: pa.DataType, order: pa.DataType) -> pa.Table:
    n = draw(st.integers(0, 12))
    cut = draw(st.integers(0, n))
    times = st.sampled_from(draw(st.sampled_from([TIMES, TIMES[:3]])))
    if draw(st.booleans()):
        times = nullable(times)
    columns = {"ts": (times, kind), "m": (nullable(st.integers(-5, 5)), pa.timestamp("ms"))}
    columns["o"] = (nullable(st.integers(-5, 5)), order)
    columns["k"] = (nullable(VALUES[pa.string()]), pa.string())
    columns["v"] = (nullable(VALUES[pa.float64()]), pa.float64())
    columns["s"] = (nullable(VALUES[pa.string()]), pa.string())
    columns["d"] = (nullable(VALUES[pa.date32()]), pa.date32())
    columns["l"] = (nullable(st.lists(st.integers(0, 2), max_size=2)), pa.list_(pa.int64()))
    columns["mark"] = (nullable(st.booleans()), pa.bool_())
    rows = {name: draw(st.lists(values, min_size=n, max_size=n)) for name, (values, _) in columns.items()}
    return pa.table({name: chunked(rows[name], type_, cut) for name, (_, type_) in columns.items()})


def spec(**options: Any) -> mt.Spec:
    made = mt.over("ts", by="k", order="o", max_ahead=f"{AHEAD} us", **options)
    made = made.window("a", mt.tumbling("1 hour"), v=mt.sum("v"), s=mt.last("s"), d=mt.max("d"), n=mt.count("l"))
    return made.window("b", mt.session(5, on="m"), n=mt.count()).window("c", mt.frame("mark"), n=mt.count())


def why(time: int | None, now: int | None) -> str | None:
    if time is None:
        return "null time"
    if not MIN_TIME <= time <= MAX_TIME:
        return "time out of range"
    return "too far ahead" if now is not None and time > now + AHEAD else None


@given(tables(), st.sampled_from([None, NOW]))
@examples(50)
def test_a_batch_is_what_plain_python_makes_of_the_table(made: list[pa.Table], now: int | None) -> None:
    decoder, arrived, keys = Decoder(layout(spec(), made[0].schema)), 0, {}
    for table in made:
        batch, rejected = decoder.decode(table, now)
        times = scalars(table.column("ts"))
        reasons = [why(time, now) for time in times]
        keep = [row for row, reason in enumerate(reasons) if reason is None]
        assert rejected.rows.tolist() == [row for row, reason in enumerate(reasons) if reason is not None]
        assert rejected.reason.tolist() == [reason for reason in reasons if reason is not None]
        assert len(batch) == len(keep)
        assert batch.row_numbers().tolist() == keep
        assert batch.arrivals().tolist() == [arrived + row for row in keep]
        arrived += table.num_rows
        assert batch.time.tolist() == [times[row] for row in keep]
        assert batch.newest == max((times[row] for row in keep), default=None)
        orders = scalars(table.column("o"))
        assert batch.order is not None
        assert batch.order.tolist() == [ORDER_NULL if orders[row] is None else orders[row] for row in keep]
        names = scalars(table.column("k"))
        assert batch.key_ids().tolist() == [keys.setdefault(names[row], len(keys)) for row in keep]
        places, none = measures(table.column("m"), "m")
        along, null = batch.measures["m"]
        assert along.tolist() == places[keep].tolist()
        assert (np.zeros(len(keep), bool) if null is None else null).tolist() == none[keep].tolist()
        assert set(batch.values) == {"v", "s", "d", "l", "mark"}
        for name in ("v", "s", "d", "mark"):
            expected = typed([scalars(table.column(name))[row] for row in keep], table.schema.field(name).type)
            back = batch.values[name].to_arrow()
            back.validate(full=True)
            assert back.type == expected.type
            assert comparable(back.to_pylist()) == comparable(expected.to_pylist())
        there = batch.values["l"].valid
        lists = table.column("l").to_pylist()
        assert (np.ones(len(keep), bool) if there is None else there).tolist() == [lists[i] is not None for i in keep]
    assert decoder.keys.size == len(keys)


@given(st.sampled_from([t for t in VALUES if not pa.types.is_null(t)]), st.data())
@examples(75)
def test_values_of_every_type_come_back(type_: pa.DataType, data: Any) -> None:
    values = data.draw(st.lists(nullable(VALUES[type_]), max_size=20))
    column = chunked(values, type_, data.draw(st.integers(0, len(values))))
    read = read_column(column, Interner(type_) if type_.id in INTERNED else None)
    assert (read.interner is not None) == (type_.id in INTERNED)
    assert comparable(scalars(read.to_arrow())) == comparable(scalars(column))
    if read.interner is None:
        plain = [0 if value is None else value for value in scalars(column)]
        assert comparable(read.values.tolist()) == comparable(plain)
    index = np.array(data.draw(st.lists(st.integers(0, max(0, len(values) - 1)), max_size=5 if values else 0)), int)
    taken = read.take(index).to_arrow()
    assert comparable(scalars(taken)) == comparable([scalars(column)[i] for i in index])


INTERNED = {type_.id for type_ in (pa.string(), pa.binary(), pa.binary(2), pa.decimal128(5, 2), pa.decimal64(5, 2))}


@given(st.lists(st.lists(nullable(st.text(max_size=4)), max_size=8), max_size=4))
@examples(50)
def test_codes_go_by_first_appearance_and_ranks_by_bytes(parts: list[list[str | None]]) -> None:
    words, codes = Interner(), {}
    for part in parts:
        column = pa.chunked_array([part], pa.string())
        expected = [0 if word is None else codes.setdefault(word, len(codes)) for word in part]
        assert words.encode(column).tolist() == expected
        assert len(words) == len(codes)
        ordered = sorted(codes)
        assert words.ranks().tolist() == [ordered.index(word) for word in codes]
    assert words.decode(np.arange(len(codes)), None, pa.string()).to_pylist() == list(codes)
    words.retain(np.arange(0, len(codes), 2))
    assert words.decode(np.arange(len(words))).to_pylist() == list(codes)[::2]


def test_what_was_decoded_stays_when_more_values_come() -> None:
    words = Interner()
    words.encode(pa.chunked_array([["a", "b"]]))
    before = words.decode(np.array([0, 1]))
    words.encode(pa.chunked_array([[str(i) for i in range(5_000)]]))
    assert before.to_pylist() == ["a", "b"]
    assert words.decode(np.array([1, 5_001])).to_pylist() == ["b", "4999"]


def test_plain_columns_are_views() -> None:
    times, values = np.arange(100), np.arange(100.0)
    table = pa.table({"ts": pa.array(times).cast(pa.timestamp("us")), "x": values})
    made = mt.over("ts").window("w", mt.tumbling("1 hour"), n=mt.sum("x"))
    batch, rejected = Decoder(layout(made, table.schema)).decode(table, 1_000)
    assert np.shares_memory(batch.values["x"].values, values)
    assert np.shares_memory(batch.time, np.frombuffer(table.column("ts").chunk(0).buffers()[1], np.int64))
    assert (batch.rows, batch.key, batch.seq, batch.order, batch.newest) == (None, None, None, None, 99)
    assert not len(rejected)


def test_time_of_arrival() -> None:
    table = pa.table({"x": [1.0, math.nan]})
    made = mt.over(None).window("w", mt.tumbling("1 hour"), n=mt.sum("x"))
    decoder = Decoder(layout(made, table.schema))
    batch, rejected = decoder.decode(table, 42)
    assert batch.time.tolist() == [42, 42]
    assert (batch.newest, len(rejected)) == (42, 0)
    assert decoder.decode(table.slice(0, 0), 43)[0].newest is None


def test_nested_and_untyped_values_are_counted() -> None:
    assert read_column(pa.chunked_array([pa.nulls(2)])).to_arrow().equals(pa.nulls(2))
    counted = read_column(pa.chunked_array([[{"a": 1}, None]]))
    assert counted.valid is not None
    assert counted.valid.tolist() == [True, False]
    with pytest.raises(TypeError, match="counted"):
        counted.to_arrow()


def test_an_extension_type_comes_back() -> None:
    column = pa.chunked_array([pa.array([b"a" * 16, None], pa.uuid())])
    read = read_column(column, Interner(pa.binary(16)))
    assert read.to_arrow().equals(column.combine_chunks())


def test_order_beyond_int64_is_refused() -> None:
    table = pa.table({"ts": [1], "o": pa.array([2**63], pa.uint64())})
    made = mt.over("ts", order="o").window("w", mt.tumbling("1 hour"), n=mt.count())
    with pytest.raises(FrameError, match="outside int64"):
        Decoder(layout(made, table.schema)).decode(table, None)


def test_an_empty_column_without_chunks() -> None:
    column = pa.chunked_array([], pa.string())
    assert isinstance(read_column(column, Interner()), Column)
    assert len(read_column(pa.chunked_array([], pa.int64()))) == 0
