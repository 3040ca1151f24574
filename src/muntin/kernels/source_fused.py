"""Source text of the fused updates: all aggregates of all queries in one pass over a batch."""

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
    writes,
)
from muntin.kernels.source_plan import (
    Plan,
    columns_of,
    count_of,
    events_of,
    lift_event,
    put,
    registers,
    spans_of,
    state_of,
    unless_empty,
    valid_where,
    with_count,
)

__all__ = ["GRID", "masked_hot", "update_cells", "update_keyed", "update_one"]


# -- one event into a cell ---------------------------------------------------------------------------------------------


def _into_cell(plan: Plan, ordered: bool, masked: bool) -> Lines:
    """Event i, at time t, into the cell `row`."""
    lines = spans_of(plan, "first[row] = min(first[row], t)", "last[row] = max(last[row], t)")
    for count in range(len(plan.counts) + 1):
        counts = count_of(count)
        inner = [f"w{count} = {counts}[row]"]
        for k, group in with_count(plan, count):
            a, b = registers("d", k, group), registers("b", k, group)
            both = [*loaded(group.part, columns_of(k, group), "row", a), *combined(k, group.part, a, b, b)]
            inner += [*lift_event(k, group, ordered, b), *unless_empty(f"w{count}", both), *put(k, group, "row", b)]
        inner.append(f"{counts}[row] = w{count} + 1")
        lines += [f"if {valid_where(plan, count)}:", *indented(inner)] if count and masked else inner
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
    args = [reads("cells", "int64"), *events_of(plan, ordered, masked), *state_of(plan, "")]
    inner = ["row = cells[i]", "if row >= 0:", *indented(["t = time[i]", *_into_cell(plan, ordered, masked)])]
    return module(plan.parts, args, ["for i in range(len(cells)):", *indented(inner)])


def update_ranges(plan: Plan, ordered: bool, masked: bool) -> str:
    """Each event into the cells from lo to hi, `stride` apart."""
    args = [reads("lo", "int64"), reads("hi", "int64"), scalar("stride")]
    args += [*events_of(plan, ordered, masked), *state_of(plan, "")]
    inner = ["t = time[i]", "for row in range(lo[i], hi[i], stride):", *indented(_into_cell(plan, ordered, masked))]
    return module(plan.parts, args, ["for i in range(len(lo)):", *indented(inner)])


def update_keyed(plan: Plan, ordered: bool, masked: bool) -> str:
    """Each event into the cell of its slice and key; every event lies in a slice, and slices meet."""
    args = [scalar(name) for name in ("head", "stride", "top", "shift")]
    args += [reads("starts", "int64"), reads("tab", "int32"), reads("key", "int64")]
    args += [*events_of(plan, ordered, masked), *state_of(plan, "")]
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
        groups = with_count(plan, count)
        if count and masked:
            lines.append(f"v{count} = {count_of(count)}[row]")
            for k, group in groups:
                lines += loaded(group.part, columns_of(k, group), "row", registers("a", k, group))
            continue
        if groups:
            lines.append(f"w{count} = {count_of(count)}[row]")
        for k, group in groups:
            a, b = registers("a", k, group), registers("d", k, group)
            both = [*loaded(group.part, columns_of(k, group), "row", b), *combined(k, group.part, b, a, a)]
            lines += [*lift_event(k, group, ordered, a), *unless_empty(f"w{count}", both)]
    return lines + (masked_hot(plan, ordered) if masked else [])


def _hot(plan: Plan, ordered: bool, masked: bool) -> Lines:
    """Event i into the registers."""
    lines = ["k += 1", "f = min(f, t)", "l = max(l, t)"]
    for k, group in enumerate(plan.groups):
        if not (group.counter and masked):
            a, b = registers("a", k, group), registers("b", k, group)
            lines += [*lift_event(k, group, ordered, b), *combined(k, group.part, a, b, a)]
    return lines + (masked_hot(plan, ordered) if masked else [])


