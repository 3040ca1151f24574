"""Expressions on Arrow tables, with the meaning that they have on Spark in ANSI mode.

A condition on null is null, and null is not true. Whole numbers do not wrap around: a result that does not fit is an
error, and so is a division by zero. `/` gives a float64. NaN equals NaN and is larger than any other number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from muntin.errors import FrameError, nearest
from muntin.sql.expressions import TYPES, expression, text_of
from muntin.sql.places import error, place_of

__all__ = ["evaluated", "kept_rows"]

Value = Any  # an Array, a ChunkedArray or a Scalar


def kept_rows(table: pa.Table, where: str) -> pa.Table:
    """The rows for which a condition is true.

    >>> kept_rows(pa.table({"x": [1, None, 3]}), "x > 1").to_pydict()
    {'x': [3]}
    """
    mask = evaluated(table, where)
    if not pa.types.is_boolean(mask.type):
        raise FrameError(
            f"where({where!r}) gives {mask.type}, and a condition is true or false. Compare with something."
        )
    return table.filter(mask)


def evaluated(table: pa.Table, text: str) -> pa.ChunkedArray:
    """The value of an expression in every row.

    >>> evaluated(pa.table({"x": [1, 2]}), "x * 2 + 1").to_pylist()
    [3, 5]
    """
    tree = expression(text)
    for column in tree.find_all(exp.Column):
        if column.name not in table.schema.names:
            hint = nearest(column.name, table.schema.names)
            raise error(f"SELECT {text}", place_of(column), f"the frame has no column {column.name!r}. {hint}")
    try:
        found = _value(tree, table)
    except pa.ArrowException as problem:
        raise FrameError(f"{text!r} cannot be computed: {problem}") from None
    if isinstance(found, pa.Scalar):
        found = pa.chunked_array([pa.repeat(found, table.num_rows)])
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _value(node: exp.Expr, table: pa.Table) -> Value:
    make = _RULES.get(type(node))
    assert make is not None, f"{text_of(node)} passed the check"
    return make(node, table)


# -- leaves ------------------------------------------------------------------------------------------------------------


def _literal(node: Any, _: pa.Table) -> Value:
    if node.is_string:
        return pa.scalar(node.this)
    if node.this.isdigit():
        number = int(node.this)
        return pa.scalar(number, pa.int32() if number < 2**31 else pa.int64())  # as Spark types it
    return pa.scalar(float(node.this), pa.float64())


# -- numbers -----------------------------------------------------------------------------------------------------------


def _number(node: Any, a: Value) -> Value:
    if not (pa.types.is_integer(a.type) or pa.types.is_floating(a.type)):
        raise FrameError(f"{text_of(node)!r} computes with {a.type}, which is no number. Cast it first.")
    return a


def _arithmetic(function: Callable[..., Value]) -> Callable[[Any, pa.Table], Value]:
    def rule(node: Any, table: pa.Table) -> Value:
        a, b = (_number(node, _value(side, table)) for side in (node.this, node.expression))
        a, b = alike(a, b)
        return function(a, b)

    return rule


def _divided(node: Any, table: pa.Table) -> Value:
    a, b = (_number(node, _value(side, table)).cast(pa.float64()) for side in (node.this, node.expression))
    _no_zero(node, b)
    return pc.divide(a, b)


def _whole_part(node: Any, table: pa.Table) -> Value:
    a, b = (_number(node, _value(side, table)).cast(pa.int64()) for side in (node.this, node.expression))
    _no_zero(node, b)
    return pc.divide_checked(a, b)


def _rest(node: Any, table: pa.Table) -> Value:
    a, b = alike(*(_number(node, _value(side, table)) for side in (node.this, node.expression)))
    _no_zero(node, b)
    if pa.types.is_integer(a.type):
        return pc.subtract(a, pc.multiply(pc.divide(a, b), b))
    sides = [side if isinstance(side, pa.Scalar) else side.combine_chunks() for side in (a, b)]
    known = pc.is_valid(pc.add(*sides))
    with np.errstate(invalid="ignore"):  # of an infinity it is NaN, as on Spark
        rest = np.fmod(*(_filled(side) for side in sides))
    return pc.if_else(known, pa.scalar(rest) if rest.ndim == 0 else pa.array(rest), pa.scalar(None, pa.float64()))


def _filled(side: Value) -> Any:
    return pc.fill_null(side, 1).as_py() if isinstance(side, pa.Scalar) else pc.fill_null(side, 1).to_numpy()


def _no_zero(node: Any, divisor: Value) -> None:
    zero = pc.equal(divisor, pa.scalar(0, divisor.type))
    if (zero.as_py() if isinstance(zero, pa.Scalar) else pc.any(zero).as_py()) is True:
        by = text_of(node.expression)
        raise FrameError(f"{text_of(node)!r} divides by zero. Write NULLIF({by}, 0) to get null there.")


def alike(a: Value, b: Value) -> tuple[Value, Value]:
    """Two values of one type: the wider number; a text beside a time or a date is read as one.

    >>> [value.type for value in alike(pa.array([1], pa.int32()), pa.scalar(0.5))]
    [DataType(double), DataType(double)]
    """
    if a.type.equals(b.type):
        return a, b
    for one, other in ((a, b), (b, a)):
        if pa.types.is_null(one.type):
            cast = one.cast(other.type)
            return (cast, other) if one is a else (other, cast)
        if pa.types.is_string(one.type) and pa.types.is_temporal(other.type) and isinstance(one, pa.Scalar):
            cast = _moment(one.as_py(), other.type)
            return (cast, other) if one is a else (other, cast)
    numbers = [pa.types.is_integer(v.type) or pa.types.is_floating(v.type) for v in (a, b)]
    if not all(numbers):
        if pa.types.is_temporal(a.type) and pa.types.is_temporal(b.type):
            return a, b.cast(a.type)
        raise FrameError(f"{a.type} and {b.type} do not go together. Cast one of them.")
    if pa.types.is_integer(a.type) and pa.types.is_integer(b.type):
        wide = a.type if a.type.bit_width >= b.type.bit_width else b.type
    elif pa.types.is_float32(a.type) and pa.types.is_float32(b.type):
        wide = pa.float32()
    else:
        wide = pa.float64()
    return _cast(a, wide), _cast(b, wide)


def _cast(value: Value, type_: pa.DataType) -> Value:
    return value if value.type.equals(type_) else value.cast(type_, safe=not pa.types.is_floating(type_))


def _moment(text: str, type_: pa.DataType) -> pa.Scalar:
    """A text as a time; where the column has a time zone, the text is in UTC."""
    zone = getattr(type_, "tz", None)
    plain = pa.timestamp(type_.unit) if zone is not None else type_
    return pa.scalar(text).cast(plain).cast(type_)


# -- conditions --------------------------------------------------------------------------------------------------------


def _compared(kind: str, a: Value, b: Value) -> Value:
    """By Spark's order, in which NaN equals NaN and is larger than any other number."""
    a, b = alike(a, b)
    plain = getattr(pc, kind)(a, b)
    if not pa.types.is_floating(a.type):
        return plain
    left, right = pc.is_nan(a), pc.is_nan(b)
    if kind in ("equal", "not_equal"):
        both = pc.and_(left, right)
        return pc.or_(plain, both) if kind == "equal" else pc.and_(plain, pc.invert(both))
    if kind in ("greater", "greater_equal"):
        more = left if kind == "greater_equal" else pc.and_not(left, right)
    else:
        more = right if kind == "less_equal" else pc.and_not(right, left)
    return pc.or_(plain, more)


