"""The families of windows: which windows exist, when each is due and when it is closed. `Family` says how to ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.layout import BoundQuery, Layout
from muntin.reference.events import Event, Missed, Win
from muntin.reference.family import Family
from muntin.units import Measure
from muntin.windows import (
    Context,
    ContextAwareWindow,
    ContextFreeWindow,
    Cumulative,
    Events,
    Frame,
    MixedSliding,
    Punctuated,
    Session,
    Sliding,
)
from muntin.windows.base import NEVER, as_windows

__all__ = ["family"]


class Fixed(Family):
    """Windows known in advance, along time or another column: tumbling, sliding, cumulative, a user's own."""

    takes_late = True

    def containing(self, at: int) -> list[tuple[int, int]]:
        """All windows that contain a point, straight from the definitions."""
        window = self.window
        if isinstance(window, Cumulative):
            start = (at - window.align) // window.size.amount * window.size.amount + window.align
            ends = range(start + window.every.amount, start + window.size.amount + 1, window.every.amount)
            return [(start, end) for end in ends if at < end]
        if isinstance(window, Sliding):
            size, every = window.size.amount, window.every.amount
            last = (at - window.align) // every
            first = (at - window.align - size) // every + 1
            return [(k * every + window.align, k * every + window.align + size) for k in range(first, last + 1)]
        found: list[tuple[int, int]] = window.containing(at)
        return found

    def holding(self, event: Event) -> list[tuple[int, int]]:
        """All windows that an event is in: those that contain its time, or overlap its span."""
        if event.start is None:
            return self.containing(self.along(event))
        window = self.window
        size, every, align = window.size.amount, window.every.amount, window.align
        length = size if isinstance(window, Cumulative) else every  # from one start to the next
        first = (event.start - align - size) // length
        last = (event.stop - align) // length
        starts = [k * length + align for k in range(first, last + 1)]
        bounds = [(start, start + size) for start in starts]
        if isinstance(window, Cumulative):
            bounds = [(start, end) for start in starts for end in range(start + every, start + size + 1, every)]
        return [(start, end) for start, end in bounds if start < event.stop and event.start < end]

    def windows(self, events: list[Event]) -> list[Win]:
        """Each window that contains at least one event."""
        found: dict[tuple[int, int], list[Event]] = {}
        for event in events:
            for bounds in self.holding(event):
                found.setdefault(bounds, []).append(event)
        if self.measure is None:
            return [Win(bounds, *bounds, None, held) for bounds, held in found.items()]
        return [Win(bounds, held[0].time, held[-1].time + 1, bounds, held) for bounds, held in found.items()]

    def due(self, win: Win, events: list[Event], watermark: int) -> bool:
        """The key has come to the end of the window."""
        reach = self.reach(events, watermark)
        return reach is not None and win.identity[1] <= reach

    def mark(self, previous: Any, events: list[Event], wins: list[Win], watermark: int) -> Any:
        """How far the key had come by the watermark less the lateness."""
        return self.reach(events, watermark - self.lateness)

    def past(self, win: Win, mark: Any) -> bool:
        """Its end is reached."""
        return bool(win.identity[1] <= mark)

    def judge(self, event: Event, mark: Any) -> Missed | None:
        """The closed windows that contain it, from the start of the first to the end of the last."""
        closed = [(start, end) for start, end in self.holding(event) if end <= mark]
        if self.since is not None and self.measure is None:
            closed = [(start, end) for start, end in closed if start >= self.since]
        if not closed:
            return None
        if self.measure is not None:
            return Missed(None, None)
        return Missed(min(start for start, _ in closed), max(end for _, end in closed))


