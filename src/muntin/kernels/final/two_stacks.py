"""Two-stacks on a ring buffer (paper 4, section 3.2 and Figure 5), resumable between calls, for all keys.

In front only the values, in the ring, and one running aggregate; behind only aggregates, each of its value and all
after it up to the middle (section 3.2 (2)). A flip copies nothing: it goes backwards over the ring and writes the
aggregates behind. They stand in a ring of their own: in place, the loop became masked moves.

    ring     . . [ 8 2 1 | 5 0 )          lo, mid, end: running numbers of values, `& mask` of places
    behind       [ 1 1 1 |                aggregates of what is left of the values when the middle was the end
    in front             |---> 0          one running aggregate

A window that has nothing in common with the one before, or goes back, begins anew: so the windows of several keys or
queries, one after the other, are one call.
"""

from __future__ import annotations

from muntin.kernels.source import Args, Lines, indented, module, reads, scalar, writes
from muntin.kernels.source_merge import begun, ended, one_more
from muntin.kernels.source_plan import Plan, state_of

__all__ = ["anew", "fifo_args", "per_key", "two_stacks"]


def fifo_args(plan: Plan, *rings: str) -> Args:
    """Windows from a to b, by the running numbers of cells; the cells from number `start` on, `stride` apart."""
    found = [reads("a", "int64"), reads("b", "int64"), scalar("start"), scalar("stride"), scalar("keys")]
    found += [scalar("mask"), writes("meta", "int64"), *state_of(plan, "", reads)]
    return found + [arg for prefix in (*rings, "out_") for arg in state_of(plan, prefix)]


def per_key(*lines: str) -> Lines:
    """Some lines for each key."""
    return ["for key in range(keys):", *indented(list(lines))]


def anew(lo: str, end: str, lines: Lines) -> Lines:
    """Some lines where window i cannot go on from the one before."""
    return [f"if a[i] >= {end} or a[i] < {lo} or b[i] < {end}:", *indented(lines)]


CELL = "(p - start) * stride + key"
RING = "(p & mask) * keys + key"


def two_stacks(plan: Plan) -> str:
    """Insert up to b, evict up to a, report: for each window in turn. `meta` is lo, mid and end."""
    insert = [*begun(plan), *one_more(plan, CELL), *ended(plan, "ring_", RING)]
    insert += [*begun(plan), *one_more(plan, "key", "front_"), *one_more(plan, RING, "ring_")]
    insert += ended(plan, "front_", "key")
    flip = [*begun(plan), *one_more(plan, RING, "ring_"), "if p + 1 < end:"]
    flip += indented(one_more(plan, "((p + 1) & mask) * keys + key", "back_"))
    flip += ended(plan, "back_", RING)
    report = [*begun(plan), "if lo < mid:", *indented(one_more(plan, "(lo & mask) * keys + key", "back_"))]
    report += [*one_more(plan, "key", "front_"), *ended(plan, "out_", "i * keys + key")]
    empty = per_key(*begun(plan), *ended(plan, "front_", "key"))
    turn = ["for q in range(end - lo):", *indented(["p = end - 1 - q", *per_key(*flip)])]
    turn += [*empty, "mid = end"]
    window = anew("lo", "end", ["lo, mid, end = a[i], a[i], a[i]", *empty])
    window += ["for p in range(end, b[i]):", *indented(per_key(*insert)), "end, lo = b[i], a[i]"]
    window += ["if lo >= mid:", *indented(turn), *per_key(*report)]
    body = ["lo, mid, end = meta[0], meta[1], meta[2]", "for i in range(len(a)):", *indented(window)]
    body += ["meta[0], meta[1], meta[2] = lo, mid, end"]
    return module(plan.parts, fifo_args(plan, "ring_", "back_", "front_"), body)
