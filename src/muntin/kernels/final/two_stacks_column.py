"""Two-stacks over a plain column, one value at a time (paper 4, Figure 5); for partials see `two_stacks`.

The column is the ring: a flip goes backwards over it and writes the aggregates behind, copying no value.

`encoded` is run-length encoding of the aggregates behind, as the paper tried it (section 3.2 (4)): there a minimum
repeats, and a run takes one slot. The paper lost 9 to 18 % by it.
"""
# Run-length encoding lost 32 to 36 % here (int32 minimum, window 1,024: 590 instead of 920 million values per second
# with 64 distinct values, 560 instead of 830 with a million): the branch costs more than the saved stores.

from __future__ import annotations

from muntin.kernels.final.lane_text import FINISH, Op, column, lane_module, number, written
from muntin.kernels.source import Lines, indented

__all__ = ["two_stacks_column"]

_BODY = """    w, count, i, odd = window, u(len(out)), u(0), False
    while i < count:
        a = one(x, i + w - u(1))
{first}
        for q in range(u(2), w + u(1)):
            a = combine(one(x, i + w - q), a)
{behind}
        odd |= put(out, i, a, by, inverse)
        end = min(w, count - i)
        front = one(x, i + w) if end > u(1) else a
        for k in range(u(1), end):
{evict}
            odd |= put(out, i + k, combine(back[top], front), by, inverse)
            if k + u(1) < end:
                front = combine(front, one(x, i + w + k))
        i += w
    if odd:
        for i in range(count):
            settle(x, out, i, i, i + w, mark, False)
"""
# How the aggregates behind are kept: the first of them, one more, and which is on top when the k-th value has left.
_PLAIN: list[Lines] = [["back[w - u(1)] = a"], ["back[w - q] = a"], ["top = k"]]
_ENCODED: list[Lines] = [
    ["top = u(0)", "back[top], runs[top] = a, 1"],
    ["if a == back[top]:", "    runs[top] += 1", "else:", "    top += u(1)", "    back[top], runs[top] = a, 1"],
    ["runs[top] -= 1", "if runs[top] == 0:", "    top -= u(1)"],
]


def two_stacks_column(op: Op, encoded: bool = False) -> str:
    """Windows of `window` values, one with every value; `back` and `runs` have room for a window."""
    args = [column("x", op.source), written("out", op.wide), number("window"), written("back", op.wide)]
    args += [written("runs", "int64"), *FINISH]
    first, behind, evict = _ENCODED if encoded else _PLAIN
    parts = {"first": indented(first), "behind": indented(indented(behind)), "evict": indented(indented(evict))}
    inside = {name: "\n".join(indented(lines)) for name, lines in parts.items()}
    return lane_module(op, args, _BODY.format(**inside))
