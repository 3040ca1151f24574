"""The largest of many stretches of numbers."""

from __future__ import annotations

from numba import njit, types

__all__ = ["peaks"]

_i64 = types.int64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_INTS_OUT = types.Array(_i64, 1, "C")


@njit(types.void(_INTS, _INTS, _INTS, _INTS_OUT), cache=True, nogil=True, error_model="numpy")
def peaks(values, lo, hi, out):  # type: ignore[no-untyped-def]
    """Raise out[i] to the largest of the values lo[i] to hi[i]."""
    for i in range(len(lo)):
        top = out[i]
        for j in range(lo[i], hi[i]):
            top = max(top, values[j])
        out[i] = top
