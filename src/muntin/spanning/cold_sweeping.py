"""Swept events that are compressed once they ended a while ago (paper 5 over paper 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.compression import NEVER, Compression
from muntin.fused import Fused
from muntin.metrics import Held
from muntin.slicing.slices import Partials
from muntin.spanning.cold import SOME, Columns, Parts, together
from muntin.spanning.edges import Edges
from muntin.spanning.sweeping import Sweep
from muntin.spans import Spans
from muntin.state.codecs import Codec
from muntin.windows import Window

__all__ = ["ColdSweep", "sweep"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class ColdSweep(Sweep):
    """Events with their partials, of which those that ended longest ago are compressed.

    Nothing touches an event that came, and events come as they end: when one ended tells for how long it is silent.
    """

    def __init__(self, fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression) -> None:
        super().__init__(fused, edges, spans, windows)
        self.after = rule.after
        self._parts = Parts(rule, lambda columns: columns)
        self.writer = self._parts.writer
        self._latest: int | None = None

    # -- what is held --------------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The bytes of events, compressed or not."""
        return super().nbytes + self._parts.nbytes

    @property
    def chosen(self) -> tuple[int, str | None]:
        """The D in use, and the codec; None: nothing was compressed yet."""
        return self.after, self._parts.codec

    @property
    def silence(self) -> int:
        """How long ago the event that is open and first ended did so."""
        return self._latest - int(self._stop.min()) if self._latest is not None and len(self._stop) else 0

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""
        return self._parts.compressed()

    # -- compressing ---------------------------------------------------------------------------------------------------

    def compress(self, time: int | None) -> None:
        """The end of a step, at a time: events that ended D before are compressed."""
        if not len(self._stop):
            return
        newest = int(self._stop.max()) if time is None else max(time, int(self._stop.max()))
        self._latest = newest if self._latest is None else max(self._latest, newest)
        if self.after >= NEVER:
            return
        silent = self._stop <= self._latest - self.after
        some = np.flatnonzero(silent)
        if not len(some) or (self.after and SOME * len(some) < len(silent)):
            return
        rows = {name: column[some] for name, column in self._open().items()}
        self._parts.put(rows, int(rows["start"].min()), int(rows["stop"].max()) - 1, len(np.unique(rows["key"])))
        gone = self._gone
        self._start, self._stop = self._start[~silent], self._stop[~silent]
        self._stay(np.flatnonzero(~silent))
        self._gone = gone

    def _open(self) -> Columns:
        partials = {str(i): column for i, column in enumerate(self._columns)}
        return {"start": self._start, "stop": self._stop, "key": self._key, **partials}

    def _hold(self, rows: Columns) -> None:
        self._start, self._stop, self._key = rows["start"], rows["stop"], rows["key"]
        self._columns = [rows[str(i)] for i in range(len(self._columns))]

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed once more, with another codec, and what comes with it too."""
        self._parts.rewrite(codec)

    # -- windows -------------------------------------------------------------------------------------------------------

    def extent(self) -> tuple[int, int] | None:
        """The first and the last slice with an event."""
        found = [part for part in (super().extent(), self._slices(self._parts.reach)) if part is not None]
        return (min(a for a, _ in found), max(b for _, b in found)) if found else None

    def merged(self, a: Int64s, b: Int64s, start: Int64s, end: Int64s) -> tuple[Int64s, Int64s, Partials]:
        """Sweep over windows that are due, with the compressed events that reach into them."""
        parts = self._parts.reaching(int(start.min()), int(end.max()))
        here = self._open()
        if parts:
            self._hold(together([here, *parts]))
        try:
            return super().merged(a, b, start, end)
        finally:
            self._hold(here)

    def drop(self, time: int) -> None:
        """Forget the events that ended by a time."""
        super().drop(time)
        self._gone += self._parts.drop(time)

    # -- what needs all events -----------------------------------------------------------------------------------------

    def _open_all(self) -> None:
        parts = self._parts.taken_out()
        if parts:
            self._hold(together([self._open(), *parts]))

    @property
    def turned(self) -> tuple[int, int]:
        """How many events were let go so far, and how many are held."""
        gone, held = super().turned
        return gone, held + len(self._parts)

    def held(self, at: int) -> list[npt.NDArray[Any]]:
        """Where a column of partials stands."""
        self._open_all()
        return super().held(at)

    def live_keys(self, live: Bools) -> None:
        """Mark the keys with events."""
        super().live_keys(live)
        for key in self._parts.column("key"):
            live[key] = True

    def renumber(self, moved: Int64s) -> None:
        """Take over new key ids."""
        self._open_all()
        super().renumber(moved)

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds."""
        self._open_all()
        return super().dump()

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds."""
        self._parts.taken_out()
        super().load(tree)


def sweep(
    fused: Fused, edges: Edges, spans: Spans, windows: Sequence[Window], rule: Compression | None = None
) -> Sweep:
    """A sweep, with a rule one that compresses."""
    if rule is None:
        return Sweep(fused, edges, spans, windows)
    return ColdSweep(fused, edges, spans, windows, rule)
