"""What panes cost and what they save: the formulas of paper 2, section 3.3.1, with constants of this machine.

The constants are nanoseconds. They are measured once on a machine, with the kernels that the engine runs (`measured`),
and kept beside the compiled kernels.

The paper leaves out what it costs to give out the groups of a window. With few tuples in a pane that counts, and it is
more with panes than without, so each side has one more term; with both constants 0 the formulas are as printed. Without
them c was measured too high, and b as well, by arrays so large that each call got new pages of memory, which an engine
does not: 4 of 44 cells of Figure 3 were then predicted not to pay where they do, by up to 2.5 times.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.machine import kept_once
from muntin.panes import Pane

__all__ = ["Constants", "Sizes", "constants", "measured", "paned", "seconds", "windowed"]


@dataclass(frozen=True)
class Constants:
    """The constants of formulas 3.1 to 3.4, in nanoseconds."""

    a: float
    """For the pane-level query to process a tuple."""
    b: float
    """For the pane-level query to give out a tuple: one group of one pane."""
    c: float
    """For the window-level query to process a tuple of the pane level."""
    a_window: float
    """a': to process a tuple without panes, once for every window that it is in."""
    out: float = 0.0
    """To give out a group of a window that was combined from panes."""
    out_window: float = 0.0
    """To make and give out a group of a window without panes."""


@dataclass(frozen=True)
class Sizes:
    """How much there is in a window of a query.

    >>> Sizes(tuples=1200, panes=4, per_slide=1, groups=100).per_group
    3.0
    """

    tuples: float
    """T: tuples in a window."""
    panes: int
    """P: panes in a window."""
    per_slide: int
    """SLIDE / gcd(RANGE, SLIDE): panes that are new in a window."""
    groups: float
    """G: groups in a pane."""
    given: float | None = None
    """Groups in a window; None: as many as in a pane."""

    @property
    def given_out(self) -> float:
        """Groups that a window gives out."""
        return self.groups if self.given is None else self.given

    @property
    def per_group(self) -> float:
        """Tuples of a group in a pane."""
        return self.tuples / self.panes / self.groups

    @classmethod
    def of(cls, pane: Pane, span: float, rate: float, keys: int) -> Sizes:
        """From a rate of events per second, and keys that come at random; `span` is a window's length in seconds.

        >>> found = Sizes.of(Pane(60_000_000, 4, 1, 4, 1), 240.0, rate=10, keys=1_000)
        >>> round(found.tuples), round(found.groups)
        (2400, 451)
        """
        tuples = rate * span
        each = tuples / pane.per_window
        groups, given = (keys * -math.expm1(-many / keys) for many in (each, tuples))
        return cls(tuples, pane.per_window, pane.per_slide, groups, given)


def paned(k: Constants, s: Sizes, differential: bool) -> float:
    """Formulas 3.1 (max) and 3.2 (count): nanoseconds for a window with panes.

    As printed where a window has one new pane. Where it has several, their tuples are processed and their groups given
    out for each of them, so the first two terms count as often.

    >>> k, s = Constants(a=2, b=10, c=1, a_window=3), Sizes(tuples=400, panes=4, per_slide=1, groups=5)
    >>> paned(k, s, False), paned(k, s, True)
    (270.0, 260.0)
    """
    low = s.per_slide * (k.a * s.tuples / s.panes + k.b * s.groups)
    high = 2 * k.c * s.groups * s.per_slide if differential else k.c * s.panes * s.groups
    return low + high + k.out * s.given_out


def windowed(k: Constants, s: Sizes, differential: bool) -> float:
    """Formulas 3.3 (max) and 3.4 (count): nanoseconds for a window without panes.

    >>> k, s = Constants(a=2, b=10, c=1, a_window=3), Sizes(tuples=400, panes=4, per_slide=1, groups=5)
    >>> windowed(k, s, False), windowed(k, s, True)
    (1200.0, 600.0)
    """
    if differential:  # a window is the one before, changed, and given out like one from panes
        return 2 * k.a_window * s.per_slide * s.tuples / s.panes + k.out * s.given_out
    return k.a_window * s.tuples + k.out_window * s.given_out


def why_not(k: Constants, s: Sizes, differential: bool) -> str | None:
    """Why panes do not pay (section 3.3.1); None where they do.

    >>> why_not(Constants(1, 5, 1, 1), Sizes(tuples=40, panes=4, per_slide=1, groups=10), False)
    'a group has about 1 tuple in a pane, so that panes are no fewer than tuples'
    """
    if paned(k, s, differential) < windowed(k, s, differential):
        return None
    if s.tuples < s.panes:
        return f"arrivals are slow: {s.tuples:.3g} tuples in {s.panes} panes, so that many are empty"
    if s.per_group < 2:
        return f"a group has about {s.per_group:.2g} tuple in a pane, so that panes are no fewer than tuples"
    if s.panes / s.per_slide < 3:
        return f"a tuple is in {s.panes / s.per_slide:.2g} windows only, so that little is shared"
    return "to give out groups and combine them costs more than it saves"