class Sessions(Family):
    """Events at most `gap` apart, along time or another column; watermarks are rounded down to a cell."""

    def ignores(self, event: Event) -> bool:
        """In time none is ignored: an event before the start may be the beginning of a session that goes on."""
        return self.measure is not None and self.before(event)

    def rounded(self, at: int | None) -> int | None:
        """Down to the edge of a cell."""
        return None if at is None else at // self.window.cell * self.window.cell

    def windows(self, events: list[Event]) -> list[Win]:
        """Runs of events with no gap longer than the limit."""
        runs: list[list[Event]] = []
        for event in sorted(events, key=self.along):
            if runs and self.along(event) - self.along(runs[-1][-1]) <= self.window.gap.amount:
                runs[-1].append(event)
            else:
                runs.append([event])
        return [self._session(run) for run in runs]

    def _session(self, run: list[Event]) -> Win:
        start, end = self.along(run[0]), self.along(run[-1]) + self.window.gap.amount
        held = sorted(run, key=lambda event: event.place)
        if self.measure is None:
            return Win((start,), start, end, None, held)
        return Win((start,), held[0].time, held[-1].time + 1, (start, end), held)

    def due(self, win: Win, events: list[Event], watermark: int) -> bool:
        """The rounded watermark is past the end: an event exactly at the end would still belong."""
        reach = self.rounded(self.reach(events, watermark))
        return reach is not None and self._end(win) < reach

    def mark(self, previous: Any, events: list[Event], wins: list[Win], watermark: int) -> Any:
        """The watermark less the lateness, rounded."""
        return self.rounded(self.reach(events, watermark - self.lateness))

    def past(self, win: Win, mark: Any) -> bool:
        """The mark is past the end."""
        return self._end(win) < int(mark)

    def _end(self, win: Win) -> int:
        end = win.end if win.rows is None else win.rows[1]
        assert end is not None
        return end

    def judge(self, event: Event, mark: Any) -> Missed | None:
        """Late before the mark; it misses the session that it would have begun."""
        if self.along(event) >= mark:
            return None
        if self.measure is not None:
            return Missed(None, None)
        return Missed(event.time, event.time + self.window.gap.amount)


class SpanSessions(Sessions):
    """Sessions of events with a duration: a gap lies between the end of one and the start of the next."""

    def windows(self, events: list[Event]) -> list[Win]:
        """Runs of events, each of which begins at most a gap after all before it have ended."""
        runs: list[list[Event]] = []
        for event in sorted(events, key=lambda e: (e.start, e.place)):
            assert event.start is not None
            if runs and event.start - max(e.time for e in runs[-1]) <= self.window.gap.amount:
                runs[-1].append(event)
            else:
                runs.append([event])
        return [self._of(run) for run in runs]

    def _of(self, run: list[Event]) -> Win:
        start, end = min(e.start for e in run if e.start is not None), max(e.time for e in run)
        return Win((start,), start, end + self.window.gap.amount, None, sorted(run, key=lambda e: e.place))

    def judge(self, event: Event, mark: Any) -> Missed | None:
        """Late where it began before the mark: it might have been part of a session that is closed."""
        assert event.start is not None
        return None if event.start >= mark else Missed(event.start, event.time + self.window.gap.amount)


class Rows(Family):
    """Windows over positions: tumbling, sliding and cumulative in rows."""

    def windows(self, events: list[Event]) -> list[Win]:
        """Every window all of whose positions are taken."""
        wins = []
        for run in runs_of(events, self.layout.spec.idle):
            for start, end in self._positions(len(run)):
                held = run[start:end]
                identity = (run[0].time, start, end) if self.layout.spec.idle is not None else (start, end)
                wins.append(Win(identity, held[0].time, held[-1].time + 1, (start, end), held))
        return wins

    def _positions(self, n: int) -> Iterable[tuple[int, int]]:
        size, every = self.window.size.amount, self.window.every.amount
        if isinstance(self.window, Cumulative):
            return [
                (start, end)
                for start in range(0, n, size)
                for end in range(start + every, min(start + size, n) + 1, every)
            ]
        return [(start, start + size) for start in range(0, n - size + 1, every)]

    def mark(self, previous: Any, events: list[Event], wins: list[Win], watermark: int) -> Any:
        """The place of the last event of a closed window, or the time up to which positions are final without one."""
        bound = watermark - self.lateness
        places: list[Any] = [w.events[-1].place for w in wins if w.end is not None and w.end <= bound]
        final = self._final(events, bound)
        if final is not None:
            places.append((final, math.inf, math.inf))
        return max([*places, *([] if previous is None else [previous])], default=None)

    def _final(self, events: list[Event], bound: int) -> int | None:
        """The last time of which no event takes a position any more, whatever windows are open.

        A run is over when the watermark, less the lateness, has left it behind by more than `idle`: no event that is in
        time can belong to it. Without a run that goes on all before is over, so that a silent key can be forgotten.
        """
        idle = self.layout.spec.idle
        if idle is None:
            return None
        runs = runs_of(events, idle)
        over = [run[-1].time for run in runs if run[-1].time + idle < bound]
        if len(over) == len(runs):
            return bound - 1
        return over[-1] + idle if over else None

    def past(self, win: Win, mark: Any) -> bool:
        """Its last event stands no later."""
        return bool(win.events[-1].place <= mark)

    def judge(self, event: Event, mark: Any) -> Missed | None:
        """Late before the last event of a closed window, or where positions are final; it takes no position."""
        return Missed(event.time, mark[0] + 1) if event.place < mark else None


