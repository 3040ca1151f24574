"""Source text of kernels that put cells where they belong in tables: at one place each, or over a stretch of places.

A stretch goes into a tree over the places of a row: node 1 is the root, node i has the children 2 i and 2 i + 1, and
place c is node `wide + c`. A cell over a stretch goes into the few nodes that make it up, whatever its length; then
every node hands what it has down to its children.

    places      0   1   2   3   4   5   6   7
    stretch         [-----------------------)
    nodes           ^   [-----) [-----) ^
"""

from __future__ import annotations

from muntin.kernels.source import Lines, indented, module, reads, scalar
from muntin.kernels.source_merge import begun, ended, over
from muntin.kernels.source_plan import Plan, state_of

__all__ = ["cover_stretches", "cover_twice", "merge_into"]


def _into(plan: Plan, source: str, prefix: str = "") -> Lines:
    """Row `source` of some columns into row i of the columns `out_`, after what is there."""
    here, there = over(plan, "i", "i + 1", "out_"), over(plan, source, f"{source} + 1", prefix)
    return [*begun(plan), *here, *there, *ended(plan, "out_")]


def merge_into(plan: Plan) -> str:
    """Row items[c] into row rows[c] of a table, one after the other."""
    args = [reads("rows", "int64"), reads("items", "int64"), *state_of(plan, "", reads), *state_of(plan, "out_")]
    return module(
        plan.parts, args, ["for c in range(len(rows)):", *indented(["i = rows[c]", *_into(plan, "items[c]")])]
    )


def cover_stretches(plan: Plan) -> str:
    """Row items[c] over the places lo[c] to hi[c] of row `owner[c]`; the leaves of each row's tree are its places."""
    args = [*(reads(name, "int64") for name in ("owner", "lo", "hi", "items")), scalar("rows"), scalar("wide")]
    args += [*state_of(plan, "", reads), *state_of(plan, "out_")]
    climb = [
        "if p & 1 != 0:", *indented(["i = base + p", *_into(plan, "items[c]"), "p += 1"]),
        "if q & 1 != 0:", *indented(["q -= 1", "i = base + q", *_into(plan, "items[c]")]),
        "p >>= 1", "q >>= 1",
    ]  # fmt: skip
    inside = ["base = owner[c] * 2 * wide", "p, q = lo[c] + wide, hi[c] + wide", "while p < q:", *indented(climb)]
    handed = ["parent = base + (node >> 1)", "if out_n[parent] != 0:"]
    handed += indented(["i = base + node", *_into(plan, "parent", "out_")])
    down = ["base = r * 2 * wide", "for node in range(2, 2 * wide):", *indented(handed)]
    body = ["for c in range(len(owner)):", *indented(inside), "for r in range(rows):", *indented(down)]
    return module(plan.parts, args, body)


def cover_twice(plan: Plan) -> str:
    """The same for aggregates to which it is no matter that an event counts twice: two stretches make up any other.

    Level k of the table has the stretches of 2 ** k places by their first one, all rows of it one after the other; what
    they have is handed down level by level. Level 0 are the places.
    """
    args = [*(reads(name, "int64") for name in ("owner", "lo", "hi", "items"))]
    args += [*map(scalar, ("rows", "width", "levels")), *state_of(plan, "", reads), *state_of(plan, "out_")]
    inside = ["size = hi[c] - lo[c]", "if size > 0:"]
    both = ["k = 0", "while (2 << k) <= size:", "    k += 1", "base = (k * rows + owner[c]) * width"]
    both += ["i = base + lo[c]", *_into(plan, "items[c]"), "if size > (1 << k):"]
    both += indented(["i = base + hi[c] - (1 << k)", *_into(plan, "items[c]")])
    handed = ["i = from_ - rows * width", *_into(plan, "from_", "out_")]
    handed += ["i += 1 << (k - 1)", *_into(plan, "from_", "out_")]
    level = ["base = k * rows * width", "for from_ in range(base, base + rows * width):"]
    level += indented(["if out_n[from_] != 0:", *indented(handed)])
    body = ["for c in range(len(owner)):", *indented([*inside, *indented(both)])]
    body += ["for k in range(levels - 1, 0, -1):", *indented(level)]
    return module(plan.parts, args, body)
