"""What covers each of some slices: a cell over many of them is one range update, whatever its length.

In general a cell goes into the few nodes of a tree that make up the slices it covers. Where all aggregates allow it
there is a faster way: sums that are exact when subtracted go by differences, added where a cell begins and taken away
where it ends, and selective aggregates take any stretch as two of a power of two, which may overlap.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from muntin.aggregates.counting import Count
from muntin.aggregates.extremes import ArgMax, ArgMin, Max, Min
from muntin.aggregates.moments import IntegerSum
from muntin.fused import Fused, fused
from muntin.slicing.slices import Partials

__all__ = ["covered"]

Int64s = npt.NDArray[np.int64]

MOST = 1 << 22  # places of all levels of a table
_SUMS, _SELECTIVE = (Count, IntegerSum), (Min, Max, ArgMin, ArgMax)
_WORD = 0xFFFFFFFF

_parted: WeakKeyDictionary[Fused, tuple[Fused, list[int]] | None] = WeakKeyDictionary()


def covered(
    cells: Fused, state: Partials, stretches: tuple[Int64s, Int64s, Int64s, Int64s], rows: int, width: int
) -> tuple[Partials, int, int]:
    """A table of what covers each of `width` places of some rows; where row 0 begins in it, and how far rows are apart.

    `stretches` are rows, first places, ends and which cells of the state they have.
    """
    row, lo, hi, items = stretches
    levels = int((hi - lo).max(initial=1)).bit_length()
    part = _part(cells)
    if part is None or levels * rows * width > MOST:
        wide = 1 << max(width - 1, 0).bit_length()
        return cells.cover(row, lo, hi, items, rows, wide, state), wide, 2 * wide
    from muntin.kernels.spanning import differences

    selective, columns = part
    found: Partials = [np.zeros(0, column.dtype) for column in state]
    if selective.bounds:
        best = selective.cover_twice(row, lo, hi, items, rows, width, levels, [state[at] for at in columns])
        for at, column in zip(columns, best, strict=True):
            found[at] = column
    sums = {0, *cells.counts}
    for bound, place in zip(cells.bounds, cells.places, strict=True):
        sums.update(place if isinstance(bound.aggregate, IntegerSum) else ())
    for at in sums:
        out = np.zeros(rows * width + 1, np.int64)
        differences(row, lo, hi, items, rows, width, state[at], out)
        found[at] = out[:-1]
    for high, low in {place for b, place in zip(cells.bounds, cells.places, strict=True) if b.aggregate.name == "sum"}:
        found[high] = found[high] + (found[low] >> 32)
        found[low] = found[low] & _WORD
    none = np.zeros(rows * width, np.int64)
    return [column if len(column) else none for column in found], 0, width


def _part(cells: Fused) -> tuple[Fused, list[int]] | None:
    """The selective aggregates on their own, and which columns of all they have; None where one is of neither kind."""
    if cells in _parted:
        return _parted[cells]
    found = None
    if all(type(bound.aggregate) in _SUMS + _SELECTIVE for bound in cells.bounds):
        some = [i for i, bound in enumerate(cells.bounds) if type(bound.aggregate) in _SELECTIVE]
        part = fused([cells.bounds[i] for i in some], cells.nullable, spans=False)
        columns = list(range(len(part.slots)))
        for i, count, place in zip(some, part.counts, part.places, strict=True):
            columns[count] = cells.counts[i]
            for mine, other in zip(place, cells.places[i], strict=True):
                columns[mine] = other
        found = part, columns
    _parted[cells] = found
    return found
