"""Frames in and out: what a caller gives becomes an Arrow table of few types; results go back in kind.

The engine sees Arrow only. No frame library is a dependency: pandas and polars are taken from `sys.modules`,
where they are whenever the caller holds one of their frames.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import FrameError

__all__ = ["Frame", "is_spark", "normalise", "to_arrow"]

_ACCEPTED = (
    "a pyarrow Table, RecordBatch or RecordBatchReader, a pandas DataFrame, a polars DataFrame or LazyFrame, "
    "a dict of columns, or any object with __arrow_c_stream__"
)
# What pyarrow raises on values that it cannot convert; not ArrowException, which takes in lack of memory.
_CONVERSION = (TypeError, ValueError, OverflowError, NotImplementedError, pa.ArrowCapacityError)


@dataclass(frozen=True)
class Frame:
    """A caller's frame as an Arrow table, and the way back to the caller's kind of frame.

    >>> frame = to_arrow({"x": [1, 2]})
    >>> frame.restore(frame.table.slice(1)).to_pydict()
    {'x': [2]}
    """

    table: pa.Table
    restore: Callable[[pa.Table], Any]


def to_arrow(frame: object) -> Frame:
    """Take a caller's frame as a normalised Arrow table, with the function that gives results back in kind.

    | given | given back |
    |---|---|
    | pyarrow Table, RecordBatch, RecordBatchReader | pyarrow Table (a result may span several batches) |
    | pandas DataFrame | pandas DataFrame with a RangeIndex |
    | polars DataFrame, LazyFrame | polars DataFrame, LazyFrame |
    | dict of columns, object with `__arrow_c_stream__` | pyarrow Table |

    From pandas, the index is ignored, names of columns become strings, and NaN is null, as pandas has it.
    To pandas, a column of integers or booleans is numpy's when it has no null, and pandas' nullable type
    (Int64, UInt8, boolean, ...) when it has one: numpy's float64 would round integers above 2**53. Integers
    inside lists and structs stay exact for the same reason. Timestamps keep their unit and time zone; dates
    are `datetime.date`. A polars LazyFrame is collected here. Categories come back as plain strings.

    >>> to_arrow({"ts": [10, 20], "speed": [1.5, None]}).table.num_rows
    2
    >>> to_arrow([1, 2])
    Traceback (most recent call last):
    ...
    muntin.errors.FrameError: cannot read a frame from builtins.list. Give a pyarrow Table, RecordBatch or \
