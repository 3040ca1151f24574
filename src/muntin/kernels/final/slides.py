"""Pre-aggregation: the values of each slide as one, in bulk and vectorised (paper 4, section 3.2 (3)).

Where a window is no multiple of its slide, it ends within one: the head of that slide is kept beside the whole.

    slides   [ h |       )[ h |       )[ h |       )
    window   [------------------------------)         two slides and the head of the third
"""

from __future__ import annotations

from muntin.kernels.final.lane_text import Op, column, lane_module, number, written

__all__ = ["slides"]


def slides(op: Op) -> str:
    """Slides of `every` values, and their first `head` values from slide `first` on."""
    args = [column("x", op.source), written("out", op.wide), written("heads", op.wide), number("every")]
    args += [number("head"), number("first"), written("room", op.wide), written("aside", op.wide)]
    args += [written("mark", "uint64"), written("head_mark", "uint64")]
    body = """    count, i, odd = u(len(out)), u(0), False
    rest, from_head = every - head, u(len(heads)) > u(0)
    while i < count:
        lo = i * every
        many = i + u(8) <= count
        if many and rest >= u(8) and (head == u(0) or head >= u(8)):
            if head == u(0):
                v = eight(x, lo, every, every, room)
            else:
                # Heads and rests in turn, as they lie: eight of the one and then of the other took four times as long
                # from memory (float64, windows of 1,000 values every 64).
                for k in range(u(8)):
                    store(aside, k * u(8), vector(x, lo, lo + head))
                    store(room, k * u(8), vector(x, lo + head, lo + every))
                    lo += every
                h = folded(aside)
                v = combine(h, folded(room))
                store(aside, u(0), h)
                for k in range(u(8)):
                    if i + k >= first:
                        heads[i + k - first] = aside[k]
            odd |= put_eight(out, i, v, 1.0, 1.0)
            i += u(8)
            continue
        a = reduced(x, lo + head, lo + every)
        if head != u(0):
            h = reduced(x, lo, lo + head)
            a = combine(h, a)
            if i >= first:
                heads[i - first] = h
        odd |= put(out, i, a, 1.0, 1.0)
        i += u(1)
    if from_head:
        lo = count * every
        heads[count - first] = reduced(x, lo, lo + head)
        for k in range(u(len(heads))):
            lo = (k + first) * every
            settle(x, heads, k, lo, lo + head, head_mark, False)
    if odd:
        for i in range(count):
            settle(x, out, i, i * every, i * every + every, mark, False)
"""
    return lane_module(op, args, body)
