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
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from muntin.engine import Engine
from muntin.errors import SpecError
from muntin.slicing.engine import Slicing
from muntin.slicing.partials import absorb
from muntin.spec import Spec
from muntin.state.blob import pack, unpack

__all__ = ["Bucket", "Done", "Head", "Step", "Store", "bucket_spec", "fingerprint", "new_engine", "restored"]

_MOST_STEPS = 64  # a restart runs at most this many steps again
_LEAST_BYTES = 1 << 20  # a snapshot is not rewritten for less
_MOST_ENGINES = 256  # kept by a worker


class Head(NamedTuple):
    """Where the state of a bucket stands: the one value that every step reads and writes."""

    line: str
    """Names the line of steps that began with the first batch of the checkpoint."""
    token: str
    """Names the last step."""
    step: int
    base: int
    """The step that the snapshot was taken after."""
    log: int
    """The bytes of the steps since."""
    size: int
    """The bytes of the snapshot."""
    watermark: int | None
    timer: int | None
    """When Spark will call, in its milliseconds; None: never."""


class Store(Protocol):
    """What a bucket needs of Spark's state store."""

    def head(self) -> Head | None:
        """The head; None where the bucket is new."""

    def put_head(self, head: Head) -> None:
        """Replace the head."""

    def snapshot(self) -> bytes | None:
        """The snapshot; None before the first."""

    def fold(self, snapshot: bytes) -> None:
        """Replace the snapshot, and forget all steps."""

    def step(self, number: int) -> bytes:
        """One step."""

    def append(self, number: int, step: bytes) -> None:
        """One more step."""


def bucket_spec(spec: Spec) -> Spec:
    """The spec of a bucket's engine: rows too far ahead were taken out before, by Spark's clock."""
    return replace(spec, max_ahead=None)


def fingerprint(spec: Spec) -> str:
    """What must be the same for a state to be taken over: the spec, and the version of each of its aggregates.

    >>> import muntin as mt
    >>> print(fingerprint(mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())))
    over('ts')
    .window('w', tumbling('1 second'), n=count())
    versions: 1
    """
    versions = [str(aggregate.version) for query in spec.queries for _, aggregate in query.aggregates]
    return f"{spec!r}\nversions: {' '.join(versions)}"


