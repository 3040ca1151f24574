"""The stateful stage: called once per bucket, it runs the engine of all keys of the bucket for one batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from muntin.layout import Layout
from muntin.spark.head import HEAD, SNAPSHOT, STATE, Head, missing
from muntin.spark.ipc import EVENTS, PARTIALS, REASON, REJECTED, UNJUDGED, opened, packed
from muntin.spark.settled import settle
from muntin.spark.source import FAR, REASONS, TIME, from_spark
from muntin.spark.step import Done, Step, Wanted

__all__ = ["OUTPUT", "Processor"]

OUTPUT = st.StructType(
    [
        st.StructField("results", st.BinaryType()),
        st.StructField("late", st.BinaryType()),
        st.StructField("rows_in", st.LongType()),
        st.StructField("windows_out", st.LongType()),
        st.StructField("rejected", st.LongType()),
        st.StructField("late_rows", st.ArrayType(st.LongType())),
        st.StructField("compression", st.ArrayType(st.LongType())),
    ]
)
"""What comes out per bucket and batch: tables as blobs, and counts."""

_NUMBER = st.StructType([st.StructField("number", st.LongType())])
_BLOB = st.StructType([st.StructField("blob", st.BinaryType())])

_MOST_ROWS = 1 << 20  # results in one blob


class _SparkStore:
    """A bucket's part of Spark's state store: one map of blobs.

    A call costs milliseconds, also that which opens a state variable for a task. So there is one variable, and the
    head is read once.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._blobs = handle.getMapState(STATE, _NUMBER, _BLOB)
        self._known: Head | None = None
        self._read = False

    def begin(self) -> None:
        """Another bucket: what was read is forgotten."""
        self._known, self._read = None, False

    def head(self) -> Head | None:
        if not self._read:
            found = self._get(HEAD)
            self._known, self._read = None if found is None else Head.of(found), True
        return self._known

    def put_head(self, head: Head) -> None:
        self._put(HEAD, head.blob())
        self._known, self._read = head, True

    def snapshot(self) -> bytes | None:
        return self._get(SNAPSHOT)

    def fold(self, snapshot: bytes, steps: Iterable[int]) -> None:
        self._put(SNAPSHOT, snapshot)
        for number in steps:
            self._blobs.removeKey((number,))

    def step(self, number: int) -> bytes:
        found = self._get(number)
        if found is None:
            raise missing(f"step {number}")
        return found

    def append(self, number: int, step: bytes) -> None:
        self._put(number, step)

    def _get(self, number: int) -> bytes | None:
        found = self._blobs.getValue((number,))
        return None if found is None else bytes(found[0])

    def _put(self, number: int, blob: bytes) -> None:
        self._blobs.updateValue((number,), (blob,))


