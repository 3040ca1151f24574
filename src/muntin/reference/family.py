"""Which windows exist, when each is due and when it is closed: the definitions, one class per family of windows.

A family answers four questions from all the events of one key that it has taken:

* `windows(events)`: the windows that exist;
* `due(window, events, watermark)`: whether the watermark has reached its end;
* `mark(...)`: up to where windows are closed, as of a watermark; `past(window, mark)`: whether a window is;
* `judge(event, mark)`: the closed windows that a new event misses, or None where it is in time.
"""

from __future__ import annotations

from typing import Any

from muntin.layout import BoundQuery, Layout
from muntin.reference.events import Event, Missed, Win

__all__ = ["Family"]


class Family:
    """What all families share; by itself a family goes by time and closes windows in the order of their ends."""

    takes_late = False
    """Whether an event that misses some windows still counts in others."""
    measure: str | None = None
    """The column of `on=`."""
    since: int | None = None
    """Where the query was added later: from when it is exact. It has only windows that start then or later."""

    def __init__(self, bound: BoundQuery, layout: Layout) -> None:
        self.window: Any = bound.window
        self.layout = layout
        self.lateness = layout.spec.lateness
        self.measure = getattr(self.window, "on", None)

    def windows(self, events: list[Event]) -> list[Win]:
        """The windows that exist, from all events taken, which come in order."""
        raise NotImplementedError

    def existing(self, events: list[Event]) -> list[Win]:
        """The windows that exist and start no earlier than the query."""
        return [win for win in self.windows(events) if self.since is None or win.start >= self.since]

    def before(self, event: Event) -> bool:
        """Whether an event is earlier than all windows of the query, so that it misses none."""
        return self.since is not None and event.time < self.since

    def ignores(self, event: Event) -> bool:
        """Whether an event is not looked at."""
        return self.before(event)

    def due(self, win: Win, events: list[Event], watermark: int) -> bool:
        """Whether a window is to be reported: the watermark has reached its end."""
        return win.end is not None and win.end <= watermark

    def mark(self, previous: Any, events: list[Event], wins: list[Win], watermark: int) -> Any:
        """Up to where windows are closed: the last end that the watermark has passed by the lateness."""
        ends = [win.end for win in wins if win.end is not None and win.end <= watermark - self.lateness]
        return max([*ends, *([] if previous is None else [previous])], default=None)

    def past(self, win: Win, mark: Any) -> bool:
        """Whether a window is closed as of a mark."""
        return win.end is not None and win.end <= mark

    def judge(self, event: Event, mark: Any) -> Missed | None:
        """What a new event misses."""
        return Missed(event.time, mark) if event.time < mark else None

    def reach(self, events: list[Event], watermark: int) -> int | None:
        """How far a key has come along the measure by a time: its largest value so far; for time, that time."""
        if self.measure is None:
            return watermark
        return max((self.along(e) for e in events if e.time <= watermark), default=None)

    def along(self, event: Event) -> int:
        """Where an event stands along the measure."""
        place = event.time if self.measure is None else event.measures[self.measure]
        assert place is not None  # an event without a measure is not taken
        return place
