"""What the families of windows over kept events share: windows as columns, marks and bases per key.

Each family follows the class of the same kind in `muntin.reference.families`, which defines every result from all
events of a key. Here events are let go once no open window, and none that can still arise, needs them; what they leave
behind (how many they were, how far they came) is kept in arrays with one entry per key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from muntin.layout import BoundQuery
from muntin.slicing.batch import Batch
from muntin.slicing.compaction import kept_ids
from muntin.slicing.views import View
from muntin.spec import Spec
from muntin.windows.base import NEVER

__all__ = ["NEVER", "NONE", "Bools", "Int64s", "Judged", "KeptFamily", "Said", "Wins"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NONE = int(np.iinfo(np.int64).min)
"""Stands for "not yet" among times, measures and orders: everything is later."""


@dataclass
class Wins:
    """Windows of one query as columns: those that exist and are not past the mark of the step before.

    The events of a window are those at `take[lo:hi]` of the view, or at `lo:hi` where `take` is None, in order.
    """

    key: Int64s
    identity: tuple[Int64s, ...]
    start: Int64s
    end: Int64s
    rows: tuple[Int64s, Int64s] | None
    lo: Int64s
    hi: Int64s
    take: Int64s | None
    due: Bools

    def __len__(self) -> int:
        return len(self.key)

    def some(self, index: Int64s) -> Wins:
        """Some of the windows, before it is known which are due."""
        return Wins(
            self.key[index],
            tuple(part[index] for part in self.identity),
            self.start[index],
            self.end[index],
            None if self.rows is None else (self.rows[0][index], self.rows[1][index]),
            self.lo[index],
            self.hi[index],
            self.take,
            self.due,
        )


@dataclass
class Judged:
    """Which rows of a batch come too late, and from where to where they missed windows.

    `known` False: what they missed has no bounds in time. `null_measure`: rows that do not say where they stand along
    `on=`; they are not taken, and not late.
    """

    late: Bools
    start: Int64s
    end: Int64s
    known: bool = True
    null_measure: Bools | None = None


class Said(Protocol):
    """Windows that were reported: what `closed` looks at."""

    @property
    def key(self) -> Int64s:
        """The key ids."""

    @property
    def identity(self) -> tuple[Int64s, ...]:
        """What identifies them."""

    @property
    def end(self) -> Int64s:
        """Their ends in time."""

    @property
    def rows(self) -> tuple[Int64s, Int64s] | None:
        """Their positions, or bounds along a measure."""


class KeptFamily:
    """A family of windows over kept events; by itself one that goes by time."""

    takes_late = False
    """Whether an event that misses some windows still counts in others."""
    parts = 1
    """How many numbers identify a window."""
    per_key: ClassVar[dict[str, int]] = {"mark": NONE}
    """What is kept per key, with what it is for a key not seen yet."""

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        self.window: Any = query.window
        self.lateness = spec.lateness
        self.idle = spec.idle
        self.on: str | None = getattr(self.window, "on", None)
        self.state: dict[str, Int64s] = {name: np.empty(0, np.int64) for name in self.per_key}
        self.has_rows = False
        self.bound: int | None = None
        """The watermark less the lateness, as of the step before."""
        self.since: int | None = None
        """Where the query was added later: it has only windows that start then or later, of events then or later."""

    def grow(self, keys: int) -> None:
        """Make room for key ids below `keys`."""
        for name, empty in self.per_key.items():
            here = self.state[name]
            if len(here) < keys:
                grown = np.full(max(keys, 2 * len(here)), empty, np.int64)
                grown[: len(here)] = here
                self.state[name] = grown

    @property
    def nbytes(self) -> int:
        """The bytes of what is kept per key."""
        return sum(array.nbytes for array in self.state.values())

    def live_keys(self, live: Bools) -> None:
        """Mark the keys whose state is not that of a key not seen yet: how far they came is never forgotten."""
        for name, empty in self.per_key.items():
            here = self.state[name][: len(live)]
            live[: len(here)] |= here != empty

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self.state = {name: array[kept_ids(moved[: len(array)])] for name, array in self.state.items()}

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the family."""
        return {"state": self.state, "bound": self.bound}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self.state, self.bound = tree["state"], tree["bound"]

    # -- judging ---------------------------------------------------------------------------------------------------

    def judge(self, batch: Batch, watermark: int | None) -> Judged:
        """Which rows are late, as of the watermark of the step before; the other rows of the batch do not matter."""
        if watermark is not None:
            self.bound = watermark - self.lateness
        n = len(batch.time)
        null = None if self.on is None else batch.measures[self.on][1]
        judged = self._judge(batch) if n and self.bound is not None else in_time(n)
        if null is not None:
            judged.late &= ~null
        judged.null_measure = null
        return judged

    def _judge(self, batch: Batch) -> Judged:
        """Late before the mark of its key."""
        if batch.key is None and (batch.time >= self.marks(_ONE)[0]).all():
            return in_time(len(batch))
        mark = self.marks(batch.key_ids())
        return Judged(batch.time < mark, batch.time, mark)

    def marks(self, keys: Int64s) -> Int64s:
        """Up to where windows of these keys are closed, as of the step before."""
        return self.state["mark"][keys]

    # -- finding windows -------------------------------------------------------------------------------------------

    def windows(self, view: View, watermark: int | None, flush: bool) -> Wins:
        """The windows that exist and were not closed in the step before."""
        wins = self._windows(view) if len(view) else self.none()
        if self.since is not None and (wins.start < self.since).any():
            wins = wins.some(np.flatnonzero(wins.start >= self.since))
        if flush:
            wins.due = np.ones(len(wins), np.bool_)
        elif watermark is None or not len(wins):
            wins.due = np.zeros(len(wins), np.bool_)
        else:
            wins.due = self._due(view, wins, watermark)
        return wins

    def _windows(self, view: View) -> Wins:
        raise NotImplementedError

    def _due(self, view: View, wins: Wins, watermark: int) -> Bools:
        """The watermark has reached their end."""
        return wins.end <= watermark

    def none(self) -> Wins:
        """No window at all."""
        empty = np.empty(0, np.int64)
        rows = (empty, empty) if self.has_rows else None
        return Wins(empty, (empty,) * self.parts, empty, empty, rows, empty, empty, None, np.empty(0, np.bool_))

    # -- closing ---------------------------------------------------------------------------------------------------

    def close(self, view: View, wins: Wins, watermark: int | None) -> Bools:
        """Move the marks to a new watermark; gives the events that are still needed."""
        if watermark is None:
            return np.ones(len(view), np.bool_)
        bound = watermark - self.lateness
        keep = self._close(view, wins, bound) if len(view) else np.ones(0, np.bool_)
        self.bound = bound
        return keep

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        raise NotImplementedError

    def closed(self, said: Said) -> Bools:
        """Which windows, as they were reported, are closed as of the last `close`."""
        return said.end <= self.marks(said.key)


