"""The straight way of a batch: from Arrow's buffers into cells, each row looked at once.

Rows of one key whose times need no conversion, in queries that keep no events. Whether a time is in range, too far
ahead or late is asked by the update itself: it stops at a row that lies in no slice, and names rows that may be late.
What it cannot take is left to the ordinary way, which decodes a batch first.
"""

from __future__ import annotations

import pyarrow as pa

from muntin.layout import Layout
from muntin.slicing.batch import Decoder
from muntin.slicing.late import LateRows
from muntin.slicing.sliced import Sliced

__all__ = ["Straight"]


class Straight:
    """Takes rows the straight way, as far as it goes."""

    def __init__(self, layout: Layout, decoder: Decoder, sliced: Sliced) -> None:
        self._decoder, self._sliced = decoder, sliced
        self.open = (
            not layout.spec.by
            and layout.spec.order is None
            and decoder.plain_time
            and not decoder.interners
            and not sliced.keeping
            and not sliced.has_runs
            and all(query.window.measure.name == "TIME" for query in layout.queries)
        )
        """Whether the spec allows it."""

    def take(self, table: pa.Table, now: int | None, late: LateRows) -> tuple[int, int | None]:
        """Take rows in from the first on; gives how many, and their largest time."""
        found = self._decoder.columns(table)
        if found is None:
            return 0, None
        time, columns = found
        done, newest = self._sliced.take_straight(time, columns, self._decoder.latest(now), late)
        self._decoder.passed(done)
        return done, newest
