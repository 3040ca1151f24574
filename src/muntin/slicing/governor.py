"""Moves D, and the codec, to keep a budget of memory or a service level (paper 5, section 7, asks for both).

Below the budget D grows, above it D shrinks until the state fits; with D = 0 the codec becomes a stronger one. Without
a budget D is the smallest with which answers come in time and rows are taken in at the rate that is asked for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from muntin.compression import NEVER, Compression
from muntin.errors import BudgetExceeded
from muntin.metrics import Held
from muntin.slicing.chunks import Writer
from muntin.state.codecs import Codec
from muntin.units import show_bytes, show_duration

__all__ = ["Cold", "Governor"]

SECOND = 1_000_000
LONG = 86_400 * SECOND  # D from which on it is none
ROOM = 0.9  # of the budget: above it D shrinks
EASY = 0.5  # of the budget, or of the time that an answer may take: below it D moves back
SMOOTH = 0.2  # the weight of a step among those before
STRONG = Codec("zstd", 9)


class Cold(Protocol):
    """State that is compressed after D: kept events, slices."""

    after: int
    writer: Writer

    @property
    def chosen(self) -> tuple[int, str | None]:
        """The D in use, and the codec; None: nothing was compressed yet."""

    @property
    def silence(self) -> int:
        """For how long what is open and longest silent has been so."""

    @property
    def nbytes(self) -> int:
        """The bytes held, compressed or not."""

    def compressed(self) -> Held:
        """What is compressed, and how often that was done."""

    def compress(self, time: int | None) -> None:
        """Compress what was not touched for D."""

    def rewrite(self, codec: Codec) -> None:
        """Compress all that is compressed with another codec."""


@dataclass
class Governor:
    """What it goes by is given after each step: the bytes of state, and how the step went.

    >>> governor = Governor(Compression(NEVER, latency=0.1))
    >>> for _ in range(20):
    ...     governor.went(rows=100, results=5, seconds=0.01)
    >>> governor.after < LONG
    True
    """

    rule: Compression
    after: int = field(init=False)
    _latency: float = 0.0
    _rate: float = 0.0
    _began: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        self.after = self.rule.after

    def begin(self, rows: int) -> None:
        """A step begins with so many rows."""
        self._began = time.perf_counter(), rows

    def end(self, engine: Any, stores: list[Cold], moment: int | None, results: pa.Table, parts: int = 1) -> None:
        """The step of an engine ends, at a moment of event time: move D so that budget and service level are kept."""
        began, rows = self._began or (time.perf_counter(), 0)
        self._began = None
        self.went(rows, results.num_rows, time.perf_counter() - began)
        if self.rule.budget is not None:
            self.keep(engine, self.rule.budget // parts, stores, moment, results)
        for store in stores:
            store.after = self.after

    # -- a service level -----------------------------------------------------------------------------------------------

    def went(self, rows: int, results: int, seconds: float) -> None:
        """A step took so long: where that is too long D grows, where it is far from it D shrinks."""
        if results:
            self._latency += (seconds - self._latency) * (SMOOTH if self._latency else 1)
        if rows and seconds:
            self._rate += (rows / seconds - self._rate) * (SMOOTH if self._rate else 1)
        latency, rate = self.rule.latency, self.rule.throughput
        if latency is None and rate is None:
            return
        slow = (latency is not None and self._latency > latency) or (rate is not None and 0 < self._rate < rate)
        easy = (latency is None or self._latency < EASY * latency) and (rate is None or EASY * self._rate > rate)
        if slow:
            self.after = self._more()
        elif easy:
            self.after = self._less(LONG)

    # -- a budget ------------------------------------------------------------------------------------------------------

    def keep(self, engine: Any, budget: int, stores: list[Cold], moment: int | None, results: Any) -> None:
        """Make the state of an engine fit."""
        while engine.nbytes > ROOM * budget and self._tighten(stores):
            for store in stores:
                store.after = self.after
                store.compress(moment)
        size = engine.nbytes
        if size > budget:
            raise BudgetExceeded(_told(size, budget, sum(store.nbytes for store in stores)), size, results)
        if size < EASY * budget and self.after < NEVER:
            self.after = self._more()

    def _tighten(self, stores: list[Cold]) -> bool:
        """A smaller D, or a stronger codec; False: there is neither."""
        if self.after:
            spans = [store.silence for store in stores]
            self.after = self._less(max(spans, default=0))
            return True
        weak = [store for store in stores if store.writer.rule.given is None and store.writer.strong is None]
        for store in weak:
            store.rewrite(STRONG)
        return bool(weak)

    def _less(self, most: int) -> int:
        less = min(self.after, most) // 2
        return less if less >= SECOND else 0

    def _more(self) -> int:
        more = max(2 * self.after, SECOND)
        return more if more < LONG else NEVER


def _told(size: int, budget: int, kept: int) -> str:
    return (
        f"the state takes {show_bytes(size)} with D = 0, and the budget is {show_bytes(budget)}: what can be "
        f"compressed takes {show_bytes(kept)} of it, and all else {show_bytes(size - kept)}. "
        f"Give memory({show_bytes(size)!r}) or more, allow values to be off with lossy=, or use shorter windows, a "
        f"larger every= or fewer keys."
    )


def chosen(after: int, codec: Codec | None) -> str:
    """What was chosen, in words.

    >>> chosen(4 * SECOND, Codec("lz4")), chosen(NEVER, None)
    ('after 4 seconds, lz4', 'none')
    """
    return "none" if after >= NEVER else f"after {show_duration(after)}, {'no codec yet' if codec is None else codec}"
