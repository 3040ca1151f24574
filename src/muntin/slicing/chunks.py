"""Chunks: the compressed columns of the events of many keys, and what writes them (paper 5, sections 4 and 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.compression import Compression
from muntin.slicing.batch import Column
from muntin.slicing.store_events import VALID, VALUE, EventStore
from muntin.slicing.views import View
from muntin.state.codecs import Codec, expand, squeeze, suited
from muntin.state.encodings import choose, decode, encode

__all__ = ["Chunk", "Group", "Opened", "Packed", "Writer", "joined", "refill", "view_of"]

Array = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]

AGAIN = 32  # chunks after which codec and encodings are chosen again
TINY = 64  # bytes that no codec makes smaller
NONE, FAST = Codec("none"), Codec("lz4")


@dataclass
class Chunk:
    """The events of some keys, compressed by columns; rows stand by key and time, as in the store."""

    keys: Int64s
    """Their ids, ascending."""
    counts: npt.NDArray[np.int32]
    """How many events each key has."""
    last: Int64s
    """The time of the last event of each key."""
    first: int
    """The time of the first event of all."""
    newest: int
    """The time of the last event of all."""
    rows: int
    blocks: dict[str, bytes]
    dtypes: dict[str, np.dtype[Any]]
    common: int
    some: int
    raw: int
    """The bytes that it takes when it is open."""

    @staticmethod
    def of(arrays: Mapping[str, Array], writer: Writer, kinds: dict[str, Column], silent: bool) -> Chunk:
        """Rows by key and time, compressed; `silent`: their keys are not expected to come back soon."""
        key, time, taken = arrays["key"], arrays["time"], arrays["taken"]
        heads = np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1])
        ends = np.append(heads[1:], len(key))
        columns = {name: array for name, array in arrays.items() if name != "key"}
        return Chunk(
            key[heads],
            (ends - heads).astype(np.int32),
            last := time[ends - 1],
            int(time[heads].min()),
            int(last.max()),
            len(key),
            writer.blocks(columns, kinds, silent),
            {name: array.dtype for name, array in columns.items()},
            int(np.bitwise_and.reduce(taken)),
            int(np.bitwise_or.reduce(taken)),
            sum(array.nbytes for array in arrays.values()),
        )

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return sum(map(len, self.blocks.values())) + self.keys.nbytes + self.counts.nbytes + self.last.nbytes

    def column(self, name: str) -> Array:
        """A column, decompressed."""
        if name == "key":
            return np.repeat(self.keys, self.counts)
        data: Any = expand(self.blocks[name], 2 * self.rows * 8 + 64 * len(self.keys) + 1_024)
        return decode(memoryview(data), self.dtypes[name], self.rows)


class Opened(Mapping[str, Array]):
    """The columns of some chunks, one after the other, each decompressed when it is first asked for."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._chunks = chunks
        self._dtypes = {name: dtype for chunk in chunks for name, dtype in chunk.dtypes.items()}
        self._columns: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            parts = [
                chunk.column(name)
                if name == "key" or name in chunk.blocks
                else missing(name, self._dtypes[name], chunk.rows)
                for chunk in self._chunks
            ]
            self._columns[name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name == "key" or name in self._dtypes

    def __iter__(self) -> Iterator[str]:
        return iter(("key", *self._dtypes))

    def __len__(self) -> int:
        return 1 + len(self._dtypes)


def missing(name: str, dtype: np.dtype[Any], rows: int) -> Array:
    """A mask that some rows do without: all of their values are there, and no measure is null."""
    return np.full(rows, name.startswith(VALID), dtype)


def view_of(chunks: list[Chunk], bit: int, kinds: dict[str, Column], queries: int) -> View:
    """What a query has taken of some chunks, as a view that only reads; its keys ascend only within a chunk."""
    store = EventStore(queries)
    store._arrays = opened = Opened(chunks)  # type: ignore[assignment]
    store._kinds = {name: kind for name, kind in kinds.items() if VALUE + name in opened}
    store._tail = sum(chunk.rows for chunk in chunks)
    store._common, store._some = -1, 0
    for chunk in chunks:
        store._common &= chunk.common
        store._some |= chunk.some
    view = store.view(bit)
    if view.index is None:  # then where keys begin is known without a look at the rows
        counts = np.concatenate([[0], *(chunk.counts for chunk in chunks)])
        view.__dict__["_segments"] = np.concatenate([chunk.keys for chunk in chunks]), np.cumsum(counts)
    return view


class Group(EventStore):
    """Keys of chunks that were opened together, since most of them were touched; they are compressed together again."""

    least = 0
    """No key that stays with the others was last updated before."""
    since = 0
    """From when on they were touched."""


def refill(store: EventStore, arrays: Mapping[str, Array], index: Int64s | None = None) -> None:
    """A store holds some of these rows now, with room for an eighth more: events come, and are not to move all."""
    rows = len(arrays["key"]) if index is None else len(index)
    filled: dict[str, Array] = {}
    for name, values in arrays.items():
        filled[name] = np.empty(rows + rows // 8, values.dtype)
        if index is None:
            filled[name][:rows] = values
        else:
            np.take(values, index, out=filled[name][:rows], mode="clip")  # else it goes through a buffer
    store._arrays, store._head, store._tail, store._cover = filled, 0, rows, None
    store._common = int(np.bitwise_and.reduce(store.taken)) if rows else (1 << 64) - 1
    store._some = int(np.bitwise_or.reduce(store.taken)) if rows else 0


def joined(parts: list[Mapping[str, Array]]) -> Mapping[str, Array]:
    """Rows of several parts, none of which have a key in common, by key."""
    if len(parts) == 1:
        return parts[0]
    dtypes = {name: array.dtype for part in parts for name, array in part.items()}
    key = np.concatenate([part["key"] for part in parts])
    order = np.argsort(key, kind="stable")
    counts = [len(part["key"]) for part in parts]
    found = {}
    for name, dtype in dtypes.items():
        pieces = [
            part[name] if name in part else missing(name, dtype, count)
            for part, count in zip(parts, counts, strict=True)
        ]
        found[name] = np.concatenate(pieces)[order]
    return found


@dataclass
class Writer:
    """Compresses columns: which codec and which encodings, chosen now and then."""

    rule: Compression
    codec: Codec | None = None
    """The codec in use for keys that do not come back soon."""
    strong: Codec | None = None
    """The codec where others did not do."""
    left: int = 0
    how: dict[str, str] = field(default_factory=dict)

    def blocks(self, columns: dict[str, Array], kinds: dict[str, Column], silent: bool) -> dict[str, bytes]:
        """Each column as a block of its own, so that one can be read without the others."""
        if not self.left:
            self.left, self.how, self.codec = AGAIN, {}, None
        self.left -= 1
        coded = {name: self._encoded(name, values, kinds) for name, values in columns.items()}
        given = self.strong or self.rule.given
        if self.codec is None:
            self.codec = given or suited(max(coded.values(), key=len))
        # What is opened again soon is better written fast than small.
        codec = self.codec if silent or given else FAST
        return {name: squeeze(data, codec if len(data) > TINY else NONE) for name, data in coded.items()}

    def _encoded(self, name: str, values: Array, kinds: dict[str, Column]) -> bytes:
        if name.startswith(VALUE):
            loss = self.rule.loss(name.removeprefix(VALUE))
            if loss is not None and _is_number(kinds[name.removeprefix(VALUE)].type):
                values = loss.rounded(values)
        how = self.how.get(name)
        if how is None or how in ("constant", "plain"):  # what was so may be so no more
            how = self.how[name] = choose(values)
        return encode(values, how)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_floating(type_) or pa.types.is_integer(type_))


class Packed:
    """Columns of any lengths, compressed: those of slices, which are exact whatever `lossy` says of values.

    >>> packed = Packed({"n": np.arange(1000)}, Writer(Compression(0)))
    >>> packed.nbytes < 1000, packed["n"].tolist() == list(range(1000))
    (True, True)
    """

    def __init__(self, columns: dict[str, Array], writer: Writer, rows: int = 0) -> None:
        self.rows, self.names = rows, frozenset(columns)
        self._blocks = writer.blocks({name: np.ascontiguousarray(a) for name, a in columns.items()}, {}, True)
        self._kinds = {name: (array.dtype, len(array)) for name, array in columns.items()}
        self.raw = sum(array.nbytes for array in columns.values())
        """The bytes that they take when they are open."""
        self.nbytes = sum(map(len, self._blocks.values()))

    def __getitem__(self, name: str) -> Array:
        dtype, rows = self._kinds[name]
        data: Any = expand(self._blocks[name], 2 * rows * dtype.itemsize + 1_024)
        return decode(memoryview(data), dtype, rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)
