"""Which context-free windows are due, and which an event is too late for (paper 1, section 5.3, step 3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muntin.windows import ContextFreeWindow, Cumulative, Sliding
from muntin.windows.base import ended

__all__ = ["due_windows", "last_end", "missed_windows", "needed_from"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def due_windows(window: ContextFreeWindow, low: int, high: int, slices: Int64s) -> tuple[Int64s, Int64s]:
    """Windows with `low < end <= high` that may hold one of the slices (given by their starts), by their ends.

    Between two slices there may be a gap of years, so windows are counted before they are listed.
    """
    if isinstance(window, Sliding):
        step, size, align = window.every.amount, window.size.amount, window.align
        if (high - low) // step <= 4 * len(slices) + 1000:
            return window.trigger(low, high)
        first, last = (slices - align - size) // step + 1, (slices - align) // step
        index = _expanded(first, last)
        starts = np.unique(index) * step + align
        ends = starts + size
    elif isinstance(window, Cumulative):
        step, size, align = window.every.amount, window.size.amount, window.align
        if (high - low) // step <= 4 * len(slices) + 1000:
            return window.trigger(low, high)
        block = (slices - align) // size
        first, last = (slices - align) // step + 1, (block + 1) * (size // step)
        ends = np.unique(_expanded(first, last)) * step + align
        starts = (ends - 1 - align) // size * size + align
    else:
        return ended(window, low, high)
    fits = (ends > low) & (ends <= high)
    return starts[fits], ends[fits]


def last_end(window: ContextFreeWindow, time: int) -> int:
    """The last end of a window that holds a time."""
    if isinstance(window, Sliding):
        return (time - window.align) // window.every.amount * window.every.amount + window.align + window.size.amount
    if isinstance(window, Cumulative):
        return (time - window.align) // window.size.amount * window.size.amount + window.align + window.size.amount
    return max((end for _, end in window.containing(time)), default=time)


def needed_from(window: ContextFreeWindow, mark: int) -> int:
    """The start of the first window that is open, where windows that end by the mark are closed."""
    if isinstance(window, Sliding):
        step, size, align = window.every.amount, window.size.amount, window.align
        return ((mark - size - align) // step + 1) * step + align
    if isinstance(window, Cumulative):
        return (mark - window.align) // window.size.amount * window.size.amount + window.align
    return min((start for start, end in window.containing(mark) if end > mark), default=mark)


def due_from(window: ContextFreeWindow, watermark: int) -> int:
    """From which start on all windows end after the watermark."""
    if isinstance(window, Cumulative):
        start = needed_from(window, watermark)
        return start if start + window.every.amount > watermark else start + window.size.amount
    return needed_from(window, watermark) if isinstance(window, Sliding) else watermark


def missed_windows(
    window: ContextFreeWindow, times: Int64s, mark: int, since: int | None = None, until: Int64s | None = None
) -> tuple[Bools, Int64s, Int64s]:
    """Which events miss a window that is closed, and from where to where those windows reach.

    Windows that start before `since` are not counted. Where events have a duration, `times` are their first moments
    and `until` their last ones.
    """
    until = times if until is None else until
    if isinstance(window, Sliding):
        step, size, align = window.every.amount, window.size.amount, window.align
        first, last = (times - align - size) // step + 1, (until - align) // step
        last = np.minimum(last, (mark - align - size) // step)
        if since is not None:
            first = np.maximum(first, -((align - since) // step))
        return first <= last, first * step + align, last * step + align + size
    if isinstance(window, Cumulative):
        step, size, align = window.every.amount, window.size.amount, window.align
        starts = (times - align) // size * size + align
        first = (times - align) // step * step + align + step
        last = np.minimum((until - align) // size * size + align + size, (mark - align) // step * step + align)
        return (first <= last) if since is None else (first <= last) & (starts >= since), starts, last
    late = np.zeros(len(times), np.bool_)
    starts, ends = np.zeros(len(times), np.int64), np.zeros(len(times), np.int64)
    for i in np.flatnonzero(times < mark):  # a user's own windows answer for one time at a time; only late ones ask
        closed = [bounds for bounds in window.containing(int(times[i])) if bounds[1] <= mark]
        closed = closed if since is None else [bounds for bounds in closed if bounds[0] >= since]
        if closed:
            late[i] = True
            starts[i], ends[i] = min(start for start, _ in closed), max(end for _, end in closed)
    return late, starts, ends


def _expanded(first: Int64s, last: Int64s) -> Int64s:
    """All integers of many inclusive ranges, one after the other."""
    counts = np.maximum(last - first + 1, 0)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    expanded: Int64s = np.arange(total) - np.repeat(ends - counts - first, counts)
    return expanded
