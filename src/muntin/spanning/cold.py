"""Compressed rows over spans, in parts: cells of slices, or events that are swept (paper 5 over paper 3).

A window is made of all rows that reach into it, one by one, so a row that is compressed and one that came after it for
the same place simply both count. An event opens nothing; a window that is due reads the parts that reach into it, and
leaves them as they are. Parts of like size become one, and then rows of the same place do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import Compression
from muntin.metrics import Held
from muntin.slicing.chunks import Packed, Writer
from muntin.state.codecs import Codec

__all__ = ["SOME", "Columns", "Parts", "together"]

Columns = dict[str, npt.NDArray[Any]]

ROWS = 1 << 16  # rows of a part, about
SOME = 8  # with a D, rows wait until one in so many of those that are open can be compressed


@dataclass
class _Part:
    """Rows, and from where to where all of them together reach, both included."""

    low: int
    high: int
    rows: int
    packed: Packed

    def columns(self) -> Columns:
        """The rows, decompressed."""
        return {name: self.packed[name] for name in self.packed}


class Parts:
    """The compressed rows of a technique; `joined` makes one of rows that are of the same place.

    >>> parts = Parts(Compression(0), lambda columns: columns)
    >>> parts.put({"x": np.arange(100)}, 5, 9, 1)
    >>> [part["x"].sum() for part in parts.reaching(9, 12)], parts.reaching(10, 12), parts.nbytes < 200
    ([np.int64(4950)], [], True)
    """

    def __init__(self, rule: Compression, joined: Callable[[Columns], Columns]) -> None:
        self.writer = Writer(rule)
        self._joined = joined
        self._parts: list[_Part] = []
        self._done = Held()

    def __len__(self) -> int:
        return sum(part.rows for part in self._parts)

    @property
    def nbytes(self) -> int:
        """The bytes that they take."""
        return sum(part.packed.nbytes for part in self._parts)

    @property
    def codec(self) -> str | None:
        """The codec in use; None: nothing was compressed yet."""
        return None if self.writer.codec is None else str(self.writer.codec)

    @property
    def reach(self) -> tuple[int, int] | None:
        """From where to where they reach."""
        return (min(p.low for p in self._parts), max(p.high for p in self._parts)) if self._parts else None

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""
        raw = sum(part.packed.raw for part in self._parts)
        return self._done + Held(bytes_compressed=self.nbytes, bytes_open=raw)

    def put(self, columns: Columns, low: int, high: int, things: int) -> None:
        """Compress rows of so many keys or slices."""
        self._parts.append(self._packed(columns, low, high))
        self._done += Held(compressions=things)
        parts = self._parts
        while len(parts) > 1 and parts[-2].rows <= 2 * parts[-1].rows and parts[-2].rows + parts[-1].rows <= ROWS:
            last, before = parts.pop(), parts.pop()
            both = self._joined(together([before.columns(), last.columns()]))
            parts.append(self._packed(both, min(before.low, last.low), max(before.high, last.high)))

    def _packed(self, columns: Columns, low: int, high: int) -> _Part:
        self._done += Held(chunks_written=1)
        return _Part(low, high, len(next(iter(columns.values()))), Packed(columns, self.writer))

    def reaching(self, low: int, high: int) -> list[Columns]:
        """The parts that may have rows which reach into a stretch, the end of it not included."""
        some = [part for part in self._parts if part.high >= low and part.low < high]
        self._done += Held(chunks_read=len(some))
        return [part.columns() for part in some]

    def column(self, name: str) -> list[npt.NDArray[Any]]:
        """One column of all parts."""
        return [part.packed[name] for part in self._parts]

    def taken_out(self) -> list[Columns]:
        """All rows, which are not compressed any more."""
        found = [part.columns() for part in self._parts]
        self._done += Held(chunks_read=len(found))
        self._parts = []
        return found

    def drop(self, low: int) -> int:
        """Forget the parts that reach no further than to before a place; gives how many rows they had."""
        gone = sum(part.rows for part in self._parts if part.high < low)
        self._parts = [part for part in self._parts if part.high >= low]
        return gone

    def rewrite(self, codec: Codec) -> None:
        """Compress all rows once more, with another codec, and what comes with it too."""
        self.writer.strong, self.writer.left = codec, 0
        self._parts = [self._packed(part.columns(), part.low, part.high) for part in self._parts]


def together(parts: list[Columns]) -> Columns:
    """Rows one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
