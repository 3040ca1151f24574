"""Windows of keys that exist since they have kept events, with what is computed of these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.layout import BoundQuery

__all__ = ["Existing"]

Int64s = npt.NDArray[np.int64]


@dataclass
class Existing:
    """Windows of keys that have events: which of those asked for, the keys, and what is computed of their events."""

    which: Int64s
    key: Int64s
    values: dict[str, pa.Array]
    events: dict[str, Int64s]

    @staticmethod
    def together(parts: list[Existing], bound: BoundQuery, names: list[str]) -> Existing:
        """Those of all parts, by window and key: in the same order however keys were spread over the parts."""
        if not parts:
            nothing = np.empty(0, np.int64)
            values = {name: pa.nulls(0, bound.aggregates[name].output) for name in names}
            return Existing(nothing, nothing, values, dict.fromkeys(names, nothing))
        which = np.concatenate([part.which for part in parts])
        key = np.concatenate([part.key for part in parts])
        values = {name: pa.concat_arrays([part.values[name] for part in parts]) for name in names}
        events = {name: np.concatenate([part.events[name] for part in parts]) for name in parts[0].events}
        if len(parts) == 1 and not which.any():  # one window, and keys come in order
            return Existing(which, key, values, events)
        order = np.lexsort((key, which))
        index = pa.array(order)
        values = {name: column.take(index) for name, column in values.items()}
        return Existing(which[order], key[order], values, {name: marks[order] for name, marks in events.items()})
