"""The floor of the benchmarks: the least that any engine must do with an event."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["add_to_slots"]


@numba.njit(cache=True)
def add_to_slots(ts: Any, values: Any, slots: Any, base: int) -> None:
    """Add each value to the slot of its second."""
    for i in range(len(ts)):
        slots[ts[i] // np.int64(1_000_000) - base] += values[i]
