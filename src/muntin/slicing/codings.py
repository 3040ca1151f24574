"""Approximate aggregates as exact ones over coded columns: buckets, registers, or few values of each slice.

What an aggregate takes in place of its column is a column of another name, made from it on the way in. Everything after
that goes by names of columns, and so needs to know nothing of approximations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Bound
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Quantile
from muntin.aggregates.sketches import PLACES, ApproxCountDistinct, ApproxQuantile, float_bits, registers, rounded
from muntin.slicing.values import Column

__all__ = ["OTHERS", "BoundedHitters", "Registers", "Sketched", "is_coded", "largest", "replaced", "source_of"]

_MARK = "\x1f"  # between the name of a column and of its coding: no name that is typed has it
OTHERS = np.iinfo(np.int64).max
"""Stands behind the values of a run whose size is bounded, for the rows of those that went."""


class Registers(CountDistinct):
    """Distinct values, estimated from codes of registers and ranks."""

    name = "registers"


class BoundedHitters(HeavyHitters):
    """Heavy hitters of which a slice keeps at most so many."""

    name = "bounded_hitters"


def replaced(bound: Bound) -> Bound:
    """The exact aggregate over a coded column that stands for an approximate one; any other as it is.

    >>> import muntin as mt
    >>> replaced(mt.approx_quantile("x", 0.5).bind([pa.int64()])).aggregate.name
    'quantile'
    """
    aggregate = bound.aggregate
    if type(aggregate) is ApproxQuantile:
        return Quantile(f"{aggregate.columns[0]}{_MARK}r{aggregate.bits}", aggregate.share).bind([pa.float64()])
    if type(aggregate) is ApproxCountDistinct:
        return Registers(f"{aggregate.columns[0]}{_MARK}hll").bind([pa.int64()])
    if type(aggregate) is HeavyHitters and aggregate.approx:
        made = BoundedHitters(f"{aggregate.columns[0]}{_MARK}mg{aggregate.most}", aggregate.share, approx=True)
        return made.bind(bound.types)
    return bound


def source_of(name: str) -> str:
    """The column whose ranks a coded column holds; its own name where it holds none.

    >>> source_of("city"), source_of("city\\x1fmg20") == "city", source_of("city\\x1fhll") == "city"
    ('city', True, False)
    """
    column, mark, coding = name.partition(_MARK)
    return column if not mark or coding.startswith("mg") else name


def is_coded(name: str) -> bool:
    """Whether a column is coded, and so has summaries of bounded size.

    >>> is_coded("city"), is_coded("city\\x1fhll")
    (False, True)
    """
    return _MARK in name


def largest(name: str) -> int:
    """How many values the summary of a coded column has at most; of buckets as many as 16 doublings have.

    >>> largest("x\x1fmg20"), largest("x\x1fhll"), largest("x\x1fr6")
    (21, 4096, 1024)
    """
    coding = name.partition(_MARK)[2]
    if coding.startswith("mg"):
        return int(coding[2:]) + 1
    return 1 << PLACES if coding == "hll" else 16 << int(coding[1:])


class Sketched:
    """The coded columns that some aggregates need."""

    def __init__(self, bounds: Iterable[Bound]) -> None:
        names = {bound.aggregate.columns[0] for bound in bounds if bound.aggregate.columns}
        self._names = sorted(filter(is_coded, names))

    def added(self, given: Mapping[str, Column], ranked: Mapping[str, Column]) -> Mapping[str, Column]:
        """The columns of a batch, as they are and with ranks of texts, and those that are coded."""
        if not self._names:
            return ranked
        found = dict(ranked)
        for name in self._names:
            column, _, coding = name.partition(_MARK)
            found[name] = ranked[column] if coding.startswith("mg") else coded_column(given[column], coding)
        return found


def coded_column(column: Column, coding: str) -> Column:
    """A column as buckets (`r` and the bits) or as registers (`hll`)."""
    if coding.startswith("r"):
        return Column(pa.float64(), rounded(column.values, int(coding[1:])), column.valid)
    return Column(pa.int64(), registers(_bits(column)), column.valid)


def sketched(bound: Bound, column: Column) -> tuple[Bound, Column]:
    """The exact aggregate that stands for an approximate one, and its column."""
    over = replaced(bound)
    return over, coded_column(column, over.aggregate.columns[0].partition(_MARK)[2])


def _bits(column: Column) -> npt.NDArray[np.int64]:
    values: npt.NDArray[Any] = column.values
    if column.interner is not None:
        hashes = column.interner.hashes()
        return hashes[values] if len(hashes) else np.zeros(len(values), np.int64)
    if values.dtype.kind == "f":
        return float_bits(values)
    return values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64)
