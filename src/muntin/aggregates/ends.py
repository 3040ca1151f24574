"""The first and the last value of a window, and M4.

They carry time and order in their partial, so the order in which events come does not matter and none are kept.
Where time and order tie, `combine` keeps a's event before b's: engines combine in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from muntin.aggregates.base import Aggregate
from muntin.aggregates.extremes import rank
from muntin.aggregates.types import LARGEST, SMALLEST, VALUE, ZERO

__all__ = ["M4", "First", "Last"]

_NEVER, _EVER = 2**63 - 1, -(2**63)


class First(Aggregate):
    """The earliest value.

    >>> import muntin as mt
    >>> mt.first("speed")
    first('speed')
    """

    name = "first"
    partial = {"time": int, "order": int, "value": VALUE}
    identity = (_NEVER, _NEVER, ZERO)
    commutative, kind, selective, timed = True, "algebraic", True, True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any, time: Any, order: Any) -> Any:
        return time, order, value

    def combine(a: Any, b: Any) -> Any:
        if b.time < a.time or (b.time == a.time and b.order < a.order):
            return b.time, b.order, b.value
        return a.time, a.order, a.value

    def lower(p: Any) -> Any:
        return p.value

    def plain(values: Any) -> Any:
        return values[0]


class Last(Aggregate):
    """The latest value.

    >>> import muntin as mt
    >>> mt.last("speed")
    last('speed')
    """

    name = "last"
    partial = {"time": int, "order": int, "value": VALUE}
    identity = (_EVER, _EVER, ZERO)
    commutative, kind, selective, timed = True, "algebraic", True, True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any, time: Any, order: Any) -> Any:
        return time, order, value

    def combine(a: Any, b: Any) -> Any:
        if b.time > a.time or (b.time == a.time and b.order >= a.order):
            return b.time, b.order, b.value
        return a.time, a.order, a.value

    def lower(p: Any) -> Any:
        return p.value

    def plain(values: Any) -> Any:
        return values[-1]


class M4(Aggregate):
    """Smallest, largest, first and last value: what a line chart needs of a pixel column (paper 1, section 6.4).

    >>> import muntin as mt
    >>> mt.m4("speed").output([pa.int64()])
    StructType(struct<min: int64, max: int64, first: int64, last: int64>)
    """

    name = "m4"
    partial = {"min": VALUE, "max": VALUE, "first_time": int, "first_order": int, "first": VALUE,
               "last_time": int, "last_order": int, "last": VALUE}  # fmt: skip
    identity = (LARGEST, SMALLEST, _NEVER, _NEVER, ZERO, _EVER, _EVER, ZERO)
    commutative, kind, timed = True, "algebraic", True
    takes = "ordered"

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def output(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """A struct of the four."""
        return pa.struct([(name, types[0]) for name in ("min", "max", "first", "last")])

    def lift(value: Any, time: Any, order: Any) -> Any:
        return value, value, time, order, value, time, order, value

    def combine(a: Any, b: Any) -> Any:
        smaller = b.min < a.min or (a.min != a.min and b.min == b.min)
        larger = a.max < b.max or (b.max != b.max and a.max == a.max)
        low = b.min if smaller else a.min
        high = b.max if larger else a.max
        earlier = b.first_time < a.first_time or (b.first_time == a.first_time and b.first_order < a.first_order)
        later = b.last_time > a.last_time or (b.last_time == a.last_time and b.last_order >= a.last_order)
        first_time = b.first_time if earlier else a.first_time
        first_order = b.first_order if earlier else a.first_order
        first = b.first if earlier else a.first
        last_time = b.last_time if later else a.last_time
        last_order = b.last_order if later else a.last_order
        last = b.last if later else a.last
        return low, high, first_time, first_order, first, last_time, last_order, last

    def lower(p: Any) -> Any:
        return p.min, p.max, p.first, p.last

    def plain(values: Any) -> Any:
        return min(values, key=rank), max(values, key=rank), values[0], values[-1]
