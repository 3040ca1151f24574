"""The errors of Muntin. Each message names the problem, the value given and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BudgetExceeded",
    "EngineEnded",
    "FrameError",
    "MuntinError",
    "RejectedRows",
    "SpecError",
    "SqlError",
    "StateCorrupt",
    "SumOverflow",
    "UnsupportedAggregate",
    "nearest",
]


class MuntinError(Exception):
    """Base class of every error that Muntin raises on purpose.

    >>> issubclass(SpecError, MuntinError)
    True
    """


class SpecError(MuntinError, ValueError):
    """A spec that means nothing: an unknown unit, a size that is not positive, a name given twice.

    >>> import muntin as mt
    >>> mt.tumbling("10 parsecs")
    Traceback (most recent call last):
    ...
    muntin.errors.SpecError: unknown unit 'parsecs' in '10 parsecs'. Use microseconds, milliseconds, \
seconds, minutes, hours, days, weeks or rows.
    """


class UnsupportedAggregate(SpecError):
    """An aggregate that cannot do what is asked of it.

    >>> issubclass(UnsupportedAggregate, SpecError)
    True
    """


class SqlError(SpecError):
    """A query that cannot be read, or that asks for what there is not; it shows the place in the text.

    >>> import muntin as mt
    >>> mt.sql("SELECT maxx(price) FROM bids [WATTR ts RANGE 1 MINUTE]")
    Traceback (most recent call last):
    ...
    muntin.errors.SqlError: unknown function 'maxx'. Did you mean 'max'?
    line 1, column 8:
      SELECT maxx(price) FROM bids [WATTR ts RANGE 1 MINUTE]
             ^^^^
    """


class FrameError(MuntinError, TypeError):
    """A frame that does not fit the spec: a missing column, a type that an aggregate cannot take.

    >>> issubclass(FrameError, TypeError)
    True
    """


class SumOverflow(MuntinError, OverflowError):
    """An integer sum whose exact result is outside int64.

    >>> issubclass(SumOverflow, OverflowError)
    True
    """


class EngineEnded(MuntinError, RuntimeError):
    """A push or an advance on an engine that has been flushed.

    >>> issubclass(EngineEnded, RuntimeError)
    True
    """


class StateCorrupt(MuntinError, ValueError):
    """A saved state that cannot be read: damaged, cut off, forged, or of a newer format.

    >>> issubclass(StateCorrupt, ValueError)
    True
    """


class BudgetExceeded(MuntinError, MemoryError):
    """State that does not fit the budget of `Spec.memory`, however it is compressed.

    The step was done: `results` has what it gave, and `needed` says how many bytes the state takes.

    >>> BudgetExceeded("too much", 5, None).needed
    5
    """

    def __init__(self, message: str, needed: int, results: object) -> None:
        super().__init__(message)
        self.needed, self.results = needed, results


class RejectedRows(UserWarning):
    """Some rows of a finite frame have no time (or no measure) and are in no window.

    >>> issubclass(RejectedRows, UserWarning)
    True
    """


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the known name closest to a mistyped one, or lists them all.

    >>> nearest("sped", ["speed", "ts"])
    "Did you mean 'speed'?"
    >>> nearest("x", ["speed", "ts"])
    "Known: 'speed', 'ts'."
    """
    choices = list(known)
    close = difflib.get_close_matches(name, choices, n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    return "Known: " + ", ".join(repr(choice) for choice in choices) + "."