class Mixed(Family):
    """Size and slide in two measures: ends by the slide, contents by the size, among the events before the end."""

    def windows(self, events: list[Event]) -> list[Win]:
        """One window for each end."""
        found = []
        for run in runs_of(events, self.layout.spec.idle):
            found += [self._window(run, end) for end in self._ends(run)]
        # Two runs share an end only where a window slides by time: it looks back on the later run.
        return list({win.identity: win for win in found}.values())

    def _ends(self, run: list[Event]) -> list[int]:
        every, align = self.window.every.amount, self.window.align
        if self.window.every.measure is Measure.TIME:
            return sorted({(event.time - align) // every * every + align + every for event in run})
        ends, before = [], self._multiple(run[:0], run[0])
        for time in sorted({event.time for event in run}):
            reached = self._multiple([event for event in run if event.time <= time], run[0])
            if reached > before:
                ends.append(time + 1)
            before = reached
        return ends

    def _multiple(self, so_far: list[Event], first: Event) -> int:
        """How many multiples of the slide are reached; a column begins just below its first value."""
        if self.window.every.measure is Measure.ROWS:
            return int(len(so_far) // self.window.every.amount)
        top = max((self.along(event) for event in so_far), default=self.along(first) - 1)
        return int((top - self.window.align) // self.window.every.amount)

    def _window(self, run: list[Event], end: int) -> Win:
        before, size = [event for event in run if event.time < end], self.window.size.amount
        n = len(before)
        rows: tuple[int, int] | None
        if self.window.size.measure is Measure.ROWS:
            held = before[-size:]
            rows = (n - len(held), n)
        elif self.window.size.measure is Measure.TIME:
            held = [event for event in before if event.time >= end - size]
            rows = (n - len(held), n) if self.window.every.measure is Measure.ROWS else None
        else:
            top = max(self.along(event) for event in before)
            held = [event for event in before if self.along(event) > top - size]
            rows = (top - size + 1, top + 1)
        if self.window.size.measure is Measure.TIME:
            return Win((end,), end - size, end, rows, held)
        return Win((end,), held[0].time, end, rows, held)

    def mark(self, previous: Any, events: list[Event], wins: list[Win], watermark: int) -> Any:
        """Where it slides by time, the watermark less the lateness; else the last end of a closed window."""
        if self.window.every.measure is Measure.TIME:
            return watermark - self.lateness
        return super().mark(previous, events, wins, watermark)

    def judge(self, event: Event, mark: Any) -> Missed | None:
        """Late where the first window that would hold it is closed; it takes no position."""
        if self.window.every.measure is not Measure.TIME:
            return super().judge(event, mark)
        every, align = self.window.every.amount, self.window.align
        end = (event.time - align) // every * every + align + every
        return Missed(event.time, end) if end <= mark else None


class Marked(Family):
    """Windows cut by the data: punctuated, frames, a user's own context-aware ones."""

    def mark(self, previous: Any, events: list[Event], wins: list[Win], watermark: int) -> Any:
        """The last closed end; without an open window all that is before the watermark less the lateness is closed."""
        closed, bound = super().mark(previous, events, wins, watermark), watermark - self.lateness
        if any(win.end is None or win.end > bound for win in wins):
            return closed
        return bound if closed is None else max(closed, bound)


class Punctuations(Marked):
    """Cut at each mark, or from start marks to end marks."""

    def windows(self, events: list[Event]) -> list[Win]:
        """The stretches between punctuations that hold at least one event."""
        if not events:
            return []
        if self.window.mark is not None:
            cuts = sorted({events[0].time} | {event.time for event in events if event.row[self.window.mark]})
            bounds: list[tuple[int, int | None]] = list(zip(cuts, [*cuts[1:], None], strict=True))
        else:
            bounds = self._pairs(events)
        return [win for start, end in bounds if (win := between(events, start, end)).events]

    def _pairs(self, events: list[Event]) -> list[tuple[int, int | None]]:
        starts = sorted({event.time for event in events if event.row[self.window.start]})
        ends = sorted({event.time for event in events if event.row[self.window.end]})
        bounds: list[tuple[int, int | None]] = []
        free_from = None
        for start in starts:
            if free_from is not None and start < free_from:
                continue
            end = next((end for end in ends if end > start), None)
            bounds.append((start, end))
            if end is None:
                break
            free_from = end
        return bounds


class Frames(Marked):
    """From the first row that holds to the first that does not; at equal times rows that do not hold come first."""

    def windows(self, events: list[Event]) -> list[Win]:
        """Runs of rows that hold."""
        wins: list[Win] = []
        held: list[Event] = []
        column = self.window.column
        for event in sorted(events, key=lambda e: (e.time, bool(e.row[column]), e.place)):
            if event.row[column]:
                held.append(event)
            elif held:
                wins.append(Win((held[0].time,), held[0].time, event.time, None, held))
                held = []
        if held:
            wins.append(Win((held[0].time,), held[0].time, None, None, held))
        return wins


class UsersOwn(Marked):
    """A user's context-aware windows: told of all events at once, asked for all windows."""

    def windows(self, events: list[Event]) -> list[Win]:
        """What its `trigger` gives for all time, and the open window after the last edge."""
        if not events:
            return []
        schema = self.layout.schema
        columns = {
            name: pa.array([e.row[name] for e in events], schema.field(name).type).to_numpy(zero_copy_only=False)
            for name in self.window.columns
        }
        times = np.array([event.time for event in events], np.int64)
        context = Context(Events(times, columns))
        self.window.notify_context(context, times)
        starts, ends = as_windows(self.window.trigger(-NEVER, NEVER - 1, context))
        bounds: list[tuple[int, int | None]] = [(int(s), int(e)) for s, e in zip(starts, ends, strict=True)]
        if self.window.tail and len(context.edges):
            bounds.append((int(context.edges[-1]), None))
        return [win for start, end in bounds if (win := between(events, start, end)).events]


def between(events: list[Event], start: int, end: int | None) -> Win:
    """The window of the events in a stretch of time."""
    held = [event for event in events if start <= event.time and (end is None or event.time < end)]
    return Win((start,), start, end, None, held)


def runs_of(events: list[Event], idle: int | None) -> list[list[Event]]:
    """The events of a key, cut where more than `idle` of event time separates two."""
    runs: list[list[Event]] = []
    for event in events:
        if runs and (idle is None or event.time - runs[-1][-1].time <= idle):
            runs[-1].append(event)
        else:
            runs.append([event])
    return runs


def family(bound: BoundQuery, layout: Layout) -> Family:
    """The family of a query's window."""
    window = bound.window
    kinds: list[tuple[Callable[[], bool], type[Family]]] = [
        (lambda: isinstance(window, MixedSliding), Mixed),
        (lambda: isinstance(window, Session) and layout.spec.spans is not None, SpanSessions),
        (lambda: isinstance(window, Session), Sessions),
        (lambda: isinstance(window, Punctuated), Punctuations),
        (lambda: isinstance(window, Frame), Frames),
        (lambda: isinstance(window, ContextAwareWindow), UsersOwn),
        (lambda: isinstance(window, ContextFreeWindow) and window.measure is Measure.ROWS, Rows),
        (lambda: isinstance(window, ContextFreeWindow), Fixed),
    ]
    return next(kind for fits, kind in kinds if fits())(bound, layout)
