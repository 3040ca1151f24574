"""Windows over positions: tumbling, sliding and cumulative in rows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from muntin.layout import BoundQuery
from muntin.slicing.batch import Batch
from muntin.slicing.kept.base import (
    NONE,
    Bools,
    Int64s,
    Judged,
    KeptFamily,
    Said,
    Wins,
    expand,
    in_time,
    keep_from,
    last_of_each,
    runs_of,
)
from muntin.slicing.views import View
from muntin.spec import Spec
from muntin.windows import Cumulative

__all__ = ["RowsFamily"]


class RowsFamily(KeptFamily):
    """Windows over the positions of a key, or of each of its runs where `idle` is given.

    The mark is the place of the last event of a closed window: what stands up to it is settled, and so are its
    positions. Kept are the events from the first open window of that run on. A run too short for a window never closes
    one, so it stays, as in the reference, until a later run has a closed window.
    """

    per_key: ClassVar[dict[str, int]] = {
        "mark": NONE,  # the time of the last event of a closed window
        "order": NONE,  # and its order
        "closed": 0,  # the end, in positions, of that window
        "base": 0,  # how many events of its run were let go
        "first": NONE,  # where its run begins
        "last": NONE,  # the time of the last event that was let go
    }

    def __init__(self, query: BoundQuery, spec: Spec) -> None:
        super().__init__(query, spec)
        self.size, self.every = int(self.window.size.amount), int(self.window.every.amount)
        self.cumulative = isinstance(self.window, Cumulative)
        self.has_rows = True
        self.parts = 2 if self.idle is None else 3

    def _judge(self, batch: Batch) -> Judged:
        """Late before the mark; of equal places the one that comes now is the later."""
        if batch.key is None and (batch.time > self.state["mark"][0]).all():
            return in_time(len(batch))
        key = batch.key_ids()
        mark = self.state["mark"][key]
        late = batch.time < mark
        if batch.order is not None:
            late |= (batch.time == mark) & (batch.order < self.state["order"][key])
        return Judged(late, batch.time, mark + 1)

    def _windows(self, view: View) -> Wins:
        state = self.state
        runs = runs_of(view, self.idle, state["base"], state["last"])
        base = np.where(runs.carried, state["base"][runs.key], 0)
        # The run of the mark: it goes on from events let go, or none of its events was let go.
        marked = runs.carried | (runs.first & (state["base"][runs.key] == 0))
        closed = np.where(marked, state["closed"][runs.key], 0)
        n = base + np.diff(runs.starts)
        owner, start, end = self._positions(n, closed)
        lo = (runs.base - base)[owner] + start
        hi = lo + (end - start)
        key = runs.key[owner]
        identity: tuple[Int64s, ...] = (start, end)
        if self.idle is not None:
            first = np.where(runs.carried, state["first"][runs.key], view.time[runs.base])
            identity = (first[owner], start, end)
        return Wins(key, identity, view.time[lo], view.time[hi - 1] + 1, (start, end), lo, hi, None, _NOT_YET)

    def _positions(self, n: Int64s, closed: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """The windows that end after `closed` and within n positions: whose, from where, to where."""
        size, every = self.size, self.every
        if self.cumulative:
            first = closed // every + 1
            owner, step = expand(first, n // every - first + 1)
            end = step * every
            return owner, (end - 1) // size * size, end
        first = np.where(closed > 0, (closed - size) // every + 1, 0)
        owner, step = expand(first, (n - size) // every - first + 1)
        return owner, step * every, step * every + size

    def _close(self, view: View, wins: Wins, bound: int) -> Bools:
        done = np.flatnonzero(wins.end <= bound)
        if not len(done):
            return np.ones(len(view), np.bool_)
        last = done[last_of_each(wins.key[done])]
        key, hi = wins.key[last], wins.hi[last]
        assert wins.rows is not None
        end = wins.rows[1][last]
        # Up to the first open window, but not past the mark: what comes may still stand between.
        base = end // self.size * self.size if self.cumulative else np.minimum(end - self.size + self.every, end)
        cut = hi - (end - base)
        state, rank = self.state, np.searchsorted(view.keys, key)
        state["mark"][key] = view.time[hi - 1]
        if view.order is not None:
            state["order"][key] = view.order[hi - 1]
        state["closed"][key], state["base"][key] = end, base
        if self.idle is not None:
            state["first"][key] = wins.identity[0][last]
            gone = cut > view.offsets[rank]
            state["last"][key[gone]] = view.time[cut[gone] - 1]
        cuts = view.offsets[:-1].copy()
        cuts[rank] = cut
        return keep_from(view, cuts)

    def closed(self, said: Said) -> Bools:
        """By positions in the run of the mark; of other runs, those before it."""
        state = self.state
        here = said.identity[-1] <= state["closed"][said.key]
        if self.idle is None:
            return here
        before: Bools = said.end - 1 < state["mark"][said.key]
        same = said.identity[0] == state["first"][said.key]
        return np.where(same, here, before)


_NOT_YET: Bools = np.empty(0, np.bool_)  # `windows` says which are due
