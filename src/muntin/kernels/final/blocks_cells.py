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
    found = [reads("a", "int64"), reads("b", "int64"), *more, *state_of(plan, "", reads)]
    return found + [arg for prefix in ("back_", "front_", "out_") for arg in state_of(plan, prefix)]


def _runs(behind: Lines, begin: Lines, front: Lines) -> Lines:
    """A loop over runs of windows; both a and b never go back."""
    lines = ["mid, e = b[begin], begin + 1", "while e < count and a[e] < mid:", "    e += 1", "end = mid"]
    lines += ["for q in range(e - begin):", *indented(["k0 = e - 1 - begin - q", *behind, "end = a[k0 + begin]"])]
    lines += [*begin, "done = mid", "for i in range(begin, e):", *indented([*front]), "begin = e"]
    return ["begin, count = 0, len(a)", "while begin < count:", *indented(lines)]


def blocks_one(plan: Plan) -> str:
    """Rows a to b of cells as one, for each window."""
    behind = [*begun(plan), *over(plan, "a[k0 + begin]", "end"), "if q != 0:"]
    behind += [*indented(one_more(plan, "k0 + 1", "back_")), *ended(plan, "back_", "k0")]
    begin = [*begun(plan), *ended(plan, "front_", "0")]
    front = [*begun(plan), *one_more(plan, "0", "front_"), *over(plan, "done", "b[i]"), *ended(plan, "front_", "0")]
    front += ["done = b[i]", *begun(plan), *one_more(plan, "i - begin", "back_"), *one_more(plan, "0", "front_")]
    return module(plan.parts, _args(plan), _runs(behind, begin, [*front, *ended(plan, "out_")]))


def blocks_dense(plan: Plan) -> str:
    """The same for all keys: row r holds key k in cell `r * stride + k`; loops over keys, which LLVM vectorises."""
    rows = indented(all_keys(plan, "r * stride"))
    behind = [*outputs(plan, "k0 * keys", "back_"), *cleared(plan), "for r in range(a[k0 + begin], end):", *rows]
    behind += ["if q != 0:", *indented(all_keys(plan, "(k0 + 1) * keys", "back_"))]
    begin = [*outputs(plan, "0", "front_"), *cleared(plan)]
    front = [*outputs(plan, "0", "front_"), "for r in range(done, b[i]):", *rows, "done = b[i]"]
    front += [*outputs(plan, "i * keys"), *cleared(plan)]
    front += [*all_keys(plan, "(i - begin) * keys", "back_"), *all_keys(plan, "0", "front_")]
    return module(plan.parts, _args(plan, scalar("stride"), scalar("keys")), _runs(behind, begin, front))
