"""Values rounded within a stated error, so that a codec has less to keep.

Floats are rounded to a multiple of a power of two, or to so many bits of their fraction: the bits below become zero,
and rounding what was rounded changes nothing. So the bound holds however often a value is compressed again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.errors import SpecError

__all__ = ["Loss", "loss_of", "losses_of"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Loss:
    """How far a value may be off: by an absolute number, or by a share of itself.

    >>> Loss(0.5).rounded(np.array([1.2, 7.7])).tolist(), Loss(0.01, relative=True).rounded(np.array([1000.3])).tolist()
    ([1.0, 8.0], [1000.0])
    """

    error: float
    relative: bool = False

    @property
    def given(self) -> float | str:
        """As it is written."""
        return f"{100 * self.error:g} %" if self.relative else self.error

    def rounded(self, values: Array) -> Array:
        """The values, each no further from what it was than stated; NaN and infinities stay.

        A relative error is for floats: integers stay as they are.
        """
        if values.dtype.kind == "f" and values.dtype.itemsize > 2:
            return self._relative(values) if self.relative else self._absolute(values)
        return self._integers(values) if values.dtype.kind == "i" and not self.relative else values

    def _absolute(self, values: Array) -> Array:
        exponent = math.frexp(2 * self.error)[1] - 1  # the largest power of two that is at most twice the error
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            near = np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent)
            right = np.abs(near - values) <= self.error  # not of NaN and infinities, nor of what over- or underflows
        return np.where(right, near, values)

    def _relative(self, values: Array) -> Array:
        unsigned: Any = np.uint64 if values.dtype.itemsize == 8 else np.uint32
        bits = 52 if values.dtype.itemsize == 8 else 23
        kept = max(0, math.ceil(-math.log2(self.error)) - 1)  # off by at most half of the last bit that is kept
        if kept >= bits:
            return values
        gone = unsigned(bits - kept)
        whole: Array = np.ascontiguousarray(values).view(unsigned)
        near = ((whole + (unsigned(1) << (gone - unsigned(1)))) >> gone << gone).view(values.dtype)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            right = np.abs(near - values) <= self.error * np.abs(values)  # not of subnormal numbers, nor at the ends
        return np.where(right, near, values)

    def _integers(self, values: Array) -> Array:
        step = 1 << (math.frexp(2 * self.error)[1] - 1) if self.error >= 1 else 1
        limits = np.iinfo(values.dtype)
        if step == 1 or step > limits.max // 2:
            return values
        inside = (values >= limits.min + step) & (values <= limits.max - step)
        near = (np.where(inside, values, 0) + values.dtype.type(step // 2)) // step * step
        rounded: Array = np.where(inside, near.astype(values.dtype), values)
        return rounded


def loss_of(given: object) -> Loss:
    """An error as it is written: a number is absolute, `"1 %"` is relative.

    >>> loss_of(0.5), loss_of("1 %")
    (Loss(error=0.5, relative=False), Loss(error=0.01, relative=True))
    """
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < math.inf:
        return Loss(float(given))
    if isinstance(given, str) and (match := re.fullmatch(r"\s*([0-9.]+(?:e-?[0-9]+)?)\s*%\s*", given)):
        try:
            share = float(match[1]) / 100
        except ValueError:
            share = 0
        if 0 < share < 1:
            return Loss(share, relative=True)
    raise SpecError(
        f"lossy={given!r} is no error bound. Give a number above 0 for an absolute error, as in lossy=0.5, or a share "
        f"below 100 % for a relative one, as in lossy='1 %'; or a dict of columns with either."
    )


def losses_of(given: object) -> Loss | dict[str, Loss] | None:
    """One error for all values, one for each of some columns, or None.

    >>> losses_of({"speed": "1 %"})
    {'speed': Loss(error=0.01, relative=True)}
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {str(name): loss_of(part) for name, part in given.items()}
    return loss_of(given)
