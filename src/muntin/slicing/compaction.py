"""Forgetting silent keys: the state of a key disappears when its last slice and its last kept event do.

Key ids only grow, and stores have places for all of them. Now and then, when windows are closed, every store says which
keys it still holds something of; where many are silent, the others are numbered anew, in the same order, everywhere at
once. Texts are forgotten in the same way (`texts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from muntin.slicing.keys import KeyTable

__all__ = ["Compaction", "HoldsKeys", "Turnover", "kept_ids"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LEAST = 512  # ids below which looking gains nothing: a key table has places for 2,048 at the least


class HoldsKeys(Protocol):
    """What every store with state per key implements.

    A key of which a store holds nothing must be to it as one that never was: forgetting it changes no result.
    """

    def live_keys(self, live: Bools) -> None:
        """Set `live[key]` for each key that something is held of."""

    def renumber(self, moved: Int64s) -> None:
        """Key `id` is `moved[id]` from now on, in the same order; -1: it is forgotten, nothing was held of it."""


def kept_ids(moved: Int64s) -> Int64s:
    """The old ids of those that stay, in the order of the new ones.

    >>> kept_ids(np.array([0, -1, 1])).tolist()
    [0, 2]
    """
    return np.flatnonzero(moved >= 0)


@dataclass
class Turnover:
    """When to look again: looking costs as much as there is, so it waits until that much has changed.

    >>> turnover = Turnover(least=4)
    >>> turnover.due(3, 0, 9), turnover.due(8, 0, 9)
    (False, True)
    >>> turnover.looked(7, 0)
    >>> turnover.due(8, 0, 9), turnover.due(8, 9, 9), turnover.due(14, 0, 9)
    (False, True, True)
    >>> turnover.due(1, 9, 0)  # nothing is held: the last ones go too
    True
    """

    least: int
    left: int = 0
    """How many ids were left at the last look."""
    gone: int = 0
    """How many slices and events had been let go by then."""

    def due(self, ids: int, gone: int, held: int) -> bool:
        """Whether the ids have doubled, or as much was let go as is held; of few only where nothing is held at all."""
        return (ids >= self.least or (ids > 0 and held == 0)) and (
            ids >= 2 * self.left or gone - self.gone >= max(held, 1)
        )

    def looked(self, left: int, gone: int) -> None:
        """A look has left this many ids."""
        self.left, self.gone = left, gone


class Compaction:
    """Looks for silent keys of an engine, and has all stores forget them."""

    def __init__(self, keys: KeyTable, stores: Sequence[HoldsKeys]) -> None:
        self._keys, self._stores = keys, stores
        self._turnover = Turnover(LEAST)

    def step(self, gone: int, held: int) -> None:
        """Windows were closed, and so many slices and events were let go so far: look where it is time to."""
        size = self._keys.size
        if self._turnover.due(size, gone, held):
            self._turnover.looked(self._forget(size), gone)

    def _forget(self, size: int) -> int:
        live = np.zeros(size, np.bool_)
        for store in self._stores:
            store.live_keys(live)
        count = int(np.count_nonzero(live))
        if 4 * count > 3 * size:  # moving all the others costs more than these few do
            return size
        moved = self._keys.compact(live)
        for store in self._stores:
            store.renumber(moved)
        return count
