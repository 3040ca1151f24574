"""Kept events that are compressed once their key was not touched for a while (paper 5, Algorithm 1).

A key is in one of three places. In the sorted columns of `EventStore`; or in a chunk (`chunks.py`): the compressed
columns of many keys that were last updated at about the same time, so that a touch opens few keys beside its own and a
codec is called for columns of many keys, never for one key; or in a group: a chunk most of whose keys were touched at
once is opened as it is, new keys of that step join it, and it is compressed as a whole again. So keys that report in
turns, as vehicles do, are never sorted into the events of all others.

D of event time after its last event a key is compressed, at the end of a step; an event opens its chunk, and so does a
window that is due, which only reads. Events that windows have passed go from a chunk once they are one in eight of its
events, and a chunk goes when all of its events are passed.

Where the algorithm opens all compressed windows (lines 17 to 24), only the columns that are asked for are decompressed
here, some chunks at a time. Its line 11 is `<=`, as everywhere here, and a key without events leaves the indexes too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from muntin.compression import NEVER
from muntin.slicing.batch import Batch
from muntin.slicing.chunks import Group, Opened, joined, refill, view_of
from muntin.slicing.cold_state import HERE, NOWHERE, Array, Bits, Bools, ColdState, Int64s, cleared
from muntin.slicing.kept.base import expand as expand_ranges
from muntin.slicing.store_events import EventStore
from muntin.slicing.views import View

__all__ = ["ColdEvents"]

ROWS = 1 << 15  # rows of a chunk, about
SMALL = ROWS // 2
AT_ONCE = 1 << 17  # rows of chunks that are open at once while windows are computed
FEW = 4  # small chunks of keys long silent, of about the same size, above which they become one
PARTS = 6  # of the time between two touches of a key: keys last updated in the same one share a chunk
STALE = 8  # a chunk is written anew when one in so many of its rows is passed by all windows
EARLY = 4  # when some keys have waited for D, those that have for all but one part in so many of it go along
LOWEST = int(np.iinfo(np.int64).min)
LEFT = 8  # keys that have left their turn go when they have one in so many of the rows of a group
GROUPS = 16  # groups above which they go into the columns
MIXED = 3  # groups that one step touches above which they do: their keys do not come in turns


class ColdEvents(ColdState):
    """An event store in which keys that were not touched for D are compressed.

    >>> from muntin.compression import Compression
    >>> store = ColdEvents(Compression(after=10), 1)
    >>> batch = Batch(np.zeros(99, np.int64), None, np.arange(99), None, None, {}, {}, 98)
    >>> store.insert(batch, None, np.ones(99, np.uint64))
    >>> store.compress(100), len(store), store.held
    (None, 99, 99)
    >>> store.compress(108), len(store), store.held
    (None, 0, 99)
    >>> store.view(0).time.tolist() == list(range(99)), len(store)
    (True, 99)
    """

    # -- events come ---------------------------------------------------------------------------------------------------

    def insert(self, batch: Batch, index: Int64s | None, taken: Bits) -> None:
        """Merge rows of a batch into where their keys are; the chunks of these are opened first."""
        if not len(taken):
            return
        some = slice(None) if index is None else index
        times = batch.time[some]
        keys = np.zeros(len(taken), np.int64) if batch.key is None else batch.key[some]
        newest = int(times.max())
        self._latest = newest if self._latest is None else max(self._latest, newest)
        self._reach(int(keys.max()))
        if self._chunks or self._groups:
            where = self._found(keys, int(times.min()), newest)
            one = bool((where == where[0]).all())
            for number in where[:1].tolist() if one else np.unique(where).tolist():
                if number < 0:
                    continue
                mine = np.flatnonzero(where == number)
                self._groups[number].insert(batch, mine if index is None else index[mine], taken[mine])
                self._inserted += len(mine)
                self._where[keys[mine]] = number
            here = np.flatnonzero(where < 0)
            if not len(here):
                return
            if len(here) < len(where):
                index, taken = here if index is None else index[here], taken[here]
                times, keys = times[here], keys[here]
        if self._least is not None:
            self._least = min(self._least, int(times.min()))
        self._where[keys] = HERE
        super().insert(batch, index, taken)

    def _found(self, keys: Int64s, since: int, time: int) -> npt.NDArray[np.int32]:
        """The group that each of some keys is in, once the chunks that they touch, from a time to another, are open."""
        found = self._where[keys]
        if int(found.max()) < 0:
            return found
        touched = np.unique(keys)
        where = self._where[touched]
        numbers, counts = np.unique(where[where >= 0], return_counts=True)
        most: list[int] = []
        few: list[int] = []
        all_keys = came = 0
        mixed: list[int] = []
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            chunk = self._chunks.get(number)
            if chunk is None:
                mixed.append(number)
                continue
            age = max(0, time - chunk.newest)
            self._period += (age - self._period) // 8 if self._period else age
            if 2 * count < len(chunk.keys):
                few.append(number)
                continue
            most.append(number)
            all_keys, came = all_keys + len(chunk.keys), came + count
        groups = list(self._groups) if len(self._groups) >= GROUPS else mixed if len(mixed) > MIXED else []
        self._open(few, groups)
        if not most:
            return self._where[keys]
        number, group = self._thaw(most, since)
        # Until those that came have waited there is nothing to do, unless many of the others did not come.
        group.least = since if LEFT * (all_keys - came) < all_keys else LOWEST
        found = self._where[keys]
        found[found == NOWHERE] = number
        return found

    def _thaw(self, numbers: list[int], since: int) -> tuple[int, Group]:
        """Open some chunks as one group, most of whose keys are touched from a time on."""
        group = Group(len(self._cut))
        group._kinds, group.since = self._kinds, since
        refill(group, joined([self._taken_out(number) for number in numbers]))
        self._groups[self._next] = group
        self._where[group.key] = self._next
        self._next += 1
        return self._next - 1, group

    # -- windows are due -----------------------------------------------------------------------------------------------

    def views(self, bit: int, keys: Int64s) -> Iterator[tuple[View, Int64s | None]]:
        """Views that have the events of these keys, each with the places of its keys; chunks are open one by one."""
        if not (self._chunks or self._groups) or not len(keys):
            yield EventStore.view(self, bit), None
            return
        where = np.full(len(keys), NOWHERE, np.int32)
        known = keys < len(self._where)
        where[known] = np.maximum(self._where[keys[known]], NOWHERE)
        order = np.argsort(where, kind="stable")
        heads = np.flatnonzero(np.diff(where[order], prepend=-2))
        for first, end in zip(heads.tolist(), [*heads[1:].tolist(), len(order)], strict=True):
            number, some = int(where[order[first]]), order[first:end]
            if number < 0:
                yield EventStore.view(self, bit), some
            elif number in self._groups:
                yield self._groups[number].view(bit), some
            else:
                yield self._look([number], bit), some
                self._advance([number])

    def views_from(self, bit: int, time: int) -> Iterator[View]:
        """Views that have all events of a query from a time on; some chunks are open at a time."""
        if len(self):
            yield EventStore.view(self, bit)
        for group in self._groups.values():
            yield group.view(bit)
        numbers = [number for number, chunk in self._chunks.items() if chunk.newest >= time]
        while numbers:
            upto = np.cumsum([self._chunks[number].rows for number in numbers])
            count = max(1, int(np.searchsorted(upto, AT_ONCE, "right")))
            yield self._look(numbers[:count], bit)
            self._advance(numbers[:count])
            numbers = numbers[count:]

    def _look(self, numbers: list[int], bit: int) -> View:
        """Some chunks as a view that only reads."""
        chunks = [self._chunks[number] for number in numbers]
        self._decompressions += sum(len(chunk.keys) for chunk in chunks)
        self._read += len(chunks)
        return view_of(chunks, bit, self._kinds, len(self._cut))

    def _advance(self, numbers: list[int]) -> None:
        """Write chunks anew where many of their rows are passed."""
        for number in numbers:
            chunk = self._chunks[number]
            arrays = Opened([chunk])
            fresh = self._fresh(chunk, arrays)
            if fresh is not None and STALE * int(np.count_nonzero(~fresh)) >= len(fresh):
                self._forget(number)
                if fresh.any():
                    self._freeze({name: arrays[name][fresh] for name in arrays}, True)

    # -- compressing ---------------------------------------------------------------------------------------------------

    def compress(self, time: int | None) -> None:
        """The end of a step, at a time: keys that were not touched for D are compressed, the oldest first."""
        if time is not None:
            self._latest = time if self._latest is None else max(self._latest, time)
        if self._latest is None or self.after >= NEVER:
            return
        limit = self._latest - self.after
        # Chunks that are touched are so after about a period: those beyond it become fewer, which are read with less.
        aged = self._latest - max(2 * self._period, self.after)
        silent: list[Mapping[str, Array]] = []
        for number, group in list(self._groups.items()):
            if group.least <= limit and not self._settle_group(group, limit, aged, silent):
                self._end(number)
        if len(self) and (self._least is None or self._least <= limit):
            self._settle_columns(limit, aged, silent)
        silent += [self._taken_out(number) for number in self._few(aged)]
        if silent:
            for part in _cut(joined(silent)):
                self._freeze(part, True)

    def _settle_group(self, group: Group, limit: int, aged: int, silent: list[Mapping[str, Array]]) -> bool:
        """Compress the keys of a group that have waited; gives whether there are others."""
        _tidy(group)
        offsets = View(group, None).offsets
        last = group.time[offsets[1:] - 1]
        if not len(last):
            return False
        group.least = int(last.min())
        if group.least > limit:
            return True
        # Keys that were not touched when the others were have left their turn. While they are few they stay with these:
        # to write some keys apart costs as much as to write a hundred. Then they go to those long silent.
        old = (last < max(aged, group.since)) & (last <= limit)
        here = last[~old]
        due = not len(here) or bool((here <= limit).any())
        if LEFT * int(np.diff(offsets)[old].sum()) < len(group):
            if not due:
                group.least = int(here.min())
                return True
            old[:] = False
        waited = last <= limit + self.after // EARLY if due else old
        for some in (old, waited & ~old):
            if some.any():
                part = _rows_of(group, offsets, some)
                if some is old:
                    silent.append(part)
                else:
                    self._freeze(part, False)
        if waited.all():
            return False
        index = np.flatnonzero(np.repeat(~waited, np.diff(offsets)))
        refill(group, {name: group._live(name) for name in group._arrays}, index)
        group.least = int(last[~waited].min())
        return True

    def _settle_columns(self, limit: int, aged: int, silent: list[Mapping[str, Array]]) -> None:
        """Compress the keys in the columns that have waited."""
        _tidy(self)
        every = View(self, None)
        last = self.time[every.offsets[1:] - 1]
        if not len(last) or int(last.min()) > limit:
            self._least = int(last.min()) if len(last) else None
            return
        # Where keys are opened again soon, those that came together stay together: the next touch opens just them.
        early = self.after // EARLY if self.after > self._period else 0
        waited = last <= limit + early
        # Where keys that have waited are hardly ever touched again, none of them are told apart.
        old = waited if 2 * self._period <= self.after else last < aged
        if old.any():
            silent.append(_rows_of(self, every.offsets, old))
        others = np.flatnonzero(waited & ~old)
        if len(others):
            others = others[np.argsort(last[others], kind="stable")]
            counts = np.diff(every.offsets)[others]
            soon = last[others] // max(1, self._period // PARTS) if self._period > self.after else np.zeros_like(others)
            cut = np.diff((np.cumsum(counts) - counts) // ROWS) + np.diff(soon) != 0
            for some in np.split(others, np.flatnonzero(cut) + 1):
                chosen = np.zeros(len(last), np.bool_)
                chosen[some] = True
                self._freeze(_rows_of(self, every.offsets, chosen), False)
        left = ~waited
        self._least = int(last[left].min()) if left.any() else None
        refill(self, {n: self._live(n) for n in self._arrays}, np.flatnonzero(np.repeat(left, np.diff(every.offsets))))

    def _few(self, aged: int) -> list[int]:
        """Small chunks of keys long silent, where there are several of about the same size: they become one."""
        sizes: dict[int, list[int]] = {}
        for number, chunk in self._chunks.items():
            if chunk.rows < SMALL and chunk.newest < aged:
                sizes.setdefault(chunk.rows.bit_length() // 2, []).append(number)
        return [number for alike in sizes.values() if len(alike) > FEW for number in alike]


def _tidy(store: EventStore) -> None:
    """Rows that no query needs any more go, and each row has the bits of those that do."""
    cleared(store)
    if len(store) and not store._common:  # else some query needs all of them
        used = store.taken != 0
        if not used.all():
            refill(store, {name: store._live(name) for name in store._arrays}, np.flatnonzero(used))


def _rows_of(store: EventStore, offsets: Int64s, chosen: Bools) -> Mapping[str, Array]:
    """The rows of some of the keys of a store."""
    if chosen.all():
        return {name: store._live(name) for name in store._arrays}
    index = expand_ranges(offsets[:-1][chosen], np.diff(offsets)[chosen])[1]
    return {name: store._live(name)[index] for name in store._arrays}


def _cut(arrays: Mapping[str, Array]) -> Iterator[Mapping[str, Array]]:
    """Rows as parts for chunks, each of whole keys: those of the least recently updated ones first."""
    key = arrays["key"]
    if len(key) <= ROWS:
        yield arrays
        return
    heads = np.flatnonzero(np.diff(key, prepend=-1))
    counts = np.diff(heads, append=len(key))
    order = np.argsort(arrays["time"][heads + counts - 1], kind="stable")
    part = (np.cumsum(counts[order]) - counts[order]) // ROWS
    for some in np.split(order, np.flatnonzero(np.diff(part)) + 1):
        chosen = np.sort(some)
        index = expand_ranges(heads[chosen], counts[chosen])[1]
        yield {name: arrays[name][index] for name in arrays}
