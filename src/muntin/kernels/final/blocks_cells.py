"""The block formulation of two-stacks over partials of slices, where all windows of a report are there at once.

Windows go in runs without a flip: all that begin before the first of them ends. Behind, one partial for each window
and not for each slice (paper 4, section 3.2 (2): one value per slide), made backwards; in front, one running partial:

    slices   [ . . . . . . . . . . )
    behind   [---------|            one partial from each window's start up to the end of the first window
                [------|
                    [--|
    in front           |-->         what the next windows have more
"""

from __future__ import annotations

from muntin.kernels.source import Args, Lines, indented, module, reads, scalar
from muntin.kernels.source_merge import all_keys, begun, cleared, ended, one_more, outputs, over
from muntin.kernels.source_plan import Plan, state_of

__all__ = ["blocks_dense", "blocks_one"]


def _args(plan: Plan, *more: tuple[str, str]) -> Args:
    # The results have one row more than there are windows. What is behind a window stands in its row until it is
    # complete, and what is in front in the last one: columns of their own for both cost more than they saved (5 µs).
    return [reads("a", "int64"), reads("b", "int64"), *more, *state_of(plan, "", reads), *state_of(plan, "out_")]


def _runs(behind: Lines, begin: Lines, front: Lines) -> Lines:
    """A loop over runs of windows that only move on; one that goes back begins another run."""
    joins = "while e < count and a[e] < mid and a[e] >= a[e - 1] and b[e] >= b[e - 1]:"
    lines = ["mid, e = b[begin], begin + 1", joins, "    e += 1", "end = mid"]
    lines += ["for q in range(e - begin):", *indented(["i = e - 1 - q", *behind, "end = a[i]"])]
    lines += [*begin, "done = mid", "for i in range(begin, e):", *indented(front), "begin = e"]
    return ["begin, count = 0, len(a)", "while begin < count:", *indented(lines)]


def blocks_one(plan: Plan) -> str:
    """Rows a to b of cells as one, for each window."""
    behind = [*begun(plan), *over(plan, "a[i]", "end"), "if q != 0:", *indented(one_more(plan, "i + 1", "out_"))]
    begin = [*begun(plan), *ended(plan, "out_", "count")]
    front = [*begun(plan), *one_more(plan, "count", "out_"), *over(plan, "done", "b[i]"), *ended(plan, "out_", "count")]
    front = ["if done < b[i]:", *indented([*front, "done = b[i]"])]
    front += [*begun(plan), *one_more(plan, "i", "out_"), *one_more(plan, "count", "out_"), *ended(plan, "out_")]
    return module(plan.parts, _args(plan), _runs([*behind, *ended(plan, "out_")], begin, front))


def blocks_dense(plan: Plan) -> str:
    """The same for all keys: row r holds key k in cell `r * stride + k`; loops over keys, which LLVM vectorises."""
    rows = indented(all_keys(plan, "r * stride"))
    behind = [*outputs(plan, "i * keys"), *cleared(plan), "for r in range(a[i], end):", *rows]
    behind += ["if q != 0:", *indented(all_keys(plan, "(i + 1) * keys", "out_"))]
    begin = [*outputs(plan, "count * keys"), *cleared(plan)]
    front = [*outputs(plan, "count * keys"), "for r in range(done, b[i]):", *rows, "done = b[i]"]
    front += [*outputs(plan, "i * keys"), *all_keys(plan, "count * keys", "out_")]
    return module(plan.parts, _args(plan, scalar("stride"), scalar("keys")), _runs(behind, begin, front))
