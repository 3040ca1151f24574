"""Columns in parts: the values of each part together, those of a part in the order in which they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["UNSIGNED", "scatter"]

UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""By their bytes: the types whose bits are moved."""

_IN = types.Array(types.int64, 1, "C", readonly=True)


def _signature(type_: Any) -> Any:
    return types.void(types.Array(type_, 1, "C", readonly=True), _IN, types.Array(type_, 1, "C"))


@njit(
    [_signature(type_) for type_ in (types.uint8, types.uint16, types.uint32, types.uint64)],
    cache=True,
    nogil=True,
    error_model="numpy",
)
def scatter(values, places, out):  # type: ignore[no-untyped-def]
    """Write each value to its place.

    Three columns of 131,072 numbers into two parts: 0.3 ms; Arrow's `take` by the order of the parts: 1.9.
    """
    for i in range(len(values)):
        out[places[i]] = values[i]
