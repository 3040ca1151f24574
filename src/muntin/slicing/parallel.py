"""One engine in several threads: keys are split by a hash, and each part has a slicing engine of its own.

All parts see the same watermarks, so they give together what one engine gives. Compiled kernels, Arrow and most of
NumPy run outside of Python's lock; functions of a user's own that are not compiled do not.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.engine import AUTO, Engine
from muntin.errors import SpecError
from muntin.layout import Layout, layout
from muntin.metrics import Held
from muntin.slicing.engine import Slicing
from muntin.slicing.late import LateRows
from muntin.slicing.spread import key_hashes
from muntin.slicing.values import dtype_of, read, to_arrow
from muntin.sources import Sources
from muntin.spec import Spec
from muntin.state.blob import pack, unpack
from muntin.state.understood import understood
from muntin.windows import NEVER

__all__ = ["Parallel", "split"]

Int64s = npt.NDArray[np.int64]
Out = TypeVar("Out")

PIECE = 1_024  # results with the same end, on average, from which on they are not copied


class Parallel(Engine):
    """A slicing engine per thread, each for a part of the keys. Made by `spec.engine(threads=n)`.

    >>> import muntin as mt
    >>> spec = mt.over("ts", by="key").window("s", mt.tumbling("1 second"), n=mt.count())
    >>> engine = spec.engine(threads=2)
    >>> engine.push({"ts": [0, 1, 2, 1_000_000], "key": ["a", "b", "a", "a"]}).num_rows
    2
    """

    def __init__(
        self,
        spec: Spec,
        watermark: str,
        clock: Callable[[], Any] | None,
        sources: Sources | None,
        threads: int,
        store: str = AUTO,
        emit: str = "final",
        final: str = AUTO,
    ) -> None:
        super().__init__(spec, watermark, clock, sources, store, emit, final)
        if not spec.by:
            raise SpecError(
                f"threads={threads} splits the rows by key, and this spec has no keys. Name key columns with "
                f"over(..., by=...), or leave threads= out."
            )
        self._parts = [Slicing(spec, "manual", store=store, emit=emit, final=final) for _ in range(threads)]
        for part in self._parts:
            part.parts = threads
        self._pool: ThreadPoolExecutor | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of state of all parts."""
        return sum(part.nbytes for part in self._parts)

    def _held(self) -> Held:
        return sum((part._held() for part in self._parts), Held())

    def _chosen(self) -> list[tuple[int, str | None]]:
        return [found for part in self._parts for found in part._chosen()]

    def slices(self) -> pa.Table:
        """The slices of all parts that hold events, by time. See `Slicing.slices`."""
        table = pa.concat_tables([part.slices() for part in self._parts])
        if not table.num_rows:
            return table
        table = table.sort_by("start")
        # Each part has the events of its own keys: a slice is that of all of them. Where one held events when a window
        # was added, it stays whole, and other parts may cut there: slices of other ends are others.
        starts, ends = (table[name].cast(pa.int64()).to_numpy() for name in ("start", "end"))
        _, at = np.unique(np.stack([starts, ends]), axis=1, return_inverse=True)
        table = table.append_column("which", pa.array(at.ravel()))
        whole = table.group_by("which", use_threads=False).aggregate([("first", "min"), ("last", "max")])
        at, table = pc.index_in(table["which"], whole["which"]), table.drop_columns("which")
        for name, found in (("first", "first_min"), ("last", "last_max")):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, table.schema.field(place), whole[found].take(at))
        return table

    def _measured(self) -> list[str]:
        return [f"thread {i}: {line}" for i, part in enumerate(self._parts) for line in part._measured()]

    def _begin(self, bound: Layout) -> None:
        self._prepare(bound)
        for part in self._parts:
            part.spec, part._layout, part._watermark = bound.spec, bound, self._watermark
            part._begin(bound)

    def _prepare(self, bound: Layout) -> None:
        self._bound = bound
        # Other columns are only in the late output, which takes them from the whole batch.
        used = {*bound.spec.by, bound.spec.time, bound.spec.order}
        for query in bound.queries:
            used |= {*query.window.columns, getattr(query.window, "on", None)}
            used.update(name for aggregate in query.aggregates.values() for name in aggregate.aggregate.columns)
        self._used = [name in used for name in bound.schema.names]

    def _change(self, bound: Layout) -> None:
        self._inform()
        self._parts = self._each(lambda i: self._parts[i].changed(bound))
        self.spec, self._layout = bound.spec, bound
        self._prepare(bound)
        self._tell_starts()

    def _inform(self) -> None:
        """What all parts have in common."""
        for part in self._parts:
            part.spec, part._seen, part._watermark = self.spec, self._seen, self._watermark

    def _tell_starts(self) -> None:
        """A query that was added is exact once it is in all parts."""
        self._since = {}
        for part in self._parts:
            for name, start in part._since.items():
                self._since[name] = max(start, self._since.get(name, start))
        for part in self._parts:
            part._since = dict(self._since)
            if part._layout is not None:
                part._tell_starts()

    def _each(self, call: Callable[[int], Out]) -> list[Out]:
        """A call for each part, all at once; the first error, if any, once all have ended."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._parts) - 1, "muntin")
        # This thread works as well.
        others = [self._pool.submit(call, i) for i in range(1, len(self._parts))]
        try:
            first = call(0)
        finally:
            for other in others:
                other.exception()
        return [first, *(other.result() for other in others)]

    def _take(self, table: pa.Table, now: int | None) -> pa.Table | None:
        which = split([table.column(name) for name in self.spec.by], len(self._parts))

        def take(i: int) -> tuple[LateRows, Int64s]:
            part, rows = self._parts[i], np.flatnonzero(which == i)
            part._watermark, part._newest = self._watermark, None
            if not len(rows):
                return LateRows(self._bound), rows
            return part.take(self._rows(table, rows), now), rows

        late = LateRows(self._bound)
        for found, rows in self._each(take):
            late.extend(found, rows)
        for part in self._parts:
            if part._newest is not None:
                self._newest = part._newest if self._newest is None else max(self._newest, part._newest)
        return late.table(table)

    def _rows(self, table: pa.Table, rows: Int64s) -> pa.Table:
        """Some rows; columns that no part looks at are nulls."""
        index, columns = pa.array(rows), []
        for column, used in zip(table.columns, self._used, strict=True):
            dtype = dtype_of(column.type)
            if not used:
                columns.append(pa.nulls(len(rows), column.type))
            elif dtype is not None and dtype.kind != "b" and column.num_chunks == 1 and not column.null_count:
                # NumPy picks numbers in half the time that Arrow takes.
                columns.append(to_arrow(read(column, dtype)[0].take(rows), None, column.type))
            else:
                columns.append(column.take(index))
        return pa.Table.from_arrays(columns, schema=table.schema)

    def _report(self, flush: bool) -> pa.Table:
        def report(i: int) -> pa.Table:
            part = self._parts[i]
            part._watermark = self._watermark
            return part._report(flush)

        tables = self._each(report)
        if flush and self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        some = [table for table in tables if table.num_rows]
        return by_end(some) if len(some) > 1 else (some or tables)[0]

    def snapshot(self) -> bytes:
        """The state of all parts as bytes; see `restore`."""
        self._check_whole("snapshot")
        tree: dict[str, Any] = {"spec": repr(self.spec), "ended": self._ended, "sources": self._sources.dump()}
        tree |= {"watermark": self._watermark, "newest": self._newest, "late": self._late}
        tree["schema"] = None if self._layout is None else self._layout.schema
        tree["seen"] = self._seen
        self._inform()
        tree["parts"] = self._each(lambda i: self._parts[i].snapshot())
        return pack(tree)

    def restore(self, data: bytes, *, changed: bool = False) -> None:
        """Take over the state of a snapshot of an engine of the same spec and threads; this one must be new.

        With `changed` its windows may be others, as in `Slicing.restore`.
        """
        if self._layout is not None or self._ended:
            raise SpecError("restore() on an engine that has run. Make a new one: spec.engine().restore(data).")
        with understood():
            self._take_over(unpack(data), changed)

    def _take_over(self, tree: dict[str, Any], changed: bool) -> None:
        count = len(tree.get("parts", [None]))
        if count != len(self._parts):
            given = f"threads={count}" if count > 1 else "one thread"
            way = f"spec.engine(threads={count})" if count > 1 else "spec.engine()"
            raise SpecError(
                f"the snapshot is of an engine with {given}, this one has threads={len(self._parts)}: keys are split "
                f"differently. Restore it with {way}."
            )
        self._each(lambda i: self._parts[i].restore(tree["parts"][i], changed=changed))
        self._watermark, self._newest = tree["watermark"], tree["newest"]
        self._late, self._ended, self._seen = tree["late"], tree["ended"], tree["seen"]
        self._sources.load(tree["sources"])
        if tree["schema"] is not None:
            self._layout = layout(self.spec, tree["schema"])
            self._prepare(self._layout)
        self._tell_starts()


def split(keys: list[pa.ChunkedArray], parts: int) -> npt.NDArray[np.uint16]:
    """The part of each row. It depends on the values of the key alone, and is the same in every run.

    >>> split([pa.chunked_array([[0.0, 1.0, -0.0, None]])], 2).tolist()
    [0, 1, 0, 0]
    """
    from muntin.kernels.spread import parts_of

    found = np.empty(len(keys[0]), np.uint16)
    parts_of(key_hashes(keys), parts, found)
    return found


def by_end(tables: list[pa.Table]) -> pa.Table:
    """Results of several parts, each in the order of its ends, as one in that order; those without an end last."""
    ends = [
        table.column("window").combine_chunks().field("end").cast(pa.int64()).fill_null(NEVER).to_numpy()
        for table in tables
    ]
    starts = [np.append(0, np.flatnonzero(part[1:] != part[:-1]) + 1) for part in ends]
    pieces = sum(map(len, starts))
    if pieces * PIECE > sum(map(len, ends)):
        return pa.concat_tables(tables).take(pa.array(np.argsort(np.concatenate(ends), kind="stable")))
    # Few ends have many results each: these are lined up as they are, without a copy.
    which = np.repeat(np.arange(len(tables)), [len(part) for part in starts])
    lengths = [np.diff(np.append(part, len(end))) for part, end in zip(starts, ends, strict=True)]
    order = np.argsort(np.concatenate([end[part] for part, end in zip(starts, ends, strict=True)]), kind="stable")
    chosen = zip(
        which[order].tolist(),
        np.concatenate(starts)[order].tolist(),
        np.concatenate(lengths)[order].tolist(),
        strict=True,
    )
    return pa.concat_tables([tables[i].slice(first, count) for i, first, count in chosen])
