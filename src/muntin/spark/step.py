"""The engine of a bucket while it runs, and one step of it: what came in a batch, and the watermark that followed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from muntin.spark.ipc import opened
from muntin.spec import Spec
from muntin.state.codecs import Codec

if TYPE_CHECKING:
    from muntin.engine import Engine
    from muntin.layout import Layout

__all__ = ["COMPRESSION", "Done", "Running", "Step", "Wanted", "bucket_spec", "refuse_final"]

COMPRESSION = ("compressions", "decompressions", "bytes_compressed", "bytes_open")
"""What the metrics of a batch have where the spec compresses: keys, and bytes of the buckets that ran."""


# Columns in as few bytes as they need: every byte of a snapshot goes through checksums, copies and Spark's store. A
# million kept rows take 5 MB in 16 ms of CPU instead of 24 MB in 31. With LZ4, as with `compress`, 4 MB in 19.
_PACKING = Codec("none")


def bucket_spec(spec: Spec) -> Spec:
    """The spec of a bucket's engine: rows too far ahead were taken out before, by Spark's clock."""
    return replace(spec, max_ahead=None)


def refuse_final(bound: Layout, final: str, emit: str = "final") -> None:
    """Refuse here, and not in a worker, a final aggregation that the engines of a query would refuse."""
    if final != "auto":
        from muntin.engines import make

        make(bound.spec, "auto", "manual", None, emit=emit, final=final)._begin(bound)


class _Clock:
    """Spark's clock of the batch, for rows without a time of their own."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@dataclass
class Running:
    """An engine in the memory of this worker."""

    engine: Engine
    clock: _Clock
    token: str = ""
    step: int = 0
    moved: bool = False
    """Whether it has another spec than the state that it came from."""
    told: tuple[int, int] = (0, 0)
    """The compressions and decompressions that metrics have been given."""

    def compression(self) -> list[int] | None:
        """What metrics are to be given, as `COMPRESSION` names it: what was done since, and what is held now."""
        if self.engine.spec.compression is None:
            return None
        held = self.engine._held()
        done, self.told = self.told, (held.compressions, held.decompressions)
        return [held.compressions - done[0], held.decompressions - done[1], held.bytes_compressed, held.bytes_open]


@dataclass(frozen=True)
class Wanted:
    """What the engines of a query are made by."""

    spec: Spec
    """That of the buckets, as `bucket_spec` gives it."""
    schema: pa.Schema
    """The columns that are read."""
    emit: str = "final"
    since: dict[str, int] = field(default_factory=dict)
    """From when windows are exact that were added later."""
    final: str = "auto"
    """The final aggregation that was asked for."""

    def engine(self) -> Running:
        """An engine without state."""
        clock = _Clock()
        engine = self.spec.engine(watermark="manual", clock=clock, emit=self.emit, final=self.final)
        engine._since = dict(self.since)
        engine.packing = _PACKING
        return Running(engine, clock)


class Done(NamedTuple):
    """What a step gave."""

    results: pa.Table
    late: pa.Table
    late_events: dict[str, int]
    """How many events missed a window, by query; more than `late` has rows where partials came."""
    compression: list[int] | None = None
    """What was compressed; None where the spec does not ask for it."""


class Step(NamedTuple):
    """One batch of a bucket, as it is written into the state: the blobs that came, as they came."""

    events: list[bytes]
    partials: list[bytes]
    watermark: int | None
    clock: int

    @classmethod
    def of(cls, tree: dict[str, Any]) -> Step:
        """A step that was written."""
        return cls(*(tree[name] for name in cls._fields))

    @property
    def nbytes(self) -> int:
        """How much of it is written, about."""
        return sum(map(len, self.events)) + sum(map(len, self.partials))

    def run(self, running: Running, schema: pa.Schema) -> Done:
        """Run it on an engine."""
        # Here and not above: whoever only looks at the stage need not load the engine.
        from muntin.slicing.engine import Slicing
        from muntin.slicing.partials import absorb

        engine = running.engine
        running.clock.now = self.clock
        late: Counter[str] = Counter()
        for blob in self.partials:
            assert isinstance(engine, Slicing)
            engine._fit(schema.empty_table())  # a new engine learns its columns
            for index, count in absorb(engine, opened(blob)).items():
                late[engine.spec.queries[index].name] += count
        events = pa.concat_tables([opened(blob) for blob in self.events]) if self.events else schema.empty_table()
        results = engine._run(events, self.watermark, False)
        gone = engine.late()
        if gone.num_rows:
            late += Counter(gone.column("query").to_pylist())
        return Done(results, gone, late, running.compression())
