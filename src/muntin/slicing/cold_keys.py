"""Keys whose blocks of rows are compressed once they were not touched for a while (paper 5).

The events and slices of a key of rows windows, and its slices along another column, stand in blocks of columns. Those
of silent keys are taken out and compressed, many keys together, cut by when they were last touched; an event for one of
them opens it and the others of its chunk. What is known of every key beside (how far it came) is a few numbers, and
stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import NEVER, Compression
from muntin.metrics import Held
from muntin.slicing.chunks import Packed, Writer
from muntin.slicing.rows.blocks import Blocks, grown, spread
from muntin.slicing.rows.waiting import VALID
from muntin.state.codecs import Codec

__all__ = ["ColdKeys"]

Int64s = npt.NDArray[np.int64]

ROWS = 1 << 13  # rows of a chunk, about: a touch opens all of it
FEW = 8  # small chunks above which they become one
SOME = 8  # with a D, keys wait until they have one in so many of the rows that are open
_NOWHERE = -1
_NEVER = np.iinfo(np.int64).min


@dataclass
class _Chunk:
    keys: Int64s
    rows: int
    parts: list[Packed]
    """One of each of the blocks."""


class ColdKeys:
    """Which keys of some blocks are compressed, and when the others were last touched.

    `busy` are keys that stay open since they will be looked at soon.
    """

    def __init__(
        self, rule: Compression, blocks: Callable[[], Sequence[Blocks]], busy: Callable[[], Int64s] | None = None
    ) -> None:
        self._blocks, self._busy, self.after = blocks, busy, rule.after
        self.writer = Writer(rule)
        self._chunks: dict[int, _Chunk] = {}
        self._next = 0
        self._where = np.empty(0, np.int64)
        self._last = np.empty(0, np.int64)
        self._latest: int | None = None
        self._done = Held()

    # -- what is held --------------------------------------------------------------------------------------------------

    @property
    def extra(self) -> int:
        """The bytes of chunks, and of which key is where."""
        packed = sum(part.nbytes for chunk in self._chunks.values() for part in chunk.parts)
        return packed + self._where.nbytes + self._last.nbytes

    @property
    def nbytes(self) -> int:
        """The bytes of all blocks, compressed or not."""
        return self.extra + sum(blocks.nbytes for blocks in self._blocks())

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""
        parts = [part for chunk in self._chunks.values() for part in chunk.parts]
        keys = sum(len(chunk.keys) for chunk in self._chunks.values())
        return self._done + Held(
            bytes_compressed=sum(part.nbytes for part in parts),
            bytes_open=sum(part.raw for part in parts),
            keys_compressed=keys,
            keys=keys + int(np.count_nonzero(self._have())),
        )

    @property
    def chosen(self) -> tuple[int, str | None]:
        """The D in use, and the codec; None: nothing was compressed yet."""
        return self.after, None if self.writer.codec is None else str(self.writer.codec)

    @property
    def silence(self) -> int:
        """For how long the key that is open and longest silent has been so."""
        last = self._last[(self._where < 0) & (self._last > _NEVER)]
        return 0 if self._latest is None or not len(last) else self._latest - int(last.min())

    def _have(self) -> Int64s:
        """How many rows each key has that are open."""
        counts = [blocks.count for blocks in self._blocks()]
        size = min(len(self._last), *map(len, counts))
        found: Int64s = np.sum([count[:size] for count in counts], axis=0)
        return found

    # -- opening -------------------------------------------------------------------------------------------------------

    def touch(self, keys: Int64s | None, newest: int, size: int) -> None:
        """Events have come for some keys, out of so many; None: for the one that there is."""
        self._where, self._last = grown(self._where, size, _NOWHERE), grown(self._last, size, _NEVER)
        self._latest = newest if self._latest is None else max(self._latest, newest)
        some = np.zeros(1, np.int64) if keys is None else keys
        self.open(some)
        self._last[some] = self._latest

    def open(self, keys: Int64s) -> None:
        """Open the chunks of some keys."""
        if self._chunks and len(keys):
            self._open(np.unique(self._where[keys[keys < len(self._where)]]).tolist())

    def open_all(self) -> None:
        """Open all."""
        self._open(list(self._chunks))

    def _open(self, numbers: list[int]) -> None:
        chunks = [self._chunks.pop(number) for number in numbers if number >= 0]
        if not chunks:
            return
        keys = np.concatenate([chunk.keys for chunk in chunks])
        self._where[keys] = _NOWHERE
        self._done += Held(decompressions=len(keys), chunks_read=sum(len(chunk.parts) for chunk in chunks))
        for part, blocks in enumerate(self._blocks()):
            packed = [chunk.parts[part] for chunk in chunks]
            counts = np.concatenate([each["count"] for each in packed])
            blocks.reserve(keys, counts)
            place = spread(blocks.at[keys], counts)
            for name, column in blocks.columns.items():
                column[place] = np.concatenate([_column(each, name, column.dtype) for each in packed])
            blocks.count[keys] = counts

    # -- compressing ---------------------------------------------------------------------------------------------------

    def compress(self, time: int | None) -> None:
        """The end of a step, at a time: keys that were not touched for D are compressed, the oldest first."""
        if time is not None:
            self._latest = time if self._latest is None else max(self._latest, time)
        if self._latest is None or self.after >= NEVER:
            return
        small = [number for number, chunk in self._chunks.items() if 2 * chunk.rows < ROWS]
        if len(small) > FEW:
            self._open(small)
        have = self._have()
        silent = (have > 0) & (self._last[: len(have)] <= self._latest - self.after)
        if self._busy is not None:
            busy = self._busy()
            silent[busy[busy < len(have)]] = False
        keys = np.flatnonzero(silent)
        if not len(keys) or (self.after and len(small) <= FEW and SOME * int(have[keys].sum()) < int(have.sum())):
            return
        keys = keys[np.argsort(self._last[keys], kind="stable")]
        part = (np.cumsum(have[keys]) - have[keys]) // ROWS
        for some in np.split(keys, np.flatnonzero(np.diff(part)) + 1):
            rows, some = int(have[some].sum()), np.sort(some)
            found = _Chunk(some, rows, [self._packed(blocks, some) for blocks in self._blocks()])
            self._chunks[self._next] = found
            self._where[some] = self._next
            self._next += 1
            self._done += Held(compressions=len(some), chunks_written=len(found.parts))
        for blocks in self._blocks():
            blocks.let_go(keys)

    def _packed(self, blocks: Blocks, keys: Int64s) -> Packed:
        rows = spread(blocks.at[keys], blocks.count[keys])
        columns = {f"column {name}": column[rows] for name, column in blocks.columns.items()}
        return Packed({"count": blocks.count[keys], **columns}, self.writer, len(rows))

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed once more, with another codec, and what comes with it too."""
        self.writer.strong, self.writer.left = codec, 0
        self.open_all()
        self.compress(None)

    # -- keys ----------------------------------------------------------------------------------------------------------

    def reset(self, size: int) -> None:
        """The blocks hold other rows, all of them open."""
        self._chunks, self._where = {}, np.full(size, _NOWHERE)
        self._last = np.full(size, _NEVER if self._latest is None else self._latest)

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys that are compressed."""
        for chunk in self._chunks.values():
            live[chunk.keys] = True

    def renumber(self, stay: Int64s) -> None:
        """Only these keys stay, in this order; all are open."""
        self._where, self._last = (array[stay[stay < len(array)]] for array in (self._where, self._last))


def _column(packed: Packed, name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A column of blocks; a mask that came later than the chunk was written says that all values are there."""
    if f"column {name}" in packed.names:
        return packed[f"column {name}"]
    return np.full(packed.rows, name.startswith(VALID), dtype)
