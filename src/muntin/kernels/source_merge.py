"""Source text of merges of cells: ranges, lists, heads with lists, and all keys at once."""

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
from muntin.kernels.source_plan import (
    EARLIEST,
    LATEST,
    Group,
    Plan,
    columns_of,
    count_of,
    put,
    registers,
    spans_of,
    state_of,
    unless_empty,
    with_count,
)

__all__ = [
    "all_keys",
    "begun",
    "cleared",
    "ended",
    "held",
    "merge_dense",
    "merge_gather",
    "merge_headed",
    "merge_ranges",
    "one_more",
    "outputs",
    "over",
]


def merge_ranges(plan: Plan) -> str:
    """Cells lo to hi as one, for each range; empty ones are passed over."""
    return _merge(plan, None)


def merge_gather(plan: Plan) -> str:
    """Cells index[lo] to index[hi] as one, for each range."""
    return _merge(plan, "index")


def merge_headed(plan: Plan) -> str:
    """For each range the head of a key, where it has one, and cells index[lo] to index[hi] as one."""
    args = [reads(name, "int64") for name in ("key", "headed", "lo", "hi", "index")]
    args += [*state_of(plan, "head_", reads), *state_of(plan, "", reads), *state_of(plan, "out_")]
    head = over(plan, "key[i]", "key[i] + headed[i]", "head_")
    body = [*begun(plan), *head, *over(plan, "lo[i]", "hi[i]", index="index"), *ended(plan, "out_")]
    return module(plan.parts, args, ["for i in range(len(lo)):", *indented(body)])


def _merge(plan: Plan, index: str | None) -> str:
    args = [reads("lo", "int64"), reads("hi", "int64"), *([reads(index, "int64")] if index else [])]
    args += [*state_of(plan, "", reads), *state_of(plan, "out_")]
    body = [*begun(plan), *over(plan, "lo[i]", "hi[i]", index=index), *ended(plan, "out_")]
    return module(plan.parts, args, ["for i in range(len(lo)):", *indented(body)])


def held(plan: Plan) -> list[str]:
    """The registers of a cell."""
    found = ["v0", "f", "l", *(f"v{count}" for count in range(1, len(plan.counts) + 1))]
    return found + [name for k, group in enumerate(plan.groups) for name in registers("a", k, group)]


def begun(plan: Plan) -> Lines:
    """Registers for a cell with nothing in it."""
    lines = ["v0 = 0", f"f = np.int64({LATEST})", f"l = np.int64({EARLIEST})"]
    lines += [f"v{count} = 0" for count in range(1, len(plan.counts) + 1)]
    for k, group in enumerate(plan.groups):
        named = zip(registers("a", k, group), group.part.slots, strict=True)
        lines += [f"{name} = {as_type(wide(slot), '0')}" for name, slot in named]
    return lines


def over(plan: Plan, first: str, last: str, prefix: str = "", index: str | None = None, at: str = "j") -> Lines:
    """The cells from first to last, the j-th in row `at` or as an index tells, into the registers."""
    return [f"for j in range({first}, {last}):", *indented(one_more(plan, f"{index}[j]" if index else at, prefix))]


def one_more(plan: Plan, at: str, prefix: str = "") -> Lines:
    """The cell in a row after what the registers hold."""
    cell = spans_of(plan, f"f = min(f, {prefix}first[row])", f"l = max(l, {prefix}last[row])")
    for count in range(len(plan.counts) + 1):
        inner = []
        for k, group in with_count(plan, count):
            a, b = registers("a", k, group), registers("b", k, group)
            both = combined(k, group.part, a, b, a)
            alone = [f"{x} = {y}" for x, y in zip(a, b, strict=True)]
            inner += loaded(group.part, columns_of(k, group, prefix), "row", b)
            inner += unless_empty(f"v{count}", both, alone)
        inner.append(f"v{count} += w{count}")
        column = f"{prefix}{count_of(count)}"
        cell += [f"w{count} = {column}[row]", f"if w{count} != 0:", *indented(inner)] if count else inner
    return [f"row = {at}", f"w0 = {prefix}n[row]", "if w0 != 0:", *indented(cell)]


