"""Columns of times and of other measures, read as int64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import FrameError
from muntin.units import MAX_TIME, MIN_TIME

__all__ = ["Times", "as_numpy", "check_time", "measures", "time_zone", "times"]

_MS_PER_DAY = 86_400_000
_US_PER_DAY = 86_400_000_000
_US_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}


class Times(NamedTuple):
    """A time column as int64 microseconds since 1970, with two masks; a masked time is 0.

    `micros` may be a read-only view of the caller's memory.

    >>> times(pa.chunked_array([pa.array([1, None], pa.timestamp("s"))]), "ts").null.tolist()
    [False, True]
    """

    micros: npt.NDArray[np.int64]
    null: npt.NDArray[np.bool_]
    out_of_range: npt.NDArray[np.bool_]


def times(column: pa.ChunkedArray, name: str) -> Times:
    """Read a time column as int64 microseconds since 1970, the same for all kinds of times.

    Timestamps of any unit (nanoseconds are floored), dates (at midnight) and integers (taken as microseconds)
    are times; a time zone changes nothing, since such timestamps count from 1970 in UTC. A column without a
    type (all null, or empty) has only nulls. Times outside years 1 to 9999 are marked, not raised: what to
    do with one such row is the caller's choice. One chunk of microseconds without nulls is not copied.

    >>> times(pa.chunked_array([pa.array([-1, 1_999], pa.timestamp("ns"))]), "ts").micros.tolist()
    [-1, 1]
    >>> times(pa.chunked_array([[0.5]]), "ts")
    Traceback (most recent call last):
    ...
    muntin.errors.FrameError: column 'ts' of type double is no time. Cast it to a timestamp, to a date, or \
to integer microseconds.
    """
    kind = column.type
    check_time(kind, name)
    rows = len(column)
    no = np.zeros(rows, np.bool_)
    if pa.types.is_null(kind):
        return Times(np.zeros(rows, np.int64), np.ones(rows, np.bool_), no)
    is_ns = pa.types.is_timestamp(kind) and kind.unit == "ns"
    if pa.types.is_timestamp(kind):
        raw, scale = column.cast(pa.int64()), _US_PER_UNIT.get(kind.unit, 1)
    elif pa.types.is_date32(kind):
        raw, scale = column.cast(pa.int32()), _US_PER_DAY
    elif pa.types.is_date64(kind):
        raw, scale = column.cast(pa.int64()), _US_PER_UNIT["ms"]
    else:
        raw, scale = column, 1

    null = no
    if raw.null_count:
        null = as_numpy(raw.is_null())
        raw = pc.fill_null(raw, pa.scalar(0, raw.type))
    values = as_numpy(raw)
    if is_ns:
        # All int64 nanoseconds lie in years 1677 to 2262: there is no range to check.
        return Times(values // 1_000, null, no)

    # The range is checked in the column's own unit, so that what passes can be scaled without overflow.
    # Both bounds are whole days, hence exact in every unit.
    first, end = MIN_TIME // scale, (MAX_TIME + 1) // scale
    out = no
    bounds = pc.min_max(raw)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low < first or high >= end):
        out = (values < first) | (values >= end)
        values = np.where(out, values.dtype.type(0), values)
    values = values.astype(np.int64, copy=False)
    if pa.types.is_date64(kind):
        # Arrow asks for whole days in date64 but does not enforce them.
        values = values - values % _MS_PER_DAY
    return Times(values if scale == 1 else values * scale, null, out)


def check_time(kind: pa.DataType, name: str) -> None:
    """Raise a clear error where a column of this type is no time.

    >>> check_time(pa.timestamp("ms"), "ts")
    """
    types = pa.types
    if not (types.is_timestamp(kind) or types.is_date(kind) or types.is_integer(kind) or types.is_null(kind)):
        raise FrameError(
            f"column {name!r} of type {kind} is no time. Cast it to a timestamp, to a date, or to integer microseconds."
        )


def measures(column: pa.ChunkedArray, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """A column that windows are measured in, as int64 and a mask of nulls.

    Integers as they are, timestamps in microseconds, dates in days, decimals in units of their last digit.

    >>> import decimal
    >>> measures(pa.chunked_array([[decimal.Decimal("1.50"), None]]), "km")[0].tolist()
    [150, 0]
    """
    kind = column.type
    if pa.types.is_timestamp(kind):
        found = times(column, name)
        if found.out_of_range.any():
            raise FrameError(f"column {name!r} has times outside years 1 to 9999, so it cannot be a measure.")
        return found.micros, found.null
    if pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_decimal(kind):
        return _decimals(column, name)
    try:
        whole = column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise _too_wide(name, kind) from None
    return as_numpy(pc.fill_null(whole, 0)), as_numpy(whole.is_null())


def _decimals(column: pa.ChunkedArray, name: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Decimals are stored as integers of their last digit, in words of 64 bits: the lowest word is the value."""
    kind = column.type
    array = column.cast(pa.decimal256(76, kind.scale)).combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], pa.decimal256(76, kind.scale))
    null = np.asarray(array.is_null().to_numpy(zero_copy_only=False))
    if not len(array):
        return np.empty(0, np.int64), null
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 4)[array.offset : array.offset + len(array)]
    value = np.where(null, 0, words[:, 0])
    if (~null & (words[:, 1:] != (value >> 63)[:, None]).any(axis=1)).any():
        raise _too_wide(name, kind)
    return value, null


def _too_wide(name: str, kind: pa.DataType) -> FrameError:
    return FrameError(f"column {name!r} of type {kind} has values outside int64, so it cannot be a measure. Scale it.")


def time_zone(type: pa.DataType) -> str | None:
    """Give the time zone of a timestamp type; None when it has none or is no timestamp.

    >>> time_zone(pa.timestamp("us", "Europe/Paris"))
    'Europe/Paris'
    >>> time_zone(pa.int64()) is None
    True
    """
    if not pa.types.is_timestamp(type):
        return None
    zone: str | None = type.tz
    return zone


def as_numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Give a column without nulls as one numpy array, without a copy if one chunk holds all of it."""
    parts: list[npt.NDArray[Any]] = [chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks if len(chunk)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty(0, np.dtype(column.type.to_pandas_dtype()))
    return np.concatenate(parts)
