"""Approximate aggregates of bounded size that merge exactly: quantiles and distinct values.

Both are holistic aggregates over fewer values: a value is replaced by the bucket, or the register, that it falls into,
and the buckets are counted like any values, in sorted runs with their counts. So partials merge, and can be subtracted
again, without further loss; the result does not depend on how a stream is cut into batches; and the size is bounded by
the number of buckets. In the words of paper 2, section 3.2.2, they are full-differential.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from muntin.aggregates.runs import CountDistinct, Quantile
from muntin.errors import SpecError

__all__ = [
    "ApproxCountDistinct",
    "ApproxQuantile",
    "estimated",
    "estimates",
    "register_of",
    "registers",
    "rounded",
    "text_hash",
]

Int64s = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

PLACES = 12  # bits of a hash that choose the register: 4,096 of them, for a standard error of 1.04 / 64
STANDARD_ERROR = 1.04 / math.sqrt(1 << PLACES)
RANKS = 64 - PLACES + 2  # those of a register: 0 where it is empty, and as many as there are other bits and one more
SHIFT = 6  # bits for a rank in a code


def rounded(values: npt.NDArray[Any], bits: int) -> Floats:
    """Values as the middle of the bucket that they fall into: 2**bits buckets between two powers of 2.

    The error is at most 2**-(bits + 1) of a value. Cutting bits off is exact arithmetic, so equal values fall into one
    bucket wherever they are computed, which a logarithm would not promise.

    >>> rounded(np.array([0.0, 1.0, 100.0, -100.0, np.inf]), 6).tolist()
    [0.0, 1.0078125, 100.5, -100.5, inf]
    """
    floats = np.ascontiguousarray(values, np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    rest = np.int64(1) << np.int64(52 - bits)
    middle: Floats = ((floats.view(np.int64) & ~(rest - 1)) | (rest >> 1)).view(np.float64)
    return np.where((floats == 0) | ~np.isfinite(floats), floats, middle)


class ApproxQuantile(Quantile):
    """The value at a share of the sorted values, each off by at most `error` of itself; of bounded size.

    Values are counted in buckets that grow with them, as in HDR histograms and DDSketch (Masson et al., 2019): with 1 %
    there are 64 between a number and its double. Between two values of unlike signs, the error is one of the larger.

    >>> import muntin as mt
    >>> mt.approx_quantile("speed", 0.95)
    approx_quantile('speed', share=0.95, error=0.01)
    """

    name = "approx_quantile"
    kind: ClassVar[Any] = "algebraic"

    def __init__(self, column: str, share: float, error: float = 0.01) -> None:
        if isinstance(error, bool) or not isinstance(error, int | float) or not 1e-6 <= error <= 0.25:
            raise SpecError(f"approx_quantile({column!r}, error={error!r}): an error lies in [0.000001, 0.25].")
        Quantile.__init__(self, column, share)
        self._declare((column,), share=float(share), error=float(error))
        self.error = float(error)
        self.bits = math.ceil(math.log2(1 / error)) - 1

    def lift(self, value: Any) -> Any:  # type: ignore[override]
        """The bucket of one value."""
        return (float(rounded(np.array([value]), self.bits)[0]),), (1,)

    def plain(self, values: Sequence[Any]) -> Any:
        """From the sorted buckets."""
        return super().plain(rounded(np.array(values, np.float64), self.bits).tolist())


def hashes(values: Int64s) -> npt.NDArray[np.uint64]:
    """64 bits that look random, of each number: the finaliser of splitmix64.

    >>> hashes(np.array([0, 1])).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    x = values.astype(np.int64, copy=False).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def text_hash(text: str) -> int:
    """64 bits of a text: FNV-1a over its bytes in UTF-8; `hashes` spreads them.

    >>> text_hash("")
    -3750763034362895579
    """
    found = 0xCBF29CE484222325
    for byte in text.encode():
        found = (found ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return found - (1 << 64) if found >> 63 else found


def registers(values: Int64s) -> Int64s:
    """For each number its register and rank as one code (Flajolet et al., HyperLogLog, 2007).

    The first bits of its hash choose the register; the rank is the place of the first 1 in the rest.

    >>> registers(np.array([0])).tolist()[0] >> 6
    3618
    """
    found = hashes(values)
    place = (found >> np.uint64(64 - PLACES)).astype(np.int64)
    rest = found << np.uint64(PLACES)
    # The exponent of a float tells the first bit that is 1; 11 bits are cut off, so that rounding moves none up.
    first = np.frexp((rest >> np.uint64(11)).astype(np.float64))[1].astype(np.int64)
    rank = np.minimum(np.where(first > 0, 54 - first, RANKS - 1), RANKS - 1)
    return np.asarray(place << SHIFT | rank)


def register_of(codes: Int64s) -> Int64s:
    """The registers of codes.

    >>> register_of(np.array([3618 << 6 | 2])).tolist()
    [3618]
    """
    return codes >> SHIFT


def estimated(window: Int64s, codes: Int64s, windows: int) -> Int64s:
    """How many distinct values there are in each window, from its codes, sorted within each window.

    >>> codes = np.unique(registers(np.arange(10_000)))
    >>> int(estimated(np.zeros(len(codes), np.int64), codes, 1)[0])
    9945
    """
    place, rank = register_of(codes), codes & ((1 << SHIFT) - 1)
    last = np.ones(len(codes), np.bool_)  # of a register the largest rank counts, and stands last
    last[:-1] = (window[1:] != window[:-1]) | (place[1:] != place[:-1])
    counts = np.bincount(window[last] * RANKS + rank[last], minlength=windows * RANKS).reshape(windows, RANKS)
    counts[:, 0] = (1 << PLACES) - counts[:, 1:].sum(axis=1)
    return estimates(counts)


def estimates(counts: Int64s) -> Int64s:
    """How many distinct values there are, from how many registers have each rank; a row for each window.

    The estimator of Ertl (New cardinality estimation algorithms for HyperLogLog sketches, 2017), which needs no tables
    and is right for few values and for many.

    >>> empty = np.zeros((1, RANKS), np.int64)
    >>> empty[0, 0] = 4_096
    >>> estimates(empty).tolist()
    [0]
    """
    many, largest = float(1 << PLACES), RANKS - 1
    z = many * _tau(1 - counts[:, largest] / many)
    for k in range(largest - 1, 0, -1):
        z = 0.5 * (z + counts[:, k])
    z += many * _sigma(counts[:, 0] / many)
    return np.asarray(np.rint(many * many / (2 * math.log(2)) / z), np.int64)


def _sigma(x: Floats) -> Floats:
    """x + sum of x**(2**k) * 2**(k - 1); infinite for 1, where no register is set."""
    whole = x == 1
    x = np.where(whole, 0.0, x)
    y, z, before = 1.0, x.copy(), np.full_like(x, -1.0)
    while (z != before).any():
        x, before = x * x, z
        z = z + x * y
        y += y
    return np.where(whole, np.inf, z)


def _tau(x: Floats) -> Floats:
    """(1 - x - sum of (1 - x**(2**-k))**2 * 2**-k) / 3."""
    y, z, before = 1.0, 1 - x, np.full_like(x, -1.0)
    while (z != before).any():
        x, before = np.sqrt(x), z
        y *= 0.5
        z = z - (1 - x) ** 2 * y
    return np.where((x == 0) | (x == 1), 0.0, z / 3)


class ApproxCountDistinct(CountDistinct):
    """About how many different values there are: a HyperLogLog of 4,096 registers, with a standard error of 1.6 %.

    >>> import muntin as mt
    >>> mt.approx_count_distinct("user")
    approx_count_distinct('user')
    """

    name = "approx_count_distinct"
    kind: ClassVar[Any] = "algebraic"

    def lift(self, value: Any) -> Any:  # type: ignore[override]
        """The register and rank of one value."""
        return (int(coded([value])[0]),), (1,)

    def lower(self, p: Any) -> Any:  # type: ignore[override]
        """From the largest rank of each register."""
        codes = np.array(p.values, np.int64)
        return int(estimated(np.zeros(len(codes), np.int64), codes, 1)[0])

    def plain(self, values: Sequence[Any]) -> Any:  # type: ignore[override]
        """From the largest rank of each register."""
        codes = np.unique(coded(values))
        return int(estimated(np.zeros(len(codes), np.int64), codes, 1)[0])


def coded(values: Sequence[Any]) -> Int64s:
    """The codes of plain values: texts by their hash, numbers by their bits; -0.0 is 0.0, and there is one NaN.

    >>> coded([0.0, -0.0]).tolist() == coded([0.0, 0.0]).tolist()
    True
    """
    if isinstance(values[0], str):
        return registers(np.array([text_hash(value) for value in values], np.int64))
    if isinstance(values[0], float):
        return registers(float_bits(np.array(values, np.float64)))
    return registers(
        np.array([value - (1 << 64) if value >> 63 == 1 else value for value in map(int, values)], np.int64)
    )


def float_bits(values: npt.NDArray[Any]) -> Int64s:
    """Floats as integers, equal where they are equal by Spark's rules.

    >>> float_bits(np.array([-0.0, np.nan])).tolist() == float_bits(np.array([0.0, -np.nan])).tolist()
    True
    """
    floats = np.ascontiguousarray(values, np.float64) + 0.0
    return np.where(np.isnan(floats), np.nan, floats).view(np.int64)
