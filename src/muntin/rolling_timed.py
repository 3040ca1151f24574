"""Windows in time over plain numbers, in parts: what lies between times and results stays in the cache.

For each part it is found where its slides begin, they are aggregated (paper 4, section 3.2 (3)), and combined into
windows. As whole columns, the places, slides and counts took a third of the time: their memory, touched once, has to be
given by the system each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.kernels.columns import positions
from muntin.kernels.final.lane_text import Op
from muntin.rolling_frames import Frame, unordered
from muntin.rolling_lanes import pane_slider, ranged

__all__ = ["over_times"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PART = 32_768
"""Windows at a time: 16,384 took 6 % longer, 65,536 as well."""


def over_times(op: Op, values: Array, before: Ints | None, frame: Frame, final: str, out: Array) -> Mask | None:
    """Write the results of all windows; gives which have no value, None where all have one.

    `before` is how many values there are before each place; None: one at each.

    >>> frame = Frame(3, 4, 2, np.array([0, 1, 5, 9]), 0)
    >>> out = np.empty(3)
    >>> over_times(Op("sum", "float64", "float64"), np.array([1.0, 2.0, 4.0, 8.0]), None, frame, "blocks", out)
    >>> out.tolist()
    [3.0, 4.0, 4.0]
    """
    if final == "rescan" or not frame.slides:
        parts = _rescanned(op, values, frame, out)
    elif frame.head and final != "blocks":
        parts = _pieced(op, values, frame, final, out)
    else:
        parts = _shared(op, values, frame, final, out)
    empty: Mask | None = None
    room = np.empty(0, np.int64)
    for at, lo, hi in parts:
        room = room if len(room) >= len(lo) else np.empty(len(lo), np.int64)
        counts = room[: len(lo)]
        np.subtract(*((hi, lo) if before is None else (before[hi], before[lo])), out=counts)
        some = out[at : at + len(lo)]
        if op.name == "mean":
            with np.errstate(all="ignore"):
                np.divide(some, counts, out=some)
        if counts.min() == 0:  # `all` takes four times as long
            empty = np.zeros(frame.count, np.bool_) if empty is None else empty
            np.equal(counts, 0, out=empty[at : at + len(lo)])
    return empty


Parts = Iterator[tuple[int, Ints, Ints]]
"""Windows that are done: the number of the first, and the values of each, from and to."""


def _rescanned(op: Op, values: Array, frame: Frame, out: Array) -> Parts:
    lo, hi = frame.ranges()
    ranged(op, values, lo, hi, out)
    yield 0, lo, hi


def _pieced(op: Op, values: Array, frame: Frame, final: str, out: Array) -> Parts:
    """Only blocks take heads. For the others a slide is two pieces, so that every window has whole ones."""
    cuts, _, _ = frame.pieces()
    pieces = ranged(op, values, cuts[:-1], cuts[1:])
    found = np.empty(len(pieces) - 2 * frame.slides, op.wide)
    pane_slider(op, False, 2 * frame.slides + 1, final)(pieces, pieces[:0], found)
    out[:] = found[::2]
    yield 0, *frame.ranges()


def _shared(op: Op, values: Array, frame: Frame, final: str, out: Array) -> Parts:
    """The windows of each part from its slides; what the next part shares with it is kept."""
    count, size = frame.slides, min(max(PART, 8 * frame.slides), frame.count)
    edges, heads_end = _Edges(frame, 0), _Edges(frame, frame.slides * frame.every + frame.head)
    cuts, slides = np.empty(count + size, np.int64), np.empty(count - 1 + size, op.wide)
    room, ends = (np.empty(size if frame.head else 0, dtype) for dtype in (op.wide, np.int64))
    slide = pane_slider(op, frame.head > 0, count, final)
    edges.write(cuts[:count], False)
    ranged(op, values, cuts[: count - 1], cuts[1:count], slides[: count - 1])
    for at in range(0, frame.count, size):
        some = min(size, frame.count - at)
        last, hi = at + some == frame.count, cuts[count : count + some]
        edges.write(hi, last)
        ranged(op, values, cuts[count - 1 : count - 1 + some], hi, slides[count - 1 : count - 1 + some])
        heads = room[:some]
        if frame.head:
            hi = ends[:some]
            heads_end.write(hi, last)
            ranged(op, values, cuts[count : count + some], hi, heads)
        slide(slides[: count - 1 + some], heads, out[at : at + some])
        yield at, cuts[:some], hi
        slides[: count - 1] = slides[some : some + count - 1].copy()
        cuts[:count] = cuts[some : some + count].copy()


class _Edges:
    """Before which value edges lie, some at a time."""

    def __init__(self, frame: Frame, shift: int) -> None:
        assert frame.moments is not None
        self._moments, self._every = frame.moments, frame.every
        self._edge, self._at = frame.first + shift, 0

    def write(self, out: Ints, last: bool) -> None:
        """Those of the next edges; with the last ones all times are seen to be in order."""
        self._at = positions(self._moments, self._at, self._edge, self._every, out, last)
        if self._at < 0:
            raise unordered()
        self._edge += self._every * len(out)