def ended(plan: Plan, prefix: str, row: str = "i") -> Lines:
    """The registers into a row of some columns."""
    lines = [f"{prefix}n[{row}] = v0", *spans_of(plan, f"{prefix}first[{row}] = f", f"{prefix}last[{row}] = l")]
    lines += [f"{prefix}{count_of(count)}[{row}] = v{count}" for count in range(1, len(plan.counts) + 1)]
    for k, group in enumerate(plan.groups):
        lines += put(k, group, row, registers("a", k, group), prefix)
    return lines


def merge_dense(plan: Plan) -> str:
    """For each range of slices a to b the cells of every key as one; loops over keys, which LLVM vectorises."""
    args = [reads("a", "int64"), reads("b", "int64"), scalar("stride"), scalar("keys")]
    args += [*state_of(plan, "", reads), *state_of(plan, "out_")]
    body = [*outputs(plan, "i * keys"), *cleared(plan)]
    body += ["for r in range(a[i], b[i]):", *indented(all_keys(plan, "r * stride"))]
    return module(plan.parts, args, ["for i in range(len(a)):", *indented(body)])


def outputs(plan: Plan, at: str, prefix: str = "out_") -> Lines:
    """Views of the cells of all keys, from a place on in some columns."""
    # Views that start at 0: an index that could be negative would keep LLVM from vectorising.
    return [f"at = {at}", *(f"o_{name} = {prefix}{name}[at:at + keys]" for name, _ in state_of(plan, ""))]


def cleared(plan: Plan) -> Lines:
    """Nothing into the cells viewed."""
    cells = ["o_n[k] = 0", *spans_of(plan, f"o_first[k] = {LATEST}", f"o_last[k] = {EARLIEST}")]
    cells += [f"o_{count_of(count)}[k] = 0" for count in range(1, len(plan.counts) + 1)]
    return ["for k in range(keys):", *indented(cells)]


def all_keys(plan: Plan, at: str, prefix: str = "") -> Lines:
    """The cells of all keys, from a place on, after what the cells viewed hold."""
    lines = [f"base = {at}", *(f"x_{name} = {prefix}{name}[base:base + keys]" for name, _ in state_of(plan, ""))]
    for k, group in enumerate(plan.groups):
        lines += ["for k in range(keys):", *indented(_dense_cell(k, group))]
    for line in spans_of(plan, "o_first[k] = min(o_first[k], x_first[k])", "o_last[k] = max(o_last[k], x_last[k])"):
        lines += ["for k in range(keys):", *indented([line])]
    for count in range(len(plan.counts) + 1):
        lines += ["for k in range(keys):", *indented([f"o_{count_of(count)}[k] += x_{count_of(count)}[k]"])]
    return lines


def _dense_cell(k: int, group: Group) -> Lines:
    a, b, c = registers("a", k, group), registers("b", k, group), registers("c", k, group)
    count, part = count_of(group.counter), group.part
    old, new = loaded(part, columns_of(k, group, "o_"), "k", a), loaded(part, columns_of(k, group, "x_"), "k", b)
    if part.given:  # a user's functions are not called on what is no partial
        both = [*old, *combined(k, part, a, b, b)]
        inner = [*new, f"if o_{count}[k] != 0:", *indented(both), *put(k, group, "k", b, "o_")]
        return [f"if x_{count}[k] != 0:", *indented(inner)]
    # Computed in any case and chosen afterwards: without branches the loop is vectorised.
    chosen = [f"({y} if z == 0 else ({x} if w == 0 else {v}))" for x, y, v in zip(a, b, c, strict=True)]
    lines = [*old, *new, *combined(k, part, a, b, c), f"z = o_{count}[k]", f"w = x_{count}[k]"]
    return lines + put(k, group, "k", chosen, "o_")