class Processor(StatefulProcessor):
    """The slice store and window manager of each bucket."""

    def __init__(self, wanted: Wanted, layout: Layout, disorder: int, late: bool, max_ahead: int | None) -> None:
        self._wanted, self._layout, self._disorder, self._late = wanted, layout, disorder, late
        self._max_ahead = max_ahead

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called by Spark for each task."""
        self._handle = handle
        self._store = _SparkStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        """One batch of a bucket."""
        events, partials, rejected, clock, taken, refused = [], [], [], 0, 0, 0
        for row in rows:
            clock = max(clock, row.clock)
            taken += row.size
            if row.kind == EVENTS:
                events.append(bytes(row.blob))
            elif row.kind == PARTIALS:
                partials.append(bytes(row.blob))
            elif row.kind == REJECTED:
                refused += row.size
                if self._late:
                    rejected.append(opened(row.blob))
            elif row.kind == UNJUDGED:
                good, bad = self._judged(opened(row.blob), 1_000 * timerValues.getCurrentProcessingTimeInMs())
                if good.num_rows:
                    events.append(packed(good))
                refused += bad.num_rows
                rejected.append(bad)
        done = self._run(key, Step(events, partials, None, clock), timerValues)
        yield from self._rows(done, rejected, refused, taken)

    def _judged(self, table: pa.Table, clock: int) -> tuple[pa.Table, pa.Table]:
        """Rows that may be too far ahead of the batch's clock: those that are not, and the others with the reason."""
        assert self._max_ahead is not None
        reasons = table.column(REASON).to_numpy()
        reasons = np.where(table.column(TIME).to_numpy() > clock + self._max_ahead, FAR, reasons).astype(np.int8)
        rows = table.drop_columns([TIME, REASON])
        bad = reasons != 0
        gone = rows.filter(pa.array(bad)).append_column(REASON, pa.array(reasons[bad]))
        return rows.filter(pa.array(~bad)), gone

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """The watermark has moved in a batch without rows for this bucket."""
        fired = expiredTimerInfo.getExpiryTimeInMs()
        yield from self._rows(self._run(key, Step([], [], None, 0), timerValues, fired), [], 0, 0)

    def close(self) -> None:
        """Called by Spark at the end of each task."""
        settle()

    def _run(self, key: Any, step: Step, times: Any, fired: int | None = None) -> Done | None:
        from muntin.spark.bucket import Bucket  # with the engine, which Spark's look at the stage does not need

        store = self._store
        store.begin()
        millis = times.getCurrentWatermarkInMs()
        watermark = from_spark(millis, self._disorder)
        bucket = Bucket(self._wanted, key[0], store)
        if not step.events and not step.partials and bucket.idle(watermark):
            return None
        return bucket.run(step._replace(watermark=watermark), self._timer(store.head(), millis, fired))

    def _timer(self, head: Head | None, millis: int, fired: int | None) -> int:
        """Spark is to call as soon as the watermark moves on, so that every bucket sees every watermark."""
        timer = millis + 1
        before = None if head is None else head.timer
        if before != timer:
            # The one that is firing now is deleted by Spark. Another that has expired would fire in this batch yet.
            if before is not None and before != fired:
                self._handle.deleteTimer(before)
            self._handle.registerTimer(timer)
        return timer

    def _rows(self, done: Done | None, rejected: list[pa.Table], refused: int, rows: int) -> Iterator[Row]:
        names = [query.name for query in self._wanted.spec.queries]
        counts = [0 if done is None else done.late_events.get(name, 0) for name in names]
        results = None if done is None else done.results
        windows = 0 if results is None else results.num_rows
        gone = self._gone(None if done is None else done.late, rejected) if self._late else None
        if not (windows or rows or gone):
            return
        first: pa.Table | None = results.slice(0, _MOST_ROWS) if results is not None and windows else None
        yield Row(
            results=None if first is None else packed(first),
            late=None if gone is None else packed(gone),
            rows_in=rows,
            windows_out=windows,
            rejected=refused,
            late_rows=counts,
            compression=None if done is None else done.compression,
        )
        for at in range(_MOST_ROWS, windows, _MOST_ROWS):
            assert results is not None
            part, none = packed(results.slice(at, _MOST_ROWS)), [0] * len(names)
            yield Row(results=part, late=None, rows_in=0, windows_out=0, rejected=0, late_rows=none, compression=None)

    def _gone(self, late: pa.Table | None, rejected: list[pa.Table]) -> pa.Table | None:
        """Late and rejected rows together, with the columns of the late output."""
        schema = self._layout.late
        parts = [] if late is None or not late.num_rows else [late]
        for table in rejected:
            codes = table.column(REASON).to_numpy()
            columns = [table.column(name) for name in self._layout.schema.names]
            columns.append(pa.array(np.array(REASONS, object)[codes], pa.string()))
            columns += [pa.nulls(len(codes), field.type) for field in list(schema)[-2:]]
            parts.append(pa.table(columns, schema=schema))
        return pa.concat_tables(parts) if parts else None
