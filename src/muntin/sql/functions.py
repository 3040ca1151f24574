"""Aggregates out of calls: the name looked up, the arguments put where its declaration takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from muntin.aggregates import BUILTIN, Aggregate
from muntin.errors import SpecError, nearest
from muntin.sql.names import AGGREGATES, ALIASES
from muntin.sql.places import error, place_of

__all__ = ["aggregate_of", "called", "is_aggregate", "unknown"]

_COLUMNS = ("column", "columns", "by", "mass")


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node calls an aggregate."""
    return isinstance(node, exp.Anonymous) and called(node) in AGGREGATES


def called(node: exp.Anonymous) -> str:
    """The name of a function, in small letters."""
    return str(node.this).lower()


def unknown(text: str, node: exp.Expr, name: str, known: Any) -> SpecError:
    """The error for a function that there is not; it names the nearest."""
    return error(text, _head(node), f"unknown function {name!r}. {nearest(name, sorted(known))}")


def _head(node: exp.Expr) -> Any:
    """The place of the name alone."""
    from muntin.sql.places import Place

    return Place(node.meta["start"], node.meta["end"]) if "start" in node.meta else place_of(node)


def aggregate_of(text: str, node: exp.Anonymous, column: Callable[[exp.Expr], str]) -> Aggregate:
    """The aggregate of a call; `column` gives the name of the column that holds an expression."""
    name, args = called(node), list(node.expressions)
    if any(isinstance(arg, exp.Distinct) for arg in args):
        inner = args[0].expressions
        if name != "count" or len(inner) != 1:
            raise error(
                text,
                _head(node),
                f"{name}(DISTINCT ...) is valid SQL that Muntin does not have. Only "
                f"count(DISTINCT column) is: it is count_distinct(column).",
            )
        name, args = "count_distinct", inner
    if name == "count" and len(args) == 1 and isinstance(args[0], exp.Star | exp.Literal):
        args = []
    made = BUILTIN[ALIASES.get(name, name)]
    values, named = _bound(text, node, made, args, column)
    try:
        return made(*values, **named)
    except TypeError as problem:
        told = str(problem).replace("__init__()", "").split(" ", 1)[-1].strip()
        raise error(text, _head(node), f"{name}: {told}. It takes {_taken(made)}.") from None
    except SpecError as problem:
        raise error(text, place_of(node), str(problem)) from None


def _bound(
    text: str, node: exp.Anonymous, made: type[Aggregate], args: list[exp.Expr], column: Callable[[Any], str]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by place and by name; those that only go by name in Python go by place here, too."""
    parameters = list(inspect.signature(made.__init__).parameters.values())[1:]
    values: list[Any] = []
    named: dict[str, Any] = {}
    for place, arg in enumerate(args):
        if isinstance(arg, exp.Kwarg):
            key = arg.this.name.lower()
            if key not in {parameter.name for parameter in parameters}:
                raise error(
                    text, place_of(arg) or _head(node), f"{called(node)} has no {key!r}. It takes {_taken(made)}."
                )
            named[key] = _argument(text, arg.expression, key, column)
            continue
        parameter = parameters[min(place, len(parameters) - 1)] if parameters else None
        if parameter is None or (place >= len(parameters) and parameter.kind is not parameter.VAR_POSITIONAL):
            raise error(text, place_of(arg), f"{called(node)} takes {_taken(made)}, and no more.")
        value = _argument(text, arg, parameter.name, column)
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            values.append(value)
    return values, named


def _argument(text: str, arg: exp.Expr, name: str, column: Callable[[Any], str]) -> Any:
    if name in _COLUMNS:
        return column(arg)
    sign = -1 if isinstance(arg, exp.Neg) else 1
    literal = arg.this if isinstance(arg, exp.Neg) else arg
    if isinstance(literal, exp.Boolean):
        return literal.this
    if not isinstance(literal, exp.Literal):
        raise error(text, place_of(arg), f"{name} is a number or a text that is written out, not computed.")
    if literal.is_string:
        return literal.this
    return sign * (int(literal.this) if literal.this.isdigit() else float(literal.this))


def _taken(made: type[Aggregate]) -> str:
    names = [parameter.name for parameter in list(inspect.signature(made.__init__).parameters.values())[1:]]
    return ", ".join(names) or "nothing"
