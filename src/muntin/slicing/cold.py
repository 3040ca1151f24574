"""Kept events that are compressed once their key was not touched for a while (paper 5, Algorithm 1).

A key is either in the sorted columns of `EventStore`, or in one chunk: the compressed columns of many keys that were
last updated at about the same time. So a touch opens few keys beside its own, and a codec is called for columns of
many keys, never for one key. D of event time after its last event a key is compressed, at the end of a step; an event
opens its chunk, and so does a window that is due, which only reads. Events that windows have passed go from a chunk
once they are one in eight of its events, and a chunk goes when all of its events are passed.

Where the algorithm opens all compressed windows (lines 17 to 24), only the columns that are asked for are decompressed
here, chunk by chunk. Its line 11 is `<=`, as everywhere here, and a key without events leaves the indexes too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.compression import NEVER, Compression
from muntin.metrics import Held
from muntin.slicing.batch import Batch, Column
from muntin.slicing.compaction import kept_ids
from muntin.slicing.kept.base import expand as expand_ranges
from muntin.slicing.store_events import VALUE, EventStore
from muntin.slicing.views import View
from muntin.state.codecs import Codec, expand, squeeze, suited
from muntin.state.encodings import choose, decode, encode

__all__ = ["Chunk", "ColdEvents"]

Array = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]

ROWS = 1 << 15  # rows of a chunk, about: what is open at once while windows are computed
SMALL = ROWS // 2
FEW = 4  # small chunks of keys long silent, of about the same size, above which they become one
PARTS = 6  # of the time between two touches of a key: keys last updated in the same one share a chunk
STALE = 8  # a chunk is written anew when one in so many of its rows is passed by all windows
EARLY = 4  # when some keys have waited for D, those that have for all but one part in so many of it go along
AGAIN = 32  # chunks after which codec and encodings are chosen again


@dataclass
class Chunk:
    """The events of some keys, compressed by columns; rows stand by key and time, as in the store."""

    keys: Int64s
    """Their ids, ascending."""
    last: Int64s
    """The time of the last event of each key."""
    rows: int
    blocks: dict[str, bytes]
    dtypes: dict[str, np.dtype[Any]]
    common: int
    some: int
    raw: int
    """The bytes that it takes when it is open."""

    @property
    def newest(self) -> int:
        """The time of the last event of all."""
        return int(self.last.max())

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return sum(map(len, self.blocks.values())) + self.keys.nbytes + self.last.nbytes

    def column(self, name: str) -> Array:
        """A column, decompressed."""
        dtype = self.dtypes[name]
        data: Any = expand(self.blocks[name], 2 * self.rows * 8 + 64 * len(self.keys) + 1_024)
        values = decode(memoryview(data), dtype, self.rows)
        return self.keys[values] if name == "key" else values


class Opened(Mapping[str, Array]):
    """The columns of a chunk, each decompressed when it is first asked for."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._columns: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            self._columns[name] = self._chunk.column(name)
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._chunk.blocks

    def __iter__(self) -> Iterator[str]:
        return iter(self._chunk.blocks)

    def __len__(self) -> int:
        return len(self._chunk.blocks)


@dataclass
class Writer:
    """Compresses columns: which codec and which encodings, chosen now and then."""

    rule: Compression
    codec: Codec | None = None
    strong: Codec | None = None
    """The codec where others did not do."""
    left: int = 0
    how: dict[str, str] = field(default_factory=dict)

    def blocks(self, columns: dict[str, Array], kinds: dict[str, Column]) -> dict[str, bytes]:
        """Each column as a block of its own, so that one can be read without the others."""
        if not self.left:
            self.left, self.how, self.codec = AGAIN, {}, None
        self.left -= 1
        coded = {name: self._encoded(name, values, kinds) for name, values in columns.items()}
        if self.codec is None:
            self.codec = self.strong or self.rule.given or suited(max(coded.values(), key=len))
        return {name: squeeze(data, self.codec) for name, data in coded.items()}

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


