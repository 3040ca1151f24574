"""Which family finds the windows of a query among kept events."""

from __future__ import annotations

from muntin.layout import BoundQuery
from muntin.slicing.kept.base import Judged, KeptFamily, Wins
from muntin.slicing.kept.marked import FrameFamily, PunctuatedFamily
from muntin.slicing.kept.measured import MeasuredFamily, MeasuredSessions
from muntin.slicing.kept.mixed import MixedFamily
from muntin.slicing.kept.own import OwnFamily
from muntin.spec import Spec
from muntin.units import Measure
from muntin.windows import (
    ContextAwareWindow,
    Cumulative,
    Frame,
    MixedSliding,
    Punctuated,
    Session,
    Sliding,
)

__all__ = ["Judged", "KeptFamily", "Wins", "kept_family"]


def kept_family(query: BoundQuery, spec: Spec) -> KeptFamily:
    """The family of a query's window; for those that are not put together from slices."""
    window = query.window
    kind: type[KeptFamily] | None = None
    if isinstance(window, MixedSliding):
        kind = MixedFamily
    elif isinstance(window, Sliding | Cumulative) and window.measure is Measure.COLUMN:
        kind = MeasuredFamily
    elif isinstance(window, Session) and window.measure is Measure.COLUMN:
        kind = MeasuredSessions
    elif isinstance(window, Punctuated):
        kind = PunctuatedFamily
    elif isinstance(window, Frame):
        kind = FrameFamily
    elif isinstance(window, ContextAwareWindow):
        kind = OwnFamily
    if kind is None:
        raise TypeError(f"{window!r} is put together from slices; it needs no family of its own")
    return kind(query, spec)
