"""The smallest and the largest: the value, how often it occurs, and what goes with it.

NaN is larger than any number, as in Spark. A comparison is therefore written out: `x < y`, or y is NaN and x is not.
"""

from __future__ import annotations

from typing import Any

from muntin.aggregates.base import Aggregate
from muntin.aggregates.types import LARGEST, SECOND, SMALLEST, VALUE, ZERO, Placeholder

__all__ = ["ArgMax", "ArgMin", "Max", "MaxCount", "Min", "MinCount", "rank"]

_NEVER = 2**63 - 1


def rank(value: Any) -> tuple[bool, Any]:
    """A sort key by Spark's order: NaN is larger than any number and equal to itself.

    >>> sorted([float("nan"), 1.0, float("inf")], key=rank)
    [1.0, inf, nan]
    """
    return (True, 0.0) if value != value else (False, value)


class Min(Aggregate):
    """The smallest value.

    >>> import muntin as mt
    >>> mt.min("speed")
    min('speed')
    """

    name = "min"
    partial = {"value": VALUE}
    identity = (LARGEST,)
    commutative, kind, selective = True, "distributive", True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        return value

    def combine(a: Any, b: Any) -> Any:
        if b.value < a.value or (a.value != a.value and b.value == b.value):
            return b.value
        return a.value

    def lower(p: Any) -> Any:
        return p.value

    def plain(values: Any) -> Any:
        return min(values, key=rank)


class Max(Aggregate):
    """The largest value.

    >>> import muntin as mt
    >>> mt.max("speed")
    max('speed')
    """

    name = "max"
    partial = {"value": VALUE}
    identity = (SMALLEST,)
    commutative, kind, selective = True, "distributive", True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        return value

    def combine(a: Any, b: Any) -> Any:
        if a.value < b.value or (b.value != b.value and a.value == a.value):
            return b.value
        return a.value

    def lower(p: Any) -> Any:
        return p.value

    def plain(values: Any) -> Any:
        return max(values, key=rank)


class MinCount(Aggregate):
    """How often the smallest value occurs.

    >>> import muntin as mt
    >>> mt.min_count("speed")
    min_count('speed')
    """

    name = "min_count"
    partial = {"value": VALUE, "n": int}
    identity = (LARGEST, 0)
    commutative, kind = True, "algebraic"
    takes, returns = "ordered", int

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        return value, 1

    def combine(a: Any, b: Any) -> Any:
        if a.value == b.value or (a.value != a.value and b.value != b.value):
            return a.value, a.n + b.n
        if b.value < a.value or a.value != a.value:
            return b.value, b.n
        return a.value, a.n

    def lower(p: Any) -> Any:
        return p.n

    def plain(values: Any) -> Any:
        ranks = [rank(value) for value in values]
        return ranks.count(min(ranks))


class MaxCount(Aggregate):
    """How often the largest value occurs.

    >>> import muntin as mt
    >>> mt.max_count("speed")
    max_count('speed')
    """

    name = "max_count"
    partial = {"value": VALUE, "n": int}
    identity = (SMALLEST, 0)
    commutative, kind = True, "algebraic"
    takes, returns = "ordered", int

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        return value, 1

    def combine(a: Any, b: Any) -> Any:
        if a.value == b.value or (a.value != a.value and b.value != b.value):
            return a.value, a.n + b.n
        if a.value < b.value or b.value != b.value:
            return b.value, b.n
        return a.value, a.n

    def lower(p: Any) -> Any:
        return p.n

    def plain(values: Any) -> Any:
        ranks = [rank(value) for value in values]
        return ranks.count(max(ranks))


class ArgMin(Aggregate):
    """The value of one column where another is smallest; the earliest of several.

    >>> import muntin as mt
    >>> mt.arg_min("speed", by="altitude")
    arg_min('speed', by='altitude')
    """

    name = "arg_min"
    partial = {"by": SECOND, "time": int, "order": int, "value": VALUE}
    identity = (Placeholder("largest", 1), _NEVER, _NEVER, ZERO)
    commutative, kind, selective, timed = True, "algebraic", True, True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str, *, by: str) -> None:
        self._declare((column, by))

    def lift(value: Any, by: Any, time: Any, order: Any) -> Any:
        return by, time, order, value

    def combine(a: Any, b: Any) -> Any:
        if b.by < a.by or (a.by != a.by and b.by == b.by):
            return b.by, b.time, b.order, b.value
        same = a.by == b.by or (a.by != a.by and b.by != b.by)
        if same and (b.time < a.time or (b.time == a.time and b.order < a.order)):
            return b.by, b.time, b.order, b.value
        return a.by, a.time, a.order, a.value

    def lower(p: Any) -> Any:
        return p.value

    def plain(values: Any) -> Any:
        return min(values, key=lambda pair: rank(pair[1]))[0]

    def __repr__(self) -> str:
        return f"{self.name}({self.columns[0]!r}, by={self.columns[1]!r})"


class ArgMax(Aggregate):
    """The value of one column where another is largest; the earliest of several.

    >>> import muntin as mt
    >>> mt.arg_max("speed", by="altitude")
    arg_max('speed', by='altitude')
    """

    name = "arg_max"
    partial = {"by": SECOND, "time": int, "order": int, "value": VALUE}
    identity = (Placeholder("smallest", 1), _NEVER, _NEVER, ZERO)
    commutative, kind, selective, timed = True, "algebraic", True, True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str, *, by: str) -> None:
        self._declare((column, by))

    def lift(value: Any, by: Any, time: Any, order: Any) -> Any:
        return by, time, order, value

    def combine(a: Any, b: Any) -> Any:
        if a.by < b.by or (b.by != b.by and a.by == a.by):
            return b.by, b.time, b.order, b.value
        same = a.by == b.by or (a.by != a.by and b.by != b.by)
        if same and (b.time < a.time or (b.time == a.time and b.order < a.order)):
            return b.by, b.time, b.order, b.value
        return a.by, a.time, a.order, a.value

    def lower(p: Any) -> Any:
        return p.value

    def plain(values: Any) -> Any:
        return max(values, key=lambda pair: rank(pair[1]))[0]

    def __repr__(self) -> str:
        return f"{self.name}({self.columns[0]!r}, by={self.columns[1]!r})"
