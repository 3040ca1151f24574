"""Types of values and of partial fields: what an aggregate takes, keeps and returns.

Inside the engines a value is a plain scalar: times, dates and durations are integers in their own unit. Values are
turned into scalars on the way in and back into their type on the way out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.errors import SpecError

__all__ = ["LARGEST", "SECOND", "SMALLEST", "VALUE", "ZERO", "FieldType", "Placeholder", "Slot"]

Slot = np.dtype[Any]
"""The type of a partial field: a NumPy type, `object` where values have no fixed size."""


@dataclass(frozen=True)
class Placeholder:
    """Stands in a declaration for something that follows from the types of the columns."""

    meaning: str
    column: int = 0


VALUE = Placeholder("value")
"""The type of the first column."""
SECOND = Placeholder("value", 1)
"""The type of the second column."""
LARGEST = Placeholder("largest")
"""A value that none is larger than, by Spark's order: NaN for floats."""
SMALLEST = Placeholder("smallest")
"""A value that none is smaller than."""
ZERO = Placeholder("zero")
"""Any value: what stands in a field that is never read."""

FieldType = Any


def storage(type_: pa.DataType) -> pa.DataType:
    """The type that a value is computed in: integers for times, dates and durations; itself for the rest.

    >>> storage(pa.timestamp("ns", "UTC")), storage(pa.list_(pa.date32()))
    (DataType(int64), ListType(list<item: int32>))
    """
    if pa.types.is_temporal(type_):
        return pa.int32() if type_.bit_width == 32 else pa.int64()
    if pa.types.is_list(type_):
        return pa.list_(storage(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, storage(field.type)) for field in type_])
    return type_


def scalars(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """A column as plain scalars, None for null.

    >>> import datetime
    >>> scalars(pa.array([datetime.date(1970, 1, 2), None]))
    [1, None]
    """
    result: list[Any] = column.cast(storage(column.type)).to_pylist()
    return result


def typed(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Plain scalars as a column of a type: the way back from `scalars`.

    >>> typed([1, None], pa.date32()).to_pylist()
    [datetime.date(1970, 1, 2), None]
    """
    return pa.array(values, storage(type_)).cast(type_)


def describe(takes: str, type_: pa.DataType) -> str | None:
    """Why values of a type cannot be taken; None where they can.

    >>> describe("number", pa.string())
    'but it takes numbers. Cast the column to a number first.'
    """
    types = pa.types
    number = types.is_integer(type_) or types.is_float32(type_) or types.is_float64(type_) or types.is_boolean(type_)
    text = types.is_string(type_)
    if takes == "any" and (types.is_nested(type_) or types.is_interval(type_)):
        return "but such values can only be counted. Take its fields or elements as columns first."
    if takes == "any" or (takes == "number" and number) or (takes == "text" and text):
        return None
    temporal = types.is_temporal(type_) and not types.is_interval(type_)
    if takes == "ordered" and (number or text or temporal):
        return None
    if takes == "number":
        return "but it takes numbers. Cast the column to a number first."
    if takes == "text":
        return "but it takes strings. Cast the column to a string first."
    return "but it takes numbers, booleans, strings, dates and timestamps. Cast the column to one of these first."


def resolve(field: FieldType, types: Sequence[pa.DataType]) -> Slot:
    """The NumPy type of a partial field.

    >>> resolve(VALUE, [pa.int32()]), resolve(float, []), resolve(str, [])
    (dtype('int32'), dtype('float64'), dtype('O'))
    """
    if isinstance(field, Placeholder):
        type_ = storage(types[field.column])
        plain = pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)
        return np.dtype(type_.to_pandas_dtype()) if plain else np.dtype(object)
    if isinstance(field, pa.DataType):
        return resolve(VALUE, [field])
    if field in (str, bytes, list, dict, tuple, object):
        return np.dtype(object)
    try:
        return np.dtype(field)
    except TypeError:
        raise SpecError(
            f"{field!r} is no type for a field of a partial. Use float, int, bool, str, object, a NumPy type or VALUE."
        ) from None


def resolve_identity(identity: Any, types: Sequence[pa.DataType]) -> tuple[Any, ...] | None:
    """The identity with its placeholders filled in; None where a type has no largest or smallest value.

    >>> resolve_identity((LARGEST,), [pa.int8()]), resolve_identity((LARGEST,), [pa.string()])
    ((127,), None)
    """
    if identity is None:
        return None
    parts = identity if isinstance(identity, tuple) else (identity,)
    filled = [_fill(part, types) if isinstance(part, Placeholder) else part for part in parts]
    return None if any(part is None for part in filled) else tuple(filled)


def _fill(part: Placeholder, types: Sequence[pa.DataType]) -> Any:
    slot = resolve(part, types)
    if slot.kind == "O":
        return "" if part.meaning == "zero" else None
    if part.meaning == "zero":
        return slot.type(0).item()
    largest = part.meaning == "largest"
    if slot.kind == "f":
        return math.nan if largest else -math.inf
    if slot.kind == "b":
        return largest
    limits = np.iinfo(slot)
    return int(limits.max if largest else limits.min)


_OUTPUTS = {float: pa.float64(), int: pa.int64(), bool: pa.bool_(), str: pa.string(), bytes: pa.binary()}


def output_type(returns: FieldType, types: Sequence[pa.DataType]) -> pa.DataType:
    """The Arrow type of a result.

    >>> output_type(int, []), output_type("float32", []), output_type(VALUE, [pa.date32()])
    (DataType(int64), DataType(float), DataType(date32[day]))
    """
    if isinstance(returns, Placeholder):
        return types[returns.column]
    if isinstance(returns, pa.DataType):
        return returns
    if isinstance(returns, type) and returns in _OUTPUTS:
        return _OUTPUTS[returns]
    try:
        return pa.type_for_alias(returns) if isinstance(returns, str) else pa.from_numpy_dtype(returns)
    except (ValueError, TypeError, pa.ArrowException):
        raise SpecError(
            f"{returns!r} is no type for a result. Use float, int, bool, str, a name such as 'float32', or a pyarrow "
            f"type."
        ) from None
