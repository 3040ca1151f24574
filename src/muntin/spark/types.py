"""Spark's types as Arrow's, and back. Spark's timestamps are microseconds in UTC."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import types as st

from muntin.errors import FrameError

__all__ = ["arrow_schema", "arrow_type", "spark_schema", "spark_type"]

_PLAIN: list[tuple[type[st.DataType], pa.DataType]] = [
    (st.BooleanType, pa.bool_()),
    (st.ByteType, pa.int8()),
    (st.ShortType, pa.int16()),
    (st.IntegerType, pa.int32()),
    (st.LongType, pa.int64()),
    (st.FloatType, pa.float32()),
    (st.DoubleType, pa.float64()),
    (st.StringType, pa.string()),
    (st.BinaryType, pa.binary()),
    (st.DateType, pa.date32()),
    (st.TimestampType, pa.timestamp("us", "UTC")),
    (st.TimestampNTZType, pa.timestamp("us")),
    (st.DayTimeIntervalType, pa.duration("us")),
    (st.NullType, pa.null()),
]


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """The Arrow schema of a Spark schema; a clear error names the column that has none.

    >>> arrow_schema(st.StructType([st.StructField("ts", st.TimestampType())])).field("ts").type
    TimestampType(timestamp[us, tz=UTC])
    """
    fields = []
    for field in schema.fields:
        found = arrow_type(field.dataType)
        if found is None:
            raise FrameError(
                f"column {field.name!r} has type {field.dataType.simpleString()}, which Arrow does not carry to "
                f"Python. Cast it, for instance to a string, or drop it."
            )
        fields.append(pa.field(field.name, found))
    return pa.schema(fields)


def arrow_type(type_: st.DataType) -> pa.DataType | None:
    """The Arrow type of a Spark type; None where there is none.

    >>> arrow_type(st.ArrayType(st.IntegerType()))
    ListType(list<element: int32>)
    """
    for spark, arrow in _PLAIN:
        if isinstance(type_, spark):
            return arrow
    if isinstance(type_, st.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, st.ArrayType):
        inner = arrow_type(type_.elementType)
        return None if inner is None else pa.list_(pa.field("element", inner))
    if isinstance(type_, st.MapType):
        key, value = arrow_type(type_.keyType), arrow_type(type_.valueType)
        return None if key is None or value is None else pa.map_(key, value)
    if isinstance(type_, st.StructType):
        parts = [(field.name, arrow_type(field.dataType)) for field in type_.fields]
        return None if any(part is None for _, part in parts) else pa.struct(parts)
    return None


def spark_schema(schema: pa.Schema, given: st.StructType, kept: Iterable[str]) -> st.StructType:
    """The Spark schema of an output; columns that were kept from the input have the type that they had.

    >>> given = st.StructType([st.StructField("k", st.VarcharType(3)), st.StructField("x", st.LongType())])
    >>> spark_schema(pa.schema([("k", pa.string()), ("x", pa.float64())]), given, ["k"]).simpleString()
    'struct<k:varchar(3),x:double>'
    """
    known = {name: given[name].dataType for name in kept}
    return st.StructType(
        [st.StructField(field.name, known.get(field.name) or spark_type(field.type, field.name)) for field in schema]
    )


def spark_type(type_: pa.DataType, name: str) -> st.DataType:
    """The Spark type of an Arrow type, for the column of a name.

    >>> spark_type(pa.list_(pa.timestamp("us")), "x").simpleString()
    'array<timestamp_ntz>'
    """
    types = pa.types
    for spark, arrow in _PLAIN:
        if type_ == arrow:
            return spark()
    if types.is_timestamp(type_) and type_.unit == "us":
        return st.TimestampType()
    if types.is_decimal(type_) and type_.precision <= 38:
        return st.DecimalType(type_.precision, type_.scale)
    if types.is_list(type_):
        return st.ArrayType(spark_type(type_.value_type, name))
    if types.is_map(type_):
        return st.MapType(spark_type(type_.key_type, name), spark_type(type_.item_type, name))
    if types.is_struct(type_):
        return st.StructType([st.StructField(field.name, spark_type(field.type, name)) for field in type_])
    raise FrameError(f"the result {name!r} has type {type_}, which Spark does not have. Cast its column first.")