RecordBatchReader, a pandas DataFrame, a polars DataFrame or LazyFrame, a dict of columns, or any object \
with __arrow_c_stream__.
    """
    if isinstance(frame, pa.Table):
        return Frame(normalise(frame), _same)
    if isinstance(frame, pa.RecordBatch):
        return Frame(normalise(pa.Table.from_batches([frame])), _same)
    if isinstance(frame, pa.RecordBatchReader):
        return Frame(normalise(frame.read_all()), _same)

    pandas = sys.modules.get("pandas")
    if _is_a(frame, pandas, "DataFrame"):
        return Frame(normalise(_from_pandas(frame)), lambda table: _to_pandas(table, pandas))

    polars: Any = sys.modules.get("polars")
    if _is_a(frame, polars, "DataFrame"):
        return Frame(normalise(_from_polars(frame, polars)), polars.from_arrow)
    if _is_a(frame, polars, "LazyFrame"):
        lazy: Any = frame
        table = normalise(_from_polars(lazy.collect(), polars))
        return Frame(table, lambda result: polars.from_arrow(result).lazy())

    # Before the stream protocol, which Spark's frames have too: it would collect the whole frame unasked.
    if is_spark(frame):
        raise FrameError(
            f"cannot read a Spark frame ({_type_name(frame)}) here. spec.apply and spec.start take one; an embedded "
            "engine takes frame.toArrow(), which collects it to the driver."
        )
    if isinstance(frame, dict):
        return Frame(normalise(_from_columns(frame.items(), "dict")), _same)
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            table = pa.table(frame)
        except _CONVERSION as error:
            raise FrameError(
                f"cannot read the Arrow stream of {_type_name(frame)} as a table: {error}. Give {_ACCEPTED}."
            ) from error
        return Frame(normalise(table), _same)
    raise FrameError(f"cannot read a frame from {_type_name(frame)}. Give {_ACCEPTED}.")


def normalise(table: pa.Table) -> pa.Table:
    """Bring a table to the few types that the engine knows, and refuse column names given twice.

    Large and view strings and binaries, and large lists, take their plain types; dictionary and run-end
    encoded columns are decoded. Lists, structs and maps are followed inward; what pyarrow cannot cast there
    (run ends, dictionaries of view strings) is refused. All else stays as it is, list views included. Chunks
    stay too, but for one that its plain type cannot hold (2 GiB of text), which is split.

    >>> table = pa.table({"key": pa.array(["a", "b", "a"]).dictionary_encode()})
    >>> normalise(table).schema.field("key").type
    DataType(string)
    """
    twice = [name for name, count in Counter(table.column_names).items() if count > 1]
    if twice:
        raise FrameError(
            f"column names given more than once: {', '.join(map(repr, twice))}. Rename the columns so that "
            "each name is there once."
        )
    for i, field in enumerate(table.schema):
        target = _plain_type(field.type)
        if target.equals(field.type):
            continue
        try:
            chunks = [part for chunk in table.column(i).chunks for part in _plain_parts(chunk, target)]
        except _CONVERSION as error:
            raise FrameError(
                f"column {field.name!r} of type {field.type} cannot be read as {target}: {error}. Cast it "
                "first, or drop it."
            ) from error
        # Metadata that a library left about the old type would mislead it on the way back.
        plain = field.with_type(target).remove_metadata()
        table = table.set_column(i, plain, pa.chunked_array(chunks, type=target))
    return table


def is_spark(frame: object) -> bool:
    """Whether this is a Spark DataFrame, classic or of Spark Connect; found without importing Spark.

    >>> is_spark({"x": [1]})
    False
    """
    return any(f"{cls.__module__}.".startswith("pyspark.sql.") for cls in type(frame).__mro__)


def _same(table: pa.Table) -> pa.Table:
    return table


def _is_a(value: object, module: Any, name: str) -> bool:
    # A module can be in sys.modules half imported, or as None when its import is blocked.
    cls = getattr(module, name, None)
    return isinstance(cls, type) and isinstance(value, cls)


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _from_columns(columns: Iterable[tuple[Any, Any]], kind: str) -> pa.Table:
    names, arrays = [], []
    for name, values in columns:
        if not isinstance(name, str):
            raise FrameError(f"column name {name!r} of the {kind} is no string. Rename the column.")
        try:
            arrays.append(_from_values(values))
        except _CONVERSION as error:
            raise FrameError(
                f"column {name!r} of the {kind} cannot be read as an Arrow array: {error}. Give it values of "
                "one type, or drop it."
            ) from error
        names.append(name)
    try:
        return pa.table(arrays, names=names)
    except _CONVERSION as error:
        raise FrameError(f"the columns of the {kind} make no table: {error}.") from error


def _from_values(values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes):
        # pyarrow would take it for a column of its characters.
        raise TypeError(f"{values!r} is one value, not a column of values")
    if _is_a(values, sys.modules.get("pandas"), "Series"):
        return pa.array(values, from_pandas=True)
    polars = sys.modules.get("polars")
    if _is_a(values, polars, "Series"):
        return _from_polars(values.to_frame(), polars).column(0)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    return pa.array(values)


def _from_pandas(frame: Any) -> pa.Table:
    # By column, not Table.from_pandas: its metadata about index and dtypes would have no use here, and it
    # warns about names that are not strings; this way an error can also name its column.
    columns = ((str(name), frame.iloc[:, i]) for i, name in enumerate(frame.columns))
    return _from_columns(columns, "pandas DataFrame")


def _to_pandas(table: pa.Table, pandas: Any) -> Any:
    nullable = {
        pa.int8(): pandas.Int8Dtype(),
        pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.uint8(): pandas.UInt8Dtype(),
        pa.uint16(): pandas.UInt16Dtype(),
        pa.uint32(): pandas.UInt32Dtype(),
        pa.uint64(): pandas.UInt64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }
    if not any(column.null_count and column.type in nullable for column in table.columns):
        # Objects, not float64, for integers with nulls inside lists and structs.
        return table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    # By column, since a types_mapper sees a type and not whether the column has nulls.
    return pandas.DataFrame(
        {
            name: column.to_pandas(integer_object_nulls=True, types_mapper=nullable.get if column.null_count else None)
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )


def _from_polars(frame: Any, polars: Any) -> pa.Table:
    objects = [name for name, dtype in frame.schema.items() if dtype == polars.Object]
    if objects:
        # polars would hand over their addresses in memory as bytes.
        raise FrameError(
            f"columns of Python objects cannot be read: {', '.join(map(repr, objects))}. Drop them, or cast "
            "them to a polars type that holds data."
        )
    try:
        return frame.to_arrow()
    except _CONVERSION as error:
        raise FrameError(
            f"the polars frame has a column that Arrow cannot hold: {error}. Its schema is "
            f"{dict(frame.schema)}. Cast or drop that column."
        ) from error


def _plain_type(kind: pa.DataType, wide: bool = False) -> pa.DataType:
    """Give the plain type for a type; `wide` keeps 64-bit offsets for the text and bytes within."""
    types = pa.types
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.large_string() if wide else pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind):
        return pa.large_binary() if wide else pa.binary()
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _plain_type(kind.value_type, wide)
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_field(kind.value_field, wide), kind.list_size)
    # List views stay, since pyarrow 26 casts them to lists with wrong values.
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(_plain_field(kind.value_field, wide))
    if types.is_struct(kind):
        return pa.struct([_plain_field(kind.field(i), wide) for i in range(kind.num_fields)])
    if types.is_map(kind):
        key, item = _plain_field(kind.key_field, wide), _plain_field(kind.item_field, wide)
        return pa.map_(key, item, kind.keys_sorted)
    return kind


def _plain_field(field: pa.Field, wide: bool) -> pa.Field:
    target = _plain_type(field.type, wide)
    return field if target.equals(field.type) else field.with_type(target).remove_metadata()


def _plain_parts(chunk: pa.Array, target: pa.DataType) -> list[pa.Array]:
    """Cast one chunk, in halves where the 32-bit offsets of the plain types cannot hold it."""
    try:
        return [_plain_array(chunk, target)]
    except (pa.ArrowInvalid, pa.ArrowCapacityError):
        if len(chunk) < 2:
            raise
    half = len(chunk) // 2
    parts = []
    for part in (chunk.slice(0, half), chunk.slice(half)):
        # A slice keeps the offsets of the whole, which the cast would refuse again; a copy starts at 0.
        parts += _plain_parts(part if pa.types.is_dictionary(part.type) else pa.concat_arrays([part]), target)
    return parts


def _plain_array(chunk: pa.Array, target: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(chunk.type):
        # Not a cast: Arrow cannot decode view strings, which polars uses for categories.
        return _plain_array(chunk.dictionary, target).take(chunk.indices)
    if pa.types.is_run_end_encoded(chunk.type):
        return _plain_array(pc.run_end_decode(chunk), target)
    # In two steps: from view strings straight to strings, pyarrow 26 lets offsets overflow without an error.
    # The second step rewrites offsets only, and checks them.
    for kind in (_plain_type(chunk.type, wide=True), target):
        chunk = chunk if chunk.type.equals(kind) else chunk.cast(kind)
    return chunk
