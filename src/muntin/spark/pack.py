"""The stage before the shuffle: the rows of a task as few large blobs, one per bucket.

Where the workload allows it (paper 1, Figure 4) rows are combined into partials per slice and key, the pane-level
query of paper 2; else the needed columns go on. A blob is an Arrow IPC stream. Few rows with large columns cross the
shuffle, not many small rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.crossing import Crossing
from muntin.frames import normalise
from muntin.layout import Layout
from muntin.slicing.partials import Combiner, joined
from muntin.spark.buckets import Buckets
from muntin.spark.ipc import EVENTS, PARTIALS, REASON, REJECTED, TICK, UNJUDGED, packed
from muntin.spark.parting import parted
from muntin.spark.settled import settle
from muntin.spark.source import AHEAD, BACKWARDS, SHIFT, TIME, Source
from muntin.units import MAX_TIME, MIN_TIME

__all__ = ["NEWEST", "PACKED", "Packer"]

NEWEST = "newest"
"""The column that the watermark goes by: the newest time in a task's blobs, shifted; 1970 where no row has one."""

PACKED = f"bucket int, kind int, clock long, size long, blob binary, {NEWEST} timestamp, unjudged array<long>"
"""The columns between the two stages. `clock` is Spark's clock of the batch, in microseconds, where rows have no other
time; `unjudged` are the times of rows that may be too far ahead."""

_SCHEMA = pa.schema(
    [
        ("bucket", pa.int32()),
        ("kind", pa.int32()),
        ("clock", pa.int64()),
        ("size", pa.int64()),
        ("blob", pa.binary()),
        (NEWEST, pa.timestamp("us", "UTC")),
        ("unjudged", pa.list_(pa.int64())),
    ]
)
_CHUNK = 1 << 17  # rows that are combined at a time: they come from the cache, and while Spark writes the next
_ROWS = 1 << 20  # rows that a task gathers before it packs them
_BYTES = 1 << 27
_PASSED = 7  # chunks that pass untried after one whose rows hardly share slices and keys
_MORE = 1.25  # rows per slice and key in a chunk, from which on several chunks together may share enough


@dataclass(frozen=True)
class Packer:
    """Packs the rows of a task; given to `mapInArrow`."""

    source: Source
    labels: tuple[int, ...]
    late: bool
    """Whether rejected rows are handed on whole; else they are only counted."""
    ticks: bool
    """Whether every bucket gets a blob, if only an empty one, so that all of them see every batch."""
    layout: Layout | None
    """What partials are made by; None where events are passed on."""
    crossing: Crossing | None = None
    """What decides whether they are made; None: they always are."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Blobs per bucket."""
        return _Task(self).run(batches)


