"""Sessions among cells, listed in one call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["list_sessions"]

_IN = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.int64, 1, "C")
_INT = types.int64

_LISTED: Any = types.UniTuple(_OUT, 6)(_IN, _IN, _IN, _IN, _INT, _IN, _IN, _IN)  # type: ignore[no-untyped-call]


@njit(_LISTED, cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def list_sessions(
    key: Any, cells: Any, first: Any, last: Any, gap: int, head_n: Any, head_first: Any, head_last: Any
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Key, first and last event, from and up to which cell, and whether a head begins it, for each session.

    `cells` are those that hold events, by key and within a key by time; `first` and `last` are theirs. A head is the
    beginning of a key's first session, or one of its own: these come at the end.
    """
    most = len(cells) + len(head_n)
    keys, start, end = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    lo, hi, headed = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    lonely = head_n > 0
    found = 0
    for i in range(len(cells)):
        k, f, e = key[i], first[cells[i]], last[cells[i]]
        fresh = i == 0 or k != key[i - 1]
        if not fresh and f - end[found - 1] <= gap:
            end[found - 1] = e
            hi[found - 1] = i + 1
            continue
        joins = fresh and head_n[k] > 0 and f - head_last[k] <= gap
        if joins:
            lonely[k] = False
        keys[found], end[found], lo[found], hi[found] = k, e, i, i + 1
        start[found] = head_first[k] if joins else f
        headed[found] = 1 if joins else 0
        found += 1
    for k in range(len(head_n)):
        if lonely[k]:
            keys[found], start[found], end[found] = k, head_first[k], head_last[k]
            lo[found], hi[found], headed[found] = 0, 0, 1
            found += 1
    return keys[:found], start[:found], end[:found], lo[:found], hi[:found], headed[:found]
