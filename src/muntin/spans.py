"""Events with a duration: how a spec tells them, and what it refuses (paper 3, section 2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from muntin.errors import SpecError, nearest
from muntin.units import Measure, duration, show_duration
from muntin.windows import Cumulative, Session, Sliding, Window

__all__ = ["HIGHEST", "TECHNIQUES", "UNSET", "Spans", "check_window", "spans_of"]

TECHNIQUES = ("auto", "single", "multi", "sweeping")
HIGHEST = 4_096
"""The largest height of slices."""

AUTO: Literal["auto"] = "auto"


class _Unset:
    """Stands for an argument that was not given."""

    def __repr__(self) -> str:
        return "(not given)"


UNSET: Any = _Unset()


@dataclass(frozen=True)
class Spans:
    """The columns of a span, how long windows wait for events that still go on, and how they are computed.

    >>> import muntin as mt
    >>> mt.over(span=("start", "end"), postpone="1 hour").spans.postpone
    3600000000
    """

    start: str
    end: str
    postpone: int | Literal["auto"] = AUTO
    """How long after its end a window is released: the paper's time to postpone (section 2.4), in microseconds."""
    technique: str = AUTO
    height: int | Literal["auto"] = AUTO

    def shown(self) -> list[str]:
        """As it is written in `over`."""
        parts = [f"span=({self.start!r}, {self.end!r})"]
        parts.append(f"postpone={self.postpone if self.postpone == AUTO else show_duration(self.postpone)!r}")
        parts += [] if self.technique == AUTO else [f"technique={self.technique!r}"]
        return parts + ([] if self.height == AUTO else [f"height={self.height}"])


def spans_of(
    time: Any, span: Iterable[str] | None, postpone: Any, technique: Any, height: Any, idle: object
) -> Spans | None:
    """What `over` was given of spans; None where events have no duration."""
    if span is None:
        for name, value in {"postpone": postpone, "technique": technique, "height": height}.items():
            if value is not UNSET:
                raise SpecError(
                    f"{name}={value!r} is for events with a duration. Name the columns of their start and end: "
                    f"mt.over(span=('start', 'end'), {name}={value!r})."
                )
        return None
    names = (span,) if isinstance(span, str) else tuple(span)
    if len(names) != 2 or not all(isinstance(name, str) for name in names) or names[0] == names[1]:
        raise SpecError(f"span={span!r} does not name two columns. Write span=('start', 'end').")
    if time is not UNSET:
        raise SpecError(
            f"over({time!r}, span={names!r}): the time of an event with a duration is its end. Leave {time!r} out."
        )
    if idle is not None:
        raise SpecError(f"idle={idle!r} is for positions of rows, which events with a duration do not have.")
    if technique is not UNSET and technique not in TECHNIQUES:
        raise SpecError(f"technique={technique!r} is unknown. {nearest(str(technique), TECHNIQUES)}")
    technique = AUTO if technique is UNSET else technique
    return Spans(*names, _postpone(postpone), technique, _height(height, technique))


def _postpone(value: Any) -> int | Literal["auto"]:
    return AUTO if value is UNSET or value == AUTO else duration(value, "postpone")


def _height(value: Any, technique: str) -> int | Literal["auto"]:
    if value is UNSET or value == AUTO:
        return AUTO
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= HIGHEST:
        raise SpecError(f"height={value!r} is no number of levels. Give 1 to {HIGHEST}, or 'auto'.")
    if technique in ("single", "sweeping"):
        raise SpecError(f"height={value!r} with technique={technique!r}: only technique='multi' has levels.")
    return value


def check_window(name: str, window: Window) -> None:
    """Refuse windows that mean nothing where events have a duration."""
    if isinstance(window, Sliding | Cumulative | Session) and window.measure is Measure.TIME:
        return
    if Measure.ROWS in (window.measure, getattr(getattr(window, "every", None), "measure", None)):
        reason = "An event that goes on has no one position among the others: it begins before some that end first"
    elif getattr(window, "on", None) is not None:
        reason = "An event has a duration in time, not along another column"
    else:
        reason = "Its edges are found at the times of events, and an event with a duration has no one time"
    raise SpecError(
        f"window {name!r}: {window!r} does not go with span=. {reason}. Use mt.tumbling, mt.sliding, mt.cumulative or "
        f"mt.session with lengths of time, or over('end', ...) to take each event at its end."
    )
