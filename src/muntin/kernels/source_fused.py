"""Source text of the fused kernels: all aggregates of all queries in one pass over a batch, and merges of cells.

A cell is a row over columns: n, first, last (the number of events and their first and last time), the numbers of
valid values, then the fields of the partials. No identity is needed: a partial is empty where its count is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from muntin.kernels.source import (
    Args,
    Lines,
    Part,
    as_type,
    combined,
    indented,
    lifted,
    loaded,
    module,
    names,
    reads,
    scalar,
    stored,
    wide,
    writes,
)

__all__ = [
    "GRID",
    "Group",
    "Plan",
    "merge_blocks",
    "merge_dense",
    "merge_gather",
    "merge_headed",
    "merge_ranges",
    "update_cells",
    "update_keyed",
    "update_one",
]

LATEST, EARLIEST = 2**63 - 1, -(2**63)


class Group(NamedTuple):
    """A partial that one or several aggregates share."""

    part: Part
    columns: tuple[int, ...]
    """Which of the plan's columns it lifts."""
    counter: int
    """The column with the number of its values: 0 for n, else 1 + the place in the plan's counts."""
    counted: int | None
    """The field that always equals that number, and so needs no column of its own."""


class Plan(NamedTuple):
    """The cells of some aggregates."""

    groups: tuple[Group, ...]
    columns: tuple[str, ...]
    """Types of the columns of values."""
    masks: int
    """How many of the columns may have nulls."""
    counts: tuple[tuple[int, ...], ...]
    """For each count of valid values: the masks that must all be true."""
    spans: bool = True
    """Whether first and last are kept; only sessions need them."""

    @property
    def timed(self) -> bool:
        """Whether an aggregate looks at the order."""
        return any(group.part.timed for group in self.groups)

    @property
    def parts(self) -> list[Part]:
        """The partials."""
        return [group.part for group in self.groups]


# -- columns and registers of a plan -----------------------------------------------------------------------------------


def _count(count: int) -> str:
    return f"c{count}" if count else "n"


def _columns(k: int, group: Group, prefix: str = "", counts: str | None = None) -> list[str]:
    """The columns that hold a group's fields."""
    found = names(f"{prefix}g{k}_", group.part)
    if group.counted is not None:
        found[group.counted] = counts or prefix + _count(group.counter)
    return found


def _own(group: Group, things: Sequence[str]) -> list[str]:
    """Those of a group's fields that have a column of their own."""
    return [thing for i, thing in enumerate(things) if i != group.counted]


def _put(k: int, group: Group, row: str, values: Sequence[str], prefix: str = "") -> Lines:
    return stored(_own(group, _columns(k, group, prefix)), row, _own(group, values))


def _registers(name: str, k: int, group: Group) -> list[str]:
    return names(f"{name}{k}_", group.part)


def _state(plan: Plan, prefix: str, make: Callable[[str, str], tuple[str, str]] = writes) -> Args:
    found = [make(f"{prefix}{name}", "int64") for name in ("n", "first", "last")]
    found += [make(f"{prefix}{_count(q + 1)}", "int64") for q in range(len(plan.counts))]
    for k, group in enumerate(plan.groups):
        found += map(make, _own(group, _columns(k, group, prefix)), _own(group, group.part.slots))
    return found


def _events(plan: Plan, ordered: bool, masked: bool) -> Args:
    found = [reads("time", "int64"), *([reads("order", "int64")] if ordered else [])]
    found += [reads(f"x{i}", dtype) for i, dtype in enumerate(plan.columns)]
    return found + ([reads(f"m{i}", "bool") for i in range(plan.masks)] if masked else [])


def _of_count(plan: Plan, count: int) -> list[tuple[int, Group]]:
    return [(k, group) for k, group in enumerate(plan.groups) if group.counter == count]


def _valid(plan: Plan, count: int) -> str:
    return " and ".join(f"m{mask}[i]" for mask in plan.counts[count - 1])


def _spans(plan: Plan, *lines: str) -> Lines:
    return list(lines) if plan.spans else []


def _unless_empty(count: str, both: Lines, alone: Lines | None = None) -> Lines:
    """Combine where there are values, else take the other side alone."""
    # Leaving the question out where zeros are the identity gained at most 8 % in dense merges: not worth two ways.
    return [f"if {count} != 0:", *indented(both), *(["else:", *indented(alone)] if alone else [])]


