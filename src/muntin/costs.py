"""What panes cost and what they save: the formulas of paper 2, section 3.3.1, with constants of this machine.

The constants are nanoseconds. They are measured once on a machine, with the kernels that the engine runs (`measured`),
and kept beside the compiled kernels.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.machine import keep, kept
from muntin.panes import Pane

__all__ = ["Constants", "Sizes", "constants", "measured", "paned", "windowed"]


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
        return cls(tuples, pane.per_window, pane.per_slide, keys * -math.expm1(-each / keys))


def paned(k: Constants, s: Sizes, differential: bool) -> float:
    """Formulas 3.1 (max) and 3.2 (count): nanoseconds for a window with panes.

    As printed where a window has one new pane. Where it has several, their tuples are processed and their groups given
    out for each of them, so the first two terms count as often.

    >>> k, s = Constants(a=2, b=10, c=1, a_window=3), Sizes(tuples=400, panes=4, per_slide=1, groups=5)
    >>> paned(k, s, False), paned(k, s, True)
    (270.0, 260.0)
    """
    low = s.per_slide * (k.a * s.tuples / s.panes + k.b * s.groups)
    return low + (2 * k.c * s.groups * s.per_slide if differential else k.c * s.panes * s.groups)


def windowed(k: Constants, s: Sizes, differential: bool) -> float:
    """Formulas 3.3 (max) and 3.4 (count): nanoseconds for a window without panes.

    >>> k, s = Constants(a=2, b=10, c=1, a_window=3), Sizes(tuples=400, panes=4, per_slide=1, groups=5)
    >>> windowed(k, s, False), windowed(k, s, True)
    (1200, 600.0)
    """
    if differential:
        return 2 * k.a_window * s.per_slide * s.tuples / s.panes
    return k.a_window * s.tuples


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
    try:
        return Constants(**{name: float(value) for name, value in (kept("costs") or {}).items()})
    except (TypeError, ValueError):  # none yet, or not what was written
        found = measured()
        keep("costs", asdict(found))
        return found


def measured(rows: int = 100_000, rounds: int = 7) -> Constants:
    """Measure the constants, by the kernels that the engine runs for a max; the least of some rounds."""
    few, keys = Workload(rows, 200, 5, 10), Workload(rows, 1, 5, 1)
    few.pane_level(), keys.pane_level(), few.window_level(few.pane_level()), few.without()
    took: dict[str, list[float]] = {"low": [], "fine": [], "high": [], "plain": []}
    for _ in range(rounds):
        took["low"].append(_seconds(few.pane_level))
        took["fine"].append(_seconds(keys.pane_level))
        state = few.pane_level()
        took["high"].append(_seconds(functools.partial(few.window_level, state)))
        took["plain"].append(_seconds(few.without))
    low, fine, high, plain = (min(took[name]) * 1e9 for name in took)  # the rest is other work of the machine
    a = low / rows  # its groups are a twentieth of its tuples, and hardly count
    return Constants(a, max(fine / rows - a, 0.1), high / few.combined, plain / few.copies)


def _seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


class Workload:
    """Tuples that come evenly, in panes and groups, and a max over windows of some panes that slide by one.

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
        self._pane, self._panes, self._groups = per_pane, panes, groups
        self.windows = rows // per_pane - panes + 1
        self.combined = self.windows * panes * groups
        """Tuples of the pane level that windows process."""
        self.copies = rows * panes
        """Tuples that windows process without panes."""

    def pane_level(self) -> list[npt.NDArray[Any]]:
        """Every tuple into its group of its pane: the way of `Combiner` and of slices with keys."""
        pane = self._time // self._pane
        state = self._fused.new((int(pane[-1]) + 1) * self._groups)
        self._fused.update_cells(state, pane * self._groups + self._key, self._time, None, self._columns)
        return state

    def window_level(self, state: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The panes of each window as one, group by group."""
        first = np.arange(self.windows)
        if self._groups == 1:
            return self._fused.merge_ranges(first, first + self._panes, state)[self._fused.places[0][0]]
        return self._fused.merge_dense(first, first + self._panes, self._groups, state)[self._fused.places[0][0]]

    def without(self) -> npt.NDArray[Any]:
        """Every tuple into its group of every window that it is in."""
        pane = self._time // self._pane
        count = int(pane[-1]) + self._panes
        state = self._fused.new(count * self._groups)
        for back in range(self._panes):
            cells = (pane + back) * self._groups + self._key
            self._fused.update_cells(state, cells, self._time, None, self._columns)
        a, b = (self._panes - 1) * self._groups, (self._panes - 1 + self.windows) * self._groups
        return state[self._fused.places[0][0]][a:b]
