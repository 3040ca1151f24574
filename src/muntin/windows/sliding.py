"""Tumbling and sliding windows, on time, rows or another column, or on a mix of two measures."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.errors import SpecError
from muntin.units import Length, Measure, duration, length, microseconds
from muntin.windows.base import ContextFreeWindow, Identity, Int64s, Window, WindowClass, show

__all__ = ["MixedSliding", "Sliding", "Tumbling", "sliding", "tumbling"]


@dataclass(frozen=True, repr=False)
class Sliding(ContextFreeWindow):
    """Windows `[k * every + align, k * every + align + size)` for every integer k; see `sliding`.

    >>> sliding("10 seconds", every="5 seconds").trigger(0, 10_000_000)
    (array([-5000000,        0]), array([ 5000000, 10000000]))
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
        """The next start or end after each time, by arithmetic."""
        step, start = self.every.amount, self.align
        next_start = time - (time - start) % step + step
        end = start + self.size.amount
        next_end = time - (time - end) % step + step
        return np.minimum(next_start, next_end)

    def trigger(self, previous: int, current: int) -> tuple[Int64s, Int64s]:
        """All windows with `previous < end <= current`."""
        step, end = self.every.amount, self.align + self.size.amount
        first = (previous - end) // step + 1
        last = (current - end) // step
        starts = np.arange(first, last + 1, dtype=np.int64) * step + self.align
        return starts, starts + self.size.amount

    def __repr__(self) -> str:
        align = show_align(self.align, self.measure)
        return show("sliding", [written(self.size)], {"every": written(self.every), "on": self.on, "align": align})


@dataclass(frozen=True, repr=False)
class Tumbling(Sliding):
    """Windows `[k * size + align, (k + 1) * size + align)`; see `tumbling`.

    >>> tumbling("10 seconds").next_edge(3)
    np.int64(10000000)
    """

    def __repr__(self) -> str:
        return show("tumbling", [written(self.size)], {"on": self.on, "align": show_align(self.align, self.measure)})


@dataclass(frozen=True, repr=False)
class MixedSliding(Window):
    """A sliding window whose size and slide differ in measure (paper 1, section 4.4; paper 2, Query 2).

    Where it slides by time, it ends at each `T = k * every + align` for which the key has an event in
    `[T - every, T)`. Where it slides by rows or by another column, it ends right after each distinct time at which
    the key's count of rows, or its column, reaches or passes a multiple of `every`. Of the events before its end it
    holds the last `size` rows; or those of the last `size` of time; or those whose column is within `size` of the
    largest one.

    >>> str(sliding("10 rows", every="5 seconds").window_class)
    'forward context aware'
    """

    size: Length
    every: Length
    align: int = 0
    on: str | None = None

    @property
    def window_class(self) -> WindowClass:
        """Forward context aware: the start is known only once the events up to the end are."""
        return WindowClass.FORWARD_CONTEXT_AWARE

    @property
    def measure(self) -> Measure:
        """Rows, where either length is: positions matter then."""
        return Measure.ROWS if Measure.ROWS in (self.size.measure, self.every.measure) else Measure.COLUMN

    @property
    def identity(self) -> Identity:
        """Its end."""
        return Identity.END

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of `on`."""
        return () if self.on is None else (self.on,)

    def __repr__(self) -> str:
        align = show_align(self.align, self.every.measure)
        return show("sliding", [written(self.size)], {"every": written(self.every), "on": self.on, "align": align})


def tumbling(size: object, *, on: str | None = None, align: object = None) -> Tumbling:
    """Windows of one size, one after the other.

    `size` is a length of time (`"1 minute"`), of rows (`"100 rows"`), or a number in the units of the column `on`.
    `align` shifts the windows.

    >>> tumbling("1 minute", align="15 seconds")
    tumbling('1 minute', align='15 seconds')
    """
    found = length(size, "size", on)
    if on is not None and found.measure is not Measure.COLUMN:
        raise unused_on(on, size)
    return Tumbling(found, found, aligned(align, found), on)


def sliding(size: object, *, every: object, on: str | None = None, align: object = None) -> Sliding | MixedSliding:
    """Windows of one size that start every so often; size and `every` may differ in measure.

    `sliding("1 hour", every="10 seconds")` slides over time, `sliding("100 rows", every="10 rows")` over rows,
    `sliding(10, every=1, on="odometer")` over another column. `sliding("10 rows", every="5 seconds")` gives, every
    5 seconds, the last 10 rows; `sliding("4 minutes", every="1 row")` gives, at every row, the last 4 minutes.

    >>> sliding("10 rows", every="5 seconds")
    sliding('10 rows', every='5 seconds')
    """
    wide, step = length(size, "size", on), length(every, "every", on)
    if on is not None and Measure.COLUMN not in (wide.measure, step.measure):
        raise unused_on(on, size)
    kind = Sliding if wide.measure is step.measure else MixedSliding
    return kind(wide, step, aligned(align, step), on)


def unused_on(on: str, size: object) -> SpecError:
    """The error for `on=` beside lengths that have units of their own."""
    return SpecError(
        f"on={on!r} goes with bare numbers, got {size!r}. Drop on=, or give the lengths as numbers in the units of "
        f"the column (microseconds for a timestamp, days for a date)."
    )


def aligned(align: object, step: Length) -> int:
    """The shift of a window along its measure, reduced to less than one step."""
    if align is None:
        return 0
    if step.measure is Measure.ROWS:
        raise SpecError(f"align={align!r}: rows are counted from the first of each key, so rows windows take no align.")
    if step.measure is Measure.COLUMN:
        if isinstance(align, bool) or not isinstance(align, int | np.integer):
            raise SpecError(f"align={align!r} must be a whole number in the units of the column.")
        return int(align) % step.amount
    if isinstance(align, str):
        text = align.strip()
        return (-duration(text[1:], "align") if text.startswith("-") else duration(text, "align")) % step.amount
    if isinstance(align, dt.timedelta):
        return align // dt.timedelta(microseconds=1) % step.amount
    return microseconds(align, "align") % step.amount


def written(value: Length) -> object:
    """A length as a user writes it: a number for another column, a text for the rest."""
    return value.amount if value.measure is Measure.COLUMN else str(value)


def show_align(align: int, measure: Measure) -> object:
    """The shift as a user writes it; None for none."""
    if align == 0:
        return None
    return str(Length(align, Measure.TIME)) if measure is Measure.TIME else align
