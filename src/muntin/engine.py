"""The embedded engines behind one interface: `push(batch)`, `advance(watermark)`, `flush()`, `late()`."""

from __future__ import annotations

import datetime as dt
import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from muntin.aggregates import Aggregate
from muntin.errors import BudgetExceeded, EngineEnded, FrameError, RejectedRows, SpecError
from muntin.final import check
from muntin.frames import to_arrow
from muntin.layout import Layout, layout
from muntin.metrics import Held, Meter, Metrics
from muntin.sources import Sources, check_sources
from muntin.spec import Spec
from muntin.state.codecs import Codec
from muntin.units import microseconds, moment
from muntin.windows import Window

if TYPE_CHECKING:
    from muntin.explain import Explanation

__all__ = ["AUTO", "Engine", "prepared"]

AUTO: Literal["auto"] = "auto"


class Engine(ABC):
    """An embedded engine with state. Made by `Spec.engine`.

    Each call is one step: the rows of the batch are judged, as a set, against the watermark so far; they are taken
    in; the watermark moves; windows that are due are reported, and closed.

    >>> import muntin as mt
    >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine(watermark="manual")
    >>> engine.push({"ts": [0, 1]}).num_rows, engine.advance(1_000_000).column("n").to_pylist()
    (0, [2])
    """

    packing: Codec | Literal["auto"] | None = None
    """What snapshots are packed with where the spec does not compress."""

    def __init__(
        self,
        spec: Spec,
        watermark: str = AUTO,
        clock: Callable[[], Any] | None = None,
        sources: Sources | None = None,
        store: str = AUTO,
        emit: str = "final",
        final: str = AUTO,
    ) -> None:
        if watermark not in (AUTO, "manual"):
            raise SpecError(f"watermark={watermark!r} is neither 'auto' nor 'manual'.")
        if emit not in ("final", "updates"):
            raise SpecError(f"emit={emit!r} is neither 'final' nor 'updates'.")
        self.updates = emit == "updates"
        """Whether every changed window is reported after every step, and not only those that are due."""
        self._sources = Sources() if sources is None else sources
        if self._sources.asked:
            check_sources(spec, watermark == AUTO)
        self.spec = spec
        self.store = store
        """The aggregate store that was asked for."""
        self.final = check(final)
        """The final aggregation that was asked for."""
        if final != AUTO and store == "eager":
            raise SpecError(f"store='eager' combines windows from its tree, so final={final!r} is not used. Leave one.")
        self._automatic = watermark == AUTO
        self._clock = clock
        self._layout: Layout | None = None
        self._late: list[pa.Table] = []
        self._ended = False
        self._failed: str | None = None
        """The error that a step ended with halfway: what it leaves behind is neither before it nor after it."""
        self._intact = False
        """Whether the step that runs has failed before it changed anything."""
        self._watermark: int | None = None
        self._newest: int | None = None
        self._longest: int | None = None
        """The longest duration of all rows so far, where they have one."""
        self._released: int | None = None
        """Up to where windows are released: the watermark, less what is postponed (paper 3, section 2.4)."""
        self._seen: int | None = None
        """The largest time of all rows so far, whichever source they came from."""
        self._meter = Meter()
        self._since: dict[str, int] = {}
        """From when queries are exact that were added while the engine ran."""

    @property
    def nbytes(self) -> int:
        """The bytes of state, from the sizes of the real buffers; 0 where an engine does not count them."""
        return 0

    def metrics(self) -> Metrics:
        """What it has done since it began and what it holds: throughput, latency, compressions, bytes.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine()
        >>> _ = engine.push({"ts": [0, 1, 1_000_000]})
        >>> engine.metrics().rows, engine.metrics().share_compressed
        (3, 0.0)
        """
        return Metrics.of(self._meter, self.nbytes, self._held(), self._chosen())

    def _chosen(self) -> list[tuple[int, str | None]]:
        """The D in use and the codec, for each store that compresses."""
        return []

    def _held(self) -> Held:
        """What is compressed."""
        return Held()

    def now(self) -> int:
        """The clock, in microseconds."""
        return time.time_ns() // 1_000 if self._clock is None else microseconds(self._clock(), "the clock")

    def push(self, batch: Any, *, source: str | None = None) -> pa.Table:
        """Take in a batch of rows; gives the results that are due.

        Where several sources feed the engine, `source` names the one that the rows are from: the watermark is then the
        smallest of theirs.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine()
        >>> engine.push({"ts": [0, 1_000_000]}).column("n").to_pylist()
        [1]
        """
        self._check_open("push")
        if source is not None:
            check_sources(self.spec, self._automatic)
        self._sources.turn(source)
        if source is not None:
            self._newest = self._sources.newest()
        alike = isinstance(batch, pa.Table) and self._layout is not None and batch.schema.equals(self._layout.schema)
        table = batch if alike and not self.spec.rows else prepared(self.spec, to_arrow(batch).table)
        return self._run(table, AUTO if self._automatic else None, False)

    def advance(self, watermark: Any) -> pa.Table:
        """Move the watermark to a datetime or to int64 microseconds; backwards is ignored.

        >>> import muntin as mt
        >>> mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine().advance(5).num_rows
        0
        """
        self._check_open("advance")
        return self._run(None, microseconds(watermark, "watermark"), False)

    def flush(self) -> pa.Table:
        """Report every window that has not been reported, and end.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine()
        >>> engine.push({"ts": [0]}).num_rows, engine.flush().column("n").to_pylist()
        (0, [1])
        """
        self._check_open("flush")
        self._ended = True
        return self._run(None, None, True)

    def late(self) -> pa.Table:
        """The late and rejected rows since the last call, with `reason`, `query` and `missed`.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine()
        >>> _ = engine.push({"ts": [None, 1]})
        >>> engine.late().column("reason").to_pylist()
        ['null time']
        """
        tables, self._late = self._late, []
        if tables:
            return pa.concat_tables(tables)
        return (self._layout.late if self._layout else pa.schema([])).empty_table()

    def slices(self) -> pa.Table:
        """The slices that hold events, to look at; only engines that slice have it."""
        raise SpecError(f"{type(self).__name__} has no slices. Use engine='auto'.")

    def explain(self) -> Explanation:
        """What it does, and why, as `Spec.explain`; and what it has measured since it began.

        That is, for windows over kept events whose slices are cached: how large slices are, how many splits were made,
        and what one takes.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine()
        >>> str(engine.explain()) == str(engine.spec.explain())
        True
        """
        from muntin.explain import Explanation

        told = self.spec.explain(None if self._layout is None else self._layout.schema)
        measured = "".join(f"\n  {line}" for line in self._measured())
        return Explanation(f"{told}\n\nMeasured:{measured}") if measured else told

    def _measured(self) -> list[str]:
        """What was measured, a line each."""
        return []

    @property
    def _codec(self) -> Codec | Literal["auto"] | None:
        """The codec of snapshots."""
        rule = self.spec.compression
        return self.packing if rule is None else rule.for_states

    def snapshot(self) -> bytes:
        """The state as bytes, for `restore`; only engines for use have it."""
        raise SpecError(f"{type(self).__name__} has no snapshots. Use engine='auto'.")

    def restore(self, data: bytes, *, changed: bool = False) -> None:
        """Take over the state of a snapshot of an engine of the same spec; this one must be new.

        With `changed` its windows may be others: those that are the same go on, those that are gone are removed, new
        ones are added as by `add_window`.
        """
        raise SpecError(f"{type(self).__name__} has no snapshots. Use engine='auto'.")

    # -- adding and removing windows ---------------------------------------------------------------------------------

    @property
    def starts(self) -> dict[str, dt.datetime | None]:
        """From when each window is exact, in UTC; None: from the beginning. See `add_window`.

        >>> import muntin as mt
        >>> mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine().starts
        {'s': None}
        """
        since = {query.name: self._since.get(query.name) for query in self.spec.queries}
        return {name: None if start is None else moment(start) for name, start in since.items()}

    def add_window(self, name: str, window: Window, /, **aggregates: Aggregate) -> dt.datetime | None:
        """Add a window while the engine runs; takes what `Spec.window` takes, and gives from when it is exact.

        It has only windows that start then or later, and an event misses none before. These windows are what they
        would be had the query been there from the beginning: for tumbling, sliding and cumulative windows and for
        sessions, in time. All other windows depend on what came before; they are what they would be if the stream
        began then. Where slices that are there have the edges and the aggregates of the new window, it starts with
        the first of them that it can use; else with its first edge after the newest event. None means from the
        beginning: no event has come, or none that it needs is gone.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine()
        >>> _ = engine.push({"ts": [0, 1_500_000]})
        >>> engine.add_window("half", mt.tumbling("500 ms"), n=mt.count()).isoformat()
        '1970-01-01T00:00:02+00:00'
        >>> engine.push({"ts": [2_000_000, 2_500_000]})["query"].to_pylist()
        ['s', 'half']
        """
        self._check_open("add_window")
        self._alter(self.spec.window(name, window, **aggregates))
        return self.starts[name]

    def remove_window(self, name: str) -> None:
        """Remove a window while the engine runs: what was not reported of it will not be.

        Slices that only this window had apart become one, and what only it needed is dropped.

        >>> import muntin as mt
        >>> spec = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count())
        >>> engine = spec.window("half", mt.tumbling("500 ms"), n=mt.count()).engine()
        >>> _ = engine.push({"ts": [0, 300_000]})
        >>> engine.remove_window("half")
        >>> engine.spec == spec, engine.push({"ts": [1_000_000]})["n"].to_pylist()
        (True, [2])
        """
        self._check_open("remove_window")
        spec = self.spec.without(name)
        if not spec.queries:
            raise SpecError(
                f"{name!r} is the only window of this engine, and an engine has at least one. Add another with "
                f"add_window() first, or flush() this engine and make a new one."
            )
        self._alter(spec)

    def _alter(self, spec: Spec) -> None:
        if self._layout is None:  # nothing has come, so nothing is to be carried over
            self.spec = spec
        else:
            self._change(layout(spec, self._layout.schema))
        names = {query.name for query in spec.queries}
        self._since = {name: start for name, start in self._since.items() if name in names}

    def _change(self, bound: Layout) -> None:
        """Go on with another spec: queries of the same name go on, others are removed or added."""
        raise SpecError(f"{type(self).__name__} cannot change its windows. Use engine='auto'.")

    def _run(self, table: pa.Table | None, watermark: int | Literal["auto"] | None, flush: bool) -> pa.Table:
        start = time.perf_counter()
        self._intact = False
        try:
            found = self._step(table, watermark, flush)
        except BudgetExceeded:  # the step was done
            raise
        except BaseException as error:  # KeyboardInterrupt as well
            if not self._intact:
                self._failed = type(error).__name__
            raise
        self._meter.step(0 if table is None else table.num_rows, found.num_rows, time.perf_counter() - start)
        return found

    def _step(self, table: pa.Table | None, watermark: int | Literal["auto"] | None, flush: bool) -> pa.Table:
        if table is not None:
            self._intact = True
            table = self._fit(table)
            self._intact = False
        if self._layout is None:  # no batch has come, so there is nothing to report, and its columns are unknown
            self._move(watermark)
            return pa.table({})
        if table is not None:
            late = self._take(table, self.now())
            if self._newest is not None:
                self._seen = self._newest if self._seen is None else max(self._seen, self._newest)
            if late is not None and late.num_rows:
                self._late.append(late)
        self._move(watermark)
        return self._report(flush or self.updates)

    def _move(self, watermark: int | Literal["auto"] | None) -> None:
        """The watermark moves forward only; by itself it trails the newest event by the disorder.

        Where rows have sources, `_newest` is that of the source that has pushed; the smallest of all of them counts.
        """
        if watermark == AUTO:
            newest = self._sources.least(self._newest, self.now) if self._sources.named else self._newest
            watermark = None if newest is None else newest - self.spec.disorder
        if watermark is not None and (self._watermark is None or watermark > self._watermark):
            self._watermark = watermark
        self._release()

    @property
    def postpone(self) -> int | None:
        """How long after its end a window is released, in microseconds; None: not known before the first event.

        >>> import muntin as mt
        >>> spec = mt.over(span=("start", "end"), postpone="auto").window("w", mt.tumbling("1 s"), n=mt.count())
        >>> engine = spec.engine()
        >>> _ = engine.push({"start": [0, 3], "end": [5, 9]})
        >>> engine.postpone
        6
        """
        spans = self.spec.spans
        if spans is None:
            return 0
        return self._longest if spans.postpone == AUTO else spans.postpone

    def _release(self) -> None:
        """Windows are released up to a point that never moves back, also where more is postponed than before."""
        if self._watermark is None or self.postpone is None:
            return
        released = self._watermark - self.postpone
        if self._released is None or released > self._released:
            self._released = released

    def _finite(self, table: pa.Table) -> pa.Table:
        """All windows of a finite frame: no row is late, and none is too far ahead of the clock."""
        rejected = self._take(table, None)
        if rejected is not None and rejected.num_rows:
            counts = Counter(rejected.column("reason").to_pylist())
            warnings.warn(
                f"{rejected.num_rows} rows are in no window: "
                + ", ".join(f"{count} with {reason}" for reason, count in counts.items())
                + ". Filter them out first, or push to spec.engine() and look at late().",
                RejectedRows,
                stacklevel=4,
            )
        return self._report(True)

    def _fit(self, table: pa.Table) -> pa.Table | None:
        """The batch with the columns of the first one. An empty one without types does not decide what they are."""
        if self._layout is None:
            if not table.num_rows and any(pa.types.is_null(type_) for type_ in table.schema.types):
                return None
            self._layout = layout(self.spec, table.schema)
            self._begin(self._layout)
        expected = self._layout.schema
        if table.schema.equals(expected):
            return table
        if table.schema.names == expected.names:
            pairs = list(zip(table.schema.types, expected.types, strict=True))
            if all(given == wanted for given, wanted in pairs):
                return table
            if all(given == wanted or pa.types.is_null(given) for given, wanted in pairs):
                return table.cast(expected)
        raise FrameError(
            f"this batch has the columns {_shown(table.schema)}, but the first had {_shown(expected)}. Cast or reorder "
            f"the columns so that all batches are alike."
        )

    def _check_open(self, call: str) -> None:
        self._check_whole(call)
        if self._ended:
            raise EngineEnded(f"{call}() after flush(): the engine has ended. Make a new one with spec.engine().")

    def _check_whole(self, call: str) -> None:
        if self._failed is not None:
            raise EngineEnded(
                f"{call}() after a step that failed with {self._failed}: some of its rows may be taken in and others "
                f"not. Make a new engine, restore() the last snapshot, and push what came since."
            )

    @abstractmethod
    def _begin(self, bound: Layout) -> None:
        """The schema is known: get ready."""

    @abstractmethod
    def _take(self, table: pa.Table, now: int | None) -> pa.Table | None:
        """Judge all rows against the watermark so far, then take them in; gives the late and rejected rows."""

    @abstractmethod
    def _report(self, flush: bool) -> pa.Table:
        """The windows that are due; then close what is to be closed."""


def prepared(spec: Spec, table: pa.Table) -> pa.Table:
    """The rows that count, with the computed columns."""
    if not spec.rows:
        return table
    from muntin.sql.rows import prepared as made

    return made(spec, table)


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
