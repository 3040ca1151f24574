"""Events one by one, each with its key and the partial of itself alone: for techniques that share nothing before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.fused import Fused
from muntin.slicing.batch import Batch, Column
from muntin.slicing.slices import Partials

__all__ = ["Each"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Each:
    """The keys and partials of events, in the order in which they came."""

    def __init__(self, fused: Fused) -> None:
        self._fused = fused
        self._key: Int64s = np.empty(0, np.int64)
        self._columns: Partials = fused.new(0)
        self._gone = 0

    def _add(self, batch: Batch, order: Int64s | None, columns: Mapping[str, Column]) -> None:
        events = self._fused.new(len(batch))
        self._fused.update_cells(events, np.arange(len(batch)), batch.time, order, columns)
        self._columns = [np.concatenate(pair) for pair in zip(self._columns, events, strict=True)]
        self._key = np.concatenate([self._key, batch.key_ids()])

    def _stay(self, rows: Int64s) -> None:
        """Only some of them."""
        self._gone += len(self._key) - len(rows)
        self._key = self._key[rows]
        self._columns = [column[rows] for column in self._columns]

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""
        return [self._columns[at]]

    @property
    def turned(self) -> tuple[int, int]:
        """How many events were let go so far, and how many are held."""
        return self._gone, len(self._key)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with events."""
        live[self._key] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        self._key = moved[self._key]
