"""Source text of the kernels over a tree of partials: FlatFAT on slices (paper 1, sections 5.2 and 5.3).

Level 0 are the slices, in their columns; a row of level l + 1 combines FAN rows of level l. Rows go by running numbers,
which a slice keeps while others come and go: block k of level l holds the slices k * FAN ** l and on. So a window is
always combined from the same blocks, and a float comes out the same to its last bit.

One call brings the blocks that changed up to date and then answers many ranges, each through all levels, in order:

    slices   [ . . . . | . . . . | . . . . | . . . . ]
    range          [---)-- block --)-- block --)-)
"""

from __future__ import annotations

from muntin.kernels.source import Args, Lines, helper, indented, module, reads, scalar, writes
from muntin.kernels.source_merge import all_keys, begun, cleared, ended, held, outputs, over
from muntin.kernels.source_plan import Plan, state_of

__all__ = ["FAN_SHIFT", "tree_dense", "tree_one"]

FAN_SHIFT = 4
FAN = 1 << FAN_SHIFT


def _args(plan: Plan, *more: tuple[str, str]) -> Args:
    """Ranges of rows; between which running numbers blocks are brought up to date; the tree; its slices.

    Without ranges that is between lo and hi, else between the first and the last row asked for. Slice s stands in row
    `s - origin` of its columns, block k of level l + 1 in row `off[l] + k` of the tree's.
    Blocks that changed are `dirty`, and between hull[2 * l] and hull[2 * l + 1].
    """
    found = [reads("a", "int64"), reads("b", "int64"), scalar("lo"), scalar("hi"), scalar("origin"), *more]
    found += [reads("off", "int64"), writes("hull", "int64"), writes("dirty", "bool")]
    return [*found, *state_of(plan, "s_"), *state_of(plan, "t_"), *state_of(plan, "out_")]


def _named(plan: Plan, prefix: str) -> list[str]:
    return [name for name, _ in state_of(plan, prefix)]


def _settled(children: Lines, blocks: Lines) -> Lines:
    """Blocks that changed and lie wholly between lo and hi are combined anew, level by level."""
    block = [
        "if dirty[off[level] + k]:",
        *indented([
            "dirty[off[level] + k] = False", "i = off[level] + k",
            "if level == 0:", f"    below = {FAN} * k - origin", *indented(children),
            "else:", f"    below = off[level - 1] + {FAN} * k", *indented(blocks),
        ]),
    ]  # fmt: skip
    return [
        "for i in range(len(a)):",
        "    lo = min(lo, a[i] + origin) if i else a[i] + origin",
        "    hi = max(hi, b[i] + origin) if i else b[i] + origin",
        "for level in range(len(off)):",
        *indented([
            f"lo = (lo + {FAN - 1}) >> {FAN_SHIFT}", f"hi = hi >> {FAN_SHIFT}",
            "first, last = max(lo, hull[2 * level]), min(hi, hull[2 * level + 1])",
            "for k in range(first, last):", *indented(block),
            # What is left of the blocks that changed lies before or after.
            "if lo <= hull[2 * level]:", "    hull[2 * level] = max(hull[2 * level], last)",
            "elif hi >= hull[2 * level + 1]:", "    hull[2 * level + 1] = min(hull[2 * level + 1], first)",
        ]),
    ]  # fmt: skip


def _answered(begin: Lines, slices: Lines, blocks: Lines, end: Lines) -> Lines:
    """Each range: slices up to a block's edge, blocks, blocks of blocks, and down again on the other side.

    `slices` and `blocks` combine the rows x to y of the slices or of the tree.
    """
    up = [
        f"left, right = (x + {FAN - 1}) >> {FAN_SHIFT}, y >> {FAN_SHIFT}",
        "if level == len(off) or left >= right:", "    break",
        "ends[level] = y",
        f"x, y = (x, left << {FAN_SHIFT})",
        "if level == 0:", "    x, y = x - origin, y - origin", *indented(slices),
        "else:", "    x, y = x + off[level - 1], y + off[level - 1]", *indented(blocks),
        "x, y = left, right",
        "level += 1",
    ]  # fmt: skip
    middle = [
        "if level == 0:", "    x, y = x - origin, y - origin", *indented(slices),
        "else:", "    x, y = x + off[level - 1], y + off[level - 1]", *indented(blocks),
    ]  # fmt: skip
    down = [
        "level -= 1",
        f"x, y = (ends[level] >> {FAN_SHIFT}) << {FAN_SHIFT}, ends[level]",
        *middle,
    ]
    body = [*begin, "x, y, level = a[i] + origin, b[i] + origin, 0", "while True:", *indented(up)]
    body += [*middle, "while level > 0:", *indented(down), *end]
    return ["ends = np.zeros(len(off) + 1, np.int64)", "for i in range(len(a)):", *indented(body)]


def tree_one(plan: Plan) -> str:
    """The tree over slices of one key."""
    kept = held(plan)
    inner = helper(
        "over", ["lo", "hi", *kept, *_named(plan, "")], [*over(plan, "lo", "hi"), f"return {', '.join(kept)}"]
    )

    def rows(lo: str, hi: str, source: str) -> Lines:
        return [f"{', '.join(kept)} = over({', '.join([lo, hi, *kept, *_named(plan, source)])})"]

    def child(source: str) -> Lines:
        return [*begun(plan), *rows("below", f"below + {FAN}", source), *ended(plan, "t_")]

    body = _settled(child("s_"), child("t_"))
    body += _answered(begun(plan), rows("x", "y", "s_"), rows("x", "y", "t_"), ended(plan, "out_"))
    return module(plan.parts, _args(plan), body, inner)


def tree_dense(plan: Plan) -> str:
    """The tree over slices of all keys: row r of columns are the cells r * stride and on; results i * keys and on."""
    names = ["lo", "hi", "stride", "keys", "place", *_named(plan, ""), *_named(plan, "out_")]
    views = outputs(plan, "place")
    over = helper("over", names, [*views, "for r in range(lo, hi):", *indented(all_keys(plan, "r * stride"))])
    over += helper("clear", ["keys", "place", *_named(plan, "out_")], [*views, *cleared(plan)])

    def rows(lo: str, hi: str, source: str, place: str, into: str) -> Lines:
        given = [lo, hi, "stride", "keys", place, *_named(plan, source), *_named(plan, into)]
        return [f"over({', '.join(given)})"]

    def clear(place: str, into: str) -> Lines:
        return [f"clear({', '.join(['keys', place, *_named(plan, into)])})"]

    def child(source: str) -> Lines:
        return [*clear("i * stride", "t_"), *rows("below", f"below + {FAN}", source, "i * stride", "t_")]

    body = _settled(child("s_"), child("t_"))
    begin, slices, blocks = (
        clear("i * keys", "out_"),
        rows("x", "y", "s_", "i * keys", "out_"),
        rows("x", "y", "t_", "i * keys", "out_"),
    )
    body += _answered(begin, slices, blocks, [])
    return module(plan.parts, _args(plan, scalar("stride"), scalar("keys")), body, over)
