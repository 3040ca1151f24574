"""Counting rows and values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from muntin.aggregates.base import Aggregate

__all__ = ["Count"]


class Count(Aggregate):
    """The number of rows, `count()`, or of values that are not null, `count("speed")`.

    >>> import muntin as mt
    >>> mt.count(), mt.count("speed")
    (count(), count('speed'))
    """

    name = "count"
    partial = {"n": int}
    identity = (0,)
    commutative, kind = True, "distributive"
    takes, returns, least = "any", int, 0

    def __init__(self, column: str | None = None) -> None:
        self._declare(() if column is None else (column,))

    def _check(self, column: str, type_: pa.DataType) -> None:
        """Values of any type can be counted."""

    def lift(*values: Any) -> Any:
        return 1

    def combine(a: Any, b: Any) -> Any:
        return a.n + b.n

    def invert(a: Any, b: Any) -> Any:
        return a.n - b.n

    def lower(p: Any) -> Any:
        return p.n

    def plain(values: Any) -> Any:
        return len(values)
