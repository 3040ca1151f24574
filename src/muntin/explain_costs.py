"""What `explain` says of costs: with and without panes, from statistics that are given or taken from a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from muntin.columns import times as read_times
from muntin.costs import Constants, Sizes, constants, paned, why_not, windowed
from muntin.errors import SpecError
from muntin.layout import BoundQuery, Layout
from muntin.memory import amount, cell_bytes
from muntin.panes import Pane, cut
from muntin.units import Measure
from muntin.windows import Cumulative, MixedSliding, Sliding

if TYPE_CHECKING:
    from muntin.spec import Spec

__all__ = ["Statistics", "cost_lines", "sampled"]

SAMPLE = 1_000_000
"""Rows of a frame that are looked at, the first ones."""


@dataclass(frozen=True)
class Statistics:
    """How many events come in a second of event time, of how many keys; and how many groups there are in a pane."""

    rate: float
    keys: int
    groups: Callable[[int], float] | None = None
    """Groups in a pane of so many microseconds, as counted; None: as many as keys that come at random have."""

    def sizes(self, pane: Pane, query: BoundQuery) -> Sizes:
        """How much there is in a window."""
        window = query.window
        assert isinstance(window, Sliding | Cumulative)
        if window.measure is Measure.ROWS:  # rows are counted for each key, so that a pane has one group
            return Sizes(window.size.amount, pane.per_window, pane.per_slide, 1)
        found = Sizes.of(pane, window.size.amount / 1e6, self.rate, self.keys)
        return found if self.groups is None else replace(found, groups=self.groups(pane.size))


def sampled(spec: Spec, table: pa.Table) -> Statistics:
    """The statistics of a frame: its first million rows.

    >>> import muntin as mt
    >>> frame = pa.table({"ts": [0, 500_000, 1_000_000, 2_000_000], "k": ["a", "b", "a", "a"]})
    >>> found = sampled(mt.over("ts", by="k"), frame)
    >>> found.rate, found.keys, found.groups(1_000_000)
    (1.5, 2, 1.3333333333333333)
    """
    if spec.time is None:
        raise SpecError("rate='sample': the rows of a frame have no time of arrival. Give a rate as a number.")
    rows = table.slice(0, SAMPLE)
    read = read_times(rows.column(spec.time), spec.time)
    kept = np.flatnonzero(~(read.null | read.out_of_range))
    times, rows = read.micros[kept], rows.take(pa.array(kept)).select(list(spec.by))
    span = float(times.max() - times.min()) if len(times) else 0.0
    if span <= 0:
        raise SpecError("rate='sample': the frame has no two times, so no rate can be taken from it. Give a number.")
    keys = rows.group_by(list(spec.by)).aggregate([]).num_rows if spec.by else 1

    def groups(pane: int) -> float:
        """Groups in a pane that is not empty, on average."""
        named = rows.append_column("\x1fpane", pa.array(times // pane))
        cells = named.group_by(["\x1fpane", *spec.by]).aggregate([]).num_rows
        return float(cells / len(np.unique(times // pane)))

    return Statistics((len(times) - 1) / (span / 1e6), keys, groups)


def cost_lines(bound: Layout, found: Statistics) -> list[str]:
    """The predicted cost of each window, and the buffer that its panes take."""
    k = constants()
    shown = "1 key" if found.keys == 1 else f"{found.keys:,} keys"
    lines = [
        f"Cost of a window at {found.rate:,.6g} events per second of event time and {shown} (paper 2, section 3.3.1):"
    ]
    shown = f"a = {k.a:.2g}, b = {k.b:.2g}, c = {k.c:.2g}, a' = {k.a_window:.2g}"
    lines.append(f"  {shown}; a group of a window {k.out:.2g}, without panes {k.out_window:.2g} ns; as measured here")
    for query in bound.queries:
        pane = cut(query.window)
        if pane is not None and query.window.measure is not Measure.COLUMN:
            lines += _query(k, found.sizes(pane, query), query, bound)
        elif isinstance(query.window, MixedSliding):
            lines.append(f"  {query.name}: no panes, since it slides by another measure than it is long in")
        else:
            lines.append(f"  {query.name}: no panes")
    return lines


def _query(k: Constants, s: Sizes, query: BoundQuery, bound: Layout) -> list[str]:
    differential = all(b.aggregate.differential != "not differential" for b in query.aggregates.values())
    with_panes, without = paned(k, s, differential), windowed(k, s, differential)
    formulas = "3.2 and 3.4" if differential else "3.1 and 3.3"
    terms = f"T = {_number(s.tuples)} tuples, P = {s.panes} panes, G = {_number(s.groups)} groups in a pane"
    lines = [f"  {query.name}: {terms}; {_number(s.per_group)} tuples for each group and pane"]
    ratio = f"with panes {_time(with_panes)}, without {_time(without)} (formulas {formulas})"
    reason = why_not(k, s, differential)
    if s.panes == 1:
        lines.append("    a window is one pane: there is nothing to share")
    elif reason is None:
        lines.append(f"    {ratio}: panes take {with_panes / without:.2g} of the time")
    else:
        lines.append(f"    {ratio}: panes do not pay, since {reason}")
    size = cell_bytes(replace(bound, queries=(query,)))
    shown = f"{s.panes} × {_number(s.groups)} × {size} bytes = {amount(s.panes * s.groups * size)}"
    lines.append(f"    buffer: P × G × partial = {shown}")
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _time(nanoseconds: float) -> str:
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if nanoseconds >= unit:
            return f"{nanoseconds / unit:.3g} {name}"
    return f"{nanoseconds:.3g} ns"
