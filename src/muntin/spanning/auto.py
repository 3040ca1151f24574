"""`technique="auto"` where all aggregates are exact when subtracted, or selective: which way each batch goes.

* Onto a circular array of slices (`muntin.spanning.ring`) where there are enough events for its places: there an event
  costs the same whatever its length, and nothing is looked up or sorted.
* Into a plane sweep (`muntin.spanning.sweeping`) where slices are mostly empty: it takes time and memory for events,
  not for slices (Figure 15 of paper 3 has it best for long events and small steps).
* Into slices with levels (`muntin.spanning.levels`) where there are many keys, and for events over thousands of slices.

A window is what all three have of it. Where a technique is asked for, all goes that way, and a snapshot taken with one
goes on with another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import Compression
from muntin.fused import Fused
from muntin.slicing.batch import Batch, Column
from muntin.slicing.governor import Cold
from muntin.slicing.slices import Partials
from muntin.spanning.cold_sweeping import ColdSweep, sweep
from muntin.spanning.edges import Edges
from muntin.spanning.ring import Ring
from muntin.spanning.slicing import SpanSlicing
from muntin.spans import AUTO, Spans
from muntin.windows import Window

__all__ = ["Auto"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NONE: Int64s = np.empty(0, np.int64)
SMALL = 1 << 16  # places that may always be there
SHARE = 4  # and beyond that, how many places for each event of a batch; with many keys a quarter, and less beforehand
LARGEST = 1 << 17  # events of a batch up to which room for them is kept
FEW = 16  # keys up to which events are swept: a sweep goes through all windows for each


class Auto:
    """A circular array, a sweep and levels over the same slices."""

    def __init__(
        self, fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None = None
    ) -> None:
        self.edges, self._fused = edges, fused
        self._technique = spans.technique if spans.height == AUTO else "multi"
        self._small = rule is not None
        self._ring = Ring(fused)
        self._sweep = sweep(fused, edges, spans, windows, rule)
        self._slicing = SpanSlicing(fused, edges, spans, windows, rule)
        self._went = {"array": 0, "sweep": 0, "levels": 0}
        self._room = np.empty((6, 0), np.int64)

    @property
    def cold(self) -> list[Cold]:
        """What compresses: the array of few keys stays open, and is no larger than some batches of events."""
        return [*self._slicing.cold, *([self._sweep] if isinstance(self._sweep, ColdSweep) else [])]

    @property
    def height(self) -> int:
        """The height of the slices that have levels."""
        return self._slicing.height

    # -- events --------------------------------------------------------------------------------------------------------

    def take(self, batch: Batch, order: Int64s | None, low: int, high: int, columns: Mapping[str, Column]) -> None:
        """Take rows in."""
        from muntin.kernels.circular import MOST

        assert batch.start is not None
        self.edges.cover(low, high)
        if self._technique != AUTO:
            way = self._swept if self._technique == "sweeping" else self._levels
            way(batch, order, columns)
            return
        ends = self._number(low), self._number(high)
        keys = 1 if batch.key is None else int(batch.key.max()) + 1
        many = keys > FEW
        room = max(SMALL // 16, SHARE * len(batch) // 4) if many else max(SMALL, SHARE * len(batch))
        # An array of many keys cannot be compressed, and is as large as all that is held.
        if (many and self._small) or self._ring.places(*ends, keys) > room:
            way = self._levels if many else self._swept
            way(batch, order, columns)
            return
        runs = self._runs(np.ascontiguousarray(batch.start), np.ascontiguousarray(batch.time), batch.key)
        a, b, _, offsets = runs
        sizes = b - a
        longest = int(sizes.max()) + 1
        if longest > MOST:
            long = sizes >= MOST
            self._levels(*_some(batch, order, columns, np.flatnonzero(np.repeat(long, np.diff(offsets)))))
            b[long] = a[long] - 1
            longest = int((b - a).max()) + 1
        if longest > 0:  # else all have ended before the first slice that is needed
            self._went["array"] += len(batch)
            self._ring.reach(*ends, keys, longest)
            self._ring.put(runs, columns)

    def _number(self, time: int) -> int:
        at = int(np.searchsorted(self.edges.edges, time, "right")) - 1
        return max(at, self.edges.first) + self.edges.base

    def _runs(self, start: Int64s, end: Int64s, key: Int64s | None) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """Events of one key over the same slices as runs, by the numbers of slices."""
        from muntin.kernels.circular import located_even, runs_of
        from muntin.kernels.spanning import located

        rows, edges = len(start), self.edges
        room = self._room
        if room.shape[1] <= rows:
            room = np.empty((6, rows + 1), np.int64)
            self._room = room if rows <= LARGEST else self._room
        a, b, *out = room
        keys = _NONE if key is None else key
        if edges.even:
            origin = int(edges.edges[0])
            count = located_even(start, end, keys, origin, edges.even, edges.first, edges.base, *out)
        else:
            a, b, info = a[:rows], b[:rows], np.zeros(2, np.int64)
            located(start, end, edges.edges, edges.tab, edges.shift, edges.first, 1, a, b, info)
            count = runs_of(a, b, keys, edges.base, *out)
        return out[0][:count], out[1][:count], out[2][:count], out[3][: count + 1]

    def _levels(self, batch: Batch, order: Int64s | None, columns: Mapping[str, Column]) -> None:
        assert batch.start is not None
        self._went["levels"] += len(batch)
        self._slicing.put(batch.start, batch.time, batch.key, order, columns)

    def _swept(self, batch: Batch, order: Int64s | None, columns: Mapping[str, Column]) -> None:
        self._went["sweep"] += len(batch)
        self._sweep.put(batch, order, columns)

    # -- windows -------------------------------------------------------------------------------------------------------

    def extent(self) -> tuple[int, int] | None:
        """The first and the last slice with an event."""
        parts = (self._slicing.extent(), self._sweep.extent(), self._on_the_ring())
        found = [part for part in parts if part is not None]
        return (min(a for a, _ in found), max(b for _, b in found)) if found else None

    def _on_the_ring(self) -> tuple[int, int] | None:
        if self._ring.first is None:
            return None
        first = max(self._ring.first - self.edges.base, self.edges.first)
        last = self._ring.top - 1 - self.edges.base
        return (first, last) if last >= first else None

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Windows over slices a to b, from all that hold some of their events."""
        parts = []
        if self._on_the_ring() is not None:
            parts.append(self._ring.merged(a + self.edges.base, b + self.edges.base))
        parts += [held.merged(a, b, start, end) for held in (self._sweep, self._slicing) if held.extent() is not None]
        if len(parts) == 1:
            return parts[0]
        which, key = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        columns = [np.concatenate(both) for both in zip(*(part[2] for part in parts), strict=True)]
        code = which * (int(key.max(initial=0)) + 1) + key
        order = np.argsort(code, kind="stable")
        _, first = np.unique(code[order], return_index=True)
        joined = self._fused.merge_gather(first, np.append(first[1:], len(order)), order, columns)
        return which[order[first]], key[order[first]], joined

    def drop(self, time: int) -> None:
        """Forget the slices that end by a time."""
        self._slicing.drop(time)
        self._sweep.drop(time)
        self._ring.drop(self.edges.base + self.edges.first if len(self.edges) else None)

    # -- what it says --------------------------------------------------------------------------------------------------

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands; those on the array are no texts."""
        return [*self._slicing.held(at), *self._sweep.held(at)]

    def told(self) -> list[str]:
        """Where events went, and why."""
        if self._technique != AUTO:
            return self._sweep.told() if self._technique == "sweeping" else self._slicing.told()
        lines = []
        if self._went["array"]:
            lines.append(
                f"{self._went['array']:,} events went onto a circular array: an event costs the same whatever its "
                f"length; levels of minima and maxima now: {self._ring.levels}"
            )
        if self._went["sweep"]:
            lines.append(f"{self._went['sweep']:,} events were swept: most slices were empty")
        if self._went["levels"]:
            lines.append(f"{self._went['levels']:,} events went into levels: many keys, or events over many slices")
            lines += self._slicing.told()
        return lines

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        own = self._ring.nbytes + self._room.nbytes - self.edges.nbytes  # both others count the edges
        return self._slicing.nbytes + self._sweep.nbytes + own

    # -- keys and snapshots --------------------------------------------------------------------------------------------

    @property
    def turned(self) -> tuple[int, int]:
        """How many cells and events were let go so far, and how many are held."""
        parts = (self._slicing.turned, self._sweep.turned, (self._ring.dropped, len(self._ring) * self._ring.keys))
        return sum(gone for gone, _ in parts), sum(held for _, held in parts)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys that something is held of."""
        for part in (self._slicing, self._sweep, self._ring):
            part.live_keys(live)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        for part in (self._slicing, self._sweep, self._ring):
            part.renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        parts = {"sweep": self._sweep.dump(), "ring": self._ring.dump(), "went": self._went}
        return {**self._slicing.dump(), **parts}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self._slicing.load({name: tree[name] for name in ("levels", "heights")})
        self._sweep.load(tree["sweep"])
        self._ring.load(tree["ring"])
        self._went = dict(tree["went"])


def _some(
    batch: Batch, order: Int64s | None, columns: Mapping[str, Column], rows: Int64s
) -> tuple[Batch, Int64s | None, Mapping[str, Column]]:
    """Some rows, as far as they are read from now on."""
    assert batch.start is not None
    key = None if batch.key is None else batch.key[rows]
    some = replace(batch, start=batch.start[rows], time=batch.time[rows], key=key)
    picked = {name: column.take(rows) for name, column in columns.items()}
    return some, None if order is None else order[rows], picked
