"""How to sort rows that come in the order of arrival."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["sorting", "stable_order"]

Int64s = npt.NDArray[np.int64]


def stable_order(values: Int64s) -> Int64s:
    """How to sort integers, equal ones as they come.

    Value and place are sorted as one number where they fit: NumPy's plain sort is vectorised, 3 times as fast as its
    stable argsort.

    >>> stable_order(np.array([5, 3, 5, 1])).tolist()
    [3, 1, 0, 2]
    """
    low, bits = int(values.min()), len(values).bit_length()
    if int(values.max()) - low >= 1 << (62 - bits):
        return np.argsort(values, kind="stable")
    return np.sort(((values - low) << bits) | np.arange(len(values))) & ((1 << bits) - 1)


def sorting(rows: dict[str, npt.NDArray[Any]]) -> Int64s | None:
    """How to sort new rows, which come in the order of arrival, by key, time and order; None where they are sorted.

    >>> sorting({"key": np.array([0, 0, 0]), "time": np.array([5, 3, 4])}).tolist()
    [1, 2, 0]
    """
    key, time, order = rows["key"], rows["time"], rows.get("order")
    one = bool((key[1:] == key[:-1]).all())
    if order is None:
        in_time = bool((time[1:] >= time[:-1]).all())
        by_time = None if in_time else stable_order(time)
    else:
        by_time = np.lexsort((order, time))
    if one:
        return by_time
    if by_time is not None:
        key = key[by_time]
    # NumPy's stable sort of 16 bits is a radix sort, several times faster than that of 64 bits.
    narrow = key.astype(np.uint16) if int(key.max()) < 1 << 16 and int(key.min()) >= 0 else key
    by_key: Int64s = np.argsort(narrow, kind="stable")
    return by_key if by_time is None else by_time[by_key]
