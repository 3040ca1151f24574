"""Engines to compare with, for events with a duration (paper 3, section 5.3.3 and Table 4).

They differ from `Spanning` only in how windows known in advance are computed.
"""

from __future__ import annotations

from typing import ClassVar

from muntin.spanning.engine import Spanning

__all__ = ["AggregateBuckets", "Sweeping", "TupleBuckets"]


class AggregateBuckets(Spanning):
    """One partial for each window and key: an event is aggregated once for every window that it overlaps.

    >>> import muntin as mt
    >>> spec = mt.over(span=("start", "end")).window("w", mt.tumbling("10 us"), n=mt.count())
    >>> spec.apply({"start": [0, 5], "end": [5, 15]}, engine="aggregate_buckets")["n"].to_pylist()
    [2, 1]
    """

    technique: ClassVar[str] = "aggregate_buckets"


class TupleBuckets(Spanning):
    """The events of each window: they are aggregated when it is released.

    >>> import muntin as mt
    >>> spec = mt.over(span=("start", "end")).window("w", mt.tumbling("10 us"), n=mt.count())
    >>> spec.apply({"start": [0, 5], "end": [5, 15]}, engine="tuple_buckets")["n"].to_pylist()
    [2, 1]
    """

    technique: ClassVar[str] = "tuple_buckets"


class Sweeping(Spanning):
    """Starts and ends of events in order, gone through with those of windows (`muntin.spanning.sweeping`).

    >>> import muntin as mt
    >>> spec = mt.over(span=("start", "end")).window("w", mt.tumbling("10 us"), n=mt.count())
    >>> spec.apply({"start": [0, 5], "end": [5, 15]}, engine="sweeping")["n"].to_pylist()
    [2, 1]
    """

    technique: ClassVar[str] = "sweeping"
