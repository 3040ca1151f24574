"""From when a window that is added to a running engine can be exact."""

from __future__ import annotations

from muntin.units import Measure
from muntin.windows import ContextFreeWindow, Cumulative, Session, Sliding, Window
from muntin.windows.base import edge_after

__all__ = ["first_start", "start_after"]


def first_start(window: ContextFreeWindow, time: int) -> int:
    """The start of the first window at or after a time; of a user's own windows, their first edge.

    >>> import muntin as mt
    >>> first_start(mt.sliding("10 us", every="5 us", align="1 us"), 7)
    11
    """
    if isinstance(window, Cumulative):
        return time + (window.align - time) % window.size.amount
    if isinstance(window, Sliding):
        return time + (window.align - time) % window.every.amount
    return edge_after(window, time - 1)


def start_after(window: Window, newest: int) -> int:
    """From when a window is exact that sees none of the events up to the newest one.

    A session that starts within the gap might have begun before; one that starts later has not. Windows that depend
    on what came before begin with the next event.

    >>> import muntin as mt
    >>> [start_after(w, 7) for w in (mt.tumbling("5 us"), mt.session("20 us"), mt.sliding("9 rows", every="2 rows"))]
    [10, 28, 8]
    """
    after = newest + 1
    if window.measure is Measure.TIME and isinstance(window, ContextFreeWindow):
        return first_start(window, after)
    if window.measure is Measure.TIME and isinstance(window, Session):
        return after + -after % window.cell + window.gap.amount
    return after
