"""Sliding windows over an array by any aggregate with a partial of fixed size, a user's own included."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.fifo import slid
from muntin.final import refuse_without_inverse
from muntin.fused import fused

__all__ = ["over_cells"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


def over_cells(bound: Bound, values: Array, cuts: Ints, a: Ints, b: Ints, final: str) -> pa.Array:
    """The results of windows over pieces a to b; piece i holds the values cuts[i] to cuts[i + 1]. None is null.

    >>> import muntin as mt
    >>> bound = mt.stddev("x").bind([pa.float64()])
    >>> over_cells(bound, np.array([1.0, 2.0, 4.0]), np.arange(4), np.array([0, 1]), np.array([2, 3]), "blocks")
    <pyarrow.lib.DoubleArray object at ...>
    [
      0.7071067811865476,
      1.4142135623730951
    ]
    """
    from muntin.compile import compiled  # here, so that Numba is loaded where it is used
    from muntin.slicing.finish import finished

    functions = compiled(bound)
    assert functions is not None
    refuse_without_inverse(bound.aggregate, final)
    cells = fused([bound], nullable=[], spans=False)
    if final == "rescan":
        lo, hi = cuts[a], cuts[b]
        partials, counts = functions.fold(lo, hi, [values]), hi - lo
    else:
        partials, counts = functions.fold(cuts[:-1], cuts[1:], [values]), np.diff(cuts)
    state = cells.blank(len(counts))
    state[0] = counts
    for column, place in zip(partials, cells.places[0], strict=True):
        state[place] = column
    merged = state if final == "rescan" else slid(cells, final, a, b, state)
    return finished(cells, 0, bound, functions, merged)
