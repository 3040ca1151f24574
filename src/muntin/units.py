"""Lengths with units: `"10 seconds"`, `"1 hour 30 minutes"`, `"100 rows"`; times as int64 microseconds.

The measure of a window comes from the units of its lengths (paper 1, section 4.3).
"""

from __future__ import annotations

import datetime as dt
import numbers
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum

import numpy as np

from muntin.errors import SpecError

__all__ = [
    "MAX_TIME",
    "MIN_TIME",
    "Length",
    "Measure",
    "duration",
    "length",
    "microseconds",
    "moment",
    "number_of_bytes",
    "show_bytes",
    "show_duration",
]

MIN_TIME = -62_135_596_800_000_000
"""The first microsecond of year 1."""
MAX_TIME = 253_402_300_799_999_999
"""The last microsecond of year 9999."""

_UNITS = {"week": 604_800_000_000, "day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000,
          "second": 1_000_000, "millisecond": 1_000, "microsecond": 1}  # fmt: skip
_SHORT = {"w": "week", "d": "day", "h": "hour", "hr": "hour", "m": "minute", "min": "minute", "s": "second",
          "sec": "second", "ms": "millisecond", "us": "microsecond", "µs": "microsecond",
          "μs": "microsecond"}  # fmt: skip
_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_ROWS = {"row", "rows", "tuple", "tuples"}
_PART = re.compile(r"\s*([+-]?\d+(?:[._]\d+)*)\s*([A-Za-zµμ]+)\s*,?")
_KNOWN = "microseconds, milliseconds, seconds, minutes, hours, days, weeks or rows"
_LONGEST = MAX_TIME - MIN_TIME
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Measure(StrEnum):
    """What a window is measured in (paper 1, section 4.3).

    >>> length("100 rows", "size").measure is Measure.ROWS
    True
    """

    TIME = "time"
    ROWS = "rows"
    COLUMN = "column"


@dataclass(frozen=True)
class Length:
    """A length along a measure: microseconds of event time, rows, or units of another column.

    >>> str(Length(90_000_000, Measure.TIME))
    '1 minute 30 seconds'
    """

    amount: int
    measure: Measure

    def __str__(self) -> str:
        if self.measure is Measure.TIME:
            return show_duration(self.amount)
        if self.measure is Measure.ROWS:
            return "1 row" if self.amount == 1 else f"{self.amount} rows"
        return str(self.amount)


def length(value: object, what: str, on: str | None = None) -> Length:
    """Read a length; `on` names the column that a bare number is measured in.

    >>> length("1 hour 30 minutes", "size")
    Length(amount=5400000000, measure=<Measure.TIME: 'time'>)
    >>> length(5, "size", on="odometer")
    Length(amount=5, measure=<Measure.COLUMN: 'column'>)
    """
    if on is not None and not isinstance(on, str):
        raise SpecError(f"on= takes the name of a column, got {on!r}.")
    found = _length(value, what, on)
    if found.amount > _LONGEST:
        raise SpecError(f"{what}={value!r} is longer than all time from year 1 to 9999. Give a shorter length.")
    if found.amount <= 0:
        raise SpecError(f"{what} must be positive, got {value!r}. Give a length such as '10 seconds' or '100 rows'.")
    return found


def _length(value: object, what: str, on: str | None) -> Length:
    if isinstance(value, str):
        return _parse(value, what)
    if isinstance(value, dt.timedelta | np.timedelta64):
        return Length(_timedelta(value, what), Measure.TIME)
    if isinstance(value, bool) or not isinstance(value, numbers.Number):
        raise SpecError(
            f"{what} must be a length, got {value!r}. Use a text such as '10 seconds' or '100 rows', a timedelta, "
            f"or a number together with on='column'."
        )
    if on is None:
        raise SpecError(
            f"{what}={value!r} has no unit. Write '{value} seconds' or '{value} rows', or name the column that it "
            f"is measured in with on='column'."
        )
    if isinstance(value, numbers.Integral):
        return Length(int(value), Measure.COLUMN)
    if isinstance(value, float) and value.is_integer():
        return Length(int(value), Measure.COLUMN)
    raise SpecError(
        f"{what}={value!r} is not a whole number. Measures are integers: scale the column {on!r} and the length, for "
        f"instance to metres instead of kilometres."
    )


def duration(value: object, what: str) -> int:
    """Read a length of event time, zero allowed, in microseconds. A bare 0 needs no unit.

    >>> duration("250 ms", "disorder"), duration(0, "lateness")
    (250000, 0)
    """
    if isinstance(value, int) and not isinstance(value, bool) and value == 0:
        return 0
    found = _length(value, what, None)
    if found.measure is not Measure.TIME:
        raise SpecError(f"{what} is a length of time, got {value!r}. Give a duration such as '2 seconds'.")
    if found.amount < 0:
        raise SpecError(f"{what} must not be negative, got {value!r}. Use 0 or a duration such as '2 seconds'.")
    return found.amount


