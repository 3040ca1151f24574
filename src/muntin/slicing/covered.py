"""Slices over kept events: which events begin them, as events come and go (paper 1, section 4.2, Figure 3).

Which event begins a slice follows from its arrival number alone (`muntin.kernels.covering`): not from its place, so an
event that comes late changes the one slice that it falls into; and not from what happened before, so an engine that
was restored has the same slices. On average a slice of level l has 32 * 4 ** (l - 1) events.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Cover", "Marks", "size_of"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


def size_of(level: int) -> int:
    """How many events a slice of a level has on average.

    >>> [size_of(level) for level in (1, 2, 3, 4)]
    [32, 128, 512, 2048]
    """
    return 32 << 2 * (level - 1)


class Marks:
    """Rows at which slices of one level begin, in order, with a row of some columns for each.

    >>> marks = Marks([np.empty(0, np.uint8)])
    >>> marks.insert(None, np.array([3, 9]), [np.array([1, 2], np.uint8)])
    >>> marks.whole[0] = True
    >>> marks.insert(np.array([2, 9]), np.array([2]), [np.array([1], np.uint8)])  # rows 2 and 10 are new
    >>> marks.rows.tolist(), marks.whole.tolist(), marks.columns[0].tolist()
    ([2, 4, 11], [False, False, False], [1, 1, 2])
    """

    def __init__(self, columns: list[Array]) -> None:
        self.rows: Int64s = np.empty(0, np.int64)
        self.whole: Bools = np.empty(0, np.bool_)
        """Whether the columns hold for the slice from a mark to the next one."""
        self.columns = columns

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        return sum(part.nbytes for part in (self.rows, self.whole, *self.columns))

    def insert(self, at: Int64s | None, fresh: Int64s, values: list[Array]) -> None:
        """Events have come before the rows `at`, or at the end; those in the rows `fresh`, as of now, are marks."""
        if at is None:
            if len(fresh):
                self.rows = np.concatenate([self.rows, fresh])
                self.whole = np.concatenate([self.whole, np.zeros(len(fresh), np.bool_)])
                self.columns = [np.concatenate(pair) for pair in zip(self.columns, values, strict=True)]
            return
        from muntin.kernels.covering import moved

        n = len(self.rows) + len(fresh)
        rows, source, whole = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
        moved(self.rows, self.whole, at, fresh, rows, source, whole)
        self.rows, self.whole = rows, whole
        if len(fresh):
            new, old = source < 0, source >= 0
            self.columns = [_placed(column, old, new, add) for column, add in zip(self.columns, values, strict=True)]

    def drop(self, first: int) -> None:
        """The first rows are gone."""
        gone = int(np.searchsorted(self.rows, first))
        self.rows, self.whole = self.rows[gone:] - first, self.whole[gone:]
        self.columns = [column[gone:] for column in self.columns]

    def keep(self, used: Bools, before: Int64s) -> None:
        """Only some rows stay; `before` says how many of them stand before each."""
        if not len(self.rows):
            return
        at, stay = before[self.rows], used[self.rows]
        whole = np.zeros(len(at), np.bool_)
        # nothing of the slice is gone, and the mark that ends it is still there
        whole[:-1] = self.whole[:-1] & (np.diff(at) == np.diff(self.rows)) & stay[1:]
        self.rows, self.whole = at[stay], whole[stay]
        self.columns = [column[stay] for column in self.columns]

    def clear(self) -> None:
        """No row is left."""
        self.rows, self.whole = self.rows[:0], self.whole[:0]
        self.columns = [column[:0] for column in self.columns]


def _placed(column: Array, old: Bools, new: Bools, add: Array) -> Array:
    placed = np.empty(len(old), column.dtype)
    placed[old], placed[new] = column, add
    return placed


class Follower(Protocol):
    """Slices of one level with what is cached of them."""

    marks: Marks

    @property
    def level(self) -> int:
        """The level."""

    def nothing(self, rows: int) -> list[Array]:
        """Columns for new marks."""


class Cover:
    """All marks of an event store, with their levels, and the caches that follow them.

    >>> cover = Cover(np.arange(1000))
    >>> len(cover.fine.rows), cover.fine.columns[0].tolist().count(2)
    (23, 8)
    """

    def __init__(self, seq: Int64s) -> None:
        self.fine = Marks([np.empty(0, np.uint8)])
        self.followers: dict[object, Follower] = {}
        self.events = 0
        """How many events have come."""
        self.inserted(None, 0, seq)

    @property
    def nbytes(self) -> int:
        """The bytes of the marks and of what is cached."""
        return self.fine.nbytes + sum(follower.marks.nbytes for follower in self.followers.values())

    @property
    def level(self) -> npt.NDArray[np.uint8]:
        """The levels of the marks."""
        return self.fine.columns[0]

    def inserted(self, at: Int64s | None, n: int, seq: Int64s) -> None:
        """Events with these arrival numbers have come before the rows `at`, or after all n."""
        from muntin.kernels.covering import levels

        found = np.empty(len(seq), np.uint8)
        levels(np.ascontiguousarray(seq), found)
        marked = np.flatnonzero(found)
        fresh, level = (n if at is None else at[marked]) + marked, found[marked]
        self.events += len(seq)
        self.fine.insert(at, fresh, [level])
        for follower in self.followers.values():
            some = fresh[level >= follower.level]
            follower.marks.insert(at, some, follower.nothing(len(some)))

    def dropped(self, first: int) -> None:
        """The first rows are gone."""
        if first:
            for marks in self._all():
                marks.drop(first)

    def kept(self, used: Bools) -> None:
        """Only some rows stay."""
        before: Int64s = np.cumsum(used) - used
        for marks in self._all():
            marks.keep(used, before)

    def cleared(self) -> None:
        """No row is left."""
        for marks in self._all():
            marks.clear()

    def _all(self) -> list[Marks]:
        return [self.fine, *(follower.marks for follower in self.followers.values())]