def _lift(k: int, group: Group, ordered: bool, into: Sequence[str]) -> Lines:
    values = [f"x{column}[i]" for column in group.columns]
    return lifted(k, group.part, values, ("t", "order[i]" if ordered else "0"), into)


# -- one event into a cell ---------------------------------------------------------------------------------------------


def _into_cell(plan: Plan, ordered: bool, masked: bool) -> Lines:
    """Event i, at time t, into the cell `row`."""
    lines = _spans(plan, "first[row] = min(first[row], t)", "last[row] = max(last[row], t)")
    for count in range(len(plan.counts) + 1):
        counts = _count(count)
        inner = [f"w{count} = {counts}[row]"]
        for k, group in _of_count(plan, count):
            a, b = _registers("d", k, group), _registers("b", k, group)
            both = [*loaded(group.part, _columns(k, group), "row", a), *combined(k, group.part, a, b, b)]
            inner += [*_lift(k, group, ordered, b), *_unless_empty(f"w{count}", both), *_put(k, group, "row", b)]
        inner.append(f"{counts}[row] = w{count} + 1")
        lines += [f"if {_valid(plan, count)}:", *indented(inner)] if count and masked else inner
    return lines


_FOUND = [
    "q = (t - base) >> shift", "s = np.int64(tab[q])", "e = np.int64(tab[q + 1])",
    "while e - s > 8:",
    "    middle = (s + e + 1) >> 1",
    "    if starts[middle] <= t:", "        s = middle",
    "    else:", "        e = middle - 1",
    "while s < e and t >= starts[s + 1]:", "    s += 1",
]  # fmt: skip
"""The slice s of a time t, by the grid."""


def update_cells(plan: Plan, ordered: bool, masked: bool) -> str:
    """Each event into the cell that is given for it; below 0: into none."""
    args = [reads("cells", "int64"), *_events(plan, ordered, masked), *_state(plan, "")]
    inner = ["row = cells[i]", "if row >= 0:", *indented(["t = time[i]", *_into_cell(plan, ordered, masked)])]
    return module(plan.parts, args, ["for i in range(len(cells)):", *indented(inner)])


def update_keyed(plan: Plan, ordered: bool, masked: bool) -> str:
    """Each event into the cell of its slice and key; every event lies in a slice, and slices meet."""
    args = [scalar(name) for name in ("head", "stride", "top", "shift")]
    args += [reads("starts", "int64"), reads("tab", "int32"), reads("key", "int64")]
    args += [*_events(plan, ordered, masked), *_state(plan, "")]
    body = [
        "base = starts[0]", "lo = base", "hi = base", "at = 0", "slices = len(starts)",
        "for i in range(len(time)):",
        *indented([
            "t = time[i]",
            "if t < lo or t >= hi:",
            *indented([*_FOUND, "lo = starts[s]", "hi = starts[s + 1] if s + 1 < slices else top"]),
            *indented(["at = (s + head) * stride"]),
            "row = at + key[i]",
            *_into_cell(plan, ordered, masked),
        ]),
    ]  # fmt: skip
    return module(plan.parts, args, body)


# -- events into slices, the newest slice in registers -----------------------------------------------------------------
#
# Registers against memory, sum in order: 1.8 against 1.0 times the speed of a plain loop of sums. A search for older
# events: 0.22 with bisection, 0.5 to 0.6 with a grid.


def _opened(plan: Plan, ordered: bool, masked: bool) -> Lines:
    """Event i is the first one in registers of slice cur."""
    lines = ["row = cur + head", "k = 1", "f = t", "l = t"]
    for count in range(len(plan.counts) + 1):
        groups = _of_count(plan, count)
        if count and masked:
            lines.append(f"v{count} = {_count(count)}[row]")
            for k, group in groups:
                lines += loaded(group.part, _columns(k, group), "row", _registers("a", k, group))
            continue
        if groups:
            lines.append(f"w{count} = {_count(count)}[row]")
        for k, group in groups:
            a, b = _registers("a", k, group), _registers("d", k, group)
            both = [*loaded(group.part, _columns(k, group), "row", b), *combined(k, group.part, b, a, a)]
            lines += [*_lift(k, group, ordered, a), *_unless_empty(f"w{count}", both)]
    return lines + (_masked_hot(plan, ordered) if masked else [])


