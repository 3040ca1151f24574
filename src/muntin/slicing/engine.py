"""The slicing engine: batches in, due windows out (paper 1, section 5; Figure 7).

A batch is decoded into columns, judged query by query against the watermark so far, cut into slices and aggregated
once; then the watermark moves, and windows that are due are combined from slices, or computed from kept events where
Figure 4 asks for these.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.engine import Engine
from muntin.errors import SpecError
from muntin.layout import BoundQuery, Layout, layout
from muntin.metrics import Held
from muntin.slicing.bare import with_cells
from muntin.slicing.batch import Batch, Decoder
from muntin.slicing.change import Change, move_sliced
from muntin.slicing.compaction import Compaction
from muntin.slicing.families import KeptFamily, kept_family
from muntin.slicing.governor import Cold, Governor, chosen
from muntin.slicing.kept_values import Found, KeptValues
from muntin.slicing.late import LateRows
from muntin.slicing.plan import is_along, is_rows, is_sliced
from muntin.slicing.results import Results
from muntin.slicing.revisions import Report, Reported, named
from muntin.slicing.shown import slices_table
from muntin.slicing.sliced import Sliced
from muntin.slicing.straight import Straight
from muntin.slicing.texts import Forgetting
from muntin.slicing.values import Interner
from muntin.spec import Spec
from muntin.starting import start_after
from muntin.state.blob import pack, unpack
from muntin.state.understood import understood
from muntin.state.written import check_over, over_of, shown, written

if TYPE_CHECKING:
    from muntin.slicing.along.group import AlongGroup
    from muntin.slicing.rows.group import RowsGroup

__all__ = ["Slicing"]


@dataclass
class KeptQuery:
    """A query whose windows are found among kept events."""

    index: int
    bound: BoundQuery
    family: KeptFamily
    reported: Reported = field(default_factory=Reported)


class Slicing(Engine):
    """The embedded engine behind `spec.apply` and `spec.engine()`.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count())
    >>> isinstance(spec.engine(), Slicing)
    True
    """

    parts = 1
    """Among how many engines a budget of memory is divided."""
    straight: ClassVar[bool] = True
    """Whether rows may go from Arrow's buffers into cells (`muntin.slicing.straight`)."""
    positions: ClassVar[bool] = True
    """Whether windows in rows are combined from slices of positions."""

    def _begin(self, bound: Layout) -> None:
        self._bound = bound
        self._decoder = Decoder(bound)
        queries = list(enumerate(bound.queries))
        sliced = [i for i, query in queries if is_sliced(query.window)]
        rows = [i for i, query in queries if self.positions and is_rows(query.window)]
        along = [i for i, query in queries if is_along(query, bound.spec.order is not None)]
        others = {i for i, _ in queries}.difference(sliced, rows, along)
        self._kept_queries = [
            KeptQuery(i, query, self._family(query, bound.spec)) for i, query in queries if i in others
        ]
        interners, how = self._decoder.interners, (self.store, self.final)
        self._sliced = self._over_slices(bound, sliced, interners, how) if sliced else None
        self._rows, self._along = self._over_positions(bound, rows), self._over_measures(bound, along)
        keeping = [query.index for query in self._kept_queries]
        if self._sliced is not None:
            keeping += self._sliced.keeping
        self._kept = KeptValues(bound, sorted(keeping), self.updates)
        rule = bound.spec.compression
        self._governor = Governor(rule) if rule is not None and rule.moves else None
        self._results = Results(bound, self._decoder.keys)
        self._straight: Straight | None = None
        if self.straight and self._sliced is not None and len(sliced) == len(queries) and not self._sliced.cold:
            straight = Straight(bound, self._decoder, self._sliced)
            self._straight = straight if straight.open else None
        self._forgetting = Forgetting(self._decoder.interners)
        self._compaction = Compaction(self._decoder.keys, [self._kept, *self._stores()])
        self._tell_starts()
        if self._sliced is not None and self._watermark is not None:  # it moved before the first batch came
            self._sliced.close(self._watermark, self._kept)

    def _over_slices(
        self, bound: Layout, queries: list[int], interners: Mapping[str, Interner], how: tuple[str, str]
    ) -> Sliced:
        """Queries over shared slices; engines to compare with slice otherwise."""
        return Sliced(bound, queries, interners, how, self.updates)

    # The kernels of the next two are loaded where a query has such windows: every Spark worker is a new process, and
    # the first batch waits until it has loaded its kernels.

    def _over_positions(self, bound: Layout, queries: list[int]) -> RowsGroup | None:
        """Queries over slices of positions."""
        if not queries:
            return None
        from muntin.slicing.rows.group import RowsGroup

        return RowsGroup(bound, queries, self.updates, self.final)

    def _over_measures(self, bound: Layout, queries: list[int]) -> AlongGroup | None:
        """Queries on another column, over slices along it."""
        if not queries:
            return None
        from muntin.slicing.along.group import AlongGroup

        return AlongGroup(bound, queries, self.updates)

    def _family(self, query: BoundQuery, spec: Spec) -> KeptFamily:
        """What finds the windows of a query among kept events."""
        return kept_family(query, spec)

    def _tell_starts(self) -> None:
        """Queries that were added later are exact from a time on."""
        since = {i: self._since[q.name] for i, q in enumerate(self._bound.queries) if q.name in self._since}
        for query in self._kept_queries:
            query.family.since = since.get(query.index)
        for part in (self._sliced, self._rows, self._along):
            if part is not None:
                part.begin(since)

    def _stores(self) -> list[Sliced | RowsGroup | AlongGroup | KeptFamily | Reported]:
        """All that holds state per key beside the kept events."""
        kept = [part for query in self._kept_queries for part in (query.family, query.reported)]
        return [*kept, *(part for part in (self._sliced, self._rows, self._along) if part is not None)]

    @property
    def nbytes(self) -> int:
        """The bytes of state, from the sizes of the real buffers."""
        if self._layout is None:
            return 0
        return self._decoder.nbytes + self._kept.nbytes + sum(store.nbytes for store in self._stores())

    def _cold(self) -> list[Cold]:
        """All that compresses."""
        if self._layout is None:
            return []
        return [*self._kept.cold, *self._cold_parts()]

    def _cold_parts(self) -> list[Cold]:
        """What compresses beside kept events."""
        parts = (self._sliced, self._rows, self._along)
        return [store for part in parts if part is not None for store in part.cold]

    def _settle(self) -> None:
        """The end of a step: what was not touched for D is compressed."""
        self._kept.end_step(self._watermark)
        for store in self._cold_parts():
            store.compress(self._watermark)

    def _held(self) -> Held:
        return sum((store.compressed() for store in self._cold()), Held())

    def slices(self) -> pa.Table:
        """The slices that hold events: start, end, the times of their first and last event, and the number of events.

        All context-free windows on time and sessions share them. With keys there is a row for each key in a slice, and
        the number of events is the key's; all else is the slice's, which all keys share.

        >>> import muntin as mt
        >>> engine = mt.over("ts").window("s", mt.tumbling("10 us"), n=mt.count()).engine()
        >>> _ = engine.push({"ts": [1, 7, 12]})
        >>> [time.microsecond for time in engine.slices().to_pylist()[-1].values() if not isinstance(time, int)]
        [10, 20, 12, 12]
        """
        if self._layout is None:
            return pa.table({})
        return slices_table(self._layout, self._sliced, self._decoder.keys, self._kept)

    def _measured(self) -> list[str]:
        if self._layout is None:
            return []
        told = [f"compressed: {line}" for line in dict.fromkeys(chosen(s.after, s.writer.codec) for s in self._cold())]
        return told + self._kept.told([(q.index, q.bound) for q in self._kept_queries])

    def _chosen(self) -> list[tuple[int, str | None]]:
        return [store.chosen for store in self._cold()]

    def snapshot(self) -> bytes:
        """The state of the engine as bytes: versioned, checksummed, without pickle. See `restore`.

        >>> import muntin as mt
        >>> spec = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count())
        >>> engine = spec.engine()
        >>> _ = engine.push({"ts": [0, 1]})
        >>> again = spec.engine()
        >>> again.restore(engine.snapshot())
        >>> again.push({"ts": [2, 1_000_000]}).column("n").to_pylist()
        [3]
        """
        self._check_whole("snapshot")
        data = pack(self._dump(), self._codec)
        if self._layout is not None:
            self._settle()  # what was opened for it is compressed again
        return data

    def _dump(self) -> dict[str, Any]:
        tree: dict[str, Any] = {"over": over_of(self.spec), "spec": [[*part] for part in written(self.spec)]}
        tree |= {"ended": self._ended, "watermark": self._watermark, "newest": self._newest, "late": self._late}
        tree |= {"sources": self._sources.dump(), "seen": self._seen, "since": self._since}
        if self._layout is not None:
            tree["schema"] = self._layout.schema
            tree["decoder"] = self._decoder.dump()
            tree["kept"] = self._kept.dump()
            tree["sliced"] = None if self._sliced is None else self._sliced.dump()
            tree["rows"] = None if self._rows is None else self._rows.dump()
            tree["along"] = None if self._along is None else self._along.dump()
            tree["queries"] = [[q.index, q.family.dump(), q.reported.dump()] for q in self._kept_queries]
        return tree

    def restore(self, data: bytes, *, changed: bool = False) -> None:
        """Take over the state of a snapshot of an engine of the same spec; this one must be new.

        With `changed` its windows may be others: those of the same name that are written the same go on with the
        slices that are there, those that are gone are removed, new ones are added as by `add_window` (`starts` says
        from when they are exact). All else of the spec must be the same.

        >>> import muntin as mt
        >>> spec = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count())
        >>> engine = spec.engine()
        >>> _ = engine.push({"ts": [0, 1]})
        >>> more = spec.window("two", mt.tumbling("2 seconds"), n=mt.count()).engine()
        >>> more.restore(engine.snapshot(), changed=True)
        >>> more.push({"ts": [2, 2_000_000]})["n"].to_pylist()
        [3, 3]
        """
        if self._layout is not None or self._ended:
            raise SpecError("restore() on an engine that has run. Make a new one: spec.engine().restore(data).")
        with understood():
            self._take_over(unpack(data), changed)

    def _take_over(self, tree: dict[str, Any], changed: bool) -> None:
        """Take over the tree of a snapshot."""
        if "parts" in tree:
            count = len(tree["parts"])
            raise SpecError(f"the snapshot is of an engine with threads. Restore it with spec.engine(threads={count}).")
        if changed:
            check_over(tree["over"], self.spec)
        elif tree["over"] != over_of(self.spec) or tree["spec"] != [[*part] for part in written(self.spec)]:
            raise SpecError(
                f"the snapshot is of another spec: {shown(tree)}\nRestore it with that one, with changed=True where "
                f"only windows are others, or start afresh."
            )
        self._watermark, self._newest = tree["watermark"], tree["newest"]
        self._late, self._ended, self._seen = tree["late"], tree["ended"], tree["seen"]
        self._sources.load(tree["sources"])
        if not changed:
            self._load(tree)
            return
        before = {name: (i, rest) for i, (name, *rest) in enumerate(tree["spec"])}
        after = {name: (i, rest) for i, (name, *rest) in enumerate(written(self.spec))}
        same = [name for name in after if name in before and before[name][1] == after[name][1]]
        self._since = {name: start for name, start in tree["since"].items() if name in same}
        if "schema" in tree:
            self._layout = layout(self.spec, tree["schema"])
            self._carry(tree, {before[name][0]: after[name][0] for name in same}, None)

    def _change(self, bound: Layout) -> None:
        self.__dict__.update(self.changed(bound).__dict__)

    def changed(self, bound: Layout) -> Slicing:
        """An engine that goes on from here with another spec; this one is not to be used any more."""
        numbers = {query.name: i for i, query in enumerate(bound.queries)}
        stay = {i: numbers[query.name] for i, query in enumerate(self._bound.queries) if query.name in numbers}
        bounds = [] if self._sliced is None else self._sliced.bounds
        changed = copy.copy(self)
        changed.spec, changed._layout, changed._since = bound.spec, bound, dict(self._since)
        changed._carry(self._dump(), stay, {repr(found.aggregate): found.aggregate for found in bounds})
        return changed

    def _carry(self, tree: dict[str, Any], stay: dict[int, int], same: dict[str, Any] | None) -> None:
        """Begin with the queries of this engine, and take over the state of those that go on."""
        assert self._layout is not None
        self._begin(self._layout)
        self._decoder.load(tree["decoder"])
        kinds = self._decoder.kinds(self._layout)
        if tree["sliced"] is not None:
            tree["sliced"]["slices"] = with_cells(tree["sliced"]["slices"], tree["kept"])
        self._kept.load(tree["kept"], kinds, stay)
        numbers = {query.name: i for i, query in enumerate(self._bound.queries)}
        since = {numbers[name]: start for name, start in self._since.items() if name in numbers}
        read = frozenset(tree["decoder"]["columns"])
        change = Change(stay, since, self._seen, self._watermark, self.spec.lateness, read, same)
        if self._sliced is not None:
            move_sliced(self._sliced, tree["sliced"], change, self._kept)
        if self._rows is not None:
            since |= self._rows.carry(tree["rows"], kinds, stay, self._seen)
        if self._along is not None:
            since |= self._along.carry(tree["along"], kinds, stay, self._seen)
        old = {stay[i]: (family, reported, {i: stay[i]}) for i, family, reported in tree["queries"] if i in stay}
        for query in self._kept_queries:
            if query.index in old:
                family, reported, number = old[query.index]
                query.family.load(family)
                query.reported.load(reported, number)
            else:
                self._kept.join(query.index)
                if self._seen is not None:
                    since[query.index] = start_after(query.bound.window, self._seen)
        self._kept.tidy(kinds, self._decoder.along)
        self._since = {self._bound.queries[i].name: start for i, start in since.items()}
        self._tell_starts()

    def _load(self, tree: dict[str, Any]) -> None:
        self._since = tree["since"]
        if "schema" not in tree:
            return
        self._layout = layout(self.spec, tree["schema"])
        self._begin(self._layout)
        self._decoder.load(tree["decoder"])
        kinds = self._decoder.kinds(self._layout)
        self._kept.load(tree["kept"], kinds)
        if self._sliced is not None:
            self._sliced.load(tree["sliced"])
        if self._rows is not None:
            self._rows.load(tree["rows"], kinds)
        if self._along is not None:
            self._along.load(tree["along"], kinds)
        for query, (_, family, reported) in zip(self._kept_queries, tree["queries"], strict=True):
            query.family.load(family)
            query.reported.load(reported)

    def _take(self, table: pa.Table, now: int | None) -> pa.Table | None:
        if self._straight is None:
            return self.take(table, now).table(table)
        late = LateRows(self._bound)
        done, newest = self._straight.take(table, now, late)
        if newest is not None:
            self._newest = newest if self._newest is None else max(self._newest, newest)
        early = late.table(table)
        if done == table.num_rows:
            return early
        others = table.slice(done)
        rest = self.take(others, now).table(others)
        found = [part for part in (early, rest) if part is not None]
        return pa.concat_tables(found) if found else None

    def take(self, table: pa.Table, now: int | None) -> LateRows:
        """Decode, judge against the watermark so far and take in; gives the late and rejected rows."""
        if self._governor is not None:
            self._governor.begin(table.num_rows)
        self._intact = True
        batch, rejected = self._decoder.decode(table, now)
        self._intact = False
        late = LateRows(self._bound, rejected)
        if len(batch):
            self._take_batch(batch, late)
        return late

    def _take_batch(self, batch: Batch, late: LateRows) -> None:
        assert batch.newest is not None
        self._newest = batch.newest if self._newest is None else max(self._newest, batch.newest)
        keys = self._decoder.keys.size if self.spec.by else 1
        if self._kept.stores:
            self._kept.begin(batch)
        if self._sliced is not None:
            self._sliced.take(batch, late, keys, self._kept)
        if self._rows is not None:
            self._rows.take(batch, late, keys, self._watermark)
        if self._along is not None:
            self._along.take(batch, late, keys)
        for query in self._kept_queries:
            self._judge(query, batch, late, keys)
        if self._kept.stores:
            self._kept.insert()

    def _judge(self, query: KeptQuery, batch: Batch, late: LateRows, keys: int) -> None:
        family = query.family
        family.grow(keys)
        judged = family.judge(batch, self._watermark)
        rows = batch.row_numbers()
        taken = np.ones(len(batch), np.bool_) if family.since is None else batch.time >= family.since
        if judged.null_measure is not None and family.since is not None:
            judged.null_measure &= taken
        if judged.null_measure is not None and judged.null_measure.any():
            late.missed(rows[judged.null_measure], query.index, None, "null measure")
            taken &= ~judged.null_measure
        if judged.late.any():
            missed = np.flatnonzero(judged.late & taken)
            bounds = (judged.start[missed], judged.end[missed]) if judged.known else None
            late.missed(rows[missed], query.index, bounds)
            if not family.takes_late:
                taken &= ~judged.late
        self._kept.take(query.index, None if taken.all() else taken)

    def _report(self, flush: bool) -> pa.Table:
        reports = [] if self._sliced is None else self._sliced.report(self._watermark, flush, self._kept)
        if self._rows is not None:
            reports += self._rows.report(self._watermark, flush)
        if self._along is not None:
            reports += self._along.report(self._watermark, flush)
        if self._kept_queries and (self._watermark is not None or flush):
            found = [self._found(query, flush) for query in self._kept_queries]
            self._kept.evaluate(found)
            pairs = list(zip(self._kept_queries, found, strict=True))
            reports += [self._reported(query, part) for query, part in pairs]
            if self._watermark is not None:
                self._kept.release_all([(q.index, part.view, self._closed(q, part)) for q, part in pairs])
        self._settle()
        table = self._results.table(reports)
        self._forget_silent()
        if self._governor is not None and not self._ended:
            self._governor.end(self, self._cold(), self._watermark, table, self.parts)
        return table

    def _forget_silent(self) -> None:
        """Forget keys and texts that nothing holds any more."""
        if not self.spec.by and not self._decoder.interners:
            return
        slices = [part for part in (self._sliced, self._rows) if part is not None]
        turned = [self._kept.turned, *(part.turned for part in (*slices, self._along) if part is not None)]
        gone, held = (sum(part) for part in zip(*turned, strict=True))
        if self.spec.by:
            self._compaction.step(gone, held)
        self._forgetting.step([*self._kept.stores, *(part.texts for part in slices)], gone, held)

    def _found(self, query: KeptQuery, flush: bool) -> Found:
        """The windows of a query, and which of them are due."""
        view = self._kept.view(query.index)
        wins = query.family.windows(view, self._watermark, flush)
        found = Found(query.bound, view, wins, np.flatnonzero(wins.due))
        if self.spec.lateness or self.updates:  # windows that are as they were said need not be computed again
            lo, hi = wins.lo[found.due], wins.hi[found.due]
            found.events = self._kept.events(query.bound, list(query.bound.aggregates), view, lo, hi, wins.take)
            found.take(query.reported.fresh(self._due(query, found)))
        return found

    def _due(self, query: KeptQuery, found: Found) -> Report:
        wins, due = found.wins, found.due
        return Report(
            np.full(len(due), query.index),
            wins.key[due],
            tuple(part[due] for part in wins.identity),
            wins.start[due],
            wins.end[due],
            None if wins.rows is None else (wins.rows[0][due], wins.rows[1][due]),
            found.values,
            None,
            found.events,
        )

    def _reported(self, query: KeptQuery, found: Found) -> Report:
        """What is new or changed of the windows that are due."""
        report, wins = self._due(query, found), found.wins
        if not (self.spec.lateness or self.updates):
            return report
        return query.reported.report(report, named(np.full(len(wins), query.index), wins.key, wins.identity))

    def _closed(self, query: KeptQuery, found: Found) -> npt.NDArray[np.bool_]:
        """Close what is to be closed; gives the events that are still needed."""
        assert self._watermark is not None
        keep = query.family.close(found.view, found.wins, self._watermark)
        last = query.reported.last
        if last is not None and len(last):
            wins = found.wins
            still = np.flatnonzero(~query.family.closed(wins))
            which = np.full(len(still), query.index)
            query.reported.forget(
                query.family.closed(last), named(which, wins.key[still], tuple(part[still] for part in wins.identity))
            )
        return keep
