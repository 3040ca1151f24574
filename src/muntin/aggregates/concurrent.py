"""How many events go on at once: of events with a duration only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from muntin.aggregates.base import Aggregate

__all__ = ["Concurrent"]


class Concurrent(Aggregate):
    """How many events are going on at once within a window: the peak, and the mean weighted by time.

    The mean is over the whole window, also where nothing goes on. An event without length counts for one microsecond.

    >>> import muntin as mt
    >>> spec = mt.over(span=("start", "end")).window("w", mt.tumbling("10 us"), calls=mt.concurrent())
    >>> spec.apply({"start": [0, 2], "end": [5, 7]}).column("calls").to_pylist()
    [{'peak': 2, 'mean': 1.0}]
    """

    name = "concurrent"
    partial = {"spans": tuple}
    identity = ((),)
    commutative, kind, of_spans = True, "holistic", True
    takes = "any"

    def __init__(self) -> None:
        self._declare(())

    def output(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """The peak and the mean."""
        return pa.struct([("peak", pa.int64()), ("mean", pa.float64())])

    def lift() -> Any:  # type: ignore[misc]
        return ((),)

    def combine(a: Any, b: Any) -> Any:
        return (a.spans + b.spans,)

    def lower(p: Any) -> Any:
        return None

    def over(self, spans: Sequence[tuple[int, int]], start: int, end: int) -> dict[str, Any]:
        """The result straight from spans of at least one microsecond that overlap a window.

        >>> Concurrent().over([(0, 5), (2, 7)], 4, 8)
        {'peak': 2, 'mean': 1.0}
        """
        cut = [(max(first, start), min(last, end)) for first, last in spans]
        peak = max(sum(a <= at < b for a, b in cut) for at, _ in cut)
        return {"peak": peak, "mean": sum(b - a for a, b in cut) / (end - start)}
