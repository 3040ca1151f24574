"""What the fused kernels have in common: the cells of some aggregates, as columns and as registers in source text.

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
    indented,
    lifted,
    names,
    reads,
    stored,
    writes,
)

__all__ = [
    "EARLIEST",
    "LATEST",
    "Group",
    "Plan",
    "columns_of",
    "count_of",
    "events_of",
    "lift_event",
    "own_of",
    "put",
    "registers",
    "spans_of",
    "state_of",
    "unless_empty",
    "valid_where",
    "with_count",
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


def count_of(count: int) -> str:
    """The column of a count: n, or the number of valid values of some columns."""
    return f"c{count}" if count else "n"


def columns_of(k: int, group: Group, prefix: str = "", counts: str | None = None) -> list[str]:
    """The columns that hold a group's fields."""
    found = names(f"{prefix}g{k}_", group.part)
    if group.counted is not None:
        found[group.counted] = counts or prefix + count_of(group.counter)
    return found


def own_of(group: Group, things: Sequence[str]) -> list[str]:
    """Those of a group's fields that have a column of their own."""
    return [thing for i, thing in enumerate(things) if i != group.counted]


def put(k: int, group: Group, row: str, values: Sequence[str], prefix: str = "") -> Lines:
    """Lines that store the values of a group's own fields."""
    return stored(own_of(group, columns_of(k, group, prefix)), row, own_of(group, values))


def registers(name: str, k: int, group: Group) -> list[str]:
    """The registers of a group's fields."""
    return names(f"{name}{k}_", group.part)


def state_of(plan: Plan, prefix: str, make: Callable[[str, str], tuple[str, str]] = writes) -> Args:
    """The arguments for all columns of cells."""
    found = [make(f"{prefix}{name}", "int64") for name in ("n", "first", "last")]
    found += [make(f"{prefix}{count_of(q + 1)}", "int64") for q in range(len(plan.counts))]
    for k, group in enumerate(plan.groups):
        found += map(make, own_of(group, columns_of(k, group, prefix)), own_of(group, group.part.slots))
    return found


def events_of(plan: Plan, ordered: bool, masked: bool) -> Args:
    """The arguments for the columns of events."""
    found = [reads("time", "int64"), *([reads("order", "int64")] if ordered else [])]
    found += [reads(f"x{i}", dtype) for i, dtype in enumerate(plan.columns)]
    return found + ([reads(f"m{i}", "bool") for i in range(plan.masks)] if masked else [])


def with_count(plan: Plan, count: int) -> list[tuple[int, Group]]:
    """The groups whose values a count counts."""
    return [(k, group) for k, group in enumerate(plan.groups) if group.counter == count]


def valid_where(plan: Plan, count: int) -> str:
    """The condition under which event i counts."""
    return " and ".join(f"m{mask}[i]" for mask in plan.counts[count - 1])


def spans_of(plan: Plan, *lines: str) -> Lines:
    """Lines that are needed only where first and last are kept."""
    return list(lines) if plan.spans else []


def unless_empty(count: str, both: Lines, alone: Lines | None = None) -> Lines:
    """Combine where there are values, else take the other side alone."""
    # Leaving the question out where zeros are the identity gained at most 8 % in dense merges: not worth two ways.
    return [f"if {count} != 0:", *indented(both), *(["else:", *indented(alone)] if alone else [])]


def lift_event(
    k: int, group: Group, ordered: bool, into: Sequence[str], i: str = "i", lane: int | None = None
) -> Lines:
    """Lines that lift event i, at time t; of a lane: one of the views of the columns."""
    view = "" if lane is None else f"_{lane}"
    values = [f"x{column}{view}[{i}]" for column in group.columns]
    time = "t" if lane is None else f"time{view}[{i}]"
    return lifted(k, group.part, values, (time, f"order{view}[{i}]" if ordered else "0"), into)
