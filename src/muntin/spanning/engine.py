"""The engine for events with a duration: batches in, windows out that are released after what is postponed (paper 3).

A batch is judged against what is closed, goes into slices with a pair of partials each, and windows are combined from
these when they are released. Aggregates without a partial of fixed size, and sessions, go by kept events.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from muntin.engine import Engine
from muntin.errors import SpecError
from muntin.layout import Layout, layout
from muntin.metrics import Held
from muntin.slicing.batch import Batch, Decoder
from muntin.slicing.cold import ColdEvents
from muntin.slicing.compaction import Compaction
from muntin.slicing.governor import Cold, Governor, chosen
from muntin.slicing.late import LateRows
from muntin.slicing.results import Results
from muntin.slicing.revisions import Report
from muntin.slicing.store_events import EventStore
from muntin.slicing.texts import Forgetting
from muntin.slicing.views import View
from muntin.spanning.fixed import FixedSpans
from muntin.spanning.kept import START
from muntin.spanning.sessions import SpanSessions
from muntin.state.blob import pack, unpack
from muntin.state.understood import understood
from muntin.state.written import over_of, shown, written
from muntin.units import show_duration
from muntin.windows import Session

__all__ = ["Spanning"]

_PLAIN = ("ended", "watermark", "newest", "seen", "longest", "released", "late")


class Spanning(Engine):
    """The embedded engine behind `spec.apply` and `spec.engine()` where events have a duration.

    >>> import muntin as mt
    >>> spec = mt.over(span=("start", "end"), postpone="10 us").window("w", mt.tumbling("10 us"), n=mt.count())
    >>> engine = spec.engine()
    >>> engine.push({"start": [0, 5, 12], "end": [5, 15, 20]}).column("n").to_pylist()
    [2]
    """

    technique: ClassVar[str] = "slicing"
    """How windows known in advance are computed; engines to compare with have others."""
    sessions: ClassVar[type[SpanSessions]] = SpanSessions
    """How sessions are found."""

    def _begin(self, bound: Layout) -> None:
        self._bound = bound
        self._decoder = Decoder(bound)
        sessions = [i for i, query in enumerate(bound.queries) if isinstance(query.window, Session)]
        others = [i for i in range(len(bound.queries)) if i not in sessions]
        interners = self._decoder.interners
        self._fixed = FixedSpans(bound, others, interners, self.updates, self.technique) if others else None
        revises = self.updates or bound.spec.lateness > 0
        self._sessions = [self.sessions(i, bound.queries[i], bound.spec.lateness, revises) for i in sessions]
        # One bit for windows known in advance, and one for each session query.
        self._keeps = bool(sessions) or (self._fixed is not None and bool(self._fixed.kept))
        rule = bound.spec.compression
        self._kept = EventStore(1 + len(sessions)) if rule is None else ColdEvents(rule, 1 + len(sessions))
        self._governor = Governor(rule) if rule is not None and rule.moves else None
        self._results = Results(bound, self._decoder.keys)
        self._compaction = Compaction(self._decoder.keys, [self._kept, *self._stores()])
        self._forgetting = Forgetting(interners)
        if self._released is not None and self._fixed is not None:  # it moved before the first batch came
            self._fixed.close(self._released)
        for query in self._sessions:
            if self._released is not None:
                query.mark = query.rounded(self._released - bound.spec.lateness)

    def _stores(self) -> list[Any]:
        return [*([] if self._fixed is None else [self._fixed]), *(query.reported for query in self._sessions)]

    @property
    def nbytes(self) -> int:
        """The bytes of state, from the sizes of the real buffers."""
        if self._layout is None:
            return 0
        return int(self._decoder.nbytes + self._kept.nbytes + sum(store.nbytes for store in self._stores()))

    def _change(self, bound: Layout) -> None:
        raise SpecError(
            "windows over events with a duration cannot be added or removed while an engine runs: slices that are "
            "there do not tell where events began. Make a new engine with the other windows."
        )

    # -- a step ------------------------------------------------------------------------------------------------------

    def _take(self, table: pa.Table, now: int | None) -> pa.Table | None:
        if self._governor is not None:
            self._governor.begin(table.num_rows)
        self._intact = True
        batch, rejected = self._decoder.decode(table, now)
        self._intact = False
        late = LateRows(self._bound, rejected)
        if len(batch):
            self._take_batch(batch, late)
        return late.table(table)

    def _take_batch(self, batch: Batch, late: LateRows) -> None:
        assert batch.newest is not None
        assert batch.start is not None
        self._newest = batch.newest if self._newest is None else max(self._newest, batch.newest)
        self._longest = max(self._longest or 0, int((batch.time - batch.start).max()))
        if self._fixed is not None:
            self._fixed.take(batch, late)
        taken = np.zeros(len(batch), np.uint64) if self._keeps else None
        if taken is not None and self._fixed is not None and self._fixed.kept:
            taken |= np.uint64(1)
        for i, query in enumerate(self._sessions):
            rows = query.judge(batch, late)
            assert taken is not None
            if rows is None:
                taken |= np.uint64(2 << i)
            else:
                taken[rows] |= np.uint64(2 << i)
        if taken is not None:
            batch.measures[START] = (batch.start, None)
            self._kept.insert(batch, None, taken)

    def _report(self, flush: bool) -> pa.Table:
        reports: list[Report] = []
        released: list[tuple[int, View, Any]] = []
        if self._fixed is not None:
            reports += self._fixed.report(self._released, flush, self._kept, self._longest or 0)
        for i, query in enumerate(self._sessions):
            view = self._kept.view(1 + i)
            report, keep = query.report(view, self._released, flush)
            reports += [] if report is None else [report]
            if keep is not None and len(view):
                released.append((1 + i, view, keep))
        for bit, view, keep in released:
            self._kept.let_go(bit, view, keep)
        if released:
            self._kept.drop()
        if self._fixed is not None and self._fixed.kept and self._fixed.mark is not None:
            self._kept.drop_before(0, self._fixed.needed(self._fixed.mark))
        self._settle()
        table = self._results.table(reports)
        self._forget_silent()
        if self._governor is not None and not self._ended:
            self._governor.end(self, self._cold(), self._watermark, table)
        return table

    def _forget_silent(self) -> None:
        """Forget keys and texts that nothing holds any more."""
        if not self.spec.by and not self._decoder.interners:
            return
        gone, held = self._kept.dropped, self._kept.held
        if self._fixed is not None:
            gone, held = gone + self._fixed.turned[0], held + self._fixed.turned[1]
        if self.spec.by:
            self._compaction.step(gone, held)
        texts = [] if self._fixed is None else [self._fixed.texts]
        self._forgetting.step([self._kept, *texts], gone, held)

    def _cold(self) -> list[Cold]:
        """All that compresses."""
        if self._layout is None:
            return []
        kept: list[Cold] = [self._kept] if isinstance(self._kept, ColdEvents) else []
        return kept + ([] if self._fixed is None else self._fixed.cold)

    def _settle(self) -> None:
        """The end of a step: what was not touched for D is compressed."""
        for store in self._cold():
            store.compress(self._watermark)

    def _held(self) -> Held:
        return sum((store.compressed() for store in self._cold()), Held())

    def _chosen(self) -> list[tuple[int, str | None]]:
        return [store.chosen for store in self._cold()]

    # -- what it says --------------------------------------------------------------------------------------------------

    def _measured(self) -> list[str]:
        told = dict.fromkeys(chosen(store.after, store.writer.codec) for store in self._cold())
        lines = [f"compressed: {line}" for line in told]
        spans = self.spec.spans
        if spans is not None and spans.postpone == "auto" and self._longest is not None:
            lines.append(f"postpone: {show_duration(self._longest)}, the longest duration of an event so far")
        if self._layout is not None and self._fixed is not None:
            lines += [f"slices: {line}" for line in self._fixed.cells.told()]
        return lines

    # -- snapshots -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state of the engine as bytes: versioned, checksummed, without pickle. See `restore`.

        >>> import muntin as mt
        >>> spec = mt.over(span=("start", "end"), postpone=0).window("w", mt.tumbling("10 us"), n=mt.count())
        >>> engine, again = spec.engine(), spec.engine()
        >>> _ = engine.push({"start": [0, 1], "end": [3, 4]})
        >>> again.restore(engine.snapshot())
        >>> again.push({"start": [2], "end": [10]}).column("n").to_pylist()
        [3]
        """
        self._check_whole("snapshot")
        data = pack(self._dump(), self._codec)
        self._settle()  # what was opened for it is compressed again
        return data

    def _dump(self) -> dict[str, Any]:
        tree: dict[str, Any] = {"over": over_of(self.spec), "spec": [[*part] for part in written(self.spec)]}
        tree |= {name: getattr(self, f"_{name}") for name in _PLAIN}
        tree |= {"sources": self._sources.dump(), "technique": self.technique}
        if self._layout is not None:
            tree["schema"] = self._layout.schema
            tree["decoder"] = self._decoder.dump()
            tree["kept"] = self._kept.dump()
            tree["fixed"] = None if self._fixed is None else self._fixed.dump()
            tree["sessions"] = [query.dump() for query in self._sessions]
        return tree

    def restore(self, data: bytes, *, changed: bool = False) -> None:
        """Take over the state of a snapshot of an engine of the same spec; this one must be new.

        Another technique or height than before is no other spec; other windows are.
        """
        if self._layout is not None or self._ended:
            raise SpecError("restore() on an engine that has run. Make a new one: spec.engine().restore(data).")
        with understood():
            self._take_over(unpack(data), changed)

    def _take_over(self, tree: dict[str, Any], changed: bool) -> None:
        if tree["over"] != over_of(self.spec) or tree["spec"] != [[*part] for part in written(self.spec)]:
            raise SpecError(
                f"the snapshot is of another spec: {shown(tree)}\nWindows over events with a duration do not change "
                f"within a state. Restore it with that one, or start afresh."
            )
        if tree["technique"] != self.technique:
            raise SpecError(f"the snapshot is of the engine {tree['technique']!r}, and this is {self.technique!r}.")
        for name in _PLAIN:
            setattr(self, f"_{name}", tree[name])
        self._sources.load(tree["sources"])
        if "schema" not in tree:
            return
        self._layout = layout(self.spec, tree["schema"])
        self._begin(self._layout)
        self._decoder.load(tree["decoder"])
        self._kept.load(tree["kept"], self._decoder.kinds(self._layout))
        if self._fixed is not None:
            self._fixed.load(tree["fixed"])
        for query, part in zip(self._sessions, tree["sessions"], strict=True):
            query.load(part)
