"""An event that comes late shifts every later one by a position: what each slice loses and gets (paper 1, 6.3.2)."""

from __future__ import annotations

from numba import njit, types

from muntin.kernels.rows_slices import next_edge

__all__ = ["plan_shift"]

_i64 = types.int64
_IN = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 1, "C")


@njit(
    _i64(_OUT, _i64, _i64, _IN, _i64, _i64, _i64, _i64, _i64),
    cache=True,
    error_model="numpy",
    inline="always",
)
def _old_from(items, filled, write, spots, spot, end, x, wanted, begin):  # type: ignore[no-untyped-def]
    """Write the places of the first old events from x on; `spot` is the first late one from there on."""
    for _ in range(wanted):
        while spot < end and spots[spot] == x:
            x += 1
            spot += 1
        if write:
            items[filled] = begin + x
        filled += 1
        x += 1
    return filled


@njit(
    _i64(
        _i64, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN,
        _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT,
    ),
    cache=True,
    error_model="numpy",
)  # fmt: skip
def plan_shift(  # type: ignore[no-untyped-def]
    write, keys, late, offsets, spots, at, gone, step, offset, cell_at, start, held, points,
    cell_count, done, cells, lo, hi, items, lost, front, among,
):  # fmt: skip
    """The slices that late events change; gives their number, and in `lost[0]` that of the items, without `write`.

    Slice i, which holds the events lo to hi now, loses items lost[i] to front[i], gets front[i] to among[i] from the
    slice before, and among[i] to lost[i + 1], which came late. Where more than half of a slice changes, it has no
    items, and is to be made anew. The newest slice loses none; where it would grow past its edge it is given up, to be
    cut anew from its events.
    """
    found = filled = 0
    for g in range(len(keys)):
        k, first, end = keys[g], offsets[g], offsets[g] + late[g]
        begin, bottom, above = at[k], cell_at[k], cell_at[k] + cell_count[k]
        low, high = bottom, above
        while low < high:
            middle = (low + high) >> 1
            if start[middle] <= points[g]:
                low = middle + 1
            else:
                high = middle
        before = first  # late events that stand before the slice
        for cell in range(max(low - 1, bottom), above):
            a = start[cell] - gone[k]
            b = a + held[cell]
            newest = cell == above - 1
            if newest:
                b += late[g]
                if b - a > next_edge(step, offset, start[cell]) - start[cell]:
                    if write:
                        cell_count[k] -= 1
                        done[k] = start[cell]
                    continue
            upto = before
            while upto < end and spots[upto] < b:
                upto += 1
            loses, gets = (0 if newest else upto - first), before - first
            if write:
                cells[found], lo[found], hi[found] = cell, begin + a, begin + b
                lost[found] = front[found] = among[found] = filled
            if newest or 2 * loses <= b - a:
                filled = _old_from(items, filled, write, spots, upto, end, b, loses, begin)
                if write:
                    front[found] = filled
                filled = _old_from(items, filled, write, spots, before, end, a, gets, begin)
                if write:
                    among[found] = filled
                for spot in range(before, upto):
                    if write:
                        items[filled] = begin + spots[spot]
                    filled += 1
            if newest and write:
                done[k] += late[g]
            found += 1
            before = upto
    if write:
        lost[found] = filled
    else:
        lost[0] = filled
    return found
