"""Counts of values in windows that overlap: those of the window before, less what left it, plus what came."""

from __future__ import annotations

from numba import njit, types

__all__ = ["sliding_hits"]

_i64 = types.int64
_INTS = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 1, "C")


@njit(_i64(_INTS, _INTS, _OUT, _i64, _i64, _i64), cache=True, error_model="numpy", inline="always")
def _count(ranks, counts, table, low, high, sign):  # type: ignore[no-untyped-def]
    """Add the entries from low to high to the table, or take them away; gives how many rows they are."""
    rows = 0
    for at in range(low, high):
        table[ranks[at]] += sign * counts[at]
        rows += counts[at]
    return rows


@njit(
    _i64(_INTS, _INTS, _INTS, _INTS, _INTS, types.float64, _i64, _i64, _OUT, _OUT, _OUT, _OUT),
    cache=True,
    error_model="numpy",
)
def sliding_hits(  # type: ignore[no-untyped-def]
    ranks, counts, ends, lo, hi, share, others, parts, table, window, value, count
):
    """The values of each window that make up a share of its rows (paper 2, sections 3.2.2 and 3.3.2).

    Run r has the entries ends[r] to ends[r + 1]; window w has the runs lo[w] to hi[w], and windows come in the order of
    both. `others` is the rank of what was taken from runs of bounded size, -1 where there is none: a count may lack one
    of `parts` of it. The table is as long as there are ranks, and 0.
    """
    a, b, rows, filled = 0, 0, 0, 0
    for w in range(len(lo)):
        if lo[w] >= b or lo[w] < a or hi[w] < b:  # nothing in common with the window before
            _count(ranks, counts, table, ends[a], ends[b], -1)
            a = b = lo[w]
            rows = 0
        rows -= _count(ranks, counts, table, ends[a], ends[lo[w]], -1)
        rows += _count(ranks, counts, table, ends[b], ends[hi[w]], 1)
        a, b = lo[w], hi[w]
        lacking = table[others] // parts if others >= 0 else 0
        for rank in range(len(table)):
            if table[rank] > 0 and rank != others and (table[rank] + lacking) / rows >= share:
                window[filled], value[filled], count[filled] = w, rank, table[rank]
                filled += 1
    return filled
