"""Whether rows are combined before a shuffle or after it: formulas 3.1 and 3.3 of paper 2, for one pane at a time.

With panes a task processes its rows (a), gives out one partial for each group (b), and each of them is processed again
after the shuffle (c); without them every row crosses and is processed there (a'). What crosses costs by its bytes, so b
and a' grow with the size of a partial and of a row. Windows are combined from slices after the shuffle either way.

    before   a T + b G + c G       rows, groups ─► shuffle ─► groups
    after    a' T                  rows ─► shuffle ─► rows
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.costs import Constants, Sizes, paned, seconds, windowed
from muntin.machine import kept_once

__all__ = ["Crossing", "crossing", "measured"]

SPARK_BYTE = 4.0
"""Nanoseconds that a byte costs between the two stages on Spark, beside packing and opening it.

An estimate: a byte is copied through two sockets and through the files of the shuffle, and on a stream written into the
state, which alone takes 13 (PySpark 4.3). A fit on a quiet machine is still to be made.
"""


@dataclass(frozen=True)
class Crossing:
    """What it costs to combine rows and to take them across a shuffle, in nanoseconds.

    >>> Crossing(combine=10, give=50, take=100, row=40, pack=1).least(row_bytes=24, partial_bytes=40)
    2.3333333333333335
    """

    combine: float
    """To process a row before the shuffle."""
    give: float
    """To give out a partial."""
    take: float
    """To process a partial after the shuffle."""
    row: float
    """To process a row after the shuffle."""
    pack: float
    """For a byte to be packed and opened; `SPARK_BYTE` more to cross."""

    def constants(self, row_bytes: float, partial_bytes: float) -> Constants:
        """The constants of the formulas for rows and partials of so many bytes."""
        byte = self.pack + SPARK_BYTE
        return Constants(self.combine, self.give + byte * partial_bytes, self.take, self.row + byte * row_bytes)

    def costs(self, rows: float, groups: float, row_bytes: float, partial_bytes: float) -> tuple[float, float]:
        """Nanoseconds for some rows that are combined before the shuffle, and after it."""
        k, s = self.constants(row_bytes, partial_bytes), Sizes(rows, 1, 1, groups)
        return paned(k, s, False), windowed(k, s, False)

    def pays(self, rows: float, groups: float, row_bytes: float, partial_bytes: float) -> bool:
        """Whether it is cheaper to combine them before.

        >>> k = Crossing(combine=10, give=50, take=100, row=40, pack=1)
        >>> k.pays(100, 10, 24, 40), k.pays(100, 90, 24, 40)
        (True, False)
        """
        before, after = self.costs(rows, groups, row_bytes, partial_bytes)
        return before < after

    def least(self, row_bytes: float, partial_bytes: float) -> float:
        """From how many rows of a group on it pays."""
        k = self.constants(row_bytes, partial_bytes)
        return (k.b + k.c) / (k.a_window - k.a) if k.a_window > k.a else float("inf")


@functools.cache
def crossing() -> Crossing:
    """What it costs on this machine: as kept, else measured now (about a second) and kept."""
    return kept_once("crossing", Crossing, measured)


def measured(rows: int = 20_000, rounds: int = 15) -> Crossing:
    """Measure it, by what the two stages run for a max per key; the least of some rounds."""
    work = _Work(rows)
    calls: dict[str, Callable[[], Any]] = {
        "few": lambda: work.combined(work.few),
        "fine": lambda: work.combined(work.fine),
        "take": work.absorbed,
        "row": work.taken,
        "pack": work.packed,
    }
    took: dict[str, list[float]] = {name: [] for name in calls}
    for i in range(rounds + 1):  # the first compiles
        for name, call in calls.items():
            found = seconds(call) * 1e9
            if i:
                took[name].append(found)
    few, fine, take, row = (min(took[name]) / rows for name in ("few", "fine", "take", "row"))
    return Crossing(few, max(fine - few, 0.1), take, row, min(took["pack"]) / work.fine.nbytes)


class _Work:
    """Rows of some keys in few slices, and rows each in a slice of its own."""

    def __init__(self, rows: int) -> None:
        import muntin as mt
        from muntin.layout import layout
        from muntin.slicing.partials import Combiner

        rng = np.random.default_rng(1)
        self._spec = mt.over("ts", by="k").window("w", mt.tumbling("1 ms"), top=mt.max("x"))
        at, key, x = np.arange(rows), rng.integers(0, 100, rows), rng.random(rows)
        self.few = pa.table({"ts": at // 5_000 * 1_000, "k": key, "x": x})
        self.fine = pa.table({"ts": at // 100 * 1_000, "k": at % 100, "x": x})
        self._layout = layout(self._spec, self.few.schema)
        self._partials = Combiner(self._layout).combine(self.fine)

    def _engine(self) -> Any:
        engine = self._spec.engine(watermark="manual")
        engine._fit(self.few.schema.empty_table())
        return engine

    def combined(self, table: pa.Table) -> Any:
        """Rows as partials, by a task that begins."""
        from muntin.slicing.partials import Combiner

        return Combiner(self._layout).combine(table)

    def absorbed(self) -> None:
        """Partials into an engine."""
        from muntin.slicing.partials import absorb

        assert self._partials is not None
        absorb(self._engine(), self._partials)

    def taken(self) -> None:
        """Rows into an engine."""
        self._engine()._run(self.few, None, False)

    def packed(self) -> None:
        """Rows as bytes and back."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.fine.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(self.fine)
        with pa.ipc.open_stream(sink.getvalue()) as reader:
            reader.read_all()