_ONE: Int64s = np.zeros(1, np.int64)  # the only key of a spec without keys


def in_time(n: int) -> Judged:
    none = np.zeros(n, np.int64)
    return Judged(np.zeros(n, np.bool_), none, none)


# -- columns of windows and runs -----------------------------------------------------------------------------------


def expand(first: Int64s, count: Int64s) -> tuple[Int64s, Int64s]:
    """For each i the numbers first[i], first[i] + 1, ... of which there are count[i]: whose they are, and they.

    >>> expand(np.array([7, 3]), np.array([2, 1]))
    (array([0, 0, 1]), array([7, 8, 3]))
    """
    count = np.maximum(count, 0)
    ends = np.cumsum(count)
    owner = np.repeat(np.arange(len(count)), count)
    within = np.arange(int(ends[-1]) if len(ends) else 0)
    return owner, within - (ends - count)[owner] + first[owner]


def last_of_each(keys: Int64s) -> Int64s:
    """Where the last of each stretch of equal keys stands.

    >>> last_of_each(np.array([4, 4, 6])).tolist()
    [1, 2]
    """
    if not len(keys):
        return np.empty(0, np.int64)
    return np.append(np.flatnonzero(keys[1:] != keys[:-1]), len(keys) - 1)


def keep_from(view: View, cut: Int64s) -> Bools:
    """The events of each key of a view from a place on."""
    if len(cut) == 1:
        keep = np.ones(len(view), np.bool_)
        keep[: cut[0]] = False
        return keep
    if (cut == view.offsets[:-1]).all():
        return np.ones(len(view), np.bool_)
    keep_all: Bools = np.arange(len(view)) >= view.spread(cut)
    return keep_all


def gather(n: int, lo: Int64s, hi: Int64s, at: Int64s, items: Int64s, count: Int64s) -> Int64s:
    """A `take` for windows whose events do not stand side by side; `lo` and `hi` of those windows are set to it.

    It begins with all n places of the view, so that the other windows stay as they are. `items` are the places of the
    windows at `at`, `count` of them each.
    """
    lo[at] = n + np.cumsum(count) - count
    hi[at] = lo[at] + count
    return np.concatenate([np.arange(n), items])


@dataclass
class Runs:
    """Events of a view cut by key and, where asked for, after each silence longer than `idle`."""

    starts: Int64s  # one more than there are runs: the last is the end
    key: Int64s
    first: Bools  # the first kept run of its key
    carried: Bools  # it goes on from events that were let go

    @property
    def base(self) -> Int64s:
        """Where each begins."""
        return self.starts[:-1]


def runs_of(view: View, idle: int | None, base: Int64s, last: Int64s) -> Runs:
    """The runs of a view. `base` and `last` are per key id: how many events of the run that reaches up to the kept
    ones were let go, and the time of the last of them.
    """
    heads = view.offsets[:-1]
    if idle is None:
        return Runs(view.offsets, view.keys, np.ones(len(heads), np.bool_), base[view.keys] > 0)
    cut = np.append(np.ones(1, np.bool_), np.diff(view.time) > idle)
    cut[heads] = True
    starts = np.append(np.flatnonzero(cut), len(view))
    key = view.key[starts[:-1]]
    first = np.append(np.ones(1, np.bool_), key[1:] != key[:-1])
    carried = first & (base[key] > 0)
    near = np.flatnonzero(carried)
    carried[near] = view.time[starts[near]] - last[key[near]] <= idle
    return Runs(starts, key, first, carried)