# -- the constants of this machine -------------------------------------------------------------------------------------


@functools.cache
def constants() -> Constants:
    """Those of this machine: as kept, else measured now (about a second) and kept."""
    return kept_once("costs", Constants, lambda: measured())


def measured(rows: int = 10_000, rounds: int = 50) -> Constants:
    """Measure the constants, by the kernels that the engine runs for a max; the least of some rounds."""
    many, few = Workload(rows, 200, 5, 10), Workload(rows, 10, 5, 10)
    long = Workload(rows, 10, 20, 10)  # as many groups as `few`, in windows that are four times as long
    state = few.pane_level()
    calls: dict[str, Callable[[], Any]] = {
        "low": many.pane_level,
        "fine": few.pane_level,
        "high": lambda: few.window_level(state),
        "higher": lambda: long.window_level(state),
        "plain": many.without,
        "plain few": few.without,
    }
    took: dict[str, list[float]] = {name: [] for name in calls}
    for i in range(rounds + 1):  # the first compiles
        for name, call in calls.items():
            took[name] += [seconds(call) * 1e9] if i else []
    low, fine, high, higher, plain, plain_few = (min(found) for found in took.values())  # the rest is other work
    groups = few.windows * few.groups
    a, a_window = low / rows, plain / many.copies  # their groups are a twentieth of their tuples, and hardly count
    c = max((higher / (long.windows * long.groups) - high / groups) / (long.panes - few.panes), 0.1)
    b, out = max((fine - a * rows) / groups, 0.1), max(high / groups - c * few.panes, 0.0)
    return Constants(a, b, c, a_window, out, max((plain_few - a_window * few.copies) / groups, 0.0))


def seconds(call: Callable[[], Any]) -> float:
    """The time of the processor that a call takes: other work of the machine does not count."""
    started = time.process_time()
    call()
    return time.process_time() - started


class Workload:
    """Tuples that come evenly, in panes and groups, and a max over windows of some panes that slide by one.

    Ten thousand, as in a batch: their arrays stay in memory that is at hand.

    >>> work = Workload(rows=1_000, per_pane=10, panes=5, groups=2)
    >>> work.window_level(work.pane_level()).tolist() == work.without().tolist()
    True
    """

    def __init__(self, rows: int, per_pane: int, panes: int, groups: int) -> None:
        import pyarrow as pa

        from muntin.aggregates.extremes import Max
        from muntin.fused import fused
        from muntin.slicing.values import Column

        rng = np.random.default_rng(1)
        self._fused = fused([Max("x").bind([pa.float64()])])
        self._columns = {"x": Column(pa.float64(), rng.random(rows), None)}
        self._time = np.arange(rows)
        self._key = rng.integers(0, groups, rows)
        self._pane, self.panes, self.groups = per_pane, panes, groups
        self.windows = rows // per_pane - panes + 1
        self.copies = rows * panes
        """Tuples that windows process without panes."""

    def pane_level(self) -> list[npt.NDArray[Any]]:
        """Every tuple into its group of its pane: the way of `Combiner` and of slices with keys."""
        pane = self._time // self._pane
        state = self._fused.new((int(pane[-1]) + 1) * self.groups)
        self._fused.update_cells(state, pane * self.groups + self._key, self._time, None, self._columns)
        return state

    def window_level(self, state: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The panes of each window as one, group by group."""
        first = np.arange(self.windows)
        if self.groups == 1:
            return self._fused.merge_ranges(first, first + self.panes, state)[self._fused.places[0][0]]
        return self._fused.merge_dense(first, first + self.panes, self.groups, state)[self._fused.places[0][0]]

    def without(self) -> npt.NDArray[Any]:
        """Every tuple into its group of every window that it is in."""
        pane = self._time // self._pane
        count = int(pane[-1]) + self.panes
        state = self._fused.new(count * self.groups)
        for back in range(self.panes):
            cells = (pane + back) * self.groups + self._key
            self._fused.update_cells(state, cells, self._time, None, self._columns)
        a, b = (self.panes - 1) * self.groups, (self.panes - 1 + self.windows) * self.groups
        return state[self._fused.places[0][0]][a:b]
