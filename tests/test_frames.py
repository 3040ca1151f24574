"""Frames in and out: round trips, normal types, times as microseconds."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin.frames as frames
from muntin.columns import time_zone, times
from muntin.errors import FrameError
from muntin.frames import normalise, to_arrow

FIRST = -62_135_596_800_000_000
END = 253_402_300_800_000_000
INT64 = st.integers(-(2**63), 2**63 - 1)
DAY = 86_400_000_000
BIG = 2**60 + 1  # float64 would round it


def table() -> pa.Table:
    return pa.table(
        {
            "ts": pa.array([0, 1_500_000], pa.timestamp("us", "UTC")),
            "key": ["a", None],
            "n": [BIG, 2],
            "x": [0.5, None],
        }
    )


def column(values: list[Any], kind: pa.DataType, chunks: int = 1) -> pa.ChunkedArray:
    whole = pa.array(values, kind)
    step = max(1, -(-len(whole) // chunks))
    return pa.chunked_array([whole.slice(i, step) for i in range(0, len(whole), step)], type=kind)


# ---- kinds of frames ----


def test_a_pyarrow_table_is_taken_and_given_back_as_it_is() -> None:
    given_table = table()
    frame = to_arrow(given_table)
    assert frame.table is given_table
    assert frame.restore(given_table) is given_table


def test_record_batches_and_readers_come_back_as_tables() -> None:
    batch = table().to_batches()[0]
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch])
    for frame, rows in ((to_arrow(batch), 2), (to_arrow(reader), 4)):
        assert isinstance(frame.table, pa.Table)
        assert frame.table.num_rows == rows
        assert isinstance(frame.restore(frame.table), pa.Table)


def test_a_dict_of_columns() -> None:
    given_dict = {
        "list": [1, None],
        "numpy": np.array([1.5, 2.5]),
        "arrow": pa.array(["a", "b"]),
        "chunked": pa.chunked_array([[1], [2]]),
        "pandas": pd.Series([1.0, np.nan]),
        "polars": pl.Series(["a", None], dtype=pl.Categorical),
    }
    frame = to_arrow(given_dict)
    assert frame.table.to_pydict() == {
        "list": [1, None],
        "numpy": [1.5, 2.5],
        "arrow": ["a", "b"],
        "chunked": [1, 2],
        "pandas": [1.0, None],
        "polars": ["a", None],
    }
    assert frame.table.schema.field("polars").type == pa.string()
    assert isinstance(frame.restore(frame.table), pa.Table)
    assert to_arrow({}).table.num_columns == 0


def test_any_arrow_stream() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table().__arrow_c_stream__(requested_schema)

    frame = to_arrow(Stream())
    assert frame.table.equals(table())
    assert isinstance(frame.restore(frame.table), pa.Table)
    assert to_arrow({"x": pa.chunked_array([[1]])}).table.num_rows == 1


def test_pandas_round_trip() -> None:
    given_frame = pd.DataFrame(
        {
            "ts": pd.to_datetime([0, 1], unit="s", utc=True).as_unit("us"),
            "naive": pd.to_datetime([0, 1], unit="s").as_unit("ms"),
            "key": ["a", None],
            "n": np.array([BIG, 2], np.int64),
            "x": [0.5, np.nan],
            "b": [True, False],
            "category": pd.Categorical(["a", "b"]),
        },
        index=[7, 9],
    )
    frame = to_arrow(given_frame)
    assert frame.table.schema.metadata is None
    assert frame.table.column_names == list(given_frame.columns)
    assert frame.table.column("x").null_count == 1
    back = frame.restore(frame.table)
    expected = given_frame.reset_index(drop=True).astype({"category": object})
    pd.testing.assert_frame_equal(back, expected)
    assert isinstance(back.index, pd.RangeIndex)


def test_pandas_integers_stay_exact_with_nulls() -> None:
    frame = to_arrow(pd.DataFrame({"n": [1]}))
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    result = pa.table(
        {str(kind): pa.array([1, None], kind) for kind in kinds}
        | {"big": [BIG, None], "whole": [BIG, 3], "flag": [True, None], "text": ["a", None]}
        | {"ts": pa.array([1, None], pa.timestamp("us", "Europe/Paris"))}
    )
    back = frame.restore(result)
    assert list(back.columns) == result.column_names
    dtypes = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
    dtypes += ["Int64", "int64", "boolean", "object", "datetime64[us, Europe/Paris]"]
    assert [str(dtype) for dtype in back.dtypes] == dtypes
    assert back["big"][0] == BIG
    assert back["big"][1] is pd.NA
    assert isinstance(back.index, pd.RangeIndex)
    # And back in: nullable columns are read exactly.
    assert to_arrow(back).table.column("big").to_pylist() == [BIG, None]


@pytest.mark.parametrize("other", [[1, 2], [1, None]])
def test_pandas_integers_stay_exact_inside_lists(other: list[int | None]) -> None:
    back = to_arrow(pd.DataFrame({"n": [1]})).restore(pa.table({"l": [[BIG, None], None], "n": other}))
    assert list(back["l"][0]) == [BIG, None]


def test_pandas_names_become_strings_without_a_warning() -> None:
    assert to_arrow(pd.DataFrame({0: [1], "x": [2]})).table.column_names == ["0", "x"]


def test_pandas_duplicates_and_mixed_values() -> None:
    with pytest.raises(FrameError, match="more than once: 'a'"):
        to_arrow(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(FrameError, match="more than once: '0'"):
        to_arrow(pd.DataFrame([[1, 2]], columns=[0, "0"]))
    with pytest.raises(FrameError, match="column 'mixed' of the pandas DataFrame"):
        to_arrow(pd.DataFrame({"mixed": [1, "a"]}))


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "ts": pl.Series([dt.datetime(2024, 1, 1), None], dtype=pl.Datetime("us", "Europe/Paris")),
            "ns": pl.Series([1, None], dtype=pl.Datetime("ns")),
            "day": [dt.date(2024, 1, 1), None],
            "key": ["a", None],
            "bytes": [b"a", None],
            "list": [["a"], None],
            "struct": [{"s": "a"}, {"s": None}],
            "n": [BIG, None],
            "nothing": [None, None],
        }
    )


def test_polars_round_trip() -> None:
    frame = to_arrow(polars_frame())
    kinds = {field.name: field.type for field in frame.table.schema}
    assert kinds["key"] == pa.string()
    assert kinds["bytes"] == pa.binary()
    assert kinds["list"] == pa.list_(pa.string())
    assert kinds["struct"] == pa.struct([("s", pa.string())])
    assert kinds["nothing"] == pa.null()
    back = frame.restore(frame.table)
    assert isinstance(back, pl.DataFrame)
    assert back.equals(polars_frame())
    assert back.schema == polars_frame().schema


def test_polars_lazy_comes_back_lazy() -> None:
    frame = to_arrow(polars_frame().lazy().filter(pl.col("key") == "a"))
    assert frame.table.num_rows == 1
    back = frame.restore(frame.table)
    assert isinstance(back, pl.LazyFrame)
    assert back.collect().equals(polars_frame().head(1))


def test_polars_categories_come_back_as_strings() -> None:
    given_frame = pl.DataFrame(
        {
            "c": pl.Series(["a", "b", None, "a"], dtype=pl.Categorical),
            "e": pl.Series(["a", "b", None, "a"], dtype=pl.Enum(["b", "a"])),
            "l": pl.Series([["a"], [], None, ["b"]], dtype=pl.List(pl.Categorical)),
        }
    )
    frame = to_arrow(given_frame)
    assert [field.type for field in frame.table.schema] == [pa.string(), pa.string(), pa.list_(pa.string())]
    assert frame.table.to_pydict() == given_frame.to_dict(as_series=False)
    back = frame.restore(frame.table)
    assert list(back.schema.values()) == [pl.String, pl.String, pl.List(pl.String)]


def test_polars_columns_that_hold_no_data_are_refused() -> None:
    with pytest.raises(FrameError, match="Python objects cannot be read: 'o'"):
        to_arrow(pl.DataFrame({"o": pl.Series([object()], dtype=pl.Object)}))
    with pytest.raises(FrameError, match="Arrow cannot hold"):
        to_arrow(pl.DataFrame({"wide": pl.Series([1], dtype=pl.Int128)}))


@pytest.mark.parametrize("module", ["pyspark.sql", "pyspark.sql.dataframe", "pyspark.sql.connect.dataframe"])
def test_spark_frames_are_not_collected_unasked(module: str) -> None:
    # Spark's frames have the stream protocol, which must not collect them unasked.
    def stream(self: object, requested_schema: object = None) -> object:
        raise AssertionError("collected")

    cls = type("DataFrame", (), {"__module__": module, "__arrow_c_stream__": stream})
    for kind in (cls, type("Mine", (cls,), {})):
        with pytest.raises(FrameError, match=r"spec.apply and spec.start take one.*toArrow\(\)"):
            to_arrow(kind())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3, r"builtins\.int\. Give a pyarrow Table"),
        (None, r"builtins\.NoneType\. Give"),
        ("file.csv", r"builtins\.str\. Give"),
        (pa.chunked_array([[1]]), r"stream of pyarrow\.lib\.ChunkedArray as a table"),
        (pl.Series([1]), "stream of polars.* as a table"),
        ({1: [1]}, "column name 1 of the dict is no string"),
        ({"a": "xyz"}, "'a' of the dict.*'xyz' is one value"),
        ({"a": 1}, "'a' of the dict"),
        ({"a": [1, "x"]}, "'a' of the dict"),
        ({"a": [2**70]}, "'a' of the dict"),
        ({"a": [1], "b": [1, 2]}, "make no table"),
    ],
)
def test_what_is_no_frame_is_named(value: object, words: str) -> None:
    with pytest.raises(FrameError, match=words):
        to_arrow(value)


def test_no_frame_library_is_needed() -> None:
    # Blocked, not looked for afterwards: pyarrow itself imports pandas when it finds it.
    code = (
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('pandas', 'polars', 'pyspark'): raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "import muntin.columns as c, muntin.frames as f\n"
        "table = f.to_arrow({'ts': [1, None], 'key': ['a', 'b']}).table\n"
        "print(c.times(table.column('ts'), 'ts').micros.tolist())"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[1, 0]"


# ---- normal types ----


@pytest.mark.parametrize(
    ("kind", "plain", "values"),
    [
        (pa.large_string(), pa.string(), ["a", None]),
        (pa.string_view(), pa.string(), ["a", None]),
        (pa.large_binary(), pa.binary(), [b"a", None]),
        (pa.binary_view(), pa.binary(), [b"a", None]),
        (pa.large_list(pa.string_view()), pa.list_(pa.string()), [["a"], None]),
        (pa.large_list(pa.int64()), pa.list_(pa.int64()), [[1], None]),
        (pa.list_(pa.large_string(), 1), pa.list_(pa.string(), 1), [["a"], None]),
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string(), ["a", None]),
        (pa.dictionary(pa.int32(), pa.int64()), pa.int64(), [1, None]),
        (pa.list_(pa.dictionary(pa.int8(), pa.string())), pa.list_(pa.string()), [["a"], None]),
        (pa.struct([("s", pa.large_string())]), pa.struct([("s", pa.string())]), [{"s": "a"}, None]),
        (
            pa.map_(pa.large_string(), pa.string_view()),
            pa.map_(pa.string(), pa.string()),
            [[("a", "b")], None],
        ),
    ],
    ids=str,
)
def test_types_are_made_plain(kind: pa.DataType, plain: pa.DataType, values: list[Any]) -> None:
    given_table = pa.table({"v": column(values * 2, kind, chunks=2), "n": [1, 2, 3, 4]})
    result = normalise(given_table)
    assert result.schema.field("v").type == plain
    assert result.column("v").to_pylist() == values * 2
    assert result.column("v").num_chunks == 2
    result.validate(full=True)
    # Nothing to do the second time, without a row as well.
    assert normalise(result) is result
    assert normalise(given_table.slice(0, 0)).schema == result.schema


def test_run_ends_and_view_dictionaries_are_decoded() -> None:
    runs = pc.run_end_encode(pa.array(["a", "a", None], pa.large_string()))
    views = pa.DictionaryArray.from_arrays(pa.array([0, 0, None]), pa.array(["a"], pa.string_view()))
    result = normalise(pa.table({"r": runs, "v": views}))
    assert [field.type for field in result.schema] == [pa.string(), pa.string()]
    assert result.to_pydict() == {"r": ["a", "a", None], "v": ["a", "a", None]}


def test_what_cannot_be_made_plain_is_refused() -> None:
    runs = pc.run_end_encode(pa.array(["a", "a", "b"]))
    nested = pa.StructArray.from_arrays([runs], names=["r"])
    with pytest.raises(FrameError, match=r"column 'x' of type struct.* cannot be read as struct"):
        normalise(pa.table({"x": nested}))


def test_chunks_with_unlike_dictionaries() -> None:
    chunks = [pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", None, "c"]).dictionary_encode()]
    result = normalise(pa.table({"k": pa.chunked_array(chunks)}))
    assert result.column("k").to_pylist() == ["a", "b", "b", None, "c"]


def test_the_rest_is_untouched() -> None:
    kinds = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]
    kinds += [pa.timestamp("ms", "+02:00"), pa.date32(), pa.date64(), pa.null(), pa.decimal128(5, 2)]
    kinds += [pa.list_view(pa.int64())]
    given_table = pa.table({str(kind): pa.array([None], kind) for kind in kinds})
    assert normalise(given_table) is given_table


def test_list_views_inside_structs_keep_their_values() -> None:
    kind = pa.struct([("v", pa.list_view(pa.int64())), ("s", pa.large_string())])
    values = [
        {"v": [1], "s": "a"},
        None,
        {"v": [2, 3], "s": None},
        {"v": None, "s": "b"},
        {"v": [4], "s": "c"},
    ]
    for start in range(len(values)):
        result = normalise(pa.table({"x": pa.array(values, kind).slice(start)}))
        assert result.column("x").to_pylist() == values[start:]
        assert result.schema.field("x").type.field("s").type == pa.string()


def test_metadata_goes_with_the_type_that_it_was_about() -> None:
    schema = pa.schema(
        [
            pa.field("s", pa.large_string(), nullable=False, metadata={"about": "s"}),
            pa.field("n", pa.int64(), metadata={"about": "n"}),
        ],
        metadata={"about": "all"},
    )
    result = normalise(pa.table([pa.array(["a"], pa.large_string()), pa.array([1])], schema=schema)).schema
    assert result.metadata == {b"about": b"all"}
    assert result.field("n").metadata == {b"about": b"n"}
    assert result.field("s").metadata is None
    assert not result.field("s").nullable


def test_duplicate_names_are_named() -> None:
    array = pa.array([1])
    with pytest.raises(FrameError, match="more than once: 'a', 'c'"):
        to_arrow(pa.table([array] * 5, names=["a", "b", "a", "c", "c"]))


def test_a_chunk_too_large_for_its_plain_type_is_split(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = frames._plain_array

    def small_only(chunk: pa.Array, target: pa.DataType) -> pa.Array:
        if len(chunk) > 2:
            raise pa.ArrowInvalid("input array too large")
        assert chunk.offset == 0 or pa.types.is_dictionary(chunk.type)
        return cast(chunk, target)

    monkeypatch.setattr(frames, "_plain_array", small_only)
    values = ["a", "b", None, "d", "e", "f", "g"]
    text = pa.array(values, pa.large_string())
    for array in (text, text.slice(1), pa.array([*"abab", None, *"ba"]).dictionary_encode()):
        result = normalise(pa.table({"s": array})).column("s")
        assert result.to_pylist() == array.to_pylist()
        assert result.num_chunks == 4

    def never(chunk: pa.Array, target: pa.DataType) -> pa.Array:
        raise pa.ArrowInvalid("no")

    monkeypatch.setattr(frames, "_plain_array", never)
    with pytest.raises(FrameError, match="column 's' of type large_string cannot be read as string: no"):
        normalise(pa.table({"s": text}))


# ---- times ----


def test_time_zone() -> None:
    assert time_zone(pa.timestamp("us", "UTC")) == "UTC"
    assert time_zone(pa.timestamp("us")) is None
    assert time_zone(pa.date32()) is None


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", "Europe/Paris"), pa.int64()], ids=str)
def test_microseconds_are_not_copied(kind: pa.DataType) -> None:
    array = pa.array([1, 2, 3], kind)
    empty = pa.array([], kind)
    got = times(pa.chunked_array([empty, array.slice(1), empty]), "ts")
    assert got.micros.ctypes.data == array.buffers()[1].address + 8
    assert got.micros.tolist() == [2, 3]
    assert got.micros.dtype == np.int64
    assert not got.null.any()
    assert not got.out_of_range.any()


def test_negative_nanoseconds_are_floored() -> None:
    values = [-(2**63), -1_001, -1_000, -999, -1, 0, 999, 1_000, 2**63 - 1]
    got = times(column(values, pa.timestamp("ns")), "ts")
    assert got.micros.tolist() == [value // 1_000 for value in values]
    assert not got.out_of_range.any()


def test_seconds_that_overflow_are_out_of_range() -> None:
    # 2**44 * 10**6 wraps around to a time that looks fine.
    values = [
        2**63 - 1,
        -(2**63),
        2**44,
        END // 10**6,
        END // 10**6 - 1,
        FIRST // 10**6,
        FIRST // 10**6 - 1,
        None,
    ]
    got = times(column(values, pa.timestamp("s")), "ts")
    assert got.out_of_range.tolist() == [True, True, True, True, False, False, True, False]
    assert got.null.tolist() == [False] * 7 + [True]
    assert got.micros.tolist() == [0, 0, 0, 0, END - 10**6, FIRST, 0, 0]


def test_dates_are_midnights() -> None:
    days = [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), None, dt.date(9999, 12, 31)]
    expected = [FIRST, -DAY, 0, 0, END - DAY]
    for kind in (pa.date32(), pa.date64()):
        got = times(column(days, kind), "day")
        assert got.micros.tolist() == expected
        assert got.null.tolist() == [False, False, False, True, False]
        assert not got.out_of_range.any()


def test_date64_within_a_day_is_floored_to_midnight() -> None:
    array = pa.array([-1, 86_400_001, 2**63 - 1, -(2**63)]).view(pa.date64())
    got = times(pa.chunked_array([array]), "day")
    assert got.micros.tolist() == [-DAY, DAY, 0, 0]
    assert got.out_of_range.tolist() == [False, False, True, True]


def test_date32_out_of_range() -> None:
    array = pa.array([-(2**31), 2**31 - 1, 1], pa.int32()).view(pa.date32())
    got = times(pa.chunked_array([array]), "day")
    assert got.micros.tolist() == [0, 0, DAY]
    assert got.out_of_range.tolist() == [True, True, False]


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_are_microseconds(kind: str) -> None:
    bounds = np.iinfo(kind)
    got = times(column([bounds.min, 5, None, bounds.max], pa.type_for_alias(kind)), "ts")
    wide = kind.endswith("64")
    assert got.micros.dtype == np.int64
    assert got.micros.tolist() == [0 if wide else bounds.min, 5, 0, 0 if wide else bounds.max]
    assert got.out_of_range.tolist() == [kind == "int64", False, False, wide]
    assert got.null.tolist() == [False, False, True, False]


@pytest.mark.parametrize("kind", [pa.null(), pa.timestamp("s"), pa.timestamp("ns"), pa.date64(), pa.uint64()], ids=str)
@pytest.mark.parametrize("rows", [0, 3])
def test_nothing_but_nulls(kind: pa.DataType, rows: int) -> None:
    for got in (
        times(column([None] * rows, kind), "ts"),
        times(pa.chunked_array([pa.array([None] * rows, kind), pa.array([], kind)]), "ts"),
    ):
        assert got.micros.tolist() == [0] * rows
        assert got.micros.dtype == np.int64
        assert got.null.tolist() == [True] * rows
        assert got.out_of_range.tolist() == [False] * rows
        assert got.null.dtype == got.out_of_range.dtype == np.bool_


def test_what_lies_under_a_null_does_not_matter() -> None:
    hidden = pa.Array.from_buffers(
        pa.timestamp("s"), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([2**62, 7], np.int64))]
    )
    got = times(pa.chunked_array([hidden]), "ts")
    assert got.micros.tolist() == [0, 7_000_000]
    assert got.out_of_range.tolist() == [False, False]


@pytest.mark.parametrize(
    "kind",
    [pa.float64(), pa.string(), pa.bool_(), pa.time64("us"), pa.duration("us"), pa.decimal128(5, 0),
     pa.list_(pa.int64())],
    ids=str,
)  # fmt: skip
def test_what_is_no_time_is_named(kind: pa.DataType) -> None:
    with pytest.raises(FrameError, match=r"column 'when' of type .* is no time\. Cast it to a timestamp") as caught:
        times(pa.chunked_array([], type=kind), "when")
    assert str(kind) in str(caught.value)


def near(unit: int) -> st.SearchStrategy[int]:
    """Any int64, with more of them near zero and near the two ends of the range, in the given unit."""
    ends = st.sampled_from([FIRST // unit, 0, END // unit])
    return INT64 | st.builds(int.__add__, ends, st.integers(-3_000, 3_000))


@st.composite
def raw_times(draw: st.DrawFn) -> tuple[pa.DataType, int, int, list[int | None], int]:
    kind, times_by, divide_by = draw(
        st.sampled_from(
            [
                (pa.timestamp("s"), 1_000_000, 1),
                (pa.timestamp("ms", "UTC"), 1_000, 1),
                (pa.timestamp("us"), 1, 1),
                (pa.timestamp("ns", "Asia/Kathmandu"), 1, 1_000),
                (pa.int64(), 1, 1),
                (pa.date64(), DAY, 86_400_000),
                (pa.date32(), DAY, 1),
            ]
        )
    )
    number: st.SearchStrategy[int] = near(max(1, times_by // divide_by))
    if kind == pa.date32():
        number = number.map(lambda value: max(-(2**31), min(2**31 - 1, value)))
    elif pa.types.is_timestamp(kind) and kind.unit == "ns":
        number = INT64
    return kind, times_by, divide_by, draw(st.lists(st.none() | number, max_size=12)), draw(st.integers(1, 4))


@given(raw_times())
def test_times_are_what_python_integers_say(
    case: tuple[pa.DataType, int, int, list[int | None], int],
) -> None:
    kind, times_by, divide_by, values, chunks = case
    storage = pa.int32() if kind == pa.date32() else pa.int64()
    parts = [chunk.view(kind) for chunk in column(values, storage, chunks).chunks]
    got = times(pa.chunked_array(parts, type=kind), "ts")
    exact = [None if value is None else value // divide_by * times_by for value in values]
    out = [time is not None and not FIRST <= time < END for time in exact]
    assert got.null.tolist() == [time is None for time in exact]
    assert got.out_of_range.tolist() == out
    assert got.micros.tolist() == [0 if time is None or bad else time for time, bad in zip(exact, out, strict=True)]
    assert got.micros.dtype == np.int64
