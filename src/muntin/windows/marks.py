"""Windows cut by the data: punctuations mark where windows start and end; frames last while a condition holds."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.errors import SpecError
from muntin.windows.base import Identity, Window, WindowClass, column_name, show

__all__ = ["Frame", "Punctuated", "frame", "punctuated"]


@dataclass(frozen=True, repr=False)
class Punctuated(Window):
    """Cut at each row whose mark is true, or from a start mark to an end mark; see `punctuated`.

    >>> str(punctuated("mark").window_class)
    'forward context free'
    """

    mark: str | None = None
    start: str | None = None
    end: str | None = None

    @property
    def window_class(self) -> WindowClass:
        """Forward context free: the punctuations up to a time are known once its events are (paper 1, section 4.4)."""
        return WindowClass.FORWARD_CONTEXT_FREE

    @property
    def identity(self) -> Identity:
        """Its start."""
        return Identity.START

    @property
    def columns(self) -> tuple[str, ...]:
        """The marks."""
        return tuple(column for column in (self.mark, self.start, self.end) if column is not None)

    def __repr__(self) -> str:
        return show("punctuated", [] if self.mark is None else [self.mark], {"start": self.start, "end": self.end})


@dataclass(frozen=True, repr=False)
class Frame(Window):
    """From the first row that holds to the first that does not; see `frame`.

    >>> frame("fast").columns
    ('fast',)
    """

    column: str

    @property
    def window_class(self) -> WindowClass:
        """Forward context free."""
        return WindowClass.FORWARD_CONTEXT_FREE

    @property
    def identity(self) -> Identity:
        """Its start."""
        return Identity.START

    @property
    def columns(self) -> tuple[str, ...]:
        """The condition."""
        return (self.column,)

    def __repr__(self) -> str:
        return show("frame", [self.column], {})


def punctuated(mark: str | None = None, *, start: str | None = None, end: str | None = None) -> Punctuated:
    """Windows that are cut at each row whose boolean column `mark` is true.

    The row with the mark belongs to the window that starts there; the first window starts at the key's first event.
    With `start=` and `end=`, a window reaches from a row that has the start mark to the next later row that has the
    end mark; a start inside an open window, and an end outside one, change nothing. Null is false.

    >>> punctuated("new_lap"), punctuated(start="opened", end="closed")
    (punctuated('new_lap'), punctuated(start='opened', end='closed'))
    """
    one, two = mark is not None, start is not None or end is not None
    if one == two or (two and (start is None or end is None)):
        given = show("punctuated", [], {"mark": mark, "start": start, "end": end})
        raise SpecError(f"punctuated takes either one mark or both start= and end=, got {given}.")
    for column in (mark, start, end):
        if column is not None:
            column_name(column, "punctuated")
    return Punctuated(mark, start, end)


def frame(column: str) -> Frame:
    """Windows that last while a boolean column is true: from the first row that holds to the first that does not.

    >>> frame("fast")
    frame('fast')
    """
    column_name(column, "frame")
    return Frame(column)
