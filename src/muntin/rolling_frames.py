"""Which windows `mt.rolling` has, and where they lie among the values."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.errors import FrameError
from muntin.units import length

__all__ = ["Frame", "regular", "timed", "unordered"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Frame:
    """All windows: how many, and of windows in time from where on; `moments` are then the times of the values."""

    count: int
    window: int
    every: int
    moments: Ints | None = None
    first: int = 0

    @functools.cached_property
    def starts(self) -> Ints | None:
        """Where windows in time start."""
        if self.moments is None:
            return None
        return np.arange(self.first, self.first + self.count * self.every, self.every)

    @property
    def slides(self) -> int:
        """The whole slides of a window."""
        return self.window // self.every

    @property
    def head(self) -> int:
        """How far a window reaches into one more slide."""
        return self.window % self.every

    @functools.cached_property
    def begin(self) -> Ints:
        """Before which value each slide begins, that of the last head included."""
        if self.moments is None:
            return np.arange(self.count + self.slides) * self.every
        return _placed(self.moments, self.first, self.every, self.count + self.slides)

    @functools.cached_property
    def divided(self) -> Ints:
        """Before which value the head of each slide ends."""
        if self.moments is None:
            return self.begin + self.head
        return _placed(self.moments, self.first + self.head, self.every, self.count + self.slides)

    def ranges(self) -> tuple[Ints, Ints]:
        """The values of each window: from, to."""
        ends = self.divided if self.head else self.begin
        return self.begin[: self.count], ends[self.slides :]

    def pieces(self) -> tuple[Ints, Ints, Ints]:
        """Cuts between pieces that no window divides, and the pieces of each window: from, to."""
        index = np.arange(self.count)
        if not self.head:
            return self.begin, index, index + self.slides
        cuts = np.stack([self.begin, self.divided], axis=1).ravel()
        return cuts, 2 * index, 2 * (index + self.slides) + 1


def _placed(moments: Ints, first: int, every: int, count: int) -> Ints:
    from muntin.kernels.columns import positions

    found = np.empty(count, np.int64)
    if positions(moments, 0, first, every, found, True) < 0:
        raise unordered()
    return found


def unordered() -> FrameError:
    """What is said of times that go back."""
    return FrameError("rolling takes times that do not go back. Sort the values by their times first.")


def regular(count: int, window: int, every: int) -> Frame:
    """Windows of so many values.

    >>> regular(10, 4, 3).count
    3
    """
    return Frame(max((count - window) // every + 1, 0), window, every)


def timed(times: Any, values: int, window: int, every: int, align: Any) -> Frame:
    """Windows in time that lie wholly between the first and the last of the times.

    >>> timed(np.array([0, 3, 9]), 3, window=4, every=2, align=0).starts
    array([0, 2, 4, 6])
    """
    moments = _moments(times)
    if len(moments) != values:
        raise FrameError(f"rolling has {values} values but {len(moments)} times. Give one for each.")
    shift = align if isinstance(align, int) else length(align, "align").amount
    if not len(moments):
        return Frame(0, window, every, moments)
    first = -((shift - int(moments[0])) // every) * every + shift
    frame = Frame(max((int(moments[-1]) + 1 - window - first) // every + 1, 0), window, every, moments, first)
    if not frame.count:
        _ = frame.begin  # no one else would ask whether times are in order
    return frame


def _moments(times: Any) -> Ints:
    """Times as microseconds, none of them missing."""
    if isinstance(times, pa.Array | pa.ChunkedArray):
        from muntin.columns import times as read_times

        chunked = times if isinstance(times, pa.ChunkedArray) else pa.chunked_array([times])
        if pa.types.is_integer(chunked.type):
            chunked = chunked.cast(pa.int64())
        if chunked.null_count:
            raise FrameError("rolling takes times without nulls. Drop those values first.")
        found = read_times(chunked, "times")
        return np.ascontiguousarray(found.micros)
    array = np.asarray(times)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise FrameError("rolling takes times without NaT. Drop those values first.")
        return np.ascontiguousarray(array.astype("datetime64[us]")).view(np.int64)
    if array.dtype.kind not in "iu":
        raise FrameError(f"times= are integers (microseconds) or datetime64, got {array.dtype}.")
    return np.ascontiguousarray(array, np.int64)
