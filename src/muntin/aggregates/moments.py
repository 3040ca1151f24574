"""Sums and what is made of them: sum, mean, geometric mean, variance, standard deviation, centre of mass."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa

from muntin.aggregates.base import Aggregate, Bound
from muntin.errors import SpecError, SumOverflow

__all__ = ["CenterOfMass", "GeometricMean", "Mean", "Stddev", "Sum", "Var"]

_INT64 = range(-(2**63), 2**63)
_LOG_LARGEST = math.log(sys.float_info.max)


class Sum(Aggregate):
    """The sum: exact for integers and booleans, float64 for floats.

    An integer sum outside int64 is an error; `overflow="null"` makes it null instead and keeps a stream alive.

    >>> import muntin as mt
    >>> mt.sum("amount", overflow="null")
    sum('amount', overflow='null')
    """

    name = "sum"
    partial = {"total": float}
    identity: ClassVar[Any] = (0.0,)
    commutative, kind = True, "distributive"

    def __init__(self, column: str, *, overflow: str = "error") -> None:
        if overflow not in ("error", "null"):
            raise SpecError(f"sum({column!r}, overflow={overflow!r}): overflow is 'error' or 'null'.")
        self._declare((column,), overflow=None if overflow == "error" else overflow)

    def bind(self, types: Sequence[pa.DataType]) -> Bound:
        """As `IntegerSum` for integers and booleans."""
        if not isinstance(self, IntegerSum) and not pa.types.is_floating(types[0]):
            self._check(self.columns[0], types[0])
            return IntegerSum(self.columns[0], overflow=str(self.params["overflow"] or "error")).bind(types)
        return super().bind(types)

    def lift(value: Any) -> Any:
        return value

    def combine(a: Any, b: Any) -> Any:
        return a.total + b.total

    def invert(a: Any, b: Any) -> Any:
        return a.total - b.total

    def lower(p: Any) -> Any:
        return p.total

    def plain(values: Any) -> Any:
        return sum(values) if isinstance(values[0], int) else float_sum(values)


class IntegerSum(Sum):
    """A sum in two words of 32 bits and more, so that no intermediate result overflows.

    >>> bound = Sum("n").bind([pa.int64()])
    >>> bound.lower(bound.combine(bound.lift(2**63 - 1), bound.lift(-5))) == 2**63 - 6
    True
    """

    name = "sum"
    partial = {"high": int, "low": int}
    identity: ClassVar[Any] = (0, 0)
    returns = int

    def lift(value: Any) -> Any:
        return value >> 32, value & 0xFFFFFFFF

    def combine(a: Any, b: Any) -> Any:
        low = a.low + b.low
        return a.high + b.high + (low >> 32), low & 0xFFFFFFFF

    def invert(a: Any, b: Any) -> Any:
        low = a.low - b.low
        return a.high - b.high + (low >> 32), low & 0xFFFFFFFF

    def lower(p: Any) -> Any:
        return (p.high << 32) + p.low

    def fails(p: Any) -> bool:
        return bool(p.high >= 2**31 or p.high < -(2**31))

    def settle(self, value: Any) -> Any:
        """The value, where it fits int64."""
        if value is None or value in _INT64:
            return value
        if self.params["overflow"] == "null":
            return None
        raise SumOverflow(
            f"{self!r} is {value}, which is outside int64. Use sum({self.columns[0]!r}, overflow='null') to get null "
            f"there, or cast the column to float64."
        )


class Mean(Aggregate):
    """The arithmetic mean.

    >>> import muntin as mt
    >>> mt.mean("speed")
    mean('speed')
    """

    name = "mean"
    partial = {"total": float, "n": int}
    identity = (0.0, 0)
    commutative, kind = True, "algebraic"

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        return value, 1

    def combine(a: Any, b: Any) -> Any:
        return a.total + b.total, a.n + b.n

    def invert(a: Any, b: Any) -> Any:
        return a.total - b.total, a.n - b.n

    def lower(p: Any) -> Any:
        return p.total / p.n

    def plain(values: Any) -> Any:
        return float_sum(values) / len(values)


class GeometricMean(Aggregate):
    """The n-th root of the product: 0 where a value is 0, NaN where one is negative.

    >>> import muntin as mt
    >>> mt.geometric_mean("growth")
    geometric_mean('growth')
    """

    name = "geometric_mean"
    partial = {"logs": float, "n": int}
    identity = (0.0, 0)
    commutative, kind = True, "algebraic"

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        if value > 0:
            return math.log(value), 1
        return (-math.inf if value == 0 else math.nan), 1

    def combine(a: Any, b: Any) -> Any:
        return a.logs + b.logs, a.n + b.n

    def invert(a: Any, b: Any) -> Any:
        return a.logs - b.logs, a.n - b.n

    def lower(p: Any) -> Any:
        log = p.logs / p.n
        # rounding may lift the mean of logs of huge values past what exp can take
        return math.exp(_LOG_LARGEST if _LOG_LARGEST < log < math.inf else log)

    def plain(values: Any) -> Any:
        logs = [math.log(v) if v > 0 else -math.inf if v == 0 else math.nan for v in values]
        log = float_sum(logs) / len(logs)
        return math.exp(_LOG_LARGEST if _LOG_LARGEST < log < math.inf else log)


class Var(Aggregate):
    """The sample variance; null for one value.

    The partial is combined as in Chan, Golub and LeVeque's parallel algorithm, which does not cancel.

    >>> import muntin as mt
    >>> mt.var("speed")
    var('speed')
    """

    name = "var"
    partial = {"n": int, "mean": float, "m2": float}
    identity = (0, 0.0, 0.0)
    commutative, kind = True, "algebraic"
    least = 2

    def __init__(self, column: str) -> None:
        self._declare((column,))

    def lift(value: Any) -> Any:
        # value - value is 0, but NaN for NaN and the infinities, whose variance is NaN
        return 1, value, value - value

    def combine(a: Any, b: Any) -> Any:
        # beside no values nothing is computed: the square of a huge mean is infinite, and times 0 that is NaN
        if a.n == 0:
            return b.n, b.mean, b.m2
        if b.n == 0:
            return a.n, a.mean, a.m2
        n = a.n + b.n
        delta = b.mean - a.mean
        return n, a.mean + delta * (b.n / n), a.m2 + b.m2 + delta * delta * (a.n * (b.n / n))

    def invert(a: Any, b: Any) -> Any:
        n = a.n - b.n
        if n == 0:
            return 0, 0.0, 0.0
        if b.n == 0:
            return a.n, a.mean, a.m2
        mean = a.mean + (a.mean - b.mean) * (b.n / n)
        delta = b.mean - mean
        m2 = a.m2 - b.m2 - delta * delta * (n * (b.n / a.n))
        return n, mean, (0.0 if m2 < 0.0 else m2)

    def lower(p: Any) -> Any:
        return p.m2 / (p.n - 1)

    def plain(values: Any) -> Any:
        return variance(values)


class Stddev(Var):
    """The sample standard deviation; null for one value.

    >>> import muntin as mt
    >>> mt.stddev("speed")
    stddev('speed')
    """

    name = "stddev"

    def lower(p: Any) -> Any:
        return math.sqrt(p.m2 / (p.n - 1))

    def plain(values: Any) -> Any:
        return math.sqrt(variance(values))


class CenterOfMass(Aggregate):
    """The mean of one column weighted by another (paper 2, section 3.2.1); NaN where the masses add up to 0.

    >>> import muntin as mt
    >>> mt.center_of_mass("position", mass="load")
    center_of_mass('position', mass='load')
    """

    name = "center_of_mass"
    partial = {"moment": float, "mass": float}
    identity = (0.0, 0.0)
    commutative, kind = True, "algebraic"

    def __init__(self, column: str, *, mass: str) -> None:
        self._declare((column, mass))

    def lift(value: Any, mass: Any) -> Any:
        return float(value) * mass, float(mass)

    def combine(a: Any, b: Any) -> Any:
        return a.moment + b.moment, a.mass + b.mass

    def invert(a: Any, b: Any) -> Any:
        return a.moment - b.moment, a.mass - b.mass

    def lower(p: Any) -> Any:
        return p.moment / p.mass if p.mass != 0 else math.nan

    def plain(values: Any) -> Any:
        mass = float_sum([m for _, m in values])
        return float_sum([float(x) * m for x, m in values]) / mass if mass != 0 else math.nan

    def __repr__(self) -> str:
        return f"{self.name}({self.columns[0]!r}, mass={self.columns[1]!r})"


def float_sum(values: Sequence[Any]) -> float:
    """The correctly rounded sum; NaN and the infinities spread as in IEEE arithmetic.

    >>> float_sum([1e16, 1.0, -1e16]), float_sum([math.inf, -math.inf])
    (1.0, nan)
    """
    if all(math.isfinite(value) for value in values):
        try:
            return math.fsum(values)
        except OverflowError:
            # too large on the way, but perhaps not at the end
            return math.fsum(value / 2**60 for value in values) * 2.0**60
    return sum(float(value) for value in values if not math.isfinite(value))


def variance(values: Sequence[Any]) -> float:
    """The sample variance by exact fractions; NaN where a value is not finite.

    >>> variance([1.0, 2.0, 4.0])
    2.3333333333333335
    """
    if not all(math.isfinite(value) for value in values):
        return math.nan
    try:
        return float(statistics.variance([statistics.Fraction(value) for value in values]))  # type: ignore[attr-defined]
    except OverflowError:
        return math.inf
