"""What an aggregate computes per pane and what per window, found out from its own declaration.

For every field of its partial, `lift` is asked what it makes of a value and `combine` what it makes of two fields. A
field that starts as 1 and is added up is a count at the pane level, a sum at the window level (paper 2, section 3.1).
Fields that follow no such rule are shown by the names of the declaration itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.aggregates import Aggregate, Bound
from muntin.errors import MuntinError

__all__ = ["Levels", "levels"]

_SAMPLES = (3.0, 7.5, 5.25, -2.0, 11.0)
_RULES: dict[str, Callable[[Any, Any], Any]] = {"sum": lambda a, b: a + b, "max": max, "min": min}


@dataclass(frozen=True)
class Levels:
    """The functions of the two levels.

    `pane` pairs each call with the name of its field; `window` is the call that makes the result.
    """

    pane: tuple[tuple[str, str], ...]
    window: str


def levels(name: str, aggregate: Aggregate) -> Levels:
    """The two levels of an aggregate whose result has a name.

    >>> import muntin as mt
    >>> levels("n", mt.count())
    Levels(pane=(('count(*)', 'n'),), window='sum(n)')
    >>> levels("mean", mt.mean("speed")).window
    'lower(sum(mean_total), sum(mean_n))'
    """
    columns = ", ".join(aggregate.columns) or "*"
    fields = list(aggregate.partial)
    if all(field is tuple for field in aggregate.partial.values()):
        return _unbounded(name, aggregate, columns)
    rules = _rules(aggregate)
    named = {field: name if len(fields) == 1 else f"{name}_{field}" for field in fields}
    if any(rule is None for rule in rules.values()):
        return Levels(((f"{aggregate.name}_partial({columns})", name),), f"lower(combine({name}))")
    found = {field: rule for field, rule in rules.items() if rule is not None}
    pane = tuple((f"{_pane_call(lifted, how)}({columns})", named[field]) for field, (lifted, how) in found.items())
    calls = [f"{how}({named[field]})" for field, (_, how) in found.items()]
    plain = len(calls) == 1 and _lowers_to_itself(aggregate)
    return Levels(pane, calls[0] if plain else f"lower({', '.join(calls)})")


def _unbounded(name: str, aggregate: Aggregate, columns: str) -> Levels:
    """Partials of no fixed size: values with their counts, or the rows in order."""
    if set(aggregate.partial) == {"values", "counts"}:
        pane = ((f"count(*) BY {columns}", f"{name}_counts"),)
        return Levels(pane, f"lower(sum({name}_counts) BY {columns})")
    return Levels(((f"collect({columns})", f"{name}_rows"),), f"lower(append({name}_rows))")


def _pane_call(lifted: str, how: str) -> str:
    return "count" if lifted == "1" and how == "sum" else how if lifted == "value" else f"{how} of {lifted}"


def _bound(aggregate: Aggregate) -> Bound | None:
    try:
        return aggregate.bind([pa.float64()] * len(aggregate.columns))
    except MuntinError:
        return None


def _rules(aggregate: Aggregate) -> dict[str, tuple[str, str] | None]:
    """For each field what `lift` makes of a value, and which of the rules `combine` follows on all pairs of samples."""
    nothing: dict[str, tuple[str, str] | None] = dict.fromkeys(aggregate.partial)
    bound = _bound(aggregate)
    if bound is None or aggregate.timed or len(aggregate.columns) > 1:
        return nothing
    try:
        lifted = [bound.lift(*[value] * len(aggregate.columns)) for value in _SAMPLES]
        pairs = [(a, b, bound.combine(a, b)) for a in lifted for b in lifted]
        return {field: _rule(field, lifted, pairs) for field in aggregate.partial}
    except (TypeError, ValueError, ArithmeticError):  # it takes no such numbers, so nothing is known
        return nothing


def _rule(field: str, lifted: list[Any], pairs: list[tuple[Any, Any, Any]]) -> tuple[str, str] | None:
    values = [getattr(partial, field) for partial in lifted]
    start = "1" if all(v == 1 for v in values) else "value" if values == list(_SAMPLES) else "lift"
    for name, rule in _RULES.items():
        if all(getattr(both, field) == rule(getattr(a, field), getattr(b, field)) for a, b, both in pairs):
            return start, name
    return None


def _lowers_to_itself(aggregate: Aggregate) -> bool:
    bound = _bound(aggregate)
    if bound is None:
        return False
    (field,) = aggregate.partial
    lifted = [bound.lift(*[value] * len(aggregate.columns)) for value in _SAMPLES]
    return all(bound.lower(partial) == getattr(partial, field) for partial in lifted)
