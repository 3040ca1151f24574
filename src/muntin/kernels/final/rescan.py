"""Rescan: every window from its values alone (paper 4, section 2.2: non-incremental), vectorised.

It is the best where windows hardly overlap, and it is also how slides are aggregated before they are combined
(section 3.2 (3)). For partials of slices see `merge_ranges` in `muntin.kernels.source_merge`, which is the same.
"""

from __future__ import annotations

from muntin.kernels.final.lane_text import FINISH, Op, column, lane_module, number, written

__all__ = ["ranges", "regular"]


def regular(op: Op) -> str:
    """Windows of `size` values, one every `every` values."""
    args = [column("x", op.source), written("out", op.wide), number("size"), number("every")]
    args += [written("room", op.wide), *FINISH]
    body = """    count, i, odd = u(len(out)), u(0), False
    if size >= u(8):
        while i + u(8) <= count:
            odd |= put_eight(out, i, eight(x, i * every, size, every, room), by, inverse)
            i += u(8)
    while i < count:
        odd |= put(out, i, reduced(x, i * every, i * every + size), by, inverse)
        i += u(1)
    if odd:
        for i in range(count):
            settle(x, out, i, i * every, i * every + size, mark, False)
"""
    return lane_module(op, args, body)


def ranges(op: Op) -> str:
    """The values lo[i] to hi[i] as one; an empty range gives `empty`."""
    args = [column("x", op.source), written("out", op.wide), column("lo", "int64"), column("hi", "int64")]
    args += [number("empty", op.wide), written("mark", "uint64")]
    body = """    odd = False
    for i in range(u(len(out))):
        if lo[i] < hi[i]:
            odd |= put(out, i, reduced(x, u(lo[i]), u(hi[i])), 1.0, 1.0)
        else:
            out[i] = empty
    if odd:
        for i in range(u(len(out))):
            if lo[i] < hi[i]:
                settle(x, out, i, u(lo[i]), u(hi[i]), mark, False)
"""
    return lane_module(op, args, body)