class _Task:
    """One task of the stage."""

    def __init__(self, packer: Packer) -> None:
        self._packer, self._source, self._labels = packer, packer.source, packer.labels
        types = [self._source.schema.field(name).type for name in self._source.spec.by]
        self._buckets = Buckets(types, len(self._labels)) if types and len(self._labels) > 1 else None
        self._combiner = None if packer.layout is None else Combiner(packer.layout, packer.crossing)
        self._called = not packer.ticks
        self._tables: dict[int, list[pa.Table]] = {EVENTS: [], REJECTED: [], PARTIALS: [], UNJUDGED: []}
        # Events by bucket, where none are ever combined: a chunk is parted while it is in the cache.
        self._parts: dict[int, list[pa.Table]] = {}
        self._clock = self._newest = self._passing = 0
        self._worth = False

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take rows in chunk by chunk, and pack what has gathered when it is much."""
        rows = size = 0
        for chunk in _chunks(batches):
            self._take(normalise(chunk))
            rows += chunk.num_rows
            size += chunk.nbytes
            if rows >= _ROWS or size >= _BYTES:
                yield self._pack()
                rows = size = 0
        if rows:
            yield self._pack()
        settle()

    def _take(self, table: pa.Table) -> None:
        """Some rows: those that are rejected, and the others as partials where that makes them fewer."""
        source = self._source
        times = table.column(TIME).to_numpy()
        if source.spec.time is None:
            # Spark's clock is the same for all rows, so it is sent only where rows have no other time.
            self._clock = int(times[0])
        bad = times < MIN_TIME
        if bad.any():
            self._tables[REJECTED].append(self._rejected(table.filter(pa.array(bad)), MIN_TIME - times[bad]))
            table, times = table.filter(pa.array(~bad)), times[~bad]
        if len(times) and times.max() > MAX_TIME:
            marked = times > MAX_TIME
            self._tables[UNJUDGED].append(self._unjudged(table.filter(pa.array(marked)), times[marked]))
            table, times = table.filter(pa.array(~marked)), times[~marked]
        if not len(times):
            return
        self._newest = max(self._newest, int(times.max()) + SHIFT)
        taken = self._taken(table, times)
        if self._combiner is None:
            for bucket, part in parted(taken, self._which(taken, source.spec.by)).items():
                self._parts.setdefault(bucket, []).append(part)
            return
        partials = self._combined(taken)
        if partials is None:
            self._tables[EVENTS].append(taken)
        else:
            self._tables[PARTIALS].append(partials)

    def _taken(self, table: pa.Table, times: npt.NDArray[np.int64]) -> pa.Table:
        """Rows as the engine gets them."""
        source, columns = self._source, self._columns(table)
        if source.spec.time is not None and source.spec.time not in source.carried:
            columns[source.spec.time] = source.times(times)
        return pa.table([columns[name] for name in source.schema.names], schema=source.schema)

    def _unjudged(self, table: pa.Table, marked: npt.NDArray[np.int64]) -> pa.Table:
        """Rows that may be too far ahead, with their times, and why they are rejected if they are not."""
        backwards = marked > MAX_TIME + AHEAD
        times = marked - np.where(backwards, 2 * AHEAD, AHEAD)
        reasons = pa.array(np.where(backwards, BACKWARDS, 0).astype(np.int8))
        taken = self._taken(table, times)
        return taken.append_column(TIME, pa.array(times)).append_column(REASON, reasons)

    def _combined(self, taken: pa.Table) -> pa.Table | None:
        """Rows as partials; None where they are hardly fewer, which is not tried with every chunk again."""
        if self._combiner is None or self._passing:
            self._passing = max(0, self._passing - 1)
            return None
        partials = self._combiner.combine(taken)
        if partials is None and self._combiner.shared < _MORE:
            self._passing = _PASSED
        self._worth |= partials is None and self._combiner.shared >= _MORE
        return partials

    def _together(self) -> None:
        """Chunks that each shared too little by itself are combined as one, if that makes them few enough."""
        events = self._tables[EVENTS]
        if self._combiner is not None and self._worth and len(events) > 1:
            partials = self._combiner.combine(pa.concat_tables(events))
            if partials is not None:
                self._tables[PARTIALS].append(partials)
                events.clear()
        self._worth = False

    def _pack(self) -> pa.RecordBatch:
        """What has gathered, as blobs per bucket."""
        self._together()
        by = self._source.spec.by
        names = {EVENTS: by, REJECTED: by, UNJUDGED: by, PARTIALS: [f"key {name}" for name in by]}
        out = [_Part(bucket, EVENTS, pa.concat_tables(tables)) for bucket, tables in sorted(self._parts.items())]
        self._parts.clear()
        for kind, tables in self._tables.items():
            if tables:
                whole = joined(tables) if kind == PARTIALS else pa.concat_tables(tables)
                which = self._which(whole, names[kind])
                if kind == REJECTED and not self._packer.late:
                    whole = whole.select([REASON])
                out += [_Part(bucket, kind, part) for bucket, part in parted(whole, which).items()]
            tables.clear()
        if not self._called:
            seen = {part.bucket for part in out}
            out += [_Part(bucket, TICK, None) for bucket in range(len(self._labels)) if bucket not in seen]
            self._called = True
        packs = [
            pa.array([self._labels[part.bucket] for part in out], pa.int32()),
            pa.array([part.kind for part in out], pa.int32()),
            pa.array([self._clock] * len(out), pa.int64()),
            pa.array([part.rows for part in out], pa.int64()),
            pa.array([b"" if part.table is None else packed(part.table) for part in out], pa.binary()),
            pa.array([self._newest] * len(out), _SCHEMA.field(NEWEST).type),
            pa.array([part.unjudged for part in out], _SCHEMA.field("unjudged").type),
        ]
        return pa.RecordBatch.from_arrays(packs, schema=_SCHEMA)

    def _columns(self, table: pa.Table) -> dict[str, pa.ChunkedArray]:
        """The columns that came along with the time, by their names; there may be none."""
        carried, schema = self._source.carried, self._source.schema
        pairs = zip(carried, table.columns[1:], strict=True)
        return {name: column.cast(schema.field(name).type) for name, column in pairs}

    def _rejected(self, table: pa.Table, reasons: npt.NDArray[np.int64]) -> pa.Table:
        return pa.table(self._columns(table) | {REASON: pa.array(reasons.astype(np.int8))})

    def _which(self, table: pa.Table, by: Sequence[str]) -> npt.NDArray[np.int64]:
        """The bucket of each row."""
        if self._buckets is None:
            return np.zeros(table.num_rows, np.int64)
        return self._buckets.of([table.column(name) for name in by])


class _Part(NamedTuple):
    """What one bucket gets of some rows."""

    bucket: int
    kind: int
    table: pa.Table | None

    @property
    def rows(self) -> int:
        """How many rows it stands for."""
        if self.table is None:
            return 0
        if self.kind != PARTIALS:
            return int(self.table.num_rows)
        total: int = pc.sum(self.table["n"]).as_py()
        return total

    @property
    def unjudged(self) -> npt.NDArray[np.int64] | None:
        """The times of rows that count if the clock lets them pass."""
        if self.kind != UNJUDGED or self.table is None:
            return None
        good = self.table.column(REASON).to_numpy() == 0
        return np.unique(self.table.column(TIME).to_numpy()[good])


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches together, until they have enough rows."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _CHUNK or size >= _BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)
