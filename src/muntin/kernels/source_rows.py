"""Source text of kernels over slices of positions: ranges of sorted events into cells, and out of them again."""

from __future__ import annotations

from collections.abc import Callable

from muntin.kernels.source import Lines, combined, indented, inverted, loaded, module, reads, writes
from muntin.kernels.source_fused import masked_hot
from muntin.kernels.source_plan import (
    Plan,
    columns_of,
    count_of,
    events_of,
    lift_event,
    put,
    registers,
    state_of,
    unless_empty,
    valid_where,
    with_count,
)

__all__ = ["INVERT", "fold_ranges", "shift_cells"]

INVERT = -1
"""Of a partial: values are taken out of it again."""


def fold_ranges(plan: Plan, ordered: bool, masked: bool) -> str:
    """Events lo to hi, which stand in order, into a cell, for each range; what the cell holds comes before them.

    What a `fresh` cell holds is not looked at.
    """
    args = [reads("cells", "int64"), reads("lo", "int64"), reads("hi", "int64"), reads("fresh", "int64")]
    args += [*events_of(plan, ordered, masked), *state_of(plan, "")]
    begin: Lines = ["row = cells[r]", "i = lo[r]", "t = time[i]"]
    begin += ["if fresh[r]:", "    first[row] = t", "last[row] = time[hi[r] - 1]"]
    hot: Lines = ["t = time[i]"]
    end: Lines = []
    for count in range(len(plan.counts) + 1):
        groups, counts = with_count(plan, count), count_of(count)
        hidden = bool(count and masked)
        begin += [f"{'v' if hidden else 'w'}{count} = 0 if fresh[r] else {counts}[row]"]
        end += [f"{counts}[row] = v{count}" if hidden else f"{counts}[row] = w{count} + (hi[r] - lo[r])"]
        for k, group in groups:
            a, b, d = (registers(name, k, group) for name in "abd")
            end += put(k, group, "row", a)
            if hidden:
                begin += loaded(group.part, columns_of(k, group), "row", a)
                continue
            both = [*loaded(group.part, columns_of(k, group), "row", d), *combined(k, group.part, d, a, a)]
            begin += [*lift_event(k, group, ordered, a), *unless_empty(f"w{count}", both)]
            hot += [*lift_event(k, group, ordered, b), *combined(k, group.part, a, b, a)]
    late = masked_hot(plan, ordered) if masked else []
    body = [*begin, *late, "for i in range(lo[r] + 1, hi[r]):", *indented([*hot, *late]), *end]
    return module(plan.parts, args, ["for r in range(len(cells)):", *indented(body)])


def shift_cells(plan: Plan, removal: tuple[int, ...], ordered: bool, masked: bool) -> str:
    """Events out of cells and into them: each cell loses some, gets some in front, and some in between.

    `removal` says how a value is taken out of each partial: by `invert`, or not at all, where the first so many fields
    of what is kept tell that it is another value's; where they do not, `again` says so, and the cell is left as it is.
    """
    args = [reads(name, "int64") for name in ("cells", "lo", "hi", "items", "lost", "front", "among")]
    args += [writes("again", "bool"), *events_of(plan, ordered, masked), *state_of(plan, "")]
    tells = _each(plan, masked, lambda k, count: _told(plan, removal, ordered, k))
    outs = _each(plan, masked, lambda k, count: _taken_out(plan, removal, ordered, k), "-")
    fronts = _each(plan, masked, lambda k, count: _put_in(plan, ordered, k, count, True), "+")
    amongs = _each(plan, masked, lambda k, count: _put_in(plan, ordered, k, count, False), "+")
    body = ["row = cells[r]"]
    if any(how != INVERT for how in removal):
        body += ["for j in range(lost[r], front[r]):", *indented(["i = items[j]", "t = time[i]", *tells])]
    rest = ["for j in range(lost[r], front[r]):", *indented(["i = items[j]", "t = time[i]", *outs])]
    rest += ["for j in range(among[r] - 1, front[r] - 1, -1):", *indented(["i = items[j]", "t = time[i]", *fronts])]
    rest += ["for j in range(among[r], lost[r + 1]):", *indented(["i = items[j]", "t = time[i]", *amongs])]
    rest += ["first[row] = time[lo[r]]", "last[row] = time[hi[r] - 1]"]
    body += ["if not again[r]:", *indented(rest)]
    return module(plan.parts, args, ["for r in range(len(cells)):", *indented(body)])


def _each(plan: Plan, masked: bool, lines: Callable[[int, int], Lines], sign: str | None = None) -> Lines:
    """Lines for each partial of event i, where its values are valid; then the counts move by one."""
    found: Lines = []
    for count in range(len(plan.counts) + 1):
        inner = [line for k, _ in with_count(plan, count) for line in lines(k, count)]
        if sign is not None:
            inner = [f"w{count} = {count_of(count)}[row]", *inner, f"{count_of(count)}[row] = w{count} {sign} 1"]
        if inner and count and masked:
            inner = [f"if {valid_where(plan, count)}:", *indented(inner)]
        found += inner
    return found


def _told(plan: Plan, removal: tuple[int, ...], ordered: bool, k: int) -> Lines:
    """Say `again` where event i may be the one that a partial was chosen from."""
    if removal[k] == INVERT:
        return []
    group = plan.groups[k]
    a, b = registers("a", k, group), registers("b", k, group)
    same = [f"({x} == {y} or ({x} != {x} and {y} != {y}))" for x, y in zip(a, b, strict=True)][: removal[k]]
    lines = [*loaded(group.part, columns_of(k, group), "row", a), *lift_event(k, group, ordered, b)]
    return [*lines, f"if {' and '.join(same)}:", "    again[r] = True"]


def _taken_out(plan: Plan, removal: tuple[int, ...], ordered: bool, k: int) -> Lines:
    if removal[k] != INVERT:
        return []
    group = plan.groups[k]
    a, b = registers("a", k, group), registers("b", k, group)
    lines = [*loaded(group.part, columns_of(k, group), "row", a), *lift_event(k, group, ordered, b)]
    return [*lines, *inverted(k, group.part, a, b, a), *put(k, group, "row", a)]


def _put_in(plan: Plan, ordered: bool, k: int, count: int, front: bool) -> Lines:
    """Event i before or after what is there."""
    group = plan.groups[k]
    a, b = registers("a", k, group), registers("b", k, group)
    sides = (b, a) if front else (a, b)
    both = [*loaded(group.part, columns_of(k, group), "row", a), *combined(k, group.part, *sides, b)]
    return [*lift_event(k, group, ordered, b), *unless_empty(f"w{count}", both), *put(k, group, "row", b)]
