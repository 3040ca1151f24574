"""What splits of slices cost, measured as they are made, and the slice size that follows (paper 1, section 6.3.3).

A range of kept events is the whole slices in it and two pieces at its edges, whose events are aggregated anew: these
are the splits. Larger slices make larger pieces; smaller ones are more to combine. So a slice is as large as makes the
ranges that are asked for cheapest, by what an event and a slice were measured to take on this machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muntin.slicing.covered import size_of

__all__ = ["SplitCosts"]

Int64s = npt.NDArray[np.int64]

LEVELS = 4
OFF = LEVELS + 1
"""The level that no slice has."""

_GUESS = (4_000.0, 1.5, 8.0)  # ns of a call, of an event in it, of a slice
_TRUST = 1.0  # how many calls count for what is known before them
_FADES = 0.95  # how much of what was measured is left a call later
_PER_CELL = 1.0  # ns to keep a column of a slice where it belongs as events come and go
_FEW = 16  # asked this often, a change of size has to have paid for itself


class SplitCosts:
    """Measured costs, the lengths of ranges seen, and the level of slices that is best for them.

    >>> costs = SplitCosts(columns=4)
    >>> for _ in range(8):
    ...     changed = costs.asked(np.array([100_000]), inserted=1_000, rows=100_000)
    >>> costs.size  # few long ranges, and little of them is new
    512
    >>> for _ in range(50):
    ...     changed = costs.asked(np.array([1_000] * 10), inserted=10_000, rows=10_000)
    >>> costs.size is None  # each event is in one range only: nothing is cached
    True
    """

    def __init__(self, columns: int) -> None:
        self.level = OFF
        self.splits = self.events = self.slices = 0
        """How many splits were made, how many events were aggregated again for them, and whole slices combined."""
        self._columns = columns
        self._sums = _held(_TRUST, _GUESS)
        self.measured = _GUESS
        """Nanoseconds of a call, of an event aggregated in it, and of a slice combined in it."""
        self._counts, self._lengths = np.zeros(64), np.zeros(64)  # by the number of binary digits of a length
        self._inserted = self._rows = 0.0
        self._times, self._next, self._calls = 0, 4, 0

    # -- measuring -------------------------------------------------------------------------------------------------

    @property
    def per_split(self) -> float:
        """Nanoseconds that a split took on average."""
        return self.events / max(self.splits, 1) * self.measured[1]

    def took(self, ns: float, events: int, slices: int) -> None:
        """A call took so long for so many events and slices: least squares, newer calls count for more."""
        call, event, piece = self.measured
        expected = call + event * events + piece * slices
        # Relative errors count, and a call during which something else had the processor is no measurement.
        ns = min(ns, 6 * expected)
        scale = max(ns, expected)
        one, x, y, ns = 1 / scale, events / scale, slices / scale, ns / scale
        held = _held(_TRUST * (1 - _FADES), self.measured)
        new = (one * one, one * x, one * y, x * x, x * y, y * y, one * ns, x * ns, y * ns)
        self._sums = [_FADES * old + more + prior for old, more, prior in zip(self._sums, new, held, strict=True)]
        self._calls += 1
        if self._calls % 8 == 0:
            self.measured = self._solved()

    def _solved(self) -> tuple[float, float, float]:
        """The three costs that fit best what was measured; none is next to nothing."""
        aa, ab, ac, bb, bc, cc, *right = self._sums
        found = np.linalg.solve([[aa, ab, ac], [ab, bb, bc], [ac, bc, cc]], right)
        call, event, piece = np.maximum(found, np.array(_GUESS) / 50).tolist()
        return call, event, piece

    # -- choosing --------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int | None:
        """How many events a slice has on average; None where nothing is cached."""
        return None if self.level == OFF else size_of(self.level)

    def asked(self, lengths: Int64s, inserted: float, rows: int) -> bool:
        """Ranges of these lengths are asked for, after so many new rows, over so many; True where the level changes."""
        self._times += 1
        digits = np.frexp(lengths)[1]
        counts, sums = np.bincount(digits, minlength=64), np.bincount(digits, lengths, 64)
        # the first time all rows are new, which says nothing of how many come
        share = 1.0 if self._times <= 2 else max(0.1, 1 / (self._times - 1))
        self._counts += share * (counts - self._counts)
        self._lengths += share * (sums - self._lengths)
        self._inserted += share * (inserted - self._inserted)
        self._rows += share * (rows - self._rows)
        if self._times < self._next:
            return False
        self._next += 4
        return self._choose()

    def _choose(self) -> bool:
        costs = {level: self.cost(level) for level in range(1, OFF + 1)}
        best = min(costs, key=lambda level: costs[level])
        gain = costs[self.level] - costs[best]
        anew = 0.0 if best == OFF else self._rows * self.measured[1]
        if best == self.level or gain < 0.1 * costs[self.level] or gain * _FEW < anew:
            return False
        self.level = best
        return True

    def cost(self, level: int) -> float:
        """Nanoseconds that the ranges of one step take with slices of a level."""
        _, event, piece = self.measured
        if level == OFF:
            return float(self._lengths.sum()) * event
        size, some = size_of(level), np.flatnonzero(self._counts)
        length = self._lengths[some] / self._counts[some]
        split = np.minimum(length, 2 * size) * event + np.maximum(length / size - 2, 0) * piece
        kept = self._rows / size * _PER_CELL * self._columns
        return float(self._counts[some] @ split) + self._inserted * event + kept


def _held(trust: float, costs: tuple[float, float, float]) -> list[float]:
    """Sums of squares and products as if each cost alone had been measured as it is, some times."""
    a, b, c = (trust / cost**2 for cost in costs)
    return [a, 0.0, 0.0, b, 0.0, c, *(trust / cost for cost in costs)]
