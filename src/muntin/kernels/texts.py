"""Hashes of texts that lie end to end."""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["text_hashes"]

_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_INTS = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.uint64, 1, "C")


@njit(types.void(_BYTES, _INTS, types.int64, _OUT), cache=True, error_model="numpy")
def text_hashes(data, ends, first, found):  # type: ignore[no-untyped-def]
    """FNV-1a of the texts from number `first` on: text i reaches from ends[i] to ends[i + 1]."""
    for i in range(first, len(found)):
        value = np.uint64(0xCBF29CE484222325)
        for at in range(ends[i], ends[i + 1]):
            value = (value ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        found[i] = value
