"""Cumulative windows: they start together and grow step by step until the next ones start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.errors import SpecError
from muntin.units import Length, Measure, length
from muntin.windows.base import ContextFreeWindow, Identity, Int64s, show
from muntin.windows.sliding import aligned, show_align, unused_on, written

__all__ = ["Cumulative", "cumulative"]


@dataclass(frozen=True, repr=False)
class Cumulative(ContextFreeWindow):
    """Windows `[k * size + align, k * size + align + j * every)` for j = 1 ... size / every; see `cumulative`.

    >>> cumulative("3 seconds", every="1 second").trigger(0, 3_000_000)
    (array([0, 0, 0]), array([1000000, 2000000, 3000000]))
    """

    size: Length
    every: Length
    align: int = 0
    on: str | None = None

    @property
    def measure(self) -> Measure:
        """Of size and `every` alike."""
        return self.size.measure

    @property
    def identity(self) -> Identity:
        """Its time bounds, or its positions where it is measured in rows or in another column."""
        return Identity.BOUNDS if self.measure is Measure.TIME else Identity.POSITIONS

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of `on`."""
        return () if self.on is None else (self.on,)

    def next_edge(self, time: Any) -> Any:
        """The next step after each time."""
        step = self.every.amount
        return time - (time - self.align) % step + step

    def trigger(self, previous: int, current: int) -> tuple[Int64s, Int64s]:
        """All windows with `previous < end <= current`."""
        step, size = self.every.amount, self.size.amount
        first, last = (previous - self.align) // step + 1, (current - self.align) // step
        ends = np.arange(first, last + 1, dtype=np.int64) * step + self.align
        starts = (ends - 1 - self.align) // size * size + self.align
        return starts, ends

    def __repr__(self) -> str:
        options = {"every": written(self.every), "on": self.on, "align": show_align(self.align, self.measure)}
        return show("cumulative", [written(self.size)], options)


def cumulative(size: object, *, every: object, on: str | None = None, align: object = None) -> Cumulative:
    """Windows that start every `size` and are reported after each `every`, until they are full.

    This is Flink's CUMULATE: totals of the day so far, every hour.

    >>> cumulative("1 day", every="1 hour")
    cumulative('1 day', every='1 hour')
    """
    wide, step = length(size, "size", on), length(every, "every", on)
    if wide.measure is not step.measure:
        raise SpecError(
            f"cumulative(size={size!r}, every={every!r}) mixes two measures. Give both in time, in rows or in the "
            f"same column."
        )
    if on is not None and wide.measure is not Measure.COLUMN:
        raise unused_on(on, size)
    if wide.amount % step.amount:
        raise SpecError(
            f"every={every!r} does not divide size={size!r}. Choose a step that fits a whole number of times."
        )
    return Cumulative(wide, step, aligned(align, wide), on)