class ColdEvents(EventStore):
    """An event store in which keys that were not touched for D are compressed.

    >>> store = ColdEvents(Compression(after=10), 1)
    >>> batch = Batch(np.zeros(99, np.int64), None, np.arange(99), None, None, {}, {}, 98)
    >>> store.insert(batch, None, np.ones(99, np.uint64))
    >>> store.settle(100), len(store), store.held
    (None, 99, 99)
    >>> store.settle(108), len(store), store.held
    (None, 0, 99)
    >>> store.view(0).time.tolist() == list(range(99)), len(store)
    (True, 99)
    """

    def __init__(self, rule: Compression, queries: int = 64) -> None:
        super().__init__(queries)
        self.rule, self.after = rule, rule.after
        self._compressions = self._decompressions = self._written = self._read = 0
        self.writer = Writer(rule)
        self._chunks: dict[int, Chunk] = {}
        self._next = 0
        self._where: npt.NDArray[np.int32] = np.empty(0, np.int32)  # the chunk of each key id; -1: none
        self._needed: dict[int, Any] = {}  # for queries by their bits: the time before which events are passed
        self._latest: int | None = None
        self._least: int | None = None  # no open key was last updated before; None: it is not known
        self._period = 0  # of event time from the last update of a chunk to the touch that opened it, on average

    # -- what is held ----------------------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """How many events are held, compressed or not."""
        return len(self) + self.cold_rows

    @property
    def cold_rows(self) -> int:
        """How many events are compressed."""
        return sum(chunk.rows for chunk in self._chunks.values())

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""
        chunks = self._chunks.values()
        keys = sum(len(chunk.keys) for chunk in chunks)
        return Held(
            compressions=self._compressions,
            decompressions=self._decompressions,
            chunks_written=self._written,
            chunks_read=self._read,
            bytes_compressed=self._cold_bytes,
            bytes_open=sum(chunk.raw for chunk in chunks),
            keys_compressed=keys,
            keys=keys + len(View(self, None).keys),
        )

    @property
    def _cold_bytes(self) -> int:
        return sum(chunk.nbytes for chunk in self._chunks.values())

    @property
    def nbytes(self) -> int:
        """The bytes of the columns, of the chunks, and of which key is in which."""
        return super().nbytes + self._cold_bytes + self._where.nbytes

    @property
    def dropped(self) -> int:
        """How many events were let go."""
        return super().dropped - self.cold_rows

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with events that some window has not passed."""
        super().live_keys(live)
        for chunk in self._chunks.values():
            needed = self._passed(chunk.some, chunk.keys)
            live[chunk.keys if needed is None else chunk.keys[chunk.last >= needed]] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        super().renumber(moved)
        here = np.full(max(len(moved), len(self._where)), -1, np.int32)
        here[: len(self._where)] = self._where
        self._where = here[: len(moved)][kept_ids(moved)]
        # Those that go by key have the old ids; the next close gives new ones.
        self._needed = {bit: needed for bit, needed in self._needed.items() if not isinstance(needed, np.ndarray)}
        for number, chunk in list(self._chunks.items()):
            chunk.keys = moved[chunk.keys]
            if (chunk.keys < 0).any():  # their events were passed: the others stay
                arrays = Opened(chunk)
                stay = arrays["key"] >= 0
                del self._chunks[number]
                if stay.any():
                    self._freeze({name: arrays[name][stay] for name in arrays})

    # -- what needs all events open ----------------------------------------------------------------------------------

    def view(self, bit: int) -> View:
        """The events that a query has taken and still needs: all of them, open."""
        self._open(list(self._chunks))
        return super().view(bit)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the events."""
        self._open(list(self._chunks))
        return super().dump()

    def load(self, tree: dict[str, Any], kinds: dict[str, Column]) -> None:
        """Take over the events of a snapshot."""
        super().load(tree, kinds)
        self._least = None
        self._latest = int(self.time.max()) if len(self) else None

    def live_codes(self, column: str, live: Bools) -> None:
        """Mark the texts of a column that events have."""
        super().live_codes(column, live)
        for chunk in self._chunks.values():
            if VALUE + column in chunk.blocks:
                live[chunk.column(VALUE + column)] = True

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of a column."""
        self._open(list(self._chunks))
        super().renumber_codes(column, moved)

    def keep_columns(self, values: Collection[str], measures: Collection[str]) -> None:
        """Forget the columns that no query reads any more."""
        self._open(list(self._chunks))
        super().keep_columns(values, measures)

    def share(self, bit: int, other: int, since: int | None) -> None:
        """A query takes the rows of another one from a time on; it had none before."""
        self._open(list(self._chunks))
        super().share(bit, other, since)

    # -- events come, windows are due, events are passed ---------------------------------------------------------------

    def insert(self, batch: Batch, index: Int64s | None, taken: Bits) -> None:
        """Merge rows of a batch into the columns; the chunks of their keys are opened first."""
        some = slice(None) if index is None else index
        if len(taken):
            newest = int(batch.time[some].max())
            if self._least is not None:
                self._least = min(self._least, int(batch.time[some].min()))
            self._latest = newest if self._latest is None else max(self._latest, newest)
            if self._chunks:
                keys = np.zeros(1, np.int64) if batch.key is None else batch.key[some]
                self._touch(np.unique(self._where[keys[keys < len(self._where)]]), newest)
        super().insert(batch, index, taken)

    def _touch(self, numbers: npt.NDArray[np.int32], time: int) -> None:
        touched = [number for number in numbers.tolist() if number >= 0]
        for number in touched:
            age = max(0, time - self._chunks[number].newest)
            self._period += (age - self._period) // 8 if self._period else age
        self._open(touched)

    def views(self, bit: int, keys: Int64s) -> Iterator[tuple[View, Int64s | None]]:
        """Views that have the events of these keys, each with the places of its keys; chunks are open one by one."""
        if not self._chunks or not len(keys):
            yield super().view(bit), None
            return
        where = np.full(len(keys), -1, np.int32)
        known = keys < len(self._where)
        where[known] = self._where[keys[known]]
        order = np.argsort(where, kind="stable")
        heads = np.flatnonzero(np.diff(where[order], prepend=-2))
        for first, end in zip(heads.tolist(), [*heads[1:].tolist(), len(order)], strict=True):
            number, some = int(where[order[first]]), order[first:end]
            if number < 0:
                yield super().view(bit), some
                continue
            opened = self._opened(self._chunks[number])
            yield opened.view(bit), some
            self._advance(number, opened)

    def views_from(self, bit: int, time: int) -> Iterator[View]:
        """Views that have all events of a query from a time on; chunks are open one by one."""
        yield super().view(bit)
        for number, chunk in list(self._chunks.items()):
            if chunk.newest >= time:
                opened = self._opened(chunk)
                yield opened.view(bit)
                self._advance(number, opened)

    def _opened(self, chunk: Chunk) -> EventStore:
        """A chunk as a store that only reads."""
        self._decompressions += len(chunk.keys)
        self._read += 1
        store = EventStore(len(self._cut))
        store._arrays = Opened(chunk)  # type: ignore[assignment]
        store._kinds = {name: kind for name, kind in self._kinds.items() if VALUE + name in chunk.blocks}
        store._tail, store._common, store._some = chunk.rows, chunk.common, chunk.some
        return store

    def drop_before(self, bit: int, time: Any) -> None:
        """A query needs no events before a time, or before one time per key."""
        if (
            not isinstance(time, np.ndarray)
            and not isinstance(before := self._needed.get(bit), np.ndarray)
            and before == time
        ):
            return
        view = super().view(bit)
        keep = view.time >= (time[view.key] if isinstance(time, np.ndarray) else time)
        if not keep.all():
            self.release(bit, view, keep)
        self._needed[bit] = time
        for number, chunk in list(self._chunks.items()):
            needed = self._passed(chunk.some, chunk.keys)
            if needed is not None and (chunk.last < needed).all():
                self._forget(number)

    def _passed(self, some: int, keys: Int64s) -> Any:
        """Before which time all queries with these bits have passed the events of keys; None: they have not said."""
        bits = [bit for bit in range(len(self._cut)) if some >> bit & 1]
        if not bits or any(bit not in self._needed for bit in bits):
            return None
        said = [self._needed[bit] for bit in bits]
        each = [part[keys] if isinstance(part, np.ndarray) else np.int64(part) for part in said]
        least = each[0]
        for part in each[1:]:
            least = np.minimum(least, part)
        return least

    def _fresh(self, chunk: Chunk, arrays: Mapping[str, Array]) -> Bools | None:
        """The rows that some query has not passed; None: all of them."""
        each = any(isinstance(needed, np.ndarray) for needed in self._needed.values())
        needed = self._passed(chunk.some, arrays["key"] if each else chunk.keys)
        if needed is None:
            return None
        fresh: Bools = arrays["time"] >= needed
        return None if fresh.all() else fresh

    def _advance(self, number: int, opened: EventStore) -> None:
        """Write a chunk anew where many of its rows are passed; it was open anyway."""
        chunk = self._chunks[number]
        fresh = self._fresh(chunk, opened._arrays)
        if fresh is None or STALE * int(np.count_nonzero(~fresh)) < len(fresh):
            return
        self._forget(number)
        if fresh.any():
            self._freeze({name: opened._arrays[name][fresh] for name in opened._arrays})

    def _forget(self, number: int) -> None:
        self._where[self._chunks.pop(number).keys] = -1

    # -- opening and compressing ---------------------------------------------------------------------------------------

    def _open(self, numbers: Collection[int]) -> None:
        """Bring the events of some chunks back into the columns, but those that are passed."""
        if not numbers:
            return
        parts: list[dict[str, Array]] = []
        for number in numbers:
            chunk = self._chunks[number]
            self._decompressions += len(chunk.keys)
            self._read += 1
            arrays = Opened(chunk)
            fresh = self._fresh(chunk, arrays)
            parts.append({name: arrays[name] if fresh is None else arrays[name][fresh] for name in arrays})
            self._forget(number)
        self._merge(parts)

    def _merge(self, parts: list[dict[str, Array]]) -> None:
        """Rows of keys that have none in the columns, put where they belong."""
        self._least = None
        for bit in self._queries:
            if self._cut[bit]:
                self._common &= ~self._clear(bit)
        parts = [{name: self._live(name) for name in self._arrays}, *parts]
        dtypes = {name: array.dtype for part in parts for name, array in part.items()}
        counts = [len(part["key"]) for part in parts]
        key = np.concatenate([part["key"] for part in parts])
        order = np.argsort(key, kind="stable")
        for name, dtype in dtypes.items():
            # A mask that one of them does without: all of its values are there, and no measure is null.
            pieces = [
                part[name] if name in part else np.full(count, name.startswith("valid "), dtype)
                for part, count in zip(parts, counts, strict=True)
            ]
            self._arrays[name] = _roomy(np.concatenate(pieces), order)
        self._changed(len(key))

    def _changed(self, rows: int) -> None:
        """The columns are others now, of so many rows."""
        self._head, self._tail, self._cover = 0, rows, None
        self._common = int(np.bitwise_and.reduce(self.taken)) if rows else (1 << 64) - 1
        self._some = int(np.bitwise_or.reduce(self.taken)) if rows else 0

    def settle(self, time: int | None) -> None:
        """The end of a step, at a time: keys that were not touched for D are compressed, the oldest first."""
        if time is not None:
            self._latest = time if self._latest is None else max(self._latest, time)
        if self._latest is None or self.after >= NEVER:
            return
        if self._least is not None and self._least > self._latest - self.after:
            return  # no key can have waited long enough
        # Chunks that are touched are so after about a period: those beyond it become fewer, which are read with less.
        aged = self._latest - max(2 * self._period, self.after)
        self._join(aged)
        if not len(self):
            return
        if not self._waiting():
            return
        self._tidy()
        every = View(self, None)
        last = self.time[every.offsets[1:] - 1]
        # Where keys are opened again soon, those that came together stay together: the next touch opens just them.
        early = self.after // EARLY if self.after > self._period else 0
        waited = np.flatnonzero(last <= self._latest - self.after + early)
        waited = waited[np.argsort(last[waited], kind="stable")]
        if not len(waited):
            return
        counts = np.diff(every.offsets)
        passed = np.cumsum(counts[waited]) - counts[waited]
        # Those long silent apart, since no touch is to open them, and others by when they may be touched.
        silent = last[waited] < aged
        soon = last[waited] // max(1, self._period // PARTS) if self._period > self.after else np.zeros_like(waited)
        cut = np.diff(passed // ROWS) + np.diff(np.where(silent, -1, soon)) != 0
        heads = np.append(0, np.flatnonzero(cut) + 1)
        left = np.ones(len(every.keys), np.bool_)
        left[waited] = False
        for first, end in zip(heads.tolist(), [*heads[1:].tolist(), len(waited)], strict=True):
            chosen = np.sort(waited[first:end])
            index = expand_ranges(every.offsets[chosen], counts[chosen])[1]
            self._freeze({name: self._live(name)[index] for name in self._arrays})
        self._least = int(last[left].min()) if left.any() else None
        keep = np.repeat(left, counts)
        rows = int(np.count_nonzero(keep))
        self._arrays = {name: _roomy(self._live(name), np.flatnonzero(keep)) for name in self._arrays}
        self._changed(rows)

    def _join(self, aged: int) -> None:
        """Open small chunks of keys long silent where there are several of about the same size: they become one."""
        sizes: dict[int, list[int]] = {}
        for number, chunk in self._chunks.items():
            if chunk.rows < SMALL and chunk.newest < aged:
                sizes.setdefault(chunk.rows.bit_length() // 2, []).append(number)
        self._open([number for alike in sizes.values() if len(alike) > FEW for number in alike])

    @property
    def span(self) -> int:
        """For how long the key that is open and longest silent has been so."""
        if self._latest is None or not len(self):
            return 0
        return self._latest - int(self.time[View(self, None).offsets[1:] - 1].min())

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed once more, with another codec, and what comes with it too."""
        self.writer.strong, self.writer.left = codec, 0
        for number, chunk in list(self._chunks.items()):
            arrays = Opened(chunk)
            self._forget(number)
            self._freeze(dict(arrays))

    def _waiting(self) -> bool:
        """Whether a key was not touched for D."""
        assert self._latest is not None
        self._least = int(self.time[View(self, None).offsets[1:] - 1].min())
        return self._least <= self._latest - self.after

    def _tidy(self) -> None:
        """Rows that no query needs any more go, and each row has the bits of those that do."""
        for bit in self._queries:
            if self._cut[bit]:
                self._common &= ~self._clear(bit)
        used = self.taken != 0
        if not used.all():
            self._arrays = {name: self._live(name)[used] for name in self._arrays}
            self._changed(int(np.count_nonzero(used)))

    def _freeze(self, arrays: dict[str, Array]) -> None:
        """Compress rows of some keys into a chunk."""
        key, taken = arrays["key"], arrays["taken"]
        heads = np.concatenate([[0], np.flatnonzero(key[1:] != key[:-1]) + 1])
        ends = np.append(heads[1:], len(key))
        keys, counts = key[heads], ends - heads
        columns = {**arrays, "key": np.repeat(np.arange(len(keys)), counts)}
        self._chunks[self._next] = Chunk(
            keys,
            arrays["time"][ends - 1],
            len(key),
            self.writer.blocks(columns, self._kinds),
            {name: array.dtype for name, array in arrays.items()},
            int(np.bitwise_and.reduce(taken)),
            int(np.bitwise_or.reduce(taken)),
            sum(array.nbytes for array in arrays.values()),
        )
        if len(self._where) <= int(keys[-1]):
            grown = np.full(max(64, 2 * int(keys[-1]) + 1), -1, np.int32)
            grown[: len(self._where)] = self._where
            self._where = grown
        self._where[keys] = self._next
        self._next += 1
        self._compressions += len(keys)
        self._written += 1


def _roomy(values: Array, index: Int64s) -> Array:
    """Some values, with room for a quarter more after them: events come, and are not to move all of these again."""
    found = np.empty(len(index) + len(index) // 4, values.dtype)
    np.take(values, index, out=found[: len(index)])
    return found