# Blocks of events. Where one lies in the newest slice as a whole, it is folded as a few stretches side by side, and
# these then combined in order: the additions of one chain wait for each other, those of several do not. Where events
# come out of order, a processor cannot foresee which; so they are parted first, without a branch for each.

BLOCK = 128  # events
LANES = 4
PATIENCE = 16  # blocks that are taken as out of order after one in which an event came late
MOST = 10  # fields of partials up to which it pays: with more, each event has enough to do, and twice the code is slow
#            to compile (12 aggregates: 15 s for 8)


def _in_blocks(plan: Plan, masked: bool) -> bool:
    return not masked and sum(len(group.part.slots) for group in plan.groups) <= MOST


def _together(plan: Plan, ordered: bool) -> Lines:
    """The events of a block into the registers, where all of them lie in the newest slice."""
    # Several aggregates are several chains: they need fewer stretches, and each stretch is more to compile.
    lanes = max(LANES // max(len(plan.groups), 1), 1)
    each = BLOCK // lanes
    # Slices of columns, with indexes that begin at 0: else Numba asks of each index whether it is negative.
    taken = ["time", *(["order"] if ordered and plan.timed else []), *(f"x{i}" for i in range(len(plan.columns)))]
    views = [
        f"{name}_{lane} = {name}[i0 + {lane * each} : i0 + {(lane + 1) * each}]"
        for name in taken
        for lane in range(lanes)
    ]
    begin, go_on, end = [], [], []
    for k, group in enumerate(plan.groups):
        a, b = registers("a", k, group), registers("b", k, group)
        for lane in range(lanes):
            own = registers(f"s{lane}_", k, group) if lane else a
            # The first stretch goes on from the registers, each other one begins with its first event.
            if lane:
                begin += lift_event(k, group, ordered, own, "0", lane)
                end += combined(k, group.part, a, own, a)
            elif lanes > 1:
                begin += [*lift_event(k, group, ordered, b, "0", 0), *combined(k, group.part, a, b, a)]
            go_on += [*lift_event(k, group, ordered, b, "j", lane), *combined(k, group.part, own, b, own)]
    return [
        f"if end - i0 == {BLOCK}:",
        *indented([
            "block = time[i0:end]",
            "low = block[0]", "high = low",
            f"for j in range({BLOCK}):",
            "    low = min(low, block[j])",
            "    high = max(high, block[j])",
            "if k != 0 and low >= lo and high < hi:",
            *indented([
                f"k += {BLOCK}", "f = min(f, low)", "l = max(l, high)",
                *views,
                *begin,
                *([f"for j in range({int(lanes > 1)}, {each}):", *indented(go_on)] if go_on else []),
                *end,
                "i0 = end",
                "continue",
            ]),
            "if low < lo:",
            f"    patience = {PATIENCE}",
            "if patience != 0:",
            *indented(["patience -= 1", *_parted(plan, ordered)]),
        ]),
    ]  # fmt: skip


def _parted(plan: Plan, ordered: bool) -> Lines:
    """The events of a block, none newer than the newest slice: first parted into those in it and older ones."""
    fold = []
    for k, group in enumerate(plan.groups):
        a, b = registers("a", k, group), registers("b", k, group)
        fold += [*lift_event(k, group, ordered, b), *combined(k, group.part, a, b, a)]
    return [
        "if k != 0 and low >= suspect and low >= starts[first_open] and high < hi:",
        *indented([
            "here = 0", "older = 0",
            f"for j in range({BLOCK}):",
            *indented([
                "t = block[j]",
                "inside = t >= lo",
                "f = min(f, t if inside else f)",
                "now[here] = j", "here += inside",
                "past[older] = j", "older += not inside",
            ]),
            "k += here",
            "l = max(l, high)",
            "for j in range(here):",
            *indented(["i = i0 + now[j]", "t = time[i]", *fold]),
            "for j in range(older):",
            *indented([
                "i = i0 + past[j]", "t = time[i]",
                *_FOUND,
                "lowest = min(lowest, s)",
                "row = s + head",
                *_into_cell(plan, ordered, False),
            ]),
            "i0 = end",
            "continue",
        ]),
    ]  # fmt: skip


def masked_hot(plan: Plan, ordered: bool) -> Lines:
    """Event i into the registers of groups whose values may be null."""
    lines = []
    for count in range(1, len(plan.counts) + 1):
        inner = []
        for k, group in with_count(plan, count):
            a, b = registers("a", k, group), registers("b", k, group)
            alone = [f"{x} = {y}" for x, y in zip(a, b, strict=True)]
            both = combined(k, group.part, a, b, a)
            inner += [*lift_event(k, group, ordered, b), *unless_empty(f"v{count}", both, alone)]
        lines += [f"if {valid_where(plan, count)}:", *indented([*inner, f"v{count} += 1"])]
    return lines


def _kept(plan: Plan, masked: bool) -> Lines:
    """The registers into slice cur."""
    lines = ["row = cur + head", "n[row] += k", "newest = max(newest, l)"]
    lines += spans_of(plan, "first[row] = min(first[row], f)", "last[row] = max(last[row], l)")
    counted = [count_of(count) for count in range(1, len(plan.counts) + 1)]
    lines += [f"{c}[row] = v{i}" if masked else f"{c}[row] += k" for i, c in enumerate(counted, 1)]
    for k, group in enumerate(plan.groups):
        lines += put(k, group, "row", registers("a", k, group))
    return [*lines, "k = 0"]


def _again(plan: Plan, masked: bool) -> Lines:
    lines = [f"v{count} = {count_of(count)}[row]" for count in range(1, len(plan.counts) + 1) if masked]
    for k, group in enumerate(plan.groups):
        lines += loaded(group.part, columns_of(k, group), "row", registers("a", k, group))
    return lines


def update_one(plan: Plan, ordered: bool, masked: bool) -> str:
    """Events of one key into slices; stops at an event that lies in none, so that slices can be added."""
    args = [scalar(name) for name in ("i0", "head", "first_open", "suspect", "top", "base", "shift")]
    args += [reads("starts", "int64"), reads("tab", "int32"), *events_of(plan, ordered, masked)]
    args += [writes("late", "int64"), writes("info", "int64"), *state_of(plan, "")]
    none = [f"v{count} = 0" for count in range(1, len(plan.counts) + 1) if masked]
    for k, group in enumerate(plan.groups):
        named = zip(registers("a", k, group), group.part.slots, strict=True)
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
    room = [f"{name} = np.empty({BLOCK + 1}, np.int64)" for name in ("now", "past") if _in_blocks(plan, masked)]
    body = [
        "rows = len(time)", "slices = len(starts)", "stop = rows",
        "cur = info[0]", "newest = info[1]", "lowest = info[2]", "lates = 0",
        # nothing is in registers yet: the first event that is not older than the newest slice opens one
        "lo = starts[cur]", "hi = lo", "k = 0", "f = 0", "l = 0", *none,
        "patience = 0",
*room,
        "while i0 < rows:",
        *indented([
            f"end = min(i0 + {BLOCK}, rows)",
            *(_together(plan, ordered) if _in_blocks(plan, masked) else []),
            "for i in range(i0, end):",
            *indented(["t = time[i]", "if t >= hi:", *indented(newer)]),
            *indented(["elif t >= lo:", *indented(_hot(plan, ordered, masked)), "else:", *indented(older)]),
            "if stop < rows:",
            "    break",
            "i0 = end",
        ]),
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
        "most = 0",
        "for q in range(len(tab)):",
        "    t = starts[0] + (q << shift)",
        "    before = s",
        "    while s + 1 < len(starts) and starts[s + 1] <= t:",
        "        s += 1",
        "    tab[q] = s",
        "    most = max(most, s - before)",
        "return most",
    ],
)
"""For times on a grid of 2 ** shift microseconds: the last slice that starts at or before. Gives the largest step."""
