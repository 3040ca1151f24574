"""The rows of a table by bucket, those of a bucket in the order in which they came."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.parting import UNSIGNED, scatter
from muntin.kernels.rows_events import place_by_key
from muntin.slicing.values import dtype_of, read, to_arrow

__all__ = ["parted"]

Int64s = npt.NDArray[np.int64]


def parted(table: pa.Table, which: Int64s) -> dict[int, pa.Table]:
    """The rows of each bucket that has some; `which` is the bucket of each row.

    >>> rows = pa.table({"x": [1, 2, 3], "word": ["a", "b", "c"]})
    >>> {bucket: part.to_pylist() for bucket, part in parted(rows, np.array([1, 0, 1])).items()}
    {0: [{'x': 2, 'word': 'b'}], 1: [{'x': 1, 'word': 'a'}, {'x': 3, 'word': 'c'}]}
    """
    if not table.num_rows:
        return {}
    first = int(which[0])
    if (which == first).all():
        return {first: table}
    starts, places = np.zeros(int(which.max()) + 2, np.int64), np.empty(len(which), np.int64)
    place_by_key(which, 0, starts, places)
    order: pa.Array | None = None
    columns = []
    for column in table.columns:
        moved = _moved(column, places)
        if moved is None:
            if order is None:
                order = pa.array(_inverse(places))
            moved = column.take(order)
        columns.append(moved)
    whole = pa.table(columns, schema=table.schema)
    there = np.flatnonzero(starts[1:] > starts[:-1])
    return {int(b): whole.slice(int(starts[b]), int(starts[b + 1] - starts[b])) for b in there}


def _moved(column: pa.ChunkedArray, places: Int64s) -> pa.Array | None:
    """A column of plain numbers or times without nulls, each in its place; None: Arrow has to move it."""
    dtype = dtype_of(column.type)
    if dtype is None or dtype.kind == "b" or column.null_count:
        return None
    values, _ = read(column, dtype)
    bits = UNSIGNED[dtype.itemsize]
    out = np.empty(len(values), dtype)
    scatter(values.view(bits), places, out.view(bits))
    return to_arrow(out, None, column.type)


def _inverse(places: Int64s) -> Int64s:
    order = np.empty(len(places), np.int64)
    order[places] = np.arange(len(places))
    return order
