"""Source text of the fold of kept events over slices that are cached: pieces at the edges, whole slices between.

Events have levels: one of level l begins a slice on each level up to l, so slices are nested. A range is combined the
same way whichever level is cached, so that a float comes out the same to its last bit:

    events    . . . | . . . | . . . | . . . | . . .        | begins a slice of level 1 or more
    level 1     [---)   [---)   [---)   [---)
    level 2                 [-----------)                  combined from those of level 1

There is one partial for what came since the last slice of each level began. Where a slice of level l ends, its partial
goes to that of the level above; at the end all go up, from the lowest to the highest.
"""

from __future__ import annotations

from muntin.kernels.source import (
    Lines,
    as_type,
    combined,
    indented,
    loaded,
    module,
    reads,
    scalar,
    wide,
)
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
    with_count,
)

__all__ = ["fold_pieces"]


def fold_pieces(plan: Plan, ordered: bool, masked: bool) -> str:
    """Events lo to hi as one, for each range; the whole slices first to last in it are taken from the cache.

    Marks are the events of level 1 or more, with their rows and levels; `after` is the first one past lo. Slice q of
    the level `cached` begins at mark `begins[q]` and ends where the next one begins. `t_` has a row per level, and one
    more; all are empty.
    """
    args = [reads(name, "int64") for name in ("lo", "hi", "after", "first", "last", "begins", "mark")]
    args += [reads("level", "uint8"), scalar("cached"), *events_of(plan, ordered, masked)]
    args += [*state_of(plan, "s_", reads), *state_of(plan, "t_"), *state_of(plan, "out_")]
    whole = [
        *_added(plan, "t_", "cached", "s_", "q"),
        "q += 1", "p = begins[q]", "g = mark[p]",
    ]  # fmt: skip
    piece = [
        "e = b", "if p < marks and mark[p] < b:", "    e = mark[p]",
        *_folded(plan, ordered, masked),
        "g = e",
    ]  # fmt: skip
    inner = [
        "a, b, p, q, z = lo[s], hi[s], after[s], first[s], last[s]",
        "g = a",
        "while g < b:",
        *indented([
            "if q < z and mark[begins[q]] == g:", *indented(whole),
            "else:", *indented(piece),
            "if g < b:", *indented(["up = np.int64(level[p])", "p += 1", *_up(plan)]),
        ]),
        "up = top", *_up(plan),
        *_copied(plan),
    ]  # fmt: skip
    body = ["marks = len(mark)", "top = len(t_n) - 1", *_registers(plan), "for s in range(len(lo)):", *indented(inner)]
    return module(plan.parts, args, body)


def _registers(plan: Plan) -> Lines:
    lines = [f"v{count} = 0" for count in range(len(plan.counts) + 1)]
    for k, group in enumerate(plan.groups):
        named = zip(registers("a", k, group), group.part.slots, strict=True)
        lines += [f"{name} = {as_type(wide(slot), '0')}" for name, slot in named]
    return lines


def _folded(plan: Plan, ordered: bool, masked: bool) -> Lines:
    """Events g to e into the lowest partial, which is empty."""
    named = [f"v{count}" for count in range(len(plan.counts) + 1)]
    # without nulls the first event needs no question, and neither do the others
    peeled = [count for count in range(len(named)) if not (count and masked)]
    first, more = ["i = g", "t = time[i]"], []
    for count in peeled:
        for k, group in with_count(plan, count):
            a, b = registers("a", k, group), registers("b", k, group)
            first += lift_event(k, group, ordered, a)
            more += [*lift_event(k, group, ordered, b), *combined(k, group.part, a, b, a)]
    lines = [*(f"{name} = 0" for name in named), *first]
    if masked:
        hot = masked_hot(plan, ordered)
        lines += [*hot, "for i in range(g + 1, e):", *indented(["t = time[i]", *more, *hot]), "v0 = e - g"]
    else:
        lines += ["for i in range(g + 1, e):", *indented(["t = time[i]", *more])]
        lines += [f"{name} = e - g" for name in named]
    lines += [f"t_{count_of(count)}[0] = v{count}" for count in range(len(named))]
    for k, group in enumerate(plan.groups):
        lines += put(k, group, "0", registers("a", k, group), "t_")
    return lines


def _added(plan: Plan, into: str, row: str, source: str, at: str) -> Lines:
    """A cell after what another one holds."""
    lines = []
    for count in range(len(plan.counts) + 1):
        counts = count_of(count)
        inner = [f"v{count} = {into}{counts}[{row}]"]
        for k, group in with_count(plan, count):
            a, b = registers("a", k, group), registers("b", k, group)
            both = [*loaded(group.part, columns_of(k, group, into), row, a), *combined(k, group.part, a, b, b)]
            inner += loaded(group.part, columns_of(k, group, source), at, b)
            inner += [*unless_empty(f"v{count}", both), *put(k, group, row, b, into)]
        inner.append(f"{into}{counts}[{row}] = v{count} + w{count}")
        lines += [f"w{count} = {source}{counts}[{at}]", f"if w{count} != 0:", *indented(inner)]
    return lines


def _up(plan: Plan) -> Lines:
    """The partials of all levels below `up` go one up, from the lowest on."""
    clear = [f"t_{count_of(count)}[x] = 0" for count in range(len(plan.counts) + 1)]
    return ["for x in range(up):", *indented([*_added(plan, "t_", "x + 1", "t_", "x"), *clear])]


def _copied(plan: Plan) -> Lines:
    """The highest partial is the result, and empty again."""
    names = [name for name, _ in state_of(plan, "") if name not in ("first", "last")]
    clear = [f"t_{count_of(count)}[top] = 0" for count in range(len(plan.counts) + 1)]
    return [*(f"out_{name}[s] = t_{name}[top]" for name in names), *clear]