class _Clock:
    """Spark's clock of the batch, for rows without a time of their own."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@dataclass
class _Kept:
    """An engine in the memory of this worker."""

    engine: Engine
    clock: _Clock
    token: str
    step: int


_ENGINES: OrderedDict[tuple[str, str, int], _Kept] = OrderedDict()


class Done(NamedTuple):
    """What a step gave."""

    results: pa.Table
    late: pa.Table
    late_events: dict[str, int]
    """How many events missed a window, by query; more than `late` has rows where partials came."""


class Step(NamedTuple):
    """One batch of a bucket, as it is written into the state."""

    events: list[pa.Table]
    partials: list[pa.Table]
    watermark: int | None
    clock: int

    @classmethod
    def of(cls, tree: dict[str, Any]) -> Step:
        """A step that was written."""
        return cls(*(tree[name] for name in cls._fields))

    def run(self, kept: _Kept, schema: pa.Schema) -> Done:
        """Run it on an engine."""
        engine = kept.engine
        kept.clock.now = self.clock
        late: Counter[str] = Counter()
        for table in self.partials:
            assert isinstance(engine, Slicing)
            engine._fit(schema.empty_table())  # a new engine learns its columns
            for index, count in absorb(engine, table).items():
                late[engine.spec.queries[index].name] += count
        events = pa.concat_tables(self.events) if self.events else schema.empty_table()
        results = engine._run(events, self.watermark, False)
        gone = engine.late()
        if gone.num_rows:
            late += Counter(gone.column("query").to_pylist())
        return Done(results, gone, late)


@dataclass
class Bucket:
    """One bucket during one batch."""

    spec: Spec
    schema: pa.Schema
    label: int
    store: Store
    emit: str = "final"

    def run(self, step: Step, timer: int | None) -> Done:
        """One step: what came is judged against the watermark so far, which then moves.

        `timer` is when Spark will call next; the head says when it was to call so far.
        """
        head = self.store.head()
        kept = self._engine(head)
        done = step.run(kept, self.schema)
        self._write(head, kept, step, timer)
        return done

    def idle(self, watermark: int | None) -> bool:
        """Whether a step without rows would change nothing: the bucket has seen this watermark already."""
        head = self.store.head()
        return head is not None and (watermark is None or (head.watermark is not None and watermark <= head.watermark))

    def _write(self, head: Head | None, kept: _Kept, step: Step, timer: int | None) -> None:
        store, token = self.store, uuid.uuid4().hex
        if head is None:
            head = Head(uuid.uuid4().hex, "", 0, 0, 0, 0, None, None)
        blob = pack({"previous": head.token, **step._asdict()})
        number, log, base, size = head.step + 1, head.log + len(blob), head.base, head.size
        first = head.step == 0
        if first or log > max(_LEAST_BYTES, size) or number - base > _MOST_STEPS:
            snapshot = pack({"fingerprint": fingerprint(self.spec), "engine": kept.engine.snapshot()})
            store.fold(snapshot)
            base, log, size = number, 0, len(snapshot)
        else:
            store.append(number, blob)
        store.put_head(Head(head.line, token, number, base, log, size, step.watermark, timer))
        kept.token, kept.step = token, number
        _ENGINES[self._name(head)] = kept
        while len(_ENGINES) > _MOST_ENGINES:
            _ENGINES.popitem(last=False)

    def _name(self, head: Head) -> tuple[str, str, int]:
        return head.line, fingerprint(self.spec), self.label

    def _engine(self, head: Head | None) -> _Kept:
        """The engine after the last step: from memory, brought up to date, or from the state."""
        if head is None:
            return new_engine(self.spec, self.emit)
        # Taken out: if this attempt fails, what it leaves behind is used by no one.
        kept = _ENGINES.pop(self._name(head), None)
        if kept is not None:
            if kept.token == head.token:
                return kept
            if head.base <= kept.step < head.step and self._catch_up(kept, head):
                return kept
        blob = self.store.snapshot()
        assert blob is not None
        steps = (self.store.step(number) for number in range(head.base + 1, head.step + 1))
        return restored(new_engine(self.spec, self.emit), self.spec, blob, steps)

    def _catch_up(self, kept: _Kept, head: Head) -> bool:
        """Run the steps that an engine has missed; False where it is not in the line of the state."""
        first = True
        for number in range(kept.step + 1, head.step + 1):
            tree = unpack(self.store.step(number), copy=False)
            if first and tree["previous"] != kept.token:
                return False
            first = False
            Step.of(tree).run(kept, self.schema)
        return True


def new_engine(spec: Spec, emit: str) -> _Kept:
    """An engine without state."""
    clock = _Clock()
    return _Kept(spec.engine(watermark="manual", clock=clock, emit=emit), clock, "", 0)


def restored(kept: _Kept, spec: Spec, snapshot: bytes, steps: Iterable[bytes]) -> _Kept:
    """An engine from a snapshot and the steps since; a clear error where they are of another spec."""
    tree = unpack(snapshot)
    if tree["fingerprint"] != fingerprint(spec):
        raise SpecError(
            f"the state in the checkpoint is of another spec:\n{tree['fingerprint']}\nand this one is:\n"
            f"{fingerprint(spec)}\nGo on with that spec, or start with a new checkpoint."
        )
    kept.engine.restore(tree["engine"])
    bound = kept.engine._layout
    assert bound is not None
    for blob in steps:
        Step.of(unpack(blob, copy=False)).run(kept, bound.schema)
    return kept
