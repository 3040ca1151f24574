"""Session windows: stretches of activity with no gap longer than a limit."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.errors import SpecError
from muntin.units import Length, Measure, length
from muntin.windows.base import Identity, Window, WindowClass, show
from muntin.windows.sliding import unused_on, written

__all__ = ["Session", "session"]


@dataclass(frozen=True, repr=False)
class Session(Window):
    """Events at most `gap` apart, `[first, last + gap)`; see `session`.

    >>> Session(Length(8_000_000, Measure.TIME)).cell
    1000000
    """

    gap: Length
    on: str | None = None

    @property
    def cell(self) -> int:
        """The width of the cells that a slicer adds: an eighth of the gap, so that no slice is longer than it."""
        return max(1, self.gap.amount // 8)

    @property
    def window_class(self) -> WindowClass:
        """Forward context aware: whether a session ends at a time is known only from later events."""
        return WindowClass.FORWARD_CONTEXT_AWARE

    @property
    def measure(self) -> Measure:
        """Of the gap."""
        return self.gap.measure

    @property
    def identity(self) -> Identity:
        """Its start."""
        return Identity.START

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of `on`."""
        return () if self.on is None else (self.on,)

    @property
    def mergeable(self) -> bool:
        """Sessions only merge, extend or start in a gap."""
        return True

    def __repr__(self) -> str:
        return show("session", [written(self.gap)], {"on": self.on})


def session(gap: object, *, on: str | None = None) -> Session:
    """Sessions: a window lasts as long as events are at most `gap` apart, exactly `gap` included, as in Spark.

    >>> session("30 seconds")
    session('30 seconds')
    """
    found = length(gap, "gap", on)
    if found.measure is Measure.ROWS:
        raise SpecError(
            f"gap={gap!r}: rows follow each other without gaps. Give a length of time, or a number with on=."
        )
    if on is not None and found.measure is not Measure.COLUMN:
        raise unused_on(on, gap)
    return Session(found, on)
