"""The block formulation of two-stacks: eight windows side by side, two-stacks on vectors (paper 4, section 3).

Eight windows that begin one after the other are a lane each. Over values x, let s(j) be eight sums of eight values,
that of lane l over x[j + l] to x[j + l + 7]: three additions and three shuffles of what the last step left. Then the
windows from i on are the lane-wise sum of s(i), s(i + 8), ... : a sliding window over vectors. Its back stack is a
block's suffixes, its front a running prefix, and a flip is one pass backwards over a block, all on vectors:

    steps     s0  s1  s2  s3 | s4  s5  s6  s7 | ...      windows of four steps
    behind    <-----------                               suffixes of the block, made at the flip
    in front                   ----->                    running aggregate of the next
    window        [------------------)                   suffix of s1, prefix up to s4

Each result is combined from the values of its window alone, so nothing drifts and no NaN outlives its window.
"""

from __future__ import annotations

from muntin.kernels.final.lane_text import FINISH, Op, column, lane_module, number, written

__all__ = ["blocks"]

_HELPERS = """
@njit(**INNER)
def begun(x):
    v = take(x, u(0))
    v = shifted_1(v, v)
    a = combine(v, shifted_1(v, v))
    return v, a, combine(a, shifted_2(a, a))


@njit(**INNER)
def step(c, x, j):
    v = take(x, j + u(7))
    a = combine(shifted_1(c[0], v), v)
    b = combine(shifted_2(c[1], a), a)
    return combine(shifted_4(c[2], b), b), (v, a, b)


@njit(**INNER)
def rest(x, o, j, count):
    for k in range(count):
        o = combine(o, take(x, j + k))
    return o


@njit(**INNER)
def report(heads, out, i, o, by, inverse):
    {heads}
    return put_eight(out, i, o, by, inverse)

"""
_BODY = """    n, w = u(len(x)), window
    count = n - w + u(1)
    m, r = w // u(8), w % u(8)
    full, odd = u(0), False
    if u(0) < m and m < u(3) and n >= u(8) * m + u(15):
        # One step or two: nothing is kept but the step before.
        full = (n - u(7)) // u(8) - m
        s, c = step(begun(x), x, u(0))
        for a in range(full):
            i = a * u(8)
            t, c = step(c, x, i + u(8))
            o = s if m == u(1) else combine(s, t)
            odd |= report(heads, out, i, rest(x, o, i + m * u(8), r), by, inverse)
            s = t
    elif m < u(3):
        full = count // u(8)
        for a in range(full):
            i = a * u(8)
            odd |= report(heads, out, i, rest(x, take(x, i), i + u(1), w - u(1)), by, inverse)
    elif n >= u(8) * m + u(15):
        full = (n - u(7)) // u(8) - m
        c = begun(x)
        for k in range(m):
            s, c = step(c, x, k * u(8))
            store(ring, k * u(8), s)
        a = u(0)
        while a < full:
            # The flip: suffixes where the values were.
            last = (m - u(1)) * u(8)
            o = load(ring, last, Z)
            for q in range(u(1), m):
                p = last - q * u(8)
                o = combine(load(ring, p, Z), o)
                store(ring, p, o)
            i, j, end = a * u(8), (a + m) * u(8), min(m, full - a)
            odd |= report(heads, out, i, rest(x, o, j, r), by, inverse)
            s, c = step(c, x, j)
            front = s
            store(ring, u(0), s)
            for k in range(u(1), end):
                p = k * u(8)
                o = combine(load(ring, p, Z), front)
                odd |= report(heads, out, i + p, rest(x, o, j + p, r), by, inverse)
                s, c = step(c, x, j + p)
                front = combine(front, s)
                store(ring, p, s)
            a += m
    # A few windows are left, less than eight or where vectors would reach past the end. What all of them share is
    # combined once.
    first, last = full * u(8), count - u(1)
    shares = first + w > last
    shared = reduced(x, last, first + w) if shares else one(x, first)
    for i in range(first, count):
        if not shares:
            o = reduced(x, i, i + w)
        else:
            o = shared
            if i < last:
                o = combine(reduced(x, i, last), o)
            if i > first:
                o = combine(o, reduced(x, first + w, i + w))
        {head}
        odd |= put(out, i, o, by, inverse)
    if odd:
        for i in range(count):
            settle(x, out, i, i, i + w, mark, {also})
"""


def blocks(op: Op, headed: bool) -> str:
    """Windows of `window` values, one with every value; with the head of one more slide each where `headed`."""
    args = [column("x", op.source), column("heads", op.wide), written("out", op.wide), number("window")]
    args += [written("ring", op.wide), *FINISH]
    also = {"min": "heads[i] == heads[i]", "max": "heads[i] != heads[i]"}.get(op.name, "") if headed and op.nan else ""
    helpers = _HELPERS.format(heads="o = combine(o, take_head(heads, i))" if headed else "pass")
    clean = op.name in ("min", "max")
    load = "cleaned(load(x, i, Z))" if clean else "load(x, i, Z)"
    helpers = f"\n@njit(**INNER)\ndef take_head(x, i):\n    return {load}\n\n" + helpers
    one = "cleaned(heads[i])" if clean else "heads[i]"
    body = _BODY.format(head=f"o = combine(o, {one})" if headed else "", also=also or "False")
    return lane_module(op, args, body, helpers)
