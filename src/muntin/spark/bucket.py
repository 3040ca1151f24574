"""The engine of one bucket, and its state: a snapshot, and the steps since then.

The truth is in Spark's state store. Each step is appended as one blob: the rows (or partials) that came and the
watermark they were followed by. An engine is deterministic, so a snapshot and the steps since give the engine back.
When the steps weigh more than the snapshot they are folded into a new one. So a batch writes what it changed, reads
nothing, and a restart reads at most twice the state.

Between batches the engine stays in the memory of the worker that ran it, named by a random token that each step
writes into the state. A worker whose engine is some steps behind (buckets move between workers) runs the steps it has
missed; one whose engine is not in the line of the state at all (a retry, a restart) throws it away.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from muntin.spark.head import Head, missing
from muntin.spark.saved import restored, saved
from muntin.spark.step import Done, Running, Step, Wanted
from muntin.spec import Spec
from muntin.state.blob import pack, unpack

__all__ = ["Bucket", "Store", "fingerprint"]

_MOST_STEPS = 64  # a restart runs at most this many steps again
_LEAST_BYTES = 1 << 20  # a snapshot is not rewritten for less
_MOST_ENGINES = 256  # kept by a worker


class Store(Protocol):
    """What a bucket needs of Spark's state store."""

    def head(self) -> Head | None:
        """The head; None where the bucket is new."""

    def put_head(self, head: Head) -> None:
        """Replace the head."""

    def snapshot(self) -> bytes | None:
        """The snapshot; None before the first."""

    def fold(self, snapshot: bytes, steps: Iterable[int]) -> None:
        """Replace the snapshot, and forget these steps."""

    def step(self, number: int) -> bytes:
        """One step."""

    def append(self, number: int, step: bytes) -> None:
        """One more step."""


def fingerprint(spec: Spec, schema: pa.Schema) -> str:
    """What must be the same for an engine to be used again: spec, versions of aggregates, and columns.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    >>> print(fingerprint(spec, pa.schema([("ts", pa.int64())])))
    over('ts')
    .window('w', tumbling('1 second'), n=count())
    versions: 1
    ts: int64
    """
    versions = [str(aggregate.version) for query in spec.queries for _, aggregate in query.aggregates]
    return f"{spec!r}\nversions: {' '.join(versions)}\n{schema.to_string(show_schema_metadata=False)}"


_ENGINES: OrderedDict[tuple[str, str, int], Running] = OrderedDict()


@dataclass
class Bucket:
    """One bucket during one batch."""

    wanted: Wanted
    label: int
    store: Store

    def run(self, step: Step, timer: int | None) -> Done:
        """One step: what came is judged against the watermark so far, which then moves.

        `timer` is when Spark will call next; the head says when it was to call so far.
        """
        head = self.store.head()
        kept = self._engine(head)
        done = step.run(kept, self.wanted.schema)
        self._write(head, kept, step, timer)
        return done

    def idle(self, watermark: int | None) -> bool:
        """Whether a step without rows would change nothing: the bucket has seen this watermark already."""
        head = self.store.head()
        return head is not None and (watermark is None or (head.watermark is not None and watermark <= head.watermark))

    def _write(self, head: Head | None, kept: Running, step: Step, timer: int | None) -> None:
        store, token = self.store, uuid.uuid4().hex
        if head is None:
            head = Head(uuid.uuid4().hex, "", 0, 0, 0, 0, None, None)
        number, log, base, size = head.step + 1, head.log + step.nbytes, head.base, head.size
        first = head.step == 0
        # Steps of other windows are never mixed: with them comes a snapshot.
        if first or kept.moved or log > max(_LEAST_BYTES, size) or number - base > _MOST_STEPS:
            snapshot = saved(self.wanted, kept)
            store.fold(snapshot, range(base + 1, number))
            base, log, size = number, 0, len(snapshot)
        else:
            rule = self.wanted.spec.compression
            codec = None if rule is None else rule.for_states
            store.append(number, pack({"previous": head.token, **step._asdict()}, codec))
        store.put_head(Head(head.line, token, number, base, log, size, step.watermark, timer))
        kept.token, kept.step, kept.moved = token, number, False
        _ENGINES[self._name(head)] = kept
        while len(_ENGINES) > _MOST_ENGINES:
            _ENGINES.popitem(last=False)

    def _name(self, head: Head) -> tuple[str, str, int]:
        wanted = self.wanted
        return head.line, f"{fingerprint(wanted.spec, wanted.schema)}\n{wanted.final}", self.label

    def _engine(self, head: Head | None) -> Running:
        """The engine after the last step: from memory, brought up to date, or from the state."""
        if head is None:
            return self.wanted.engine()
        # Taken out: if this attempt fails, what it leaves behind is used by no one.
        kept = _ENGINES.pop(self._name(head), None)
        if kept is not None:
            if kept.token == head.token:
                return kept
            if head.base <= kept.step < head.step and self._catch_up(kept, head):
                return kept
            del kept  # first: its memory serves the one that takes its place
        blob = self.store.snapshot()
        if blob is None:
            raise missing("the snapshot")
        steps = (self.store.step(number) for number in range(head.base + 1, head.step + 1))
        return restored(self.wanted, blob, steps)

    def _catch_up(self, kept: Running, head: Head) -> bool:
        """Run the steps that an engine has missed; False where it is not in the line of the state."""
        first = True
        for number in range(kept.step + 1, head.step + 1):
            tree = unpack(self.store.step(number), copy=False)
            if first and tree["previous"] != kept.token:
                return False
            first = False
            Step.of(tree).run(kept, self.wanted.schema)
        return True