def _hot(plan: Plan, ordered: bool, masked: bool) -> Lines:
    """Event i into the registers."""
    lines = ["k += 1", "f = min(f, t)", "l = max(l, t)"]
    for k, group in enumerate(plan.groups):
        if not (group.counter and masked):
            a, b = _registers("a", k, group), _registers("b", k, group)
            lines += [*_lift(k, group, ordered, b), *combined(k, group.part, a, b, a)]
    return lines + (_masked_hot(plan, ordered) if masked else [])


def _masked_hot(plan: Plan, ordered: bool) -> Lines:
    lines = []
    for count in range(1, len(plan.counts) + 1):
        inner = []
        for k, group in _of_count(plan, count):
            a, b = _registers("a", k, group), _registers("b", k, group)
            alone = [f"{x} = {y}" for x, y in zip(a, b, strict=True)]
            both = combined(k, group.part, a, b, a)
            inner += [*_lift(k, group, ordered, b), *_unless_empty(f"v{count}", both, alone)]
        lines += [f"if {_valid(plan, count)}:", *indented([*inner, f"v{count} += 1"])]
    return lines


def _kept(plan: Plan, masked: bool) -> Lines:
    """The registers into slice cur."""
    lines = ["row = cur + head", "n[row] += k", "newest = max(newest, l)"]
    lines += _spans(plan, "first[row] = min(first[row], f)", "last[row] = max(last[row], l)")
    counted = [_count(count) for count in range(1, len(plan.counts) + 1)]
    lines += [f"{c}[row] = v{i}" if masked else f"{c}[row] += k" for i, c in enumerate(counted, 1)]
    for k, group in enumerate(plan.groups):
        lines += _put(k, group, "row", _registers("a", k, group))
    return [*lines, "k = 0"]


def _again(plan: Plan, masked: bool) -> Lines:
    lines = [f"v{count} = {_count(count)}[row]" for count in range(1, len(plan.counts) + 1) if masked]
    for k, group in enumerate(plan.groups):
        lines += loaded(group.part, _columns(k, group), "row", _registers("a", k, group))
    return lines


def update_one(plan: Plan, ordered: bool, masked: bool) -> str:
    """Events of one key into slices; stops at an event that lies in none, so that slices can be added."""
    args = [scalar(name) for name in ("i0", "head", "first_open", "suspect", "top", "base", "shift")]
    args += [reads("starts", "int64"), reads("tab", "int32"), *_events(plan, ordered, masked)]
    args += [writes("late", "int64"), writes("info", "int64"), *_state(plan, "")]
    none = [f"v{count} = 0" for count in range(1, len(plan.counts) + 1) if masked]
    for k, group in enumerate(plan.groups):
        named = zip(_registers("a", k, group), group.part.slots, strict=True)
        none += [f"{name} = {as_type(wide(slot), '0')}" for name, slot in named]
    suspected = ["if t < suspect:", "    late[lates] = i", "    lates += 1"]
    newer = [
        "if t >= top:", "    stop = i", "    break",
        "if k != 0:", *indented(_kept(plan, masked)),
        "while cur + 1 < slices and t >= starts[cur + 1]:", "    cur += 1",
        "lowest = min(lowest, cur)",
        "hi = starts[cur + 1] if cur + 1 < slices else top",
        "lo = max(starts[cur], suspect)",
        *suspected,
        *_opened(plan, ordered, masked),
    ]  # fmt: skip
    # An event that may be late but lies in the newest slice goes the slow way, through memory.
    older = [
        "if t < base:", "    stop = i", "    break",
        *suspected,
        *_FOUND,
        "if s >= first_open:",
        *indented([
            "if s == cur and k != 0:", *indented(_kept(plan, masked)),
            "lowest = min(lowest, s)",
            "newest = max(newest, t)",
            "row = s + head",
            *_into_cell(plan, ordered, masked),
            "if s == cur:", *indented(["row = cur + head", *_again(plan, masked)]),
        ]),
    ]  # fmt: skip
    body = [
        "rows = len(time)", "slices = len(starts)", "stop = rows",
        "cur = info[0]", "newest = info[1]", "lowest = info[2]", "lates = 0",
        # nothing is in registers yet: the first event that is not older than the newest slice opens one
        "lo = starts[cur]", "hi = lo", "k = 0", "f = 0", "l = 0", *none,
        "for i in range(i0, rows):",
        *indented(["t = time[i]", "if t >= hi:", *indented(newer)]),
        *indented(["elif t >= lo:", *indented(_hot(plan, ordered, masked)), "else:", *indented(older)]),
        "if k != 0:", *indented(_kept(plan, masked)),
        "info[0] = cur", "info[1] = newest", "info[2] = lowest", "info[3] = lates",
        "return stop",
    ]  # fmt: skip
    return module(plan.parts, args, body)


