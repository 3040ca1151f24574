"""Which aggregate store combines windows: lazy (slices alone) or eager (a tree over them); paper 1, Table 1.

Lazy combines the slices of a window when it is due, eager keeps a tree of partials (`muntin.slicing.tree`) up to date
with every batch, so that little is left to do. `auto` goes by what the windows that are due have to combine: with much
to combine it uses the tree, brought up to date when asked. Without the tree, `final` says how slices become windows
(`muntin.final`): several windows over the same slices go in blocks, which is two-stacks over slices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from muntin.fifo import slid
from muntin.final import LEAST, chosen_for_slices, refuse_final
from muntin.fused import Fused
from muntin.slicing.slices import Partials, Slices
from muntin.slicing.tree import FAN, Tree
from muntin.stores import PER_WINDOW, tree_pays

__all__ = ["AggregateStore"]

Int64s = npt.NDArray[np.int64]


class AggregateStore:
    """Slices with or without a tree over them, and the windows that are combined from both."""

    def __init__(self, kind: str, final: str, cells: Fused, slices: Slices, corrected: bool) -> None:
        self._kind, self._cells, self._slices = kind, cells, slices
        refuse_final(final, cells, corrected)
        self._final = final
        # A window that may be corrected is always combined in the same way: else the last digits of a float could
        # change without an event, and the window would be reported again.
        self._corrected = corrected
        self._tree = None if kind == "lazy" else Tree(cells, slices)

    @property
    def nbytes(self) -> int:
        """The bytes that the tree holds."""
        return 0 if self._tree is None else self._tree.nbytes

    def forget(self) -> None:
        """Partials in slices change otherwise than by events: what was combined from them does not hold any more."""
        if self._tree is not None:
            self._tree.forget()

    def touch(self, times: Int64s, low: int, high: int, keys: int) -> None:
        """Events went into slices; `low` and `high` are the smallest and largest of their times."""
        if self._tree is None:
            return
        if self._slices.sparse is not None:  # few cells: there is nothing to combine ahead
            self._tree.forget()
        else:
            self._tree.touch(times, low, high)
            if self._kind == "eager":
                self._tree.settle(keys)

    def merged(self, a: Int64s, b: Int64s, keys: int) -> Partials:
        """The partials of windows over the rows a to b of slices; of key k of window w in row `w * keys + k`."""
        # This and the bounds below in one compiled call: 181 to 239 µs per push with 100 windows, against 178 to 188.
        total = int((b - a).sum())
        # Below that there is no block in any window, and the loop is the same with fewer arguments.
        always = total >= FAN and (self._kind == "eager" or self._corrected)
        slices, final = self._slices, self._final
        if final == "auto":
            # Windows of several queries in one report may go back: then blocks would be short runs.
            span = int(b[-1] - a[0])
            worth = (total - span) * keys >= LEAST and bool((a[1:] >= a[:-1]).all())
            final = chosen_for_slices(total, len(a), span, keys) if worth else "rescan"
            # Floats that may be corrected are always combined in the same way.
            final = "rescan" if final == "blocks" and self._corrected and not self._cells.exact else final
            better = final == "rescan" or span > PER_WINDOW * len(a)
            if self._tree is not None and (always or (better and tree_pays(total, len(a), keys))):
                return self._tree.merged(a, b, keys)
        if final != "rescan":
            return slid(self._cells, final, a, b, slices.columns, slices.stride, keys)
        if slices.stride > 1:
            return self._cells.merge_dense(a, b, slices.stride, slices.columns, keys)
        return self._cells.merge_ranges(a, b, slices.columns)
