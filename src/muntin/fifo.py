"""Sliding windows over cells by one of the algorithms of paper 4: in one go, or resumable for a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.fused import Fused
from muntin.kernels.final import blocks_cells, daba, subtract_on_evict, two_stacks

__all__ = ["REFRESH", "Fifo", "slid"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

REFRESH = 1_024
"""After how many windows a partial with floats starts afresh, where it is taken out of again."""

_TEXTS = {"two_stacks": two_stacks.two_stacks, "daba": daba.daba}


def slid(
    cells: Fused, final: str, a: Ints, b: Ints, state: Sequence[Array], stride: int = 1, keys: int = 1
) -> list[Array]:
    """Rows a to b of cells as one, for each window; of key k of window w in row `w * keys + k`.

    A window that goes back, or has nothing in common with the one before, begins anew. Row r holds key k in cell
    `r * stride + k`. Where partials are subtracted, the times of the first and last event of a window are not told.

    >>> import muntin as mt, pyarrow as pa
    >>> from muntin.fused import fused
    >>> cells = fused([mt.sum("x").bind([pa.int64()])], nullable=[], spans=False)
    >>> state = [np.ones(5, slot) for slot in cells.slots]
    >>> a = np.array([0, 1, 2])
    >>> [slid(cells, final, a, a + 3, state)[-1].tolist() for final in ("blocks", "daba", "subtract_on_evict")]
    [[3, 3, 3], [3, 3, 3], [3, 3, 3]]
    """
    if final in _TEXTS:
        return Fifo(cells, final, keys, int(a[0]) if len(a) else 0).windows(a, b, 0, state, stride)
    if final == "subtract_on_evict":
        results, refresh = cells.blank(len(a) * keys), 0 if cells.exact else REFRESH
        cells.inverse.call(subtract_on_evict.subtract_cells, [a, b, stride, keys, refresh, *state], results)
        return results
    results = cells.blank((len(a) + 1) * keys)
    if keys == 1 and stride == 1:
        cells.call(blocks_cells.blocks_one, [a, b, *state], results)
    else:
        cells.call(blocks_cells.blocks_dense, [a, b, stride, keys, *state], results)
    return [column[: len(a) * keys] for column in results]


class Fifo:
    """A window that slides over a stream of cells, of all keys at once: two-stacks or DABA on a ring buffer.

    The ring grows when a window outgrows it (paper 4 fixes it in advance, section 3.2 (1)).

    >>> import muntin as mt, pyarrow as pa
    >>> from muntin.fused import fused
    >>> cells = fused([mt.min("x").bind([pa.int64()])], nullable=[], spans=False)
    >>> window = Fifo(cells, "two_stacks")
    >>> def step(lo, hi, *values):
    ...     columns = [np.array(values), *[np.zeros(len(values), np.int64)] * 2, np.array(values)]
    ...     columns[0] = np.ones(len(values), np.int64)
    ...     return window.windows(np.array([lo]), np.array([hi]), hi - len(values), columns)[-1].tolist()
    >>> step(0, 4, 8, 2, 1, 5), step(1, 5, 0), step(5, 6, 7)
    ([1], [0], [7])
    """

    def __init__(self, cells: Fused, final: str, keys: int = 1, start: int = 0) -> None:
        self._cells, self._text, self._keys = cells, _TEXTS[final], keys
        self._meta = np.full(6, start, np.int64)
        self._last = 5 if final == "daba" else 2
        self.room = 8
        self._front = cells.new(keys)
        self._rings = [cells.new(self.room * keys) for _ in range(2)]
        self._has_front = final == "two_stacks"

    @property
    def start(self) -> int:
        """The running number of the first cell in the window."""
        return int(self._meta[0])

    @property
    def end(self) -> int:
        """The running number of the next cell to come."""
        return int(self._meta[self._last])

    def windows(self, a: Ints, b: Ints, start: int, state: Sequence[Array], stride: int = 1) -> list[Array]:
        """Slide from window to window, cells a to b of each; `state` are cells from number `start` on."""
        results = self._cells.blank(len(a) * self._keys)
        if not len(a):
            return results
        before, ends = np.concatenate([[self.start], a[:-1]]), np.concatenate([[self.end], b[:-1]])
        on = (a < ends) & (a >= before) & (b >= ends)
        inputs, rest = self.arguments(int((b - np.where(on, before, a)).max()), state, results)
        self._cells.call(self._text, [a, b, start, stride, self._keys, *inputs], rest)
        return results

    @property
    def kernel(self) -> Any:
        """What slides, compiled: takes a, b, start, stride, the number of keys, and `arguments`."""
        return self._cells._kernel(self._text)

    def arguments(self, most: int, state: Sequence[Array], results: list[Array]) -> tuple[list[Any], list[Any]]:
        """What else the kernel reads, and what it writes, with room for `most` cells in a window."""
        self._grow(most)
        rings = [column for ring in self._rings for column in ring]
        front = self._front if self._has_front else []
        return [self.room - 1, self._meta, *state], [*rings, *front, *results]

    def _grow(self, needed: int) -> None:
        if needed <= self.room:
            return
        old, self.room = self.room, 1 << (needed - 1).bit_length()
        numbers = np.arange(self.start, self.end)
        keys = np.arange(self._keys)
        source = ((numbers % old)[:, None] * self._keys + keys).ravel()
        target = ((numbers % self.room)[:, None] * self._keys + keys).ravel()
        for i, ring in enumerate(self._rings):
            grown = self._cells.new(self.room * self._keys)
            for column, values in zip(grown, ring, strict=True):
                column[target] = values[source]
            self._rings[i] = grown
