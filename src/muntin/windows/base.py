"""The two interfaces of a window type (paper 1, section 5.4.2) and the classes they fall into (section 4.4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from muntin.errors import SpecError
from muntin.units import MAX_TIME, Measure

if TYPE_CHECKING:
    from muntin.windows.context import Context

__all__ = [
    "NEVER",
    "ContextAwareWindow",
    "ContextFreeWindow",
    "Identity",
    "Window",
    "WindowClass",
    "as_windows",
]

Int64s = npt.NDArray[np.int64]

NEVER = int(np.iinfo(np.int64).max)
"""What `next_edge` answers where no further edge comes."""


class WindowClass(StrEnum):
    """Paper 1, section 4.4: how much of the stream must be seen to know where windows start and end.

    >>> import muntin as mt
    >>> str(mt.tumbling("1 minute").window_class)
    'context free'
    """

    CONTEXT_FREE = "context free"
    FORWARD_CONTEXT_FREE = "forward context free"
    FORWARD_CONTEXT_AWARE = "forward context aware"


class Identity(StrEnum):
    """What tells one window of a query and key from another; all else about it may be revised.

    >>> import muntin as mt
    >>> str(mt.session("30 seconds").identity)
    'start'
    """

    BOUNDS = "time bounds"
    START = "start"
    POSITIONS = "positions"
    END = "end"


class Window(ABC):
    """A window type: a frozen description that holds no state.

    >>> import muntin as mt
    >>> isinstance(mt.session("30 seconds"), Window)
    True
    """

    @property
    @abstractmethod
    def window_class(self) -> WindowClass:
        """The class of paper 1, section 4.4."""

    @property
    def measure(self) -> Measure:
        """What its length is measured in."""
        return Measure.TIME

    @property
    def identity(self) -> Identity:
        """What identifies one of its windows."""
        return Identity.BOUNDS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, beside the time."""
        return ()

    @property
    def mergeable(self) -> bool:
        """A session: context aware, but its windows only merge, extend or start in a gap (Figures 4 and 5)."""
        return False


class ContextFreeWindow(Window):
    """A window type of your own whose edges are known without seeing any event.

    Implement `next_edge(time)`, the next edge (start or end) after a time, `NEVER` where there is none, and
    `trigger(previous, current)`, the windows with `previous < end <= current` as pairs of start and end. Times are
    int64 microseconds. `next_edge` is called with an array of times; where it only takes one time at a time it is
    called for each, and `explain` says so. Windows end in the order in which they start, or else `longest` gives the
    length of the longest.

    >>> import muntin as mt
    >>> class Fixed(mt.ContextFreeWindow):
    ...     "The one window [18, 28)."
    ...     def next_edge(self, time):
    ...         return np.where(time < 18, 18, np.where(time < 28, 28, mt.windows.NEVER))
    ...     def trigger(self, previous, current):
    ...         return [(18, 28)] if previous < 28 <= current else []
    >>> spec = mt.over("ts").window("one", Fixed(), n=mt.count())
    >>> spec.apply({"ts": [10, 20, 30]}).column("n").to_pylist()
    [1]
    """

    longest: ClassVar[int | None] = None

    @property
    def window_class(self) -> WindowClass:
        """Context free."""
        return WindowClass.CONTEXT_FREE

    @abstractmethod
    def next_edge(self, time: Any) -> Any:
        """The next window edge after each time."""

    @abstractmethod
    def trigger(self, previous: int, current: int) -> Any:
        """The windows that ended between two watermarks: `previous < end <= current`."""

    def containing(self, time: int) -> list[tuple[int, int]]:
        """All windows that contain a time, found by walking its edges.

        >>> import muntin as mt
        >>> mt.sliding("10 seconds", every="5 seconds").containing(7_000_000)
        [(0, 10000000), (5000000, 15000000)]
        """
        found: list[tuple[int, int]] = []
        edge = time
        while edge <= MAX_TIME:
            previous, edge = edge, edge_after(self, edge)
            if edge == NEVER:
                break
            starts, ends = ended(self, previous, edge)
            found += [(int(s), int(e)) for s, e in zip(starts, ends, strict=True) if s <= time < e]
            past = edge > time + self.longest if self.longest is not None else bool((starts > time).any())
            if past:
                break
        return found


