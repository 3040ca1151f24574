"""A sum that cannot be taken back: what an aggregate without `invert` costs (paper 1, section 6.3.2; Figure 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from muntin.aggregates.base import Bound
from muntin.aggregates.moments import IntegerSum, Sum

__all__ = ["SumWithoutInvert", "sum_without_invert"]


class SumWithoutInvert(Sum):
    """The sum, without `invert`."""

    name = "sum_without_invert"
    invert: Any = None

    def bind(self, types: Sequence[pa.DataType]) -> Bound:
        """As a sum of integers for integers and booleans."""
        if pa.types.is_floating(types[0]):
            return super().bind(types)
        self._check(self.columns[0], types[0])
        return _IntegersWithoutInvert(self.columns[0]).bind(types)


class _IntegersWithoutInvert(IntegerSum):
    name = "sum_without_invert"
    invert: Any = None


def sum_without_invert(column: str) -> SumWithoutInvert:
    """The sum of a column, as if no value could be subtracted.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling("2 rows"), total=sum_without_invert("x"))
    >>> spec.apply({"ts": [1, 2], "x": [3, 4]})["total"].to_pylist()
    [7]
    """
    return SumWithoutInvert(column)
