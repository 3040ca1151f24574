"""Events of the reference, and the windows made of them: plain Python objects."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Event", "Missed", "Win", "canonical"]

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Event:
    """One row: its time, its order among events of equal time, its values, and where it stands along `on=` columns."""

    time: int
    order: int
    arrival: int
    row: dict[str, Any]
    measures: dict[str, int | None]
    start: int | None = None
    """Where it has a duration: when it began. Then `time` is when it ended."""

    @property
    def stop(self) -> int:
        """The end of the time that it takes up: one without length is an instant of one microsecond."""
        assert self.start is not None
        return max(self.time, self.start + 1)

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it stands in the stream: by time, then by the order column, then by arrival."""
        return (self.time, self.order, self.arrival)


class Win(NamedTuple):
    """A window that exists: what identifies it, its bounds in time, its positions, and its events in order."""

    identity: tuple[Any, ...]
    start: int
    end: int | None
    rows: tuple[int, int] | None
    events: list[Event]


class Missed(NamedTuple):
    """The stretch of closed windows that a late event fell into; None where it has no bounds in time."""

    start: int | None
    end: int | None


def canonical(value: Any) -> Any:
    """A key value such that equal keys are equal: NaN equals NaN, and -0.0 equals 0.0.

    >>> canonical(math.nan) == canonical(math.nan), canonical(-0.0)
    (True, 0.0)
    """
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value
