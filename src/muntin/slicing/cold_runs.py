"""Sorted runs of values that are compressed once their slice was not touched for a while (paper 5).

Runs of slices that are silent go into parts, many slices and keys in columns. An event never opens one: its value is
a run of its own beside what is compressed. A window that is due reads the parts that have some of its slices, and
leaves them as they are. Sessions let go of the runs of one key and not of another: a part of which half is not needed
any more is written anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import NEVER, Compression
from muntin.metrics import Held
from muntin.slicing.chunks import Packed, Writer
from muntin.slicing.cold_slices import SOME, ColdSlices
from muntin.slicing.ranges_fold import spread
from muntin.slicing.runs import Cut, RunStore, between
from muntin.slicing.runs_answers import Runs
from muntin.state.codecs import Codec

__all__ = ["ColdRuns"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ROWS = 1 << 17  # values of a part, about
NAMES = ("slice", "key", "size", "values", "upto")


@dataclass
class _Part:
    """Some runs, in the order of key, then slice; the first and the last slice that they have, by their starts."""

    first: int
    last: int
    rows: int
    packed: Packed
    looked: int = np.iinfo(np.int64).min
    """Up to which time it was looked at for runs that are not needed any more."""

    def runs(self) -> list[Int64s]:
        """Slice, key, size, values and how many rows there are up to each."""
        return [self.packed[name] for name in NAMES]


class ColdRuns(RunStore):
    """The values of one column in slices, of which those of silent slices are compressed."""

    def __init__(self, cut: Cut | None, rule: Compression, slices: ColdSlices) -> None:
        super().__init__(cut)
        self.after = rule.after
        self.writer = Writer(rule)
        self._slices = slices
        self._parts: list[_Part] = []
        self._passed: int | Int64s | None = None
        """The slices that start before are not needed any more, of all keys, or before one time per key."""
        self._opened: tuple[list[_Part], list[Int64s]] | None = None
        self._done = Held()

    # -- what is held --------------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The bytes of open runs and of parts."""
        return super().nbytes + sum(part.packed.nbytes for part in self._parts)

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""
        sizes = [(part.packed.nbytes, part.packed.raw) for part in self._parts]
        return self._done + Held(bytes_compressed=sum(n for n, _ in sizes), bytes_open=sum(raw for _, raw in sizes))

    @property
    def chosen(self) -> tuple[int, str | None]:
        """The D in use, and the codec; None: nothing was compressed yet."""
        return self.after, None if self.writer.codec is None else str(self.writer.codec)

    @property
    def silence(self) -> int:
        """For how long the slice that is open and longest silent has been so, at the most."""
        return self._slices.silence if self._parts else self._slices.age

    # -- compressing ---------------------------------------------------------------------------------------------------

    def compress(self, time: int | None) -> None:
        """The end of a step: the runs of slices that were not touched for D are compressed."""
        self._opened = None
        before = self._slices.silent(self.after) if self.after < NEVER else None
        if before is None:
            return
        waiting = sum(int(np.count_nonzero(row[0] < before)) for row in self._waiting)
        cold = self.slice < before
        rows = waiting + int(self._size[cold].sum())
        total = self._live() + sum(len(row[0]) for row in self._waiting)
        if not rows or (self.after and SOME * rows < total):
            return
        self.settle(before)
        cold = self.slice < before
        self._parts.append(self._packed(self, np.flatnonzero(cold)))
        stay = ~cold
        self.slice, self.key = self.slice[stay], self.key[stay]
        self._offset, self._size = self._offset[stay], self._size[stay]
        self._compact()
        parts = self._parts
        while len(parts) > 1 and parts[-2].rows <= 2 * parts[-1].rows and parts[-2].rows + parts[-1].rows <= ROWS:
            # Runs of the same slice and key that came one after the other become one.
            both = RunStore(self._cut)
            for part in (parts.pop(-2), parts.pop()):
                _put(both, part.runs())
            joined = both._joined_runs((both.slice, both.key, both._offset, both._size), 2)
            if joined is not None:
                both.slice, both.key, both._offset, both._size = joined
            parts.append(self._packed(both, np.arange(len(both.slice))))

    def _packed(self, store: RunStore, some: Int64s) -> _Part:
        index, _ = spread(store._offset[some], store._size[some])
        columns = [store.slice[some], store.key[some], store._size[some], store._values[index], store._upto[index]]
        return self._part(columns)

    def _part(self, columns: list[Int64s]) -> _Part:
        slices = columns[0]
        self._done += Held(compressions=len(np.unique(slices)), chunks_written=1)
        packed = Packed(dict(zip(NAMES, columns, strict=True)), self.writer)
        return _Part(int(slices.min()), int(slices.max()), len(columns[3]), packed)

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed once more, with another codec, and what comes with it too."""
        self.writer.strong, self.writer.left = codec, 0
        self._parts = [self._part(part.runs()) for part in self._parts]

    # -- windows are due -----------------------------------------------------------------------------------------------

    def _runs(self, key: Int64s, start: Int64s, end: Int64s) -> Runs:
        if not self._parts or not len(key):
            return super()._runs(key, start, end)
        low, high = int(start.min()), int(end.max())
        parts = [part for part in self._parts if part.last >= low and part.first < high]
        if self._opened is None or self._opened[0] != parts:
            both = RunStore(self._cut)
            index, _ = spread(self._offset, self._size)
            _put(both, [self.slice, self.key, self._size, self._values[index], self._upto[index]])
            for part in parts:
                _put(both, part.runs())
            self._done += Held(chunks_read=len(parts))
            self._opened = parts, [both.slice, both.key, both._offset, both._size, both._values, both._upto]
        slices, keys, offset, size, values, upto = self._opened[1]
        return Runs(values, upto, offset, size, between(keys, slices, key, start), between(keys, slices, key, end))

    def settle(self, before: int) -> None:
        """Sort the rows that wait in slices which start before a time into runs."""
        if self._waiting:
            self._opened = None
        super().settle(before)

    def take(self, slices: Int64s, keys: Int64s | None, sizes: Int64s, values: Int64s, upto: Int64s) -> None:
        """Runs that were made elsewhere."""
        self._opened = None
        super().take(slices, keys, sizes, values, upto)

    def _summarise(self, more: int) -> None:
        self._opened = None
        super()._summarise(more)

    # -- what needs all runs, and what goes ----------------------------------------------------------------------------

    def _open_all(self) -> None:
        for part in self._parts:
            runs = part.runs()
            stay = self._needed(runs[0], runs[1])
            _put(self, runs if stay.all() else _only(runs, stay))
        self._done += Held(chunks_read=len(self._parts))
        self._parts, self._opened, self._passed = [], None, None

    def _needed(self, slices: Int64s, key: Int64s) -> Bools:
        """Which of some compressed runs are still needed."""
        passed = self._passed
        if passed is None:
            return np.ones(len(slices), np.bool_)
        return slices >= (passed[key] if isinstance(passed, np.ndarray) else passed)

    def ordinals(self) -> list[Int64s]:
        """All values that are held."""
        self._open_all()
        return super().ordinals()

    def remap(self, places: Int64s) -> None:
        """Each value becomes another, in the same order."""
        self._open_all()
        super().remap(places)

    def merge_slices(self, starts: Int64s) -> None:
        """Slices have become one."""
        self._open_all()
        super().merge_slices(starts)

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids; those of forgotten keys are -1."""
        self._open_all()
        super().renumber(moved)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with values."""
        super().live_keys(live)
        for part in self._parts:
            slices, key = part.packed["slice"], part.packed["key"]
            live[key[self._needed(slices, key)]] = True

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds of the runs."""
        self._open_all()
        return super().dump()

    def load(self, tree: dict[str, Any]) -> None:
        """Take over the runs of a snapshot."""
        self._parts, self._passed, self._opened = [], None, None
        super().load(tree)

    def drop_before(self, time: int | Int64s) -> None:
        """Forget the slices that start before a time, or before one time per key."""
        self._passed = time
        if isinstance(time, np.ndarray):
            self._thin(int(time.max(initial=0)))
        else:
            self._parts = [part for part in self._parts if part.last >= time]
        super().drop_before(time)

    def _thin(self, mark: int) -> None:
        """Let go of what no key needs any more; a part is looked at again after D, or the time that it spans."""
        parts = []
        for part in self._parts:
            if mark - part.looked < max(self.after, part.last - part.first, 1):
                parts.append(part)
                continue
            part.looked = mark
            stay = self._needed(part.packed["slice"], part.packed["key"])
            rows = int(part.packed["size"][stay].sum())
            if 2 * rows > part.rows:
                parts.append(part)
            elif rows:
                parts.append(replace(self._part(_only(part.runs(), stay)), looked=mark))
        if len(parts) != len(self._parts) or any(new is not old for new, old in zip(parts, self._parts, strict=True)):
            self._parts, self._opened = parts, None

    def _drop(self, stay: Bools, waits: Callable[[Int64s, Int64s | None], Bools]) -> None:
        if not stay.all():
            self._opened = None
        super()._drop(stay, waits)


def _only(runs: list[Int64s], stay: Bools) -> list[Int64s]:
    """Some runs of several."""
    slices, key, size, values, upto = runs
    index, _ = spread((np.cumsum(size) - size)[stay], size[stay])
    return [slices[stay], key[stay], size[stay], values[index], upto[index]]


def _put(store: RunStore, runs: list[Int64s]) -> None:
    """Runs, one after the other, into a store."""
    slices, key, size, values, upto = runs
    if len(slices):
        store._append(slices, key, np.cumsum(size) - size + len(store._values), size)
        store._keep(values, upto)