GRID = module(
    [],
    [reads("starts", "int64"), scalar("shift"), writes("tab", "int32")],
    [
        "s = 0",
        "for q in range(len(tab)):",
        "    t = starts[0] + (q << shift)",
        "    while s + 1 < len(starts) and starts[s + 1] <= t:",
        "        s += 1",
        "    tab[q] = s",
    ],
)
"""For times on a grid of 2 ** shift microseconds: the last slice that starts at or before."""


# -- merges ------------------------------------------------------------------------------------------------------------


def merge_ranges(plan: Plan) -> str:
    """Cells lo to hi as one, for each range; empty ones are passed over."""
    return _merge(plan, None)


def merge_gather(plan: Plan) -> str:
    """Cells index[lo] to index[hi] as one, for each range."""
    return _merge(plan, "index")


def merge_headed(plan: Plan) -> str:
    """For each range the head of a key, where it has one, and cells index[lo] to index[hi] as one."""
    args = [reads(name, "int64") for name in ("key", "headed", "lo", "hi", "index")]
    args += [*_state(plan, "head_", reads), *_state(plan, "", reads), *_state(plan, "out_")]
    head = _over(plan, "key[i]", "key[i] + headed[i]", "head_")
    body = [*_begun(plan), *head, *_over(plan, "lo[i]", "hi[i]", index="index"), *_ended(plan, "out_")]
    return module(plan.parts, args, ["for i in range(len(lo)):", *indented(body)])


def merge_blocks(plan: Plan) -> str:
    """Cells lo to hi as one, for each range, over blocks of `size` cells from `low` on that are made first.

    A range is single cells up to a block's edge, whole blocks, and single cells again: many long ranges over the same
    cells cost a fraction of going through all cells for each.
    """
    args = [reads("lo", "int64"), reads("hi", "int64"), scalar("low"), scalar("size")]
    args += [*_state(plan, "", reads), *_state(plan, "block_"), *_state(plan, "out_")]
    inside = ["a, b = lo[i], hi[i]", "p, q = -((low - a) // size), (b - low) // size"]
    inside += ["if p < q:", "    c, d = low + p * size, low + q * size"]
    inside += ["else:", "    p, q = 0, 0", "    c, d = b, b"]
    build = [*_begun(plan), *_over(plan, "low + i * size", "low + i * size + size"), *_ended(plan, "block_")]
    answer = [
        *inside, *_begun(plan), *_over(plan, "a", "c"), *_over(plan, "p", "q", "block_"), *_over(plan, "d", "b"),
        *_ended(plan, "out_"),
    ]  # fmt: skip
    body = ["for i in range(len(block_n)):", *indented(build), "for i in range(len(lo)):", *indented(answer)]
    return module(plan.parts, args, body)


def _merge(plan: Plan, index: str | None) -> str:
    args = [reads("lo", "int64"), reads("hi", "int64"), *([reads(index, "int64")] if index else [])]
    args += [*_state(plan, "", reads), *_state(plan, "out_")]
    body = [*_begun(plan), *_over(plan, "lo[i]", "hi[i]", index=index), *_ended(plan, "out_")]
    return module(plan.parts, args, ["for i in range(len(lo)):", *indented(body)])


def _held(plan: Plan) -> list[str]:
    """The registers of a cell."""
    found = ["v0", "f", "l", *(f"v{count}" for count in range(1, len(plan.counts) + 1))]
    return found + [name for k, group in enumerate(plan.groups) for name in _registers("a", k, group)]


def _begun(plan: Plan) -> Lines:
    """Registers for a cell with nothing in it."""
    lines = ["v0 = 0", f"f = np.int64({LATEST})", f"l = np.int64({EARLIEST})"]
    lines += [f"v{count} = 0" for count in range(1, len(plan.counts) + 1)]
    for k, group in enumerate(plan.groups):
        named = zip(_registers("a", k, group), group.part.slots, strict=True)
        lines += [f"{name} = {as_type(wide(slot), '0')}" for name, slot in named]
    return lines