def microseconds(value: object, what: str) -> int:
    """A point in time as int64 microseconds since 1970 (UTC): a datetime or an integer.

    >>> microseconds(dt.datetime(1970, 1, 1, 0, 0, 1), "watermark")
    1000000
    """
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
        return (aware - _EPOCH) // dt.timedelta(microseconds=1)
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise SpecError(f"{what} must be a datetime or int64 microseconds, got {value!r}.")


def moment(micros: int) -> dt.datetime:
    """A point in time as a datetime in UTC; past the year 9999, the last moment of it.

    >>> moment(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return _EPOCH + dt.timedelta(microseconds=min(micros, MAX_TIME))


def number_of_bytes(value: object, what: str) -> int:
    """Read a number of bytes: `"2 GiB"`, `"500 MB"` or an integer.

    >>> number_of_bytes("2 GiB", "memory"), number_of_bytes("1.5 kB", "memory")
    (2147483648, 1500)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    if match and match[2] in _BYTES:
        found = int(Decimal(match[1]) * _BYTES[match[2]])
    else:
        found = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if found < 1:
        raise SpecError(f"{what} takes a number of bytes such as '2 GiB' ({', '.join(_BYTES)}), got {value!r}.")
    return found


def show_bytes(count: int) -> str:
    """A number of bytes as a text that `number_of_bytes` reads, rounded up.

    >>> show_bytes(2_147_483_648), show_bytes(1_700_000)
    ('2.0 GiB', '1.7 MiB')
    """
    name, size = next(((n, s) for n, s in reversed(_BYTES.items()) if "i" in n and count >= s), ("B", 1))
    return f"{count} B" if size == 1 else f"{-(-10 * count // size) / 10:.1f} {name}"


def show_duration(micros: int) -> str:
    """Microseconds as a text that `duration` reads back.

    >>> show_duration(5_400_000_000), show_duration(0)
    ('1 hour 30 minutes', '0 seconds')
    """
    if micros == 0:
        return "0 seconds"
    parts, rest = [], abs(micros)
    for unit, size in _UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}" + ("" if count == 1 else "s"))
    return ("-" if micros < 0 else "") + " ".join(parts)


def _parse(text: str, what: str) -> Length:
    time = rows = 0
    units: set[Measure] = set()
    position = 0
    while position < len(text.rstrip()):
        part = _PART.match(text, position)
        if part is None:
            raise SpecError(f"{what}={text!r} cannot be read as a length. Write a number and a unit: {_KNOWN}.")
        amount, unit = _number(part[1], text, what), part[2]
        position = part.end()
        if unit.lower() in _ROWS:
            units.add(Measure.ROWS)
            rows += _whole(amount, text, what)
            continue
        if unit == "M" or unit.lower().rstrip("s") in ("month", "mon", "quarter", "year", "y"):
            raise SpecError(
                f"{text!r}: a calendar {'month' if unit == 'M' else unit} has no fixed length. Use days, or a window "
                f"of your own for calendar months (see 'Writing your own' in the docs)."
            )
        name = _SHORT.get(unit.lower(), unit.lower().removesuffix("s"))
        if name not in _UNITS:
            raise SpecError(f"unknown unit {unit!r} in {text!r}. Use {_KNOWN}.")
        units.add(Measure.TIME)
        time += _whole(amount * _UNITS[name], text, what)
    if len(units) != 1:
        problem = "is empty" if not units else "mixes time and rows"
        raise SpecError(f"{what}={text!r} {problem}. Give one measure, such as '10 seconds' or '100 rows'.")
    return Length(time, Measure.TIME) if Measure.TIME in units else Length(rows, Measure.ROWS)


def _number(digits: str, text: str, what: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:
        raise SpecError(f"{what}={text!r}: {digits!r} is not a number.") from None


def _whole(amount: Decimal, text: str, what: str) -> int:
    whole = int(amount)
    if whole != amount:
        raise SpecError(f"{what}={text!r} is finer than a microsecond or a row. Use a whole number of them.")
    return whole


def _timedelta(value: dt.timedelta | np.timedelta64, what: str) -> int:
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(microseconds=1)
    if np.isnat(value):
        raise SpecError(f"{what} is not a time. Give a duration such as '10 seconds'.")
    return int(value.astype("timedelta64[us]").astype(np.int64))