class ContextAwareWindow(Window):
    """A window type of your own whose edges depend on the events.

    Implement `notify_context(context, times)`: it is told, for one key, the times of new events in order, sees the
    key's edges and kept events through the `context`, and adds and removes edges. By itself a window reaches from
    one edge to the next, and the last one is open. Override `next_edge` and `trigger` where that is not so. The
    edges must follow from the events alone, not from how they were cut into batches: decide again from the edge
    before the first new event on.

    >>> import muntin as mt
    >>> class Moved(mt.ContextAwareWindow):
    ...     "A new window whenever the value has moved by delta."
    ...     columns = ("price",)
    ...     def notify_context(self, context, times):
    ...         start = context.edge_before(times[0])
    ...         events = context.events(since=start)
    ...         context.remove(context.edges[context.edges >= events.times[0]])
    ...         anchor = None
    ...         for time, price in zip(events.times, events["price"]):
    ...             if anchor is None or abs(price - anchor) >= 5:
    ...                 context.add(time)
    ...                 anchor = price
    >>> spec = mt.over("ts").window("moved", Moved(), n=mt.count())
    >>> spec.apply({"ts": [1, 2, 3, 4], "price": [10, 12, 16, 15]}).column("n").to_pylist()
    [2, 2]
    """

    tail: ClassVar[bool] = True
    """Whether the stretch after the last edge is an open window."""

    @property
    def window_class(self) -> WindowClass:
        """Forward context free, unless overridden: edges up to a time are known once all events up to it are."""
        return WindowClass.FORWARD_CONTEXT_FREE

    @property
    def identity(self) -> Identity:
        """Its start."""
        return Identity.START

    @abstractmethod
    def notify_context(self, context: Context, times: Int64s) -> None:
        """New events of one key came; add and remove edges through the context."""

    def next_edge(self, time: Any, context: Context) -> Any:
        """The next known edge after each time."""
        return context.next_edge(time)

    def trigger(self, previous: int, current: int, context: Context) -> Any:
        """The windows that ended between two watermarks."""
        edges = context.edges
        due = (edges[1:] > previous) & (edges[1:] <= current)
        return edges[:-1][due], edges[1:][due]


def takes_arrays(window: ContextFreeWindow) -> bool:
    """Whether `next_edge` works over arrays; where not, it is called once per time."""
    probe = np.array([0, 1, 1_000_000], np.int64)
    try:
        answer = window.next_edge(probe)
    # A scalar function fails on an array in whatever way its own code does: any error means "not over arrays".
    except Exception:
        return False
    return isinstance(answer, np.ndarray) and answer.shape == probe.shape


def next_edges(window: ContextFreeWindow, times: Int64s) -> Int64s:
    """`next_edge` over an array, through the scalar fallback where it is needed.

    >>> import muntin as mt
    >>> next_edges(mt.tumbling("1 second"), np.array([0, 999_999, 1_000_000])).tolist()
    [1000000, 1000000, 2000000]
    """
    if takes_arrays(window):
        return cast(Int64s, np.asarray(window.next_edge(times), np.int64))
    one = cast(Callable[[int], int | None], window.next_edge)
    answers = [one(int(time)) for time in times]
    return np.array([NEVER if answer is None else answer for answer in answers], np.int64)


def edge_after(window: ContextFreeWindow, time: int) -> int:
    """The next edge after a time, checked: a window of a user's own might stand still."""
    edge = int(next_edges(window, np.array([time], np.int64))[0])
    if edge <= time:
        raise SpecError(f"{window!r}: next_edge({time}) gave {edge}. It must be later, or NEVER.")
    return edge


def ended(window: ContextFreeWindow, previous: int, current: int) -> tuple[Int64s, Int64s]:
    """The windows that ended between two watermarks, checked: a user's own might give others."""
    starts, ends = as_windows(window.trigger(previous, current))
    if ((ends <= previous) | (ends > current)).any():
        raise SpecError(
            f"{window!r}: trigger({previous}, {current}) gave a window that ends outside of these. Give those with "
            f"previous < end <= current."
        )
    return starts, ends


def as_windows(answer: object) -> tuple[Int64s, Int64s]:
    """What `trigger` returned, as arrays of starts and ends: two arrays, or any list of pairs.

    >>> as_windows([(0, 10), (10, 20)])
    (array([ 0, 10]), array([10, 20]))
    """
    if isinstance(answer, tuple) and len(answer) == 2 and all(isinstance(part, np.ndarray) for part in answer):
        return np.asarray(answer[0], np.int64), np.asarray(answer[1], np.int64)
    pairs = np.array(list(cast(Iterable[Any], answer)), np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def column_name(value: object, what: str) -> str:
    """The name of a column, or a clear error."""
    if not isinstance(value, str):
        raise SpecError(f"{what} takes the name of a column, got {value!r}. Compute an expression as a column first.")
    return value


def show(name: str, args: Iterable[object], options: Mapping[str, object]) -> str:
    """A call as a user would write it, without the options left at None."""
    parts = [repr(arg) for arg in args] + [f"{key}={value!r}" for key, value in options.items() if value is not None]
    return f"{name}({', '.join(parts)})"
