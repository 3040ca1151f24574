"""Slicing techniques before general slicing, each for some windows and streams (paper 1, sections 3.4 and 7; paper 2).

They run in the slicing engine, and differ in where slices start, and who shares them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.baselines.refusing import Refusing
from muntin.errors import SpecError
from muntin.layout import Layout
from muntin.slicing.batch import Batch
from muntin.slicing.cold_runs import ColdRuns
from muntin.slicing.cold_slices import ColdSlices
from muntin.slicing.engine import Slicing
from muntin.slicing.kept_values import KeptValues
from muntin.slicing.late import LateRows
from muntin.slicing.revisions import Report
from muntin.slicing.sliced import Sliced
from muntin.slicing.slicer import Slicer
from muntin.slicing.values import Interner
from muntin.units import Length, Measure
from muntin.windows import ContextFreeWindow, Cumulative, Session, Sliding, Window

__all__ = ["Cutty", "Pairs", "Panes"]

Int64s = npt.NDArray[np.int64]


def _slides(window: Window) -> bool:
    return isinstance(window, Sliding) and window.measure is Measure.TIME


class Pairs(Refusing, Slicing):
    """Each slide in two slices, from a start to the next end and on to the next start; all queries share the slices.

    From Krishnamurthy, Wu and Franklin, 2006; paper 1, sections 6.2.1 and 7: limited to tumbling and sliding windows.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.sliding("5 us", every="3 us"), n=mt.count())
    >>> spec.apply({"ts": [0, 1, 4]}, engine="pairs")["n"].to_pylist()
    [2, 3, 1]
    """

    technique: ClassVar[str] = "pairs"
    why: ClassVar[str] = "the two slices of a pair are known only where windows slide at a fixed distance."
    instead: ClassVar[str] = "It takes tumbling and sliding windows in time."
    in_order: ClassVar[str | None] = "pairs are made on the fly, and one that is over takes no event any more."

    @classmethod
    def takes(cls, window: Window) -> bool:
        """Whether it computes a window."""
        return _slides(window)


class Cutty(Refusing, Slicing):
    """Slices that start only where a window starts, with a tree over them; all queries share them.

    From Carbone et al., 2016; paper 1, sections 5.3 and 7: for streams in order any number of windows can end within a
    slice, since what is in it when a window ends is what came before. Here rows come in batches, so slices are cut at
    ends, too; these cuts are undone when the windows that end there are reported.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.sliding("5 us", every="3 us"), n=mt.count())
    >>> spec.apply({"ts": [0, 1, 4]}, engine="cutty")["n"].to_pylist()
    [2, 3, 1]
    """

    technique: ClassVar[str] = "cutty"
    why: ClassVar[str] = "where it starts must be known when its first event comes."
    instead: ClassVar[str] = "It takes context-free windows and sessions, in time."
    in_order: ClassVar[str | None] = (
        "slices have no edges at the ends of windows, so an event that comes late cannot be told to be before one."
    )

    @classmethod
    def takes(cls, window: Window) -> bool:
        """Whether it computes a window."""
        return isinstance(window, ContextFreeWindow | Session) and window.measure is Measure.TIME

    def _over_slices(
        self, bound: Layout, queries: list[int], interners: Mapping[str, Interner], how: tuple[str, str]
    ) -> Sliced:
        eager = ("eager", "auto") if how == ("auto", "auto") else how
        return CuttySlices(bound, queries, interners, eager, self.updates)


class CuttySlices(Sliced):
    """Slices without the edges at which windows only end, once these have ended."""

    def _slicer(self, windows: Sequence[Window]) -> Slicer:
        begins: list[Window] = []
        for window in windows:
            every = window.every if isinstance(window, Sliding) else None
            begins.append(window if every is None else Sliding(every, every, window.align))  # type: ignore[attr-defined]
        self._begins = Slicer(begins)
        """The edges at which a window starts; of others than sliding ones all edges."""
        self._heals = any(isinstance(w, Sliding) and w.size.amount % w.every.amount for w in windows)
        return super()._slicer(windows)

    def close(self, watermark: int, kept: KeptValues) -> None:
        """Move the marks; slices that no open window needs go, and ends that are past part slices no more."""
        super().close(watermark, kept)
        if self._heals and self.slices.meet and self.slices.sparse is None:
            self._heal(watermark)

    def _heal(self, watermark: int) -> None:
        slices = self.slices
        starts = slices.starts
        stays = np.ones(len(starts), np.bool_)
        past = int(starts.searchsorted(watermark, "right"))
        stays[1:past] = self._begins.around(starts[1:past])[0] == starts[1:past]
        first = np.flatnonzero(stays)
        if len(starts) - len(first) < HEALED:
            return
        until = np.append(first[1:], len(starts))
        slices.need(0)
        head, stride = slices.first_row, slices.stride
        cells = self.fused.merge_dense(first + head, until + head, stride, slices.columns)
        tree = slices.dump()
        tree |= {"starts": starts[first], "ends": slices.ends[until - 1], "columns": cells}
        if slices.spans is not None:
            tree["spans"] = slices.spans.together(first, np.arange(len(first)), len(first)).dump()
        slices.load(tree)
        self.store.forget()


HEALED = 64  # cuts that are undone at once: a few cost as much as many


class Panes(Refusing, Slicing):
    """Slices of the greatest common divisor of size and slide, for each query its own (paper 2, section 3).

    Queries with panes of the same length share them.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.sliding("4 us", every="2 us"), n=mt.count())
    >>> spec.apply({"ts": [0, 3]}, engine="panes")["n"].to_pylist()
    [1, 2, 1]
    """

    technique: ClassVar[str] = "panes"
    why: ClassVar[str] = "panes are as long as the greatest common divisor of size and slide."
    instead: ClassVar[str] = "It takes tumbling, sliding and cumulative windows in time."
    straight: ClassVar[bool] = False

    @classmethod
    def takes(cls, window: Window) -> bool:
        """Whether it computes a window."""
        return isinstance(window, Sliding | Cumulative) and window.measure is Measure.TIME

    def _over_slices(
        self, bound: Layout, queries: list[int], interners: Mapping[str, Interner], how: tuple[str, str]
    ) -> Sliced:
        alike: dict[tuple[int, int], list[int]] = {}
        for i in queries:
            alike.setdefault(pane_of(bound.queries[i].window), []).append(i)
        parts = [Paned(bound, some, interners, how, self.updates) for some in alike.values()]
        return Side(parts)  # type: ignore[return-value]

    def slices(self) -> pa.Table:
        """Each query has its own, so there is no one table of them."""
        raise SpecError("engine='panes': each query has panes of its own. Use engine='auto' to look at slices.")

    def snapshot(self) -> bytes:
        """Not for use: only to compare with."""
        raise SpecError("engine='panes' has no snapshots. Use engine='auto'.")

    def restore(self, data: bytes, *, changed: bool = False) -> None:
        """Not for use: only to compare with."""
        raise SpecError("engine='panes' has no snapshots. Use engine='auto'.")


def pane_of(window: Window) -> tuple[int, int]:
    """The length of a window's panes, and where they start.

    >>> import muntin as mt
    >>> pane_of(mt.sliding("6 us", every="4 us", align="3 us"))
    (2, 1)
    """
    assert isinstance(window, Sliding | Cumulative)
    size = math.gcd(window.size.amount, window.every.amount)
    return size, window.align % size


class Paned(Sliced):
    """Queries whose panes are alike."""

    def _slicer(self, windows: Sequence[Window]) -> Slicer:
        size, align = pane_of(windows[0])
        pane = Length(size, Measure.TIME)
        return Slicer([Sliding(pane, pane, align)])


class Side:
    """Several sets of slices side by side, in place of the one that all queries share."""

    def __init__(self, parts: list[Paned]) -> None:
        self._parts = parts
        self.texts = self

    @property
    def keeping(self) -> list[int]:
        """The queries that keep events."""
        return [query for part in self._parts for query in part.keeping]

    @property
    def nbytes(self) -> int:
        """The bytes of state."""
        return sum(part.nbytes for part in self._parts)

    @property
    def turned(self) -> tuple[int, int]:
        """How many slices were let go so far, and how many are held."""
        return sum(part.turned[0] for part in self._parts), sum(part.turned[1] for part in self._parts)

    @property
    def cold(self) -> list[ColdSlices | ColdRuns]:
        """What compresses."""
        return [store for part in self._parts for store in part.cold]

    def begin(self, since: dict[int, int]) -> None:
        """From when queries are exact that were added later: none is."""

    def take(self, batch: Batch, late: LateRows, keys: int, kept: KeptValues) -> None:
        """Every set takes all rows."""
        for part in self._parts:
            part.take(batch, late, keys, kept)

    def report(self, watermark: int | None, flush: bool, kept: KeptValues) -> list[Report]:
        """What is due of all sets."""
        return [report for part in self._parts for report in part.report(watermark, flush, kept)]

    def close(self, watermark: int, kept: KeptValues) -> None:
        """Move the marks of all sets."""
        for part in self._parts:
            part.close(watermark, kept)

    def live_keys(self, live: npt.NDArray[np.bool_]) -> None:
        """Mark the keys with state."""
        for part in self._parts:
            part.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        for part in self._parts:
            part.renumber(moved)

    def live_codes(self, column: str, live: npt.NDArray[np.bool_]) -> None:
        """Mark the texts that are held."""
        for part in self._parts:
            part.texts.live_codes(column, live)

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of texts."""
        for part in self._parts:
            part.texts.renumber_codes(column, moved)
