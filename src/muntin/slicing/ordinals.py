"""Values as integers in the same order, and stretches of them as runs: sorted distinct values, and rows up to each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Counting", "from_ordinal", "ordinal"]

Int64s = npt.NDArray[np.int64]

LARGE = 256  # rows of a slice from which on a call of NumPy's sort of its own pays: it is vectorised
REST = 16  # how often values are sorted at once, after there were too many different ones to be counted

_SIGN = np.int64(np.iinfo(np.int64).max)


class Counting:
    """Makes runs of stretches of values: where few differ they are counted, else sorted.

    >>> found, upto, offsets = Counting().runs(np.array([5, 3, 5, 9]), np.array([0, 3]), np.array([3, 4]))
    >>> found.tolist(), upto.tolist(), offsets.tolist()
    ([3, 5, 9], [1, 3, 1], [0, 2])
    """

    def __init__(self) -> None:
        self._rest = 0
        self._table: Int64s | None = None

    def runs(self, values: Int64s, starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """Distinct values, rows up to each within its stretch, and where each stretch begins among them."""
        from muntin.kernels.selection import run_lengths
        from muntin.kernels.values import PLACES, count_values

        distinct, upto = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        offsets = np.empty(len(starts), np.int64)
        filled = -1
        if self._rest:
            self._rest -= 1
        else:
            if self._table is None:
                self._table, self._counts = np.empty(PLACES, np.int64), np.zeros(PLACES, np.int64)
            filled = count_values(values, starts, ends, self._table, self._counts, distinct, upto, offsets)
        if filled < 0:
            self._rest = self._rest or REST
            values = sort_stretches(values, starts, ends)
            filled = run_lengths(values, starts, ends, distinct, upto, offsets)
        return distinct[:filled], upto[:filled], offsets


def sort_stretches(values: Int64s, starts: Int64s, ends: Int64s) -> Int64s:
    """Each stretch of values sorted."""
    if len(starts) == 1:
        return np.sort(values)
    if len(values) >= LARGE * len(starts):
        # A call per slice with hundreds of rows: NumPy's vectorised sort is 6 times faster than one in Numba.
        parts = [np.sort(values[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        return np.concatenate(parts)
    stretch = np.repeat(np.arange(len(starts)), ends - starts)
    return values[np.lexsort((values, stretch))]


def ordinal(values: npt.NDArray[Any]) -> Int64s:
    """Numbers as integers in the same order: NaN the largest, -0.0 as 0.0.

    >>> ordinal(np.array([-1.5, -0.0, 0.0, 2.0, np.nan])).argsort().tolist()
    [0, 1, 2, 3, 4]
    """
    if values.dtype.kind == "f":
        from muntin.kernels.values import ordinals

        floats = np.ascontiguousarray(values, np.float64)
        found = np.empty(len(floats), np.int64)
        ordinals(floats, floats.view(np.int64), found)
        return found
    if values.dtype == np.uint64:
        return (values ^ np.uint64(1 << 63)).view(np.int64)
    return values.astype(np.int64)


def from_ordinal(values: Int64s, type_: pa.DataType) -> npt.NDArray[Any]:
    """The way back from `ordinal` for values of a type."""
    if pa.types.is_floating(type_):
        floats = np.where(values < 0, values ^ _SIGN, values).view(np.float64)
        return floats.astype(np.float32) if pa.types.is_float32(type_) else floats
    if pa.types.is_uint64(type_):
        return values.view(np.uint64) ^ np.uint64(1 << 63)
    return values.astype(np.bool_) if pa.types.is_boolean(type_) else values
