"""Engines to compare with that do not slice (paper 1, section 3; Table 1, rows 1 to 4).

They differ from each other in how windows known in advance are computed. An event at one time is a span of no length,
so they run in the engine of spans, like those that paper 3 compares with. Sessions, and aggregates without a partial of
fixed size, go by kept tuples in all of them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from muntin.baselines.refusing import Refusing
from muntin.slicing.batch import Batch
from muntin.slicing.late import LateRows
from muntin.slicing.views import View
from muntin.spanning.engine import Spanning
from muntin.spanning.sessions import SpanSessions, _Sessions
from muntin.units import Measure
from muntin.windows import Cumulative, Session, Sliding, Window

__all__ = ["AggregateBuckets", "AggregateTree", "TupleBuckets", "TupleBuffer"]


class PointSessions(SpanSessions):
    """Sessions of tuples that stand in order: no sorting, as with spans."""

    def _found(self, view: View) -> _Sessions:
        n = len(view)
        key, time = view.key, view.time
        cut = np.ones(n, np.bool_)
        cut[1:] = (time[1:] - time[:-1] > self.window.gap.amount) | (key[1:] != key[:-1])
        lo = np.flatnonzero(cut)
        hi = np.append(lo[1:], n) if n else lo
        return _Sessions(key[lo], time[lo], time[hi - 1], lo, hi, np.arange(n))


class Points(Refusing, Spanning):
    """What the engines have in common."""

    sessions: ClassVar[type[SpanSessions]] = PointSessions

    @classmethod
    def takes(cls, window: Window) -> bool:
        """Whether it computes a window."""
        return isinstance(window, Sliding | Cumulative | Session) and window.measure is Measure.TIME

    def _take_batch(self, batch: Batch, late: LateRows) -> None:
        batch.start = batch.time
        super()._take_batch(batch, late)


class AggregateBuckets(Points):
    """A partial for each window: an event is aggregated once for every window that it is in (section 3.3; row 3).

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.sliding("4 us", every="2 us"), n=mt.count())
    >>> spec.apply({"ts": [0, 3]}, engine="aggregate_buckets")["n"].to_pylist()
    [1, 2, 1]
    """

    technique: ClassVar[str] = "aggregate_buckets"
    why: ClassVar[str] = "a bucket is a window known in advance, or one that merges with others; all else needs tuples."


class TupleBuckets(Points):
    """The events of each window, aggregated when it ends (section 3.3; row 4).

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.sliding("4 us", every="2 us"), n=mt.count())
    >>> spec.apply({"ts": [0, 3]}, engine="tuple_buckets")["n"].to_pylist()
    [1, 2, 1]
    """

    technique: ClassVar[str] = "tuple_buckets"
    why: ClassVar[str] = "a bucket is a window known in advance."


class TupleBuffer(Points):
    """All events in order; those of a window are aggregated when it ends (section 3.1; row 1).

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.sliding("4 us", every="2 us"), n=mt.count())
    >>> spec.apply({"ts": [3, 0]}, engine="tuple_buffer")["n"].to_pylist()
    [1, 2, 1]
    """

    technique: ClassVar[str] = "tuple_buffer"
    why: ClassVar[str] = "this buffer is one of times, and windows in rows have another; other windows are not done."


class AggregateTree(Points):
    """All events in order, and a tree of partials over them: FlatFAT (section 3.2; row 2).

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.sliding("4 us", every="2 us"), n=mt.count())
    >>> spec.apply({"ts": [3, 0]}, engine="aggregate_tree")["n"].to_pylist()
    [1, 2, 1]
    """

    technique: ClassVar[str] = "aggregate_tree"
    why: ClassVar[str] = "the tree stands over tuples in the order of time."
