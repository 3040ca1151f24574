"""What covers each of some slices: one by one where few cells cover few, by halves where cells are long.

A cell that covers a million slices of which windows are due is not looked at a million times: it stands for whole
stretches of them, aligned to powers of two, and these are handed down, from the longest to the shortest.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muntin.fused import Fused
from muntin.slicing.slices import Partials

__all__ = ["covering"]

Int64s = npt.NDArray[np.int64]

OFTEN = 16  # looks per cell and place, from which on stretches pay


def covering(
    fused: Fused, state: Partials, row: Int64s, lo: Int64s, hi: Int64s, width: int, rows: int, items: Int64s
) -> Partials:
    """A table of `rows` times `width` partials: each of the items that cover columns lo to hi of their row, as one."""
    from muntin.spanning.release import placed

    looks = int((hi - lo).sum())
    if looks <= OFTEN * (len(row) + rows * width):
        return placed(fused, state, row, lo, hi, width, rows, items)
    top = max(width - 1, 1).bit_length()
    wide = 1 << top
    above: Partials | None = None
    for level in range(top, -1, -1):
        # Of each item the stretches of this length at its two ends: what lies between them longer ones hold.
        size = wide >> level
        first, stop = -(-lo >> level), hi >> level
        left = np.flatnonzero((first < stop) & (first & 1 == 1))
        right = np.flatnonzero((first + (first & 1) < stop) & (stop & 1 == 1))
        index = np.concatenate([left, right])
        at = np.concatenate([first[left], stop[right] - 1])
        found = placed(fused, state, row[index], at, at + 1, size, rows, items[index])
        above = found if above is None else _handed_down(fused, above, found, size, rows)
    assert above is not None
    where = (np.arange(rows)[:, None] * wide + np.arange(width)).reshape(-1)
    return [column[where] for column in above]


def _handed_down(fused: Fused, above: Partials, found: Partials, size: int, rows: int) -> Partials:
    """Each stretch with what covers the one that it is half of."""
    both = [np.concatenate([one, other]) for one, other in zip(above, found, strict=True)]
    here = np.arange(rows * size)
    parent = here // size * (size // 2) + here % size // 2
    index = np.stack([parent, here + len(above[0])], axis=1).reshape(-1)
    at = np.arange(0, len(index), 2)
    return fused.merge_gather(at, at + 2, index, both)
