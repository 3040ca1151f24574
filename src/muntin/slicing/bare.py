"""Slices without cells, where all that queries compute comes from kept events (paper 1, Figure 4).

A cell says which aggregates a key has in a slice, or else only that it has events there. The kept events say that too:
so where no aggregate needs cells, none are held. With windows of three hours in slices of a minute, and a report every
30 s from each of some thousand vehicles, cells took three quarters of the state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.slicing.compaction import kept_ids
from muntin.slicing.slices import Partials, Slices

__all__ = ["BareSlices", "counted", "with_cells"]

Int64s = npt.NDArray[np.int64]


class BareSlices(Slices):
    """Slices in the order of time: their bounds, and the times of their first and last events."""

    def _put_cells(self, at: int, count: int) -> None:
        """There are none."""

    def _check(self) -> None:
        """There is nothing that could be dense or sparse."""

    def grow(self, keys: int) -> None:
        """More keys."""
        self._keys, self._coming, self._new = keys, 0, 0

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Nothing is held of a key; the kept events say which are there."""

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        self._keys = max(len(kept_ids(moved)), 1)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the slices: `with_cells` adds the cells where others are to have some."""
        return self._bounds()

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the slices of a snapshot; cells that it has are left out."""
        self._load_bounds(tree)


def with_cells(tree: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    """The slices of a snapshot with their cells, which have only the number of events, from its kept events."""
    if "sparse" in tree or "columns" in tree:
        return tree
    found = [_effective(store) for store in kept["stores"]]
    slices, key, n = counted(tree["starts"], tree["ends"], found)
    return tree | {"sparse": {"slice": slices, "key": key, "columns": [n]}}


def counted(starts: Int64s, ends: Int64s, stores: list[tuple[Int64s, Int64s]]) -> tuple[Int64s, Int64s, Int64s]:
    """How many events keys have in slices, from the keys and times of each store; by slice, then key.

    Queries in different stores have taken the same events as far as these are in their windows: the most count.

    >>> store = np.array([0, 0, 3]), np.array([1, 12, 14])
    >>> [part.tolist() for part in counted(np.array([0, 10]), np.array([10, 20]), [store])]
    [[0, 1, 1], [0, 0, 3], [1, 1, 1]]
    """
    parts: list[Partials] = []
    for key, time in stores:
        place = starts.searchsorted(time, "right") - 1
        inside = np.flatnonzero((place >= 0) & (time < ends[np.maximum(place, 0)])) if len(starts) else place[:0]
        pairs, n = np.unique(np.stack([place[inside], key[inside]]), axis=1, return_counts=True)
        parts.append([*pairs, n])
    if len(parts) == 1:
        return parts[0][0], parts[0][1], parts[0][2]
    slices, key, n = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((key, slices))
    slices, key, n = slices[order], key[order], n[order]
    heads = np.flatnonzero(np.append(True, (np.diff(slices) != 0) | (np.diff(key) != 0))[: len(key)])
    return slices[heads], key[heads], np.maximum.reduceat(n, heads) if len(heads) else n


def _effective(store: dict[str, Any]) -> tuple[Int64s, Int64s]:
    """Keys and times of the rows that a query still needs, of a store as it was saved."""
    arrays, taken = store["arrays"], store["arrays"]["taken"].copy()
    for bit, cut in enumerate(store["cut"]):
        taken[:cut] &= ~np.uint64(1 << bit)
    used = np.flatnonzero(taken)
    return arrays["key"][used], arrays["time"][used]
