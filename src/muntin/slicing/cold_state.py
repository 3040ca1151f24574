"""Where the events of keys are, compressed or open, and what is held of them all (paper 5, section 4).

Paper 5 keeps two indexes: which key was last updated when, and which keys were last updated at a time. Here each chunk
has the last updates of its keys, and one array says for each key in which chunk or group it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import Compression
from muntin.metrics import Held
from muntin.slicing.batch import Column
from muntin.slicing.chunks import Chunk, Group, Opened, Writer, joined, refill
from muntin.slicing.compaction import kept_ids
from muntin.slicing.store_events import VALUE, EventStore
from muntin.slicing.views import View
from muntin.state.codecs import Codec

__all__ = ["HERE", "NOWHERE", "Array", "Bits", "Bools", "ColdState", "Int64s", "cleared"]

Array = npt.NDArray[Any]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint64]

NOWHERE, HERE = -1, -2
"""A key has no events, or they are in the columns."""


class ColdState(EventStore):
    """Events in columns, in groups and in chunks."""

    def __init__(self, rule: Compression, queries: int = 64) -> None:
        super().__init__(queries)
        self.rule, self.after = rule, rule.after
        self._compressions = self._decompressions = self._written = self._read = 0
        self.writer = Writer(rule)
        self._chunks: dict[int, Chunk] = {}
        self._groups: dict[int, Group] = {}
        self._next = 0
        self._where: npt.NDArray[np.int32] = np.empty(0, np.int32)  # the chunk or group of each key id
        self._needed: dict[int, Any] = {}  # for queries by their bits: the time before which events are passed
        self._latest: int | None = None
        self._least: int | None = None  # no key in the columns was last updated before; None: it is not known
        self._period = 0  # of event time from the last update of a chunk to the touch that opened it, on average

    @property
    def held(self) -> int:
        """How many events are held, compressed or not."""
        return len(self) + self._grouped + self.cold_rows

    @property
    def cold_rows(self) -> int:
        """How many events are compressed."""
        return sum(chunk.rows for chunk in self._chunks.values())

    @property
    def _grouped(self) -> int:
        return sum(map(len, self._groups.values()))

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
            keys=keys + sum(len(View(store, None).keys) for store in self._open_stores()),
        )

    @property
    def chosen(self) -> tuple[int, str | None]:
        """The D in use, and the codec; None: nothing was compressed yet."""
        return self.after, None if self.writer.codec is None else str(self.writer.codec)

    def _open_stores(self) -> list[EventStore]:
        return [self, *self._groups.values()]

    @property
    def _cold_bytes(self) -> int:
        return sum(chunk.nbytes for chunk in self._chunks.values())

    @property
    def nbytes(self) -> int:
        """The bytes of the columns, of the groups and chunks, and of which key is in which."""
        grouped = sum(group.nbytes for group in self._groups.values())
        return super().nbytes + grouped + self._cold_bytes + self._where.nbytes

    @property
    def dropped(self) -> int:
        """How many events were let go."""
        return self._inserted - self.held

    @property
    def silence(self) -> int:
        """For how long the key that is open and longest silent has been so."""
        if self._latest is None:
            return 0
        last = [store.time[View(store, None).offsets[1:] - 1].min() for store in self._open_stores() if len(store)]
        return self._latest - int(min(last)) if last else 0

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with events that some window has not passed."""
        super().live_keys(live)
        for group in self._groups.values():
            group.live_keys(live)
        for chunk in self._chunks.values():
            needed = self._passed(chunk.some, chunk.keys)
            live[chunk.keys if needed is None else chunk.keys[chunk.last >= needed]] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        super().renumber(moved)
        for group in self._groups.values():
            group.renumber(moved)
        self._reach(len(moved) - 1)
        self._where = self._where[: len(moved)][kept_ids(moved)]
        # Those that go by key have the old ids; the next close gives new ones.
        self._needed = {bit: needed for bit, needed in self._needed.items() if not isinstance(needed, np.ndarray)}
        for number, chunk in list(self._chunks.items()):
            chunk.keys = moved[chunk.keys]
            if (chunk.keys < 0).any():  # their events were passed: the others stay
                arrays = Opened([chunk])
                stay = arrays["key"] >= 0
                del self._chunks[number]
                if stay.any():
                    self._freeze({name: arrays[name][stay] for name in arrays}, True)

    # -- what needs all events open ------------------------------------------------------------------------------------

    def _open_all(self) -> None:
        self._open(self._chunks, self._groups)

    def view(self, bit: int) -> View:
        """The events that a query has taken and still needs: all of them, open."""
        self._open_all()
        return super().view(bit)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the events."""
        self._open_all()
        return super().dump()

    def load(self, tree: dict[str, Any], kinds: dict[str, Column]) -> None:
        """Take over the events of a snapshot."""
        super().load(tree, kinds)
        self._least = None
        self._latest = int(self.time.max()) if len(self) else None
        self._reach(int(self.key.max(initial=-1)))
        self._where[self.key] = HERE

    def live_codes(self, column: str, live: Bools) -> None:
        """Mark the texts of a column that events have."""
        super().live_codes(column, live)
        for group in self._groups.values():
            group.live_codes(column, live)
        for chunk in self._chunks.values():
            if VALUE + column in chunk.blocks:
                live[chunk.column(VALUE + column)] = True

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of a column."""
        self._open_all()
        super().renumber_codes(column, moved)

    def keep_columns(self, values: Collection[str], measures: Collection[str]) -> None:
        """Forget the columns that no query reads any more."""
        self._open_all()
        super().keep_columns(values, measures)

    def widen(self, bit: int) -> None:
        """Room for a query with this bit."""
        self._open_all()
        super().widen(bit)

    # -- events are passed ---------------------------------------------------------------------------------------------

    def drop_before(self, bit: int, time: Any) -> None:
        """A query needs no events before a time, or before one time per key."""
        if (
            not isinstance(time, np.ndarray)
            and not isinstance(before := self._needed.get(bit), np.ndarray)
            and before == time
        ):
            return
        for store in self._open_stores():
            view = EventStore.view(store, bit)
            keep = view.time >= (time[view.key] if isinstance(time, np.ndarray) else time)
            if not keep.all():
                store.release(bit, view, keep)
        for number, group in list(self._groups.items()):
            if not len(group):
                self._end(number)
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
        needed = self._passed(chunk.some, chunk.keys)
        if needed is None or np.max(needed) <= chunk.first:
            return None
        fresh: Bools = arrays["time"] >= (np.repeat(needed, chunk.counts) if needed.ndim else needed)
        return None if fresh.all() else fresh

    def _forget(self, number: int) -> None:
        self._where[self._chunks.pop(number).keys] = NOWHERE

    def _end(self, number: int) -> None:
        """A group is no more; keys of it that have no events left are nowhere."""
        del self._groups[number]
        self._where[self._where == number] = NOWHERE

    def _reach(self, key: int) -> None:
        """Room for a key among those that say where they are."""
        if len(self._where) <= key:
            grown = np.full(max(64, key + 1 + key // 4), NOWHERE, np.int32)
            grown[: len(self._where)] = self._where
            self._where = grown

    # -- opening and compressing ---------------------------------------------------------------------------------------

    def _taken_out(self, number: int) -> Mapping[str, Array]:
        """The rows of a chunk, but those that are passed; it is no more."""
        chunk = self._chunks[number]
        self._decompressions += len(chunk.keys)
        self._read += 1
        arrays = Opened([chunk])
        fresh = self._fresh(chunk, arrays)
        self._forget(number)
        return arrays if fresh is None else {name: arrays[name][fresh] for name in arrays}

    def _open(self, chunks: Collection[int], groups: Collection[int] = ()) -> None:
        """Bring the events of some chunks and groups into the columns."""
        if not chunks and not groups:
            return
        parts = [self._taken_out(number) for number in list(chunks)]
        for number in list(groups):
            group = self._groups[number]
            cleared(group)
            self._end(number)
            parts.append({name: group._live(name) for name in group._arrays})
        for part in parts:
            self._where[part["key"]] = HERE
        self._least = None
        cleared(self)
        refill(self, joined([{name: self._live(name) for name in self._arrays}, *parts]))

    def _freeze(self, arrays: Mapping[str, Array], silent: bool) -> None:
        """Compress rows of some keys into a chunk."""
        chunk = Chunk.of(arrays, self.writer, self._kinds, silent)
        self._chunks[self._next] = chunk
        self._where[chunk.keys] = self._next
        self._next += 1
        self._compressions += len(chunk.keys)
        self._written += 1

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed once more, with another codec, and what comes with it too."""
        self.writer.strong, self.writer.left = codec, 0
        for number, chunk in list(self._chunks.items()):
            arrays = dict(Opened([chunk]))
            self._forget(number)
            self._freeze(arrays, True)


def cleared(store: EventStore) -> None:
    """Each row has the bits of the queries that still need it, and no others."""
    for bit in store._queries:
        if store._cut[bit]:
            store._common &= ~store._clear(bit)
