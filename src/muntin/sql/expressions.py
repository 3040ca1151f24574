"""Expressions over the columns of a row: which there are, and the texts that a spec keeps of them.

An expression means what Spark makes of it (in ANSI mode, its default), wherever it runs: `arrow.py` evaluates it on
Arrow tables, and Spark gets its text.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from muntin.sql.dialect import Muntin, parsed
from muntin.sql.functions import called, is_aggregate, unknown
from muntin.sql.places import error, place_of

__all__ = ["FUNCTIONS", "checked", "columns_of", "expression", "text_of"]

FUNCTIONS: dict[str, type[exp.Expr]] = {
    "abs": exp.Abs,
    "ceil": exp.Ceil,
    "coalesce": exp.Coalesce,
    "concat": exp.Concat,
    "floor": exp.Floor,
    "if": exp.If,
    "length": exp.Length,
    "lower": exp.Lower,
    "nullif": exp.Nullif,
    "sqrt": exp.Sqrt,
    "upper": exp.Upper,
}
"""The functions of one row, by name."""

OPERATORS: tuple[type[exp.Expr], ...] = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv, exp.Neg, exp.DPipe,
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ,
    exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like,
    exp.Case, exp.Cast, exp.Paren,
)  # fmt: skip
_LEAVES = (exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.DataType)
# What nodes may hold; anything else changes the meaning of one, and would be lost.
_ARGUMENTS = {
    "this", "expression", "expressions", "low", "high", "true", "false", "ifs", "default", "to", "negate",
    "safe", "typed", "coalesce", "is_string", "quoted", "_type", "query", "unnest",
}  # fmt: skip
TYPES = {
    exp.DataType.Type.INT: "int32",
    exp.DataType.Type.BIGINT: "int64",
    exp.DataType.Type.FLOAT: "float32",
    exp.DataType.Type.DOUBLE: "float64",
    exp.DataType.Type.BOOLEAN: "bool",
    exp.DataType.Type.TEXT: "string",
    exp.DataType.Type.VARCHAR: "string",
}
"""The types that CAST goes to, and what Arrow calls them."""


def expression(text: str) -> exp.Expr:
    """An expression that stands alone, parsed and checked.

    >>> expression("price > 0").sql()
    'price > 0'
    """
    head = "SELECT "
    tree = parsed(head + text)
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or tree.args.get("from_"):
        raise error(text, None, f"{text!r} is no expression. Write one such as 'price > 0'.")
    return checked(head + text, tree.expressions[0])


def checked(text: str, node: exp.Expr) -> exp.Expr:
    """The expression itself, or the error for the first thing in it that there is not."""
    for part in _parts(node):
        if type(part) in (*OPERATORS, *_LEAVES, *FUNCTIONS.values()):
            _check(text, part)
            continue
        if isinstance(part, exp.Anonymous) and is_aggregate(part):
            raise error(
                text,
                place_of(part),
                f"the aggregate {called(part)} stands within an expression. Aggregates "
                f"are computed per window: select them on their own, and compute with the result.",
            )
        if isinstance(part, exp.Anonymous):
            raise unknown(text, part, called(part), FUNCTIONS)
        name = part.sql_name().lower() if isinstance(part, exp.Func) else type(part).__name__.lower()
        raise error(
            text,
            place_of(part),
            f"{name!r} is valid SQL that Muntin does not have in expressions. There are "
            f"arithmetic, comparisons, AND, OR, NOT, IS, IN, BETWEEN, LIKE, CASE, CAST and {_known()}; compute "
            f"anything else as a column first.",
        )
    return node


def _known() -> str:
    return ", ".join(sorted(FUNCTIONS))


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    for part in node.walk(prune=lambda part: isinstance(part, exp.DataType)):
        if not (isinstance(part, exp.If) and isinstance(part.parent, exp.Case)):
            yield part


def _check(text: str, part: exp.Expr) -> None:
    more = [name for name, value in part.args.items() if value and name not in _ARGUMENTS]
    if more and not isinstance(part, exp.Column):
        raise error(
            text,
            place_of(part),
            f"{part.sql(dialect=Muntin)!r} is valid SQL that Muntin does not have: it knows no {more[0]!r} there.",
        )
    if isinstance(part, exp.Column) and part.table:
        raise error(
            text,
            place_of(part),
            f"{part.sql()!r} reaches into {part.table!r}. Columns go by their plain names; "
            f"take a field of a struct as a column first.",
        )
    if isinstance(part, exp.Cast) and part.to.this not in TYPES:
        raise error(
            text,
            place_of(part),
            f"CAST to {part.to.sql()} is valid SQL that Muntin does not have. Cast to INT, "
            f"BIGINT, FLOAT, DOUBLE, BOOLEAN or STRING.",
        )
    if isinstance(part, exp.In) and (part.args.get("query") or part.args.get("unnest")):
        raise error(text, place_of(part), "IN over a query is valid SQL that Muntin does not have. List the values.")
    if isinstance(part, exp.Like) and not isinstance(part.expression, exp.Literal):
        raise error(text, place_of(part), "LIKE takes a pattern that is written out, such as LIKE 'a%'.")
    if isinstance(part, exp.Is) and not isinstance(part.expression, exp.Null | exp.Boolean):
        raise error(text, place_of(part), "IS goes with NULL, TRUE and FALSE.")


def columns_of(node: exp.Expr) -> list[exp.Column]:
    """The columns that an expression reads."""
    return list(node.find_all(exp.Column))


def text_of(node: exp.Expr) -> str:
    """An expression as a spec keeps it.

    >>> text_of(expression("a+B * 2"))
    'a + B * 2'
    """
    return str(node.sql(dialect=Muntin, comments=False))
