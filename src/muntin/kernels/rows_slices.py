"""Loops over position slices of rows windows: cutting, rewinding, listing windows, closing (paper 1, section 5.3).

Events of a key are numbered from 0 over its life: their ordinals. Positions restart at 0 where a run begins, `zero`
is the ordinal of its first event; without `idle` (below 0 here) a key is one run. Cells of a key stand one after the
other from `cell_at` on, its kept events from `at` on; `gone` is the ordinal of the first of these.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

__all__ = ["close_keys", "cut", "end_runs", "list_windows", "marks_of", "next_edge", "rewind", "settled_by"]

_i64 = types.int64
_IN = types.Array(_i64, 1, "C", readonly=True)
_OUT = types.Array(_i64, 1, "C")
_OUT2 = types.Array(_i64, 2, "C")
NONE = np.iinfo(np.int64).min
NEVER = np.int64(2**62)


@njit(_i64(_IN, _IN, _i64), cache=True, error_model="numpy", inline="always")
def next_edge(step, offset, position):  # type: ignore[no-untyped-def]
    """The first edge of a slice after a position."""
    found = np.int64(2**62)
    for i in range(len(step)):
        steps = max((position - offset[i]) // step[i] + 1, 0)
        found = min(found, offset[i] + steps * step[i])
    return found


@njit(_i64(_i64, _i64, _i64, _i64), cache=True, error_model="numpy", inline="always")
def _last_end(cumulative, size, every, taken):  # type: ignore[no-untyped-def]
    """The end of the last window of a query that ends within so many positions; 0: none does."""
    if cumulative:
        return taken // every * every
    return np.int64(0) if taken < size else (taken - size) // every * every + size


@njit(types.void(_IN, _i64, _IN, _IN, _IN, _IN, _IN, _OUT), cache=True, error_model="numpy")
def settled_by(keys, watermark, at, count, gone, known, time, out):  # type: ignore[no-untyped-def]
    """How many events of each key stand before a watermark; at least `known` do."""
    for g in range(len(keys)):
        k = keys[g]
        low, high = at[k] + max(known[k] - gone[k], 0), at[k] + count[k]
        while low < high:
            middle = (low + high) >> 1
            if time[middle] < watermark:
                low = middle + 1
            else:
                high = middle
        out[g] = max(low - at[k] + gone[k], known[k])


@njit(
    _i64(
        _i64, _IN, _IN, _IN, _IN, _IN, _i64, _IN, _IN, _IN, _IN, _IN,
        _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT,
    ),
    cache=True,
    error_model="numpy",
)  # fmt: skip
def cut(  # type: ignore[no-untyped-def]
    write, keys, upto, at, gone, time, idle, step, offset, cell_at, cell_count, last,
    done, start, zero, first, added, cells, lo, hi, fresh,
):  # fmt: skip
    """Cut the events of each key from `done` up to an ordinal into slices; each goes on where the last one stopped.

    Gives the number of ranges: events lo to hi go into a cell, which is new where it is `fresh`. Without `write` it
    only counts, in `added`, the cells that each key gets, so that room can be made for them. `last` has the times of
    the last events of cells: the event before the first of these may have been let go.
    """
    ranges = 0
    for g in range(len(keys)):
        k, end = keys[g], upto[g]
        i, cell, new = done[k], cell_at[k] + cell_count[k] - 1, 0
        here = at[k] - gone[k]
        origin, edge = np.int64(0), i
        begun = NONE
        restarts = i == 0 or idle >= 0  # cells are let go up to the end of a run, or else those of the run stay
        if cell_count[k] > 0:
            origin = zero[cell]
            begun = first[cell]
            edge = origin + next_edge(step, offset, start[cell] - origin)
            restarts = idle >= 0 and i < end and time[here + i] - last[cell] > idle
        while i < end:
            if restarts:
                origin, begun = i, time[here + i]
            begins = restarts or i == edge
            if begins:
                cell += 1
                new += 1
                edge = origin + next_edge(step, offset, i - origin)
                if write:
                    start[cell], zero[cell], first[cell] = i, origin, begun
            stop = min(edge, end)
            if idle >= 0:
                for j in range(i + 1, stop):
                    if time[here + j] - time[here + j - 1] > idle:
                        stop = j
                        break
            if write:
                cells[ranges], lo[ranges], hi[ranges], fresh[ranges] = cell, here + i, here + stop, begins
            ranges += 1
            i = stop
            restarts = idle >= 0 and i < end and time[here + i] - time[here + i - 1] > idle
        added[g] = new
        if write:
            done[k] = max(end, done[k])
    return ranges


@njit(types.void(_IN, _IN, _IN, _IN, _IN, _OUT, _OUT), cache=True, error_model="numpy")
def rewind(keys, points, cell_at, start, held, cell_count, done):  # type: ignore[no-untyped-def]
    """Forget the slices that hold events from an ordinal on; they are cut anew."""
    for g in range(len(keys)):
        k = keys[g]
        left, back = cell_count[k], done[k]
        while left > 0:
            cell = cell_at[k] + left - 1
            if start[cell] + held[cell] <= points[g]:
                break
            back = start[cell]
            left -= 1
        cell_count[k], done[k] = left, back


@njit(
    types.void(_i64, _i64, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _OUT),
    cache=True,
    error_model="numpy",
)
def _closed(key, shut, cumulative, size, every, cell_at, cell_count, start, zero, out):  # type: ignore[no-untyped-def]
    """The ordinal after the last event of the last closed window of each query; 0: none is closed.

    Closed are the windows that end within the first `shut` events; of the last run that has one.
    """
    out[:] = 0
    left, bottom = len(size), cell_at[key]
    cell, top = bottom + cell_count[key] - 1, shut
    while cell >= bottom and start[cell] >= shut:
        cell -= 1
    while cell >= bottom and left > 0:
        origin = zero[cell]
        for q in range(len(size)):
            if out[q] == 0:
                end = _last_end(cumulative[q], size[q], every[q], top - origin)
                if end > 0:
                    out[q] = origin + end
                    left -= 1
        while cell >= bottom and zero[cell] == origin:
            cell -= 1
        top = origin


@njit(
    types.void(
        _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _OUT2, _OUT2
    ),
    cache=True,
    error_model="numpy",
)  # fmt: skip
def marks_of(  # type: ignore[no-untyped-def]
    keys, shut, cumulative, size, every, cell_at, cell_count, start, zero, at, gone, time, order, marks, orders
):
    """For each query (row) and key (column) the place of the last event of a closed window: its time and order."""
    ends = np.empty(len(size), np.int64)
    for g in range(len(keys)):
        k = keys[g]
        _closed(k, shut[k], cumulative, size, every, cell_at, cell_count, start, zero, ends)
        for q in range(len(size)):
            marks[q, g], orders[q, g] = NONE, NONE
            if ends[q] > 0:
                place = at[k] + ends[q] - 1 - gone[k]
                marks[q, g] = time[place]
                if len(order) > 0:
                    orders[q, g] = order[place]


@njit(
    types.void(
        _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN,
        _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT,
    ),
    cache=True,
    error_model="numpy",
)  # fmt: skip
def close_keys(  # type: ignore[no-untyped-def]
    keys, upto, cumulative, size, every, keeps, start, zero, held, time, order,
    shut, cell_at, cell_count, at, count, gone, top, top_order,
):  # fmt: skip
    """Close windows that end within the first `upto` events, and let go of what no open one needs.

    Kept are the events from the earliest mark on: what comes may stand anywhere after the mark of some query. Where a
    query `keeps` events for its values, also those of its first open window. Cells are kept from the start of the
    first open window on, and at least that of the first kept event, which tells where its run began.
    """
    ends = np.empty(len(size), np.int64)
    for g in range(len(keys)):
        k = keys[g]
        shut[k] = upto[g]
        _closed(k, upto[g], cumulative, size, every, cell_at, cell_count, start, zero, ends)
        latest, events, cells = np.int64(0), np.int64(2**62), np.int64(2**62)
        cell = cell_at[k] + cell_count[k] - 1
        for q in range(len(size)):
            end = ends[q]
            if end == 0:
                events = cells = np.int64(0)
                continue
            latest = max(latest, end)
            # The run of the closed window: queries differ in it, but few runs are kept.
            run = cell
            while start[run] >= end:
                run -= 1
            taken = end - zero[run]
            if cumulative[q]:
                needed = zero[run] + taken // size[q] * size[q]
            else:
                needed = zero[run] + min(taken - size[q] + every[q], taken)
            cells = min(cells, needed)
            events = min(events, end - 1)
            if keeps[q]:
                events = min(events, needed)
        if latest == 0:
            continue
        place = at[k] + latest - 1 - gone[k]
        top[k] = time[place]
        if len(order) > 0:
            top_order[k] = order[place]
        freed = events - gone[k]
        if freed > 0:
            at[k] += freed
            count[k] -= freed
            gone[k] = events
        cells = min(cells, gone[k])
        while cell_count[k] > 0 and start[cell_at[k]] + held[cell_at[k]] <= cells:
            cell_at[k] += 1
            cell_count[k] -= 1


@njit(
    _i64(_IN, _i64, _i64, _IN, _IN, _IN, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT),
    cache=True,
    error_model="numpy",
)  # fmt: skip
def end_runs(  # type: ignore[no-untyped-def]
    keys, bound, idle, start, zero, last, cell_at, cell_count, at, count, gone, done, over, ends
):  # fmt: skip
    """Let go of runs that no event from `bound` on can belong to: cells and events, and positions where none goes on.

    Gives how many events went. `over` becomes the last time at which an event would have belonged to one of them,
    `ends` the time of the last event of the first run that goes on.
    """
    freed = np.int64(0)
    for g in range(len(keys)):
        k = keys[g]
        bottom, above = cell_at[k], cell_at[k] + cell_count[k]
        cell, ends[k] = bottom, NEVER
        while cell < above:
            after = above
            if zero[above - 1] != zero[cell]:
                after = cell + 1
                while zero[after] == zero[cell]:
                    after += 1
            if last[after - 1] + idle >= bound:
                ends[k] = last[after - 1]
                break
            over[k] = max(over[k], last[after - 1] + idle)
            cell = after
        if cell == bottom:
            continue
        cell_at[k], cell_count[k] = cell, above - cell
        upto = start[cell] if cell < above else done[k]
        more = max(upto - gone[k], 0)
        at[k] += more
        count[k] -= more
        gone[k] += more
        freed += more
        if cell == above:
            gone[k] = done[k] = 0
    return freed


@njit(
    _i64(
        _i64, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN, _IN,
        _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT, _OUT,
    ),
    cache=True,
    error_model="numpy",
)  # fmt: skip
def list_windows(  # type: ignore[no-untyped-def]
    room, keys, clean, done, query, cumulative, size, every, cell_at, cell_count, start, zero, first,
    queries, owners, begins, ends, origins, runs, a, b,
):  # fmt: skip
    """The windows of some queries that end after `clean` and within `done` events of each key.

    Gives their number; for as many as there is room for also query, key, positions, the ordinal and time of the first
    event of their run, and the cells a to b that they are made of.
    """
    found = 0
    for g in range(len(keys)):
        k = keys[g]
        bottom, above = cell_at[k], cell_at[k] + cell_count[k]
        if bottom == above or clean[g] >= done[k]:
            continue
        low, high = bottom, above  # the cell that holds the event `clean`
        while low < high:
            middle = (low + high) >> 1
            if start[middle] <= clean[g]:
                low = middle + 1
            else:
                high = middle
        cell = max(low - 1, bottom)
        while cell < above:
            origin = zero[cell]
            next_run = cell
            if zero[above - 1] == origin:
                next_run = above
            while next_run < above and zero[next_run] == origin:
                next_run += 1
            taken = (start[next_run] if next_run < above else done[k]) - origin
            known = max(clean[g] - origin, 0)
            for q in range(len(query)):
                step = every[q]
                if cumulative[q]:
                    i, last = known // step + 1, taken // step
                else:
                    i = np.int64(0) if known < size[q] else (known - size[q]) // step + 1
                    last = (taken - size[q]) // step if taken >= size[q] else np.int64(-1)
                if found + max(last - i + 1, 0) > room:
                    found += max(last - i + 1, 0)
                    continue
                for w in range(i, last + 1):
                    if cumulative[q]:
                        end = w * step
                        begin = (end - 1) // size[q] * size[q]
                    else:
                        begin = w * step
                        end = begin + size[q]
                    queries[found], owners[found] = query[q], k
                    begins[found], ends[found] = begin, end
                    origins[found], runs[found] = origin, first[cell]
                    low, high = bottom, next_run
                    while low < high:
                        middle = (low + high) >> 1
                        if start[middle] < origin + begin:
                            low = middle + 1
                        else:
                            high = middle
                    a[found] = low
                    high = next_run
                    while low < high:
                        middle = (low + high) >> 1
                        if start[middle] < origin + end:
                            low = middle + 1
                        else:
                            high = middle
                    b[found] = low
                    found += 1
            cell = next_run
    return found