def _comparison(kind: str) -> Callable[[Any, pa.Table], Value]:
    return lambda node, table: _compared(kind, _value(node.this, table), _value(node.expression, table))


def _null_safe(node: Any, table: pa.Table) -> Value:
    a, b = _value(node.this, table), _value(node.expression, table)
    same = pc.coalesce(_compared("equal", a, b), pa.scalar(False))
    return pc.or_(same, pc.and_(pc.is_null(a), pc.is_null(b)))


def _is(node: Any, table: pa.Table) -> Value:
    value = _value(node.this, table)
    if isinstance(node.expression, exp.Null):
        return pc.is_null(value)
    return pc.coalesce(pc.equal(value, pa.scalar(node.expression.this)), pa.scalar(False))


def _in(node: Any, table: pa.Table) -> Value:
    value = _value(node.this, table)
    found = [_compared("equal", value, _value(item, table)) for item in node.expressions]
    return reduce(pc.or_kleene, found)


def _like(node: Any, table: pa.Table) -> Value:
    found = pc.match_like(_text(node, _value(node.this, table)), node.expression.this)
    return pc.invert(found) if node.args.get("negate") else found


def _between(node: Any, table: pa.Table) -> Value:
    value, low, high = (_value(part, table) for part in (node.this, node.args["low"], node.args["high"]))
    return pc.and_kleene(_compared("greater_equal", value, low), _compared("less_equal", value, high))


# -- choices -----------------------------------------------------------------------------------------------------------


def _chosen(condition: Value, yes: Value, no: Value) -> Value:
    yes, no = alike(yes, no)
    return pc.if_else(pc.coalesce(condition, pa.scalar(False)), yes, no)