def _over(plan: Plan, first: str, last: str, prefix: str = "", index: str | None = None) -> Lines:
    """The cells from first to last into the registers."""
    cell = _spans(plan, f"f = min(f, {prefix}first[row])", f"l = max(l, {prefix}last[row])")
    for count in range(len(plan.counts) + 1):
        inner = []
        for k, group in _of_count(plan, count):
            a, b = _registers("a", k, group), _registers("b", k, group)
            both = combined(k, group.part, a, b, a)
            alone = [f"{x} = {y}" for x, y in zip(a, b, strict=True)]
            inner += loaded(group.part, _columns(k, group, prefix), "row", b)
            inner += _unless_empty(f"v{count}", both, alone)
        inner.append(f"v{count} += w{count}")
        column = f"{prefix}{_count(count)}"
        cell += [f"w{count} = {column}[row]", f"if w{count} != 0:", *indented(inner)] if count else inner
    loop = [f"row = {index}[j]" if index else "row = j", f"w0 = {prefix}n[row]", "if w0 != 0:", *indented(cell)]
    return [f"for j in range({first}, {last}):", *indented(loop)]


def _ended(plan: Plan, prefix: str) -> Lines:
    """The registers into row i of some columns."""
    lines = [f"{prefix}n[i] = v0", *_spans(plan, f"{prefix}first[i] = f", f"{prefix}last[i] = l")]
    lines += [f"{prefix}{_count(count)}[i] = v{count}" for count in range(1, len(plan.counts) + 1)]
    for k, group in enumerate(plan.groups):
        lines += _put(k, group, "i", _registers("a", k, group), prefix)
    return lines


def merge_dense(plan: Plan) -> str:
    """For each range of slices a to b the cells of every key as one; loops over keys, which LLVM vectorises."""
    args = [reads("a", "int64"), reads("b", "int64"), scalar("stride"), scalar("keys")]
    args += [*_state(plan, "", reads), *_state(plan, "out_")]
    body = [*_outputs(plan, "i * keys"), *_cleared(plan)]
    body += ["for r in range(a[i], b[i]):", *indented(_all_keys(plan, "r * stride"))]
    return module(plan.parts, args, ["for i in range(len(a)):", *indented(body)])


def _outputs(plan: Plan, at: str) -> Lines:
    """Views of the cells of all keys, from a place on in the columns `out_`."""
    # Views that start at 0: an index that could be negative would keep LLVM from vectorising.
    return [f"at = {at}", *(f"o_{name} = out_{name}[at:at + keys]" for name, _ in _state(plan, ""))]


def _cleared(plan: Plan) -> Lines:
    """Nothing into the cells viewed."""
    cells = ["o_n[k] = 0", *_spans(plan, f"o_first[k] = {LATEST}", f"o_last[k] = {EARLIEST}")]
    cells += [f"o_{_count(count)}[k] = 0" for count in range(1, len(plan.counts) + 1)]
    return ["for k in range(keys):", *indented(cells)]


def _all_keys(plan: Plan, at: str) -> Lines:
    """The cells of all keys, from a place on, after what the cells viewed hold."""
    lines = [f"base = {at}", *(f"x_{name} = {name}[base:base + keys]" for name, _ in _state(plan, ""))]
    for k, group in enumerate(plan.groups):
        lines += ["for k in range(keys):", *indented(_dense_cell(k, group))]
    for line in _spans(plan, "o_first[k] = min(o_first[k], x_first[k])", "o_last[k] = max(o_last[k], x_last[k])"):
        lines += ["for k in range(keys):", *indented([line])]
    for count in range(len(plan.counts) + 1):
        lines += ["for k in range(keys):", *indented([f"o_{_count(count)}[k] += x_{_count(count)}[k]"])]
    return lines


def _dense_cell(k: int, group: Group) -> Lines:
    a, b, c = _registers("a", k, group), _registers("b", k, group), _registers("c", k, group)
    count, part = _count(group.counter), group.part
    old, new = loaded(part, _columns(k, group, "o_"), "k", a), loaded(part, _columns(k, group, "x_"), "k", b)
    if part.given:  # a user's functions are not called on what is no partial
        both = [*old, *combined(k, part, a, b, b)]
        inner = [*new, f"if o_{count}[k] != 0:", *indented(both), *_put(k, group, "k", b, "o_")]
        return [f"if x_{count}[k] != 0:", *indented(inner)]
    # Computed in any case and chosen afterwards: without branches the loop is vectorised.
    chosen = [f"({y} if z == 0 else ({x} if w == 0 else {v}))" for x, y, v in zip(a, b, c, strict=True)]
    lines = [*old, *new, *combined(k, part, a, b, c), f"z = o_{count}[k]", f"w = x_{count}[k]"]
    return lines + _put(k, group, "k", chosen, "o_")
