"""From cells to windows: the release of Algorithms 4 and 8, for all windows that are due and all keys at once.

An event that overlaps a slice is in exactly one cell that covers it. So a window is what ended in its slices but the
last, and all cells that cover the last one, whether their events end or go on. That is Table 3 with its slip mended:
a slice that a later one of the window follows gives only what ended in it, and from the last slice on both parts count.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from muntin.fifo import slid
from muntin.fused import Fused
from muntin.slicing.slices import Partials
from muntin.spanning.covering import covered

__all__ = ["Cells", "merged"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LONG = 32  # slices per window from which on windows are combined one from the other
TABLE = 1 << 20  # places of the tables that are filled at a time


class Cells(NamedTuple):
    """Cells as columns: their key, their first and their last slice, and whether their events end in that one."""

    key: Int64s
    lo: Int64s
    hi: Int64s
    ends: Bools


def merged(fused: Fused, state: Partials, cells: Cells, a: Int64s, b: Int64s) -> tuple[Int64s, Int64s, Partials]:
    """Windows over slices a to b: which window and key, and the partials; those without events left out."""
    first, stop = int(a.min()), int(b.max())
    items = np.flatnonzero((cells.hi >= first) & (cells.lo < stop))
    if not len(items):
        return items, items, fused.new(0)
    key, lo, hi, ends = cells.key[items], cells.lo[items], cells.hi[items], cells.ends[items]
    owners, row = _owners(key)
    last, place = np.unique(b - 1, return_inverse=True)
    width = stop - first + 4 * len(last)
    rows = max(TABLE // width, 1)
    if len(owners) <= rows:
        parts = [_rows(fused, state, (row, lo, hi, ends, items), len(owners), a - first, b - first, first, last, place)]
    else:  # a few keys at a time
        parts = []
        order = np.argsort(row, kind="stable")
        cuts = np.searchsorted(row[order], np.arange(0, len(owners) + rows, rows))
        for i, (begin, end) in enumerate(itertools.pairwise(cuts)):
            some = order[begin:end]
            count = min(rows, len(owners) - i * rows)
            picked = (row[some] - i * rows, lo[some], hi[some], ends[some], items[some])
            which, here, found = _rows(fused, state, picked, count, a - first, b - first, first, last, place)
            parts.append((which, here + i * rows, found))
    if len(parts) == 1:
        which, here, found = parts[0]
    else:
        which, here = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        found = [np.concatenate(columns) for columns in zip(*(part[2] for part in parts), strict=True)]
    return which, owners[here], found


def _owners(key: Int64s) -> tuple[Int64s, Int64s]:
    """The distinct keys, and the place of each among them."""
    if not len(key) or (key == key[0]).all():
        return key[:1], np.zeros(len(key), np.int64)
    owners, row = np.unique(key, return_inverse=True)
    return owners, row


def _rows(
    fused: Fused,
    state: Partials,
    cells: tuple[Int64s, Int64s, Int64s, Bools, Int64s],
    rows: int,
    a: Int64s,
    b: Int64s,
    first: int,
    last: Int64s,
    place: Int64s,
) -> tuple[Int64s, Int64s, Partials]:
    """The windows of some keys, each of which is a row; of slices `first` is number 0."""
    row, lo, hi, ends, items = cells
    width = int(b.max())
    # How many of the last slices of windows lie before each slice: what a cell covers of them.
    marked = np.zeros(width + 1, np.int64)
    marked[last - first + 1] = 1
    before = np.cumsum(marked)
    low, high = before[np.clip(lo - first, 0, width)], before[np.clip(hi + 1 - first, 0, width)]
    over, head, apart = covered(fused, state, (row, low, high, items), rows, len(last))
    at = np.arange(rows)
    which = np.repeat(np.arange(len(a)), rows)
    tops = (place[:, None] + head + at * apart).reshape(-1)
    if int((b - a).max()) == 1:
        found = [column[tops] for column in over]
    else:
        done = np.flatnonzero(ends & (hi < first + width) & (hi >= first))
        ended = fused.merge_into(row[done] * width + hi[done] - first, items[done], rows * width, state)
        begin, stop = ((side[:, None] + at * width).reshape(-1) for side in (a, b - 1))
        found = _combined(fused, ended, over, begin, stop, tops, rows)
    some = np.flatnonzero(found[0])
    if len(some) == len(which):
        return which, np.tile(at, len(a)), found
    return which[some], np.tile(at, len(a))[some], [column[some] for column in found]


def _combined(
    fused: Fused, ended: Partials, over: Partials, begin: Int64s, stop: Int64s, tops: Int64s, rows: int
) -> Partials:
    total = int((stop - begin).sum())
    if total < LONG * len(begin):
        headed, index = np.ones(len(begin), np.int64), np.arange(len(ended[0]))
        return fused.merge_headed(tops, headed, begin, stop, index, over, ended)
    # Row by row, so that windows only move on, as the final aggregation of paper 4 wants them.
    lo, hi = (side.reshape(-1, rows).T.reshape(-1) for side in (begin, stop))
    inside = [column.reshape(rows, -1).T.reshape(-1) for column in slid(fused, "blocks", lo, hi, ended)]
    both = [np.concatenate([one, other]) for one, other in zip(inside, over, strict=True)]
    index = np.stack([np.arange(len(begin)), tops + len(begin)], axis=1).reshape(-1)
    at = np.arange(0, len(index), 2)
    return fused.merge_gather(at, at + 2, index, both)
