"""Panes as a plan (paper 2, section 3.1): a pane-level and a window-level query for every window of a spec.

The pane-level query is a tumbling one over panes of gcd(RANGE, SLIDE); the window-level query slides over its results.
Which functions the two compute follows from what the aggregates declare. Beside the panes stand the cuts that run: the
edges of windows (paper 1, section 5.3), of which there are never more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from muntin.aggregates import Aggregate
from muntin.levels import Levels, levels
from muntin.spec import Query, Spec
from muntin.units import Length, Measure
from muntin.windows import Cumulative, MixedSliding, Session, Sliding, Window

__all__ = ["Pane", "Panes", "cut", "panes"]


@dataclass(frozen=True)
class Pane:
    """How many panes and slices the windows of a query have, all lengths in units of its measure.

    >>> import muntin as mt
    >>> cut(mt.sliding("7 minutes", every="5 minutes"))
    Pane(size=60000000, per_window=7, per_slide=5, slices_per_window=3, slices_per_slide=2)
    """

    size: int
    """The length of a pane: the greatest common divisor of RANGE and SLIDE."""
    per_window: int
    per_slide: int
    slices_per_window: int
    """Slices are cut at the edges of windows only."""
    slices_per_slide: int


def cut(window: Window) -> Pane | None:
    """The panes of a window; None where it has no RANGE and SLIDE along one measure.

    >>> import muntin as mt
    >>> cut(mt.sliding("9 minutes", every="6 minutes")).per_window, cut(mt.session("1 minute"))
    (3, None)
    """
    if isinstance(window, Cumulative):
        step, size = window.every.amount, window.size.amount
        return Pane(step, size // step, 1, size // step, 1)
    if not isinstance(window, Sliding):
        return None
    size, slide = window.size.amount, window.every.amount
    pane, rest = math.gcd(size, slide), size % slide
    slices = math.ceil(size / slide) + (size // slide if rest else 0)
    return Pane(pane, size // pane, slide // pane, slices, 2 if rest else 1)


@dataclass(frozen=True)
class PanePlan:
    """One window of a spec, decomposed."""

    query: Query
    by: tuple[str, ...]
    pane: Pane | None
    aggregates: tuple[tuple[str, Aggregate, Levels], ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.query.name}: {self.query.window!r}", *(f"  {line}" for line in self.lines())])

    def lines(self) -> list[str]:
        """What it says, line by line."""
        pane, window = self.pane, self.query.window
        if pane is None:
            return [f"no panes: {_why_none(window)}"]
        assert isinstance(window, Sliding | Cumulative)
        size, slide, each = window.size, window.every, Length(pane.size, window.measure)
        new = f"{pane.per_slide} new in each slide" if isinstance(window, Sliding) else "one more in each step"
        lines = [f"panes:        {each} (gcd of {size} and {slide}), {pane.per_window} in a window, {new}"]
        lines.append(f"pane level:   {self._pane_query(each)}")
        lines.append(f"window level: {self._window_query(size, slide)}")
        fewer = pane.per_window - pane.slices_per_window
        edges = "as many as panes" if fewer <= 0 else f"{fewer} fewer than panes"
        lines.append(f"cuts that run: the edges of windows, {pane.slices_per_window} slices in a window, {edges}")
        for kind, means in _DIFFERENTIAL.items():
            names = [name for name, aggregate, _ in self.aggregates if aggregate.differential == kind]
            lines += [f"{kind}: {', '.join(names)} ({means})"] if names else []
        return lines

    def _pane_query(self, pane: Length) -> str:
        columns = [
            *self.by,
            *(f"{call} AS {field}" for name, _, level in self.aggregates for call, field in level.pane),
        ]
        return f"SELECT {', '.join(columns)} FROM events [RANGE {pane}]{self._grouped()}"

    def _window_query(self, size: Length, slide: Length) -> str:
        columns = [*self.by, *(f"{level.window} AS {name}" for name, _, level in self.aggregates)]
        return f"SELECT {', '.join(columns)} FROM panes [RANGE {size} SLIDE {slide}]{self._grouped()}"

    def _grouped(self) -> str:
        return f" GROUP BY {', '.join(self.by)}" if self.by else ""


@dataclass(frozen=True, repr=False)
class Panes:
    """The decomposition of a spec, one plan for each of its windows; it prints itself."""

    plans: tuple[PanePlan, ...]

    def __getitem__(self, name: str) -> PanePlan:
        for plan in self.plans:
            if plan.query.name == name:
                return plan
        raise KeyError(name)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.plans))

    __repr__ = __str__


def panes(spec: Spec) -> Panes:
    """The decomposition of every window of a spec; see `Spec.panes`."""
    plans = []
    for query in spec.queries:
        found = tuple((name, aggregate, levels(name, aggregate)) for name, aggregate in query.aggregates)
        plans.append(PanePlan(query, spec.by, cut(query.window), found))
    return Panes(tuple(plans))


def _why_none(window: Window) -> str:
    if isinstance(window, Session):
        return "a session has neither RANGE nor SLIDE; slices are cells of an eighth of its gap"
    if isinstance(window, MixedSliding):
        by = "tuple" if window.every == Length(1, Measure.ROWS) else "another measure"
        return f"it slides by {by}, so panes do not help (paper 2, section 1); windows are found among kept events"
    return "its edges come with the events, so none are known in advance"


# Paper 2, section 3.2.2.
_DIFFERENTIAL = {
    "full-differential": "with final='subtract_on_evict': the window before, less what left, plus what came",
    "pseudo-differential": "counts of each value per pane, added and subtracted; no bound on how many values there are",
    "not differential": "nothing can be taken out of it, so the panes of a window are combined",
}