def _case(node: Any, table: pa.Table) -> Value:
    default = node.args.get("default")
    found = pa.scalar(None) if default is None else _value(default, table)
    of = None if node.this is None else _value(node.this, table)
    for branch in reversed(node.args["ifs"]):
        condition = _value(branch.this, table)
        condition = condition if of is None else _compared("equal", of, condition)
        found = _chosen(condition, _value(branch.args["true"], table), found)
    return found


def _if(node: Any, table: pa.Table) -> Value:
    no = node.args.get("false")
    yes = _value(node.args["true"], table)
    return _chosen(_value(node.this, table), yes, pa.scalar(None) if no is None else _value(no, table))


def _coalesce(node: Any, table: pa.Table) -> Value:
    parts = [_value(part, table) for part in (node.this, *node.expressions)]
    return reduce(lambda a, b: pc.coalesce(*alike(a, b)), parts)


def _nullif(node: Any, table: pa.Table) -> Value:
    value = _value(node.this, table)
    same = pc.coalesce(_compared("equal", value, _value(node.expression, table)), pa.scalar(False))
    return pc.if_else(same, pa.scalar(None, value.type), value)


# -- functions ---------------------------------------------------------------------------------------------------------


def _rounded(function: Callable[[Value], Value]) -> Callable[[Any, pa.Table], Value]:
    def rule(node: Any, table: pa.Table) -> Value:
        value = _number(node, _value(node.this, table))
        return value.cast(pa.int64()) if pa.types.is_integer(value.type) else function(value).cast(pa.int64())

    return rule


def _converted(node: Any, table: pa.Table) -> Value:
    value, target = _value(node.this, table), pa.type_for_alias(TYPES[node.to.this])
    if pa.types.is_string(target) and not (pa.types.is_integer(value.type) or pa.types.is_string(value.type)):
        raise FrameError(f"{text_of(node)!r}: Muntin writes only whole numbers as texts; {value.type} is another type.")
    if pa.types.is_floating(value.type) and pa.types.is_integer(target):
        value = pc.trunc(value)
    return _cast(value, target)


def _joined(node: Any, table: pa.Table) -> Value:
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    return pc.binary_join_element_wise(*(_text(node, _value(part, table)) for part in parts), "")


def _text(node: Any, value: Value) -> Value:
    if not pa.types.is_string(value.type):
        raise FrameError(f"{text_of(node)!r} takes texts, not {value.type}. Cast it to STRING first.")
    return value


def _plain(function: Callable[[Value], Value], take: Callable[[Any, Value], Value]) -> Callable[[Any, pa.Table], Value]:
    return lambda node, table: function(take(node, _value(node.this, table)))


_RULES: dict[type[exp.Expr], Callable[[Any, pa.Table], Value]] = {
    exp.Column: lambda node, table: table.column(node.name),
    exp.Literal: _literal,
    exp.Boolean: lambda node, table: pa.scalar(node.this),
    exp.Null: lambda node, table: pa.scalar(None),
    exp.Paren: lambda node, table: _value(node.this, table),
    exp.Add: _arithmetic(pc.add_checked),
    exp.Sub: _arithmetic(pc.subtract_checked),
    exp.Mul: _arithmetic(pc.multiply_checked),
    exp.Div: _divided,
    exp.IntDiv: _whole_part,
    exp.Mod: _rest,
    exp.Neg: _plain(pc.negate_checked, _number),
    exp.EQ: _comparison("equal"),
    exp.NEQ: _comparison("not_equal"),
    exp.GT: _comparison("greater"),
    exp.GTE: _comparison("greater_equal"),
    exp.LT: _comparison("less"),
    exp.LTE: _comparison("less_equal"),
    exp.NullSafeEQ: _null_safe,
    exp.And: lambda node, table: pc.and_kleene(_value(node.this, table), _value(node.expression, table)),
    exp.Or: lambda node, table: pc.or_kleene(_value(node.this, table), _value(node.expression, table)),
    exp.Not: lambda node, table: pc.invert(_value(node.this, table)),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Cast: _converted,
    exp.Abs: _plain(pc.abs_checked, _number),
    exp.Floor: _rounded(pc.floor),
    exp.Ceil: _rounded(pc.ceil),
    exp.Sqrt: _plain(lambda value: pc.sqrt(value.cast(pa.float64())), _number),
    exp.Lower: _plain(pc.utf8_lower, _text),
    exp.Upper: _plain(pc.utf8_upper, _text),
    exp.Length: _plain(lambda value: pc.utf8_length(value), _text),
    exp.Concat: _joined,
    exp.DPipe: _joined,
}
