"""The spec: what to compute over which windows. Immutable, printable, comparable; it knows nothing of frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from muntin.aggregates import Aggregate
from muntin.compression import Compression, compression, targeted
from muntin.errors import SpecError, nearest
from muntin.frames import is_spark
from muntin.spans import UNSET, Spans, check_window, spans_of
from muntin.units import Measure, duration, number_of_bytes, show_duration
from muntin.windows import Window

if TYPE_CHECKING:
    from muntin.engine import Engine
    from muntin.explain import Explanation
    from muntin.panes import Panes

__all__ = ["RESERVED", "Query", "Spec", "over"]

RESERVED = ("window", "rows", "query", "revision", "reason", "missed", "batch_id")
"""Names of result columns that no key and no aggregate may have."""

ONE_DAY = 86_400_000_000


@dataclass(frozen=True)
class Query:
    """One named window of a spec, with its aggregates.

    >>> import muntin as mt
    >>> mt.over("ts").window("minute", mt.tumbling("1 minute"), n=mt.count()).queries[0].name
    'minute'
    """

    name: str
    window: Window
    aggregates: tuple[tuple[str, Aggregate], ...]


@dataclass(frozen=True, repr=False)
class Spec:
    """Windows and aggregates over a stream or table; made by `over`, extended by `window`.

    >>> import muntin as mt
    >>> spec = mt.over("ts", by="sensor").window("minute", mt.tumbling("1 minute"), peak=mt.max("speed"))
    >>> spec.apply({"ts": [1, 2], "sensor": ["a", "a"], "speed": [3, 5]}).column("peak").to_pylist()
    [5]
    """

    time: str | None
    by: tuple[str, ...] = ()
    disorder: int = 0
    lateness: int = 0
    order: str | None = None
    idle: int | None = None
    max_ahead: int | None = ONE_DAY
    queries: tuple[Query, ...] = field(default=())
    spans: Spans | None = None
    """Where events have a duration: how they are told and handled. Then `time` is the column of their ends."""
    condition: str | None = None
    """Which rows count, as an SQL expression; None: all."""
    derived: tuple[tuple[str, str], ...] = ()
    """Columns that are computed from others of the row: names and SQL expressions."""
    compression: Compression | None = None

    # -- building ------------------------------------------------------------------------------------------------

    def window(self, name: str, window: Window, /, **aggregates: Aggregate) -> Spec:
        """This spec with one more named window and its aggregates.

        >>> import muntin as mt
        >>> mt.over("ts").window("minute", mt.tumbling("1 minute"), n=mt.count())
        over('ts')
        .window('minute', tumbling('1 minute'), n=count())
        """
        self._check_name(name)
        if not isinstance(window, Window):
            raise SpecError(
                f"window {name!r}: {window!r} is no window. Use mt.tumbling, mt.sliding, mt.session, mt.cumulative, "
                f"mt.punctuated, mt.frame or a class of your own."
            )
        if not aggregates:
            raise SpecError(f"window {name!r} computes nothing. Name at least one aggregate, such as n=mt.count().")
        for result, aggregate in aggregates.items():
            self._check_aggregate(name, result, aggregate)
        if self.spans is not None:
            check_window(name, window)
        query = Query(name, window, tuple(aggregates.items()))
        return replace(self, queries=(*self.queries, query))

    def without(self, name: str) -> Spec:
        """This spec without one of its windows.

        >>> import muntin as mt
        >>> spec = mt.over("ts").window("minute", mt.tumbling("1 minute"), n=mt.count())
        >>> spec.window("visit", mt.session("30 seconds"), n=mt.count()).without("visit") == spec
        True
        """
        gone = query_named(self, name)
        return replace(self, queries=tuple(query for query in self.queries if query is not gone))

    def where(self, condition: str) -> Spec:
        """This spec over the rows for which an SQL condition is true; the others are as if they had never come.

        It is computed by Spark on Spark and by Arrow elsewhere, with the same meaning: see the page about SQL.

        >>> import muntin as mt
        >>> spec = mt.over("ts").where("price > 0").window("s", mt.tumbling("1 second"), n=mt.count())
        >>> spec.apply({"ts": [0, 1, 2], "price": [5, -1, None]}).column("n").to_pylist()
        [1]
        """
        from muntin.sql.expressions import expression, text_of

        text = text_of(expression(condition))
        both = text if self.condition is None else f"({self.condition}) AND ({text})"
        return replace(self, condition=both)

    def computed(self, **columns: str) -> Spec:
        """This spec with columns that SQL expressions compute from others of the same row.

        >>> import muntin as mt
        >>> spec = mt.over("ts").computed(paid="price * amount").window("s", mt.tumbling("1 second"), n=mt.sum("paid"))
        >>> spec.apply({"ts": [0, 1], "price": [5, 3], "amount": [1, 2]}).column("n").to_pylist()
        [11]
        """
        from muntin.sql.expressions import expression, text_of

        twice = {name for name, _ in self.derived} & set(columns)
        if twice:
            raise SpecError(f"two computed columns are named {min(twice)!r}. Choose another name.")
        made = tuple((name, text_of(expression(text))) for name, text in columns.items())
        return replace(self, derived=(*self.derived, *made))

    def compress(self, after: object, *, codec: str = "auto", lossy: object = None) -> Spec:
        """This spec with the events that it keeps compressed where their key has not got one for `after` (paper 5's D).

        `after` is a length of event time: 0 compresses at once. Results are the same for every `after`; less memory
        takes more time. `codec` is `"snappy"`, `"lz4"`, `"zstd"` or `"zstd:9"` with a level, `"none"` for column-wise
        encodings alone, or `"auto"`. `lossy` lets numbers be off, once they are compressed, by an absolute (`0.5`) or
        relative (`"1 %"`) error; a dict says it for single columns.

        >>> import muntin as mt
        >>> spec = mt.over("ts", by="car").window("w", mt.sliding("3 hours", every="1 minute"), all=mt.collect("speed"))
        >>> spec.compress("1 minute", codec="zstd:3")
        over('ts', by='car')
        .window('w', sliding('3 hours', every='1 minute'), all=collect('speed'))
        .compress(after='1 minute', codec='zstd:3')
        """
        return replace(self, compression=compression(after, codec, lossy))

    def memory(self, budget: object, *, codec: str = "auto", lossy: object = None) -> Spec:
        """This spec with a budget for the state of each of its engines, such as `"2 GiB"`, instead of an `after`.

        An engine moves `after` (and the codec, where it is `"auto"`) so that its state fits, as `engine.nbytes` counts
        it after each step; `engine.metrics()` and `engine.explain()` tell what it chose. If the state does not fit
        even where all is compressed at once, `BudgetExceeded` says how much it needs.

        >>> import muntin as mt
        >>> mt.over("ts", by="car").window("w", mt.tumbling("1 day"), all=mt.collect("speed")).memory("2 GiB")
        over('ts', by='car')
        .window('w', tumbling('1 day'), all=collect('speed'))
        .memory(2147483648)
        """
        return replace(self, compression=compression(None, codec, lossy, number_of_bytes(budget, "memory")))

    def target(self, *, latency: object = None, throughput: float | None = None) -> Spec:
        """This spec with a service level: as much is compressed as leaves answers in time and the rate of rows.

        `latency` is the time from a push to its results, `throughput` is in rows per second. Both are measured while
        the engine runs, so what it chooses depends on the machine; the results do not.

        >>> import muntin as mt
        >>> spec = mt.over("ts", by="car").window("w", mt.tumbling("1 day"), all=mt.collect("speed"))
        >>> spec.target(latency="50 ms")
        over('ts', by='car')
        .window('w', tumbling('1 day'), all=collect('speed'))
        .target(latency=0.05)
        """
        return replace(self, compression=targeted(self.compression, latency, throughput))

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not name:
            raise SpecError(
                f"a window needs a name, got {name!r}. Write .window('minute', mt.tumbling('1 minute'), ...)."
            )
        if any(query.name == name for query in self.queries):
            raise SpecError(f"two windows are named {name!r}. Results are told apart by name: choose another.")

    def _check_aggregate(self, query: str, result: str, aggregate: object) -> None:
        if isinstance(aggregate, type) and issubclass(aggregate, Aggregate):
            raise SpecError(
                f"window {query!r}: {result}={aggregate.name} is not called. Write {result}=mt.{aggregate.name}(...)."
            )
        if not isinstance(aggregate, Aggregate):
            raise SpecError(
                f"window {query!r}: {result}={aggregate!r} is no aggregate. Use one such as mt.sum('column'), or a "
                f"class of your own made from mt.Aggregate."
            )
        if aggregate.of_spans and self.spans is None:
            raise SpecError(
                f"window {query!r}: {result}={aggregate!r} asks how many events go on at once, and events without a "
                f"duration never do. Give them one: mt.over(span=('start', 'end'), ...)."
            )
        if result in RESERVED:
            raise SpecError(f"window {query!r}: the name {result!r} is reserved for a result column. Choose another.")
        if result in self.by:
            raise SpecError(f"window {query!r}: the name {result!r} is a key column already. Choose another.")

    def checked(self) -> Spec:
        """Itself, where it has at least one window."""
        if not self.queries:
            raise SpecError(
                "the spec has no window. Add one: .window('minute', mt.tumbling('1 minute'), n=mt.count())."
            )
        return self

    # -- using ---------------------------------------------------------------------------------------------------

    @property
    def in_order(self) -> bool:
        """Whether the stream is declared to be in order: neither disorder nor lateness."""
        return self.disorder == 0 and self.lateness == 0

    @property
    def rows(self) -> bool:
        """Whether something is done to rows first: a condition, or computed columns."""
        return self.condition is not None or bool(self.derived)

    def apply(self, frame: Any, *, engine: str = "auto", buckets: int | None = None, final: str = "auto") -> Any:
        """All windows of a frame, as a frame of the same kind.

        A Spark DataFrame may be a stream; `buckets` is into how many parts its keys are then put (as many as there
        are shuffle partitions unless given). `engine="reference"` recomputes everything in plain Python, to check
        against; on finite frames only. `final` is as for `spec.engine`.

        >>> import muntin as mt
        >>> spec = mt.over("ts").window("second", mt.tumbling("1 second"), n=mt.count())
        >>> spec.apply({"ts": [0, 1, 1_000_000]}).column("n").to_pylist()
        [2, 1]
        """
        if is_spark(frame):
            from muntin.spark.plan import apply_spark

            return apply_spark(self.checked(), frame, engine, buckets, final)
        from muntin.engines import apply

        return apply(self.checked(), frame, engine, final)

    def start(
        self,
        frame: Any,
        *,
        results: Any,
        checkpoint: str,
        late: Any = None,
        trigger: dict[str, Any] | None = None,
        flush: bool = False,
        emit: str = "final",
        buckets: int | None = None,
        name: str | None = None,
        final: str = "auto",
    ) -> Any:
        """Run over a streaming Spark DataFrame, results and late rows going to two sinks; gives Spark's StreamingQuery.

        A sink is the name of a table, a path, a pair `(path, format)`, or a function of a DataFrame and the number of
        the batch. A path gets one folder `batch_id=N` per batch and a table one partition, so that a batch that is
        tried again is still there once. Without `late` such rows are only counted, in the query's progress.
        `trigger` is what Spark's `trigger` takes, such as `{"availableNow": True}`; then `flush=True` waits for the
        end, reports the windows that the watermark has not reached, as batch `flush`, and ends the checkpoint.
        `emit="updates"` reports every window after every batch that changes it; the last row of a window holds.
        `buckets` is into how many parts keys are put: as many as there are shuffle partitions unless given.
        `final` is as for `spec.engine`, and may be another when a checkpoint is started again.

        A checkpoint that is started again goes on where it was. Windows may have been added or removed since then:
        `muntin.spark.starts(spark, checkpoint)` says from when each is exact.

        ```
        query = spec.start(stream, results="/data/windows", late="/data/late", checkpoint="/data/checkpoint")
        ```
        """
        from muntin.spark.start import start_spark

        how = trigger, flush, emit, buckets, name, final
        return start_spark(self.checked(), frame, results, late, checkpoint, *how)

    def engine(
        self,
        *,
        watermark: str = "auto",
        engine: str = "auto",
        clock: Callable[[], Any] | None = None,
        sources: Iterable[str] | None = None,
        idle_source: object = None,
        threads: int = 1,
        store: str = "auto",
        latency: str | None = None,
        emit: str = "final",
        final: str = "auto",
    ) -> Engine:
        """An embedded engine with state: `push(batch)`, `advance(watermark)`, `flush()`, `late()`.

        `watermark="auto"` trails the newest event by `disorder`; `"manual"` moves only on `advance`. `clock` gives
        the current time (a datetime or microseconds) and is the system's unless given. `emit="updates"` reports every
        window after every step that changes it, due or not; its revisions count on.

        Where several sources feed the engine (`push(batch, source="a")`), the watermark is the smallest of theirs.
        `sources` declares them, so that it waits for those that have not pushed yet; a source that has not pushed for
        `idle_source` of the clock (`"30 seconds"`) holds it back no longer, until it pushes again.

        `threads` splits the rows by key over as many threads; the results are the same.

        `store` decides how windows are combined: `"lazy"` from their slices when they are due, `"eager"` from a tree of
        partials that is kept up to date with every batch; `"auto"` goes by the number of slices in a window.
        `latency="low"` asks for the eager one: then an answer takes the least time from when it is due. `final` names
        the algorithm that combines slices into sliding windows, as for `mt.rolling`; `"auto"` chooses.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("second", mt.tumbling("1 second"), n=mt.count()).engine()
        >>> engine.push({"ts": [0, 1, 1_000_000]}).column("n").to_pylist()
        [2]
        """
        from muntin.engines import make

        return make(
            self.checked(), engine, watermark, clock, sources, idle_source, threads, store, latency, emit, final
        )

    def panes(self) -> Panes:
        """The split of each window into a pane-level and a window-level query (paper 2, section 3.1).

        Beside the panes, of gcd(RANGE, SLIDE), it shows the cuts that run, which are never more.

        >>> import muntin as mt
        >>> print(mt.over("ts", by="item").window("w", mt.sliding("7 min", every="5 min"), n=mt.count()).panes())
        w: sliding('7 minutes', every='5 minutes')
          panes:        1 minute (gcd of 7 minutes and 5 minutes), 7 in a window, 5 new in each slide
          pane level:   SELECT item, count(*) AS n FROM events [RANGE 1 minute] GROUP BY item
          window level: SELECT item, sum(n) AS n FROM panes [RANGE 7 minutes SLIDE 5 minutes] GROUP BY item
          cuts that run: the edges of windows, 3 slices in a window, 4 fewer than panes
          full-differential: n (with final='subtract_on_evict': the window before, less what left, plus what came)
        """
        from muntin.panes import panes

        return panes(self.checked())

    def explain(
        self,
        frame: Any = None,
        *,
        rate: float | Literal["sample"] | None = None,
        keys: int = 1,
        late: bool = False,
        buckets: int | None = None,
    ) -> Explanation:
        """What it will do, and why: the class of each window, the properties of its aggregates, what follows.

        A frame, or a pyarrow schema, tells the types of columns: then it is known of each aggregate of your own
        whether it is compiled. `rate`, in events per second of event time, and the number of keys tell how many bytes
        of state result, and what windows cost with panes and without; `rate="sample"` takes both from the frame. With
        a Spark DataFrame it also tells what happens before and after the shuffle; `late` says
        whether there is a late output, and `buckets` how many parts the keys are put into.

        >>> import muntin as mt
        >>> print(mt.over("ts").window("second", mt.tumbling("1 second"), n=mt.count()).explain())
        over('ts'): in order, no key
        <BLANKLINE>
        second: tumbling('1 second')
          context free, measured in time; a window is identified by its time bounds
          n = count(): distributive, commutative, invertible, cumulative, full-differential
          events kept: no. The stream is in order and the window is not forward context aware.
          splits:      no. The stream is in order and the window is not forward context aware.
          removal:     no. Events are removed only from rows windows out of order.
        <BLANKLINE>
        Together: events are not kept, slices are never split, events are never removed.
        Slices: about 1 per second of event time, shared by all keys and by 1 query.
        Store: lazy, since no window has more than 1 slice; a tree pays from 32 on.
        A row further than 1 day ahead of the clock is rejected (max_ahead).
        """
        from muntin.explain import Explanation, explain
        from muntin.explain_costs import Statistics, sampled
        from muntin.given import prepared_schema, rows_of, schema_of

        if rate is not None and rate != "sample" and not (isinstance(rate, int | float) and rate > 0):
            raise SpecError(
                f"explain(rate={rate!r}): a rate is a number of events per second of event time, above 0, or 'sample'."
            )
        if isinstance(keys, bool) or not isinstance(keys, int) or keys < 1:
            raise SpecError(f"explain(keys={keys!r}): the number of keys counts from 1.")
        if is_spark(frame):
            from muntin.spark.explain import explain_spark, spark_columns

            if rate == "sample":
                raise SpecError("rate='sample' would run a job on Spark. Give the rate as a number, and keys=.")
            found = None if rate is None else Statistics(rate, keys)
            told = explain(self.checked(), spark_columns(self, frame), found)
            return Explanation(f"{told}\n\n{explain_spark(self, frame, late, buckets, found)}")
        schema = prepared_schema(self, schema_of(frame))
        if rate == "sample":
            return explain(self.checked(), schema, sampled(self, rows_of(self, frame)))
        return explain(self.checked(), schema, None if rate is None else Statistics(rate, keys))

    def __repr__(self) -> str:
        head = [repr(self.time)] if self.spans is None else self.spans.shown()
        if self.by:
            head.append(f"by={self.by[0]!r}" if len(self.by) == 1 else f"by={list(self.by)!r}")
        delays = {"disorder": self.disorder, "lateness": self.lateness}
        head += [f"{name}={show_duration(delay)!r}" for name, delay in delays.items() if delay]
        if self.order is not None:
            head.append(f"order={self.order!r}")
        if self.idle is not None:
            head.append(f"idle={show_duration(self.idle)!r}")
        if self.max_ahead != ONE_DAY:
            head.append("max_ahead=" + ("None" if self.max_ahead is None else repr(show_duration(self.max_ahead))))
        lines = [f"over({', '.join(head)})"]
        if self.condition is not None:
            lines.append(f".where({self.condition!r})")
        if self.derived:
            plain = all(name.isidentifier() for name, _ in self.derived)
            shown = (
                ", ".join(f"{name}={text!r}" for name, text in self.derived) if plain else f"**{dict(self.derived)!r}"
            )
            lines.append(f".computed({shown})")
        for query in self.queries:
            named = ", ".join(f"{name}={aggregate!r}" for name, aggregate in query.aggregates)
            lines.append(f".window({query.name!r}, {query.window!r}, {named})")
        if self.compression is not None:
            lines.append(f".{self.compression!r}")
        return "\n".join(lines)


def over(
    time: Any = UNSET,
    *,
    span: Iterable[str] | None = None,
    by: str | Iterable[str] = (),
    disorder: object = 0,
    lateness: object = 0,
    order: str | None = None,
    idle: object = None,
    max_ahead: object = "1 day",
    postpone: object = UNSET,
    technique: object = UNSET,
    height: object = UNSET,
) -> Spec:
    """Begin a spec over the column of event times; `None` means the time of arrival.

    `span=("start", "end")` in its place is for events with a duration: each belongs to every window that it overlaps.
    They come in the order of their ends, and a window is released `postpone` after its end: `"auto"`, the default, is
    the longest duration seen so far. `technique` is `"single"`, `"multi"` (of `height` levels) or `"sweeping"`, and
    `"auto"` chooses by what comes, batch by batch; results do not depend on either.

    `by` names the key columns. `disorder` is how far behind the newest event an event may come; the watermark trails
    by this much. `lateness` is how long a reported window may still be corrected. `order` names a column that decides
    between events of equal time. `idle` lets the positions of rows windows start again at 0 after a silence of the
    key. A row further ahead of the clock than `max_ahead` is rejected (`None`: never).

    >>> over("ts", by=["city", "sensor"], disorder="2 seconds")
    over('ts', by=['city', 'sensor'], disorder='2 seconds')
    >>> over(span=("start", "end"), by="tower", postpone="2 hours")
    over(span=('start', 'end'), postpone='2 hours', by='tower')
    """
    spans = spans_of(time, span, postpone, technique, height, idle)
    if spans is not None:
        time = spans.end
    elif time is UNSET:
        raise SpecError(
            "over takes the name of the time column, None for arrival time, or span=('start', 'end') for events with "
            "a duration. Give one of them."
        )
    if time is not None and not isinstance(time, str):
        raise SpecError(f"over takes the name of the time column, or None for arrival time, got {time!r}.")
    keys = (by,) if isinstance(by, str) else tuple(by)
    for key in keys:
        if not isinstance(key, str):
            raise SpecError(f"by= takes names of key columns, got {key!r}.")
        if key in RESERVED:
            raise SpecError(f"by={key!r}: the name is reserved for a result column. Rename the key column.")
    if len(set(keys)) < len(keys):
        raise SpecError(f"by={list(keys)!r} names a key column twice.")
    if order is not None and not isinstance(order, str):
        raise SpecError(f"order= takes the name of a column, got {order!r}.")
    spec = Spec(
        time,
        keys,
        duration(disorder, "disorder"),
        duration(lateness, "lateness"),
        order,
        None if idle is None else duration(idle, "idle"),
        None if max_ahead is None else duration(max_ahead, "max_ahead"),
        spans=spans,
    )
    if time is None and not spec.in_order:
        raise SpecError(
            f"over(None) goes by arrival, which is always in order: disorder={disorder!r} and lateness={lateness!r} "
            f"have no meaning. Leave them out, or name a column of event times."
        )
    return spec


def query_named(spec: Spec, name: str) -> Query:
    """The query of a name, or an error that names the nearest."""
    for query in spec.queries:
        if query.name == name:
            return query
    raise SpecError(f"no window is named {name!r}. {nearest(name, [query.name for query in spec.queries])}")


def counts_rows(window: Window) -> bool:
    """Whether a window goes by the positions of rows, so that a late event shifts later ones."""
    return window.measure is Measure.ROWS
