"""Eight values side by side: vectors for kernels, written out so that nothing depends on what LLVM can prove.

No fast-math flag is used: `fastmath` does not vectorise a float minimum, and here the order of a sum is in the text.
So NaN and the infinities keep their meaning. A minimum and a maximum see NaN as infinity (`cleaned`), which is one
instruction each (`llvm.minimumnum` is three: 1.1 instead of 1.7 billion per second), and where a result is infinite
the values themselves are asked (`settle` in `muntin.kernels.final.lane_text`).
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

__all__ = [
    "LANES", "Lanes", "added", "any_infinite", "cleaned", "divided", "evens", "greater", "kept", "lane", "lesser",
    "load", "odds", "shifted", "splat", "store", "times", "turned",
]  # fmt: skip

ir: Any = cgutils.ir  # type: ignore[attr-defined]  # llvmlite, as Numba has it
_plain: Any = types.unliteral

LANES = 8
_INDEX = ir.IntType(32)


class Lanes(types.Type):
    """Eight values of one type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(f"Lanes({dtype})")


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: Lanes) -> None:
        element = manager.lookup(type_.dtype).get_value_type()
        super().__init__(manager, type_, ir.VectorType(element, LANES))  # type: ignore[no-untyped-call]


def _place(context: Any, builder: Any, type_: Any, array: Any, index: Any) -> Any:
    """A pointer to eight values of an array."""
    data = context.make_array(type_)(context, builder, array).data
    vector = ir.VectorType(data.type.pointee, LANES)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _constant(vector: Any, value: float) -> Any:
    return ir.Constant(vector, [ir.Constant(vector.element, value)] * LANES)


def _mask(places: Any) -> Any:
    return ir.Constant(ir.VectorType(_INDEX, LANES), list(places))


@intrinsic
def load(typing, array, index, like):  # type: ignore[no-untyped-def]
    """Eight values from an index on, converted to the type of a scalar."""
    source, target = array.dtype, _plain(like)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1])
        found = builder.load(place, align=source.bitwidth // 8)
        if source == target:
            return found
        vector = ir.VectorType(context.get_value_type(target), LANES)
        if isinstance(source, types.Float):
            return builder.fpext(found, vector)
        if isinstance(target, types.Float):
            return builder.sitofp(found, vector)
        return builder.sext(found, vector)

    return Lanes(target)(array, types.uint64, target), codegen


@intrinsic
def store(typing, array, index, vector):  # type: ignore[no-untyped-def]
    """Eight values into an array, from an index on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], place, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, vector), codegen


def _elementwise(emit: Any) -> Any:
    """A function of two vectors, or of two scalars."""

    @intrinsic
    def function(typing, a, b):  # type: ignore[no-untyped-def]
        type_ = _plain(a)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = getattr(signature.args[0], "dtype", signature.args[0])
            return emit(builder, isinstance(kind, types.Float), *args)

        return type_(type_, type_), codegen

    return function


def _less(builder: Any, is_float: bool, a: Any, b: Any) -> Any:
    found = builder.fcmp_ordered("<", a, b) if is_float else builder.icmp_signed("<", a, b)
    return builder.select(found, a, b)


def _greater(builder: Any, is_float: bool, a: Any, b: Any) -> Any:
    found = builder.fcmp_ordered(">", a, b) if is_float else builder.icmp_signed(">", a, b)
    return builder.select(found, a, b)


lesser = _elementwise(_less)
"""The smaller one; neither is NaN."""
greater = _elementwise(_greater)
"""The larger one; neither is NaN."""
added = _elementwise(lambda builder, is_float, a, b: builder.fadd(a, b) if is_float else builder.add(a, b))
"""The sum, of integers modulo 2 ** 64."""
times = _elementwise(lambda builder, is_float, a, b: builder.fmul(a, b))
"""The product of floats."""
divided = _elementwise(lambda builder, is_float, a, b: builder.fdiv(a, b))
"""The quotient of floats."""


def _infinite(vector: Any) -> Any:
    scalar = not isinstance(vector, ir.VectorType)
    return ir.Constant(vector, float("inf")) if scalar else _constant(vector, float("inf"))


@intrinsic
def cleaned(typing, vector):  # type: ignore[no-untyped-def]
    """NaN as infinity; integers as they are. A vector or a scalar."""
    type_ = _plain(vector)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not isinstance(getattr(type_, "dtype", type_), types.Float):
            return args[0]
        return builder.select(builder.fcmp_ordered("ord", args[0], args[0]), args[0], _infinite(args[0].type))

    return type_(type_), codegen


@intrinsic
def any_infinite(typing, vector):  # type: ignore[no-untyped-def]
    """Whether one of eight floats is positive infinity."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if not isinstance(vector.dtype, types.Float):
            return ir.IntType(1)(0)
        found = builder.fcmp_ordered("==", args[0], _infinite(args[0].type))
        bits = builder.bitcast(found, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(vector), codegen


def _shift(by: int) -> Any:
    @intrinsic
    def function(typing, a, b):  # type: ignore[no-untyped-def]
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.shuffle_vector(args[0], args[1], _mask(range(LANES - by, 2 * LANES - by)))

        return a(a, b), codegen

    return function


shifted = {by: _shift(by) for by in (1, 2, 4)}
"""The last lanes of one vector before the first of another: as if the second began one, two or four values earlier."""


def _every_second(first: int) -> Any:
    @intrinsic
    def function(typing, a, b):  # type: ignore[no-untyped-def]
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.shuffle_vector(args[0], args[1], _mask(range(first, 2 * LANES, 2)))

        return a(a, b), codegen

    return function


evens, odds = _every_second(0), _every_second(1)
"""Every second lane of two vectors, from the first on and from the second on."""


@intrinsic
def splat(typing, value):  # type: ignore[no-untyped-def]
    """One value in every lane."""
    type_ = _plain(value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        nothing = ir.Constant(ir.VectorType(args[0].type, LANES), ir.Undefined)
        first = builder.insert_element(nothing, args[0], _INDEX(0))
        return builder.shuffle_vector(first, nothing, _mask([0] * LANES))

    return Lanes(type_)(type_), codegen


@intrinsic
def kept(typing, vector, count):  # type: ignore[no-untyped-def]
    """The last lanes as they are, so many of them; 0 in the others."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.VectorType(ir.IntType(64), LANES)
        nothing = ir.Constant(wide, ir.Undefined)
        first = builder.insert_element(nothing, args[1], _INDEX(0))
        spread = builder.shuffle_vector(first, nothing, _mask([0] * LANES))
        distance = ir.Constant(wide, [ir.IntType(64)(LANES - 1 - i) for i in range(LANES)])
        zero = ir.Constant(args[0].type, None)
        return builder.select(builder.icmp_unsigned("<", distance, spread), args[0], zero)

    return vector(vector, types.uint64), codegen


def _lane(place: int) -> Any:
    @intrinsic
    def function(typing, vector):  # type: ignore[no-untyped-def]
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.extract_element(args[0], _INDEX(place))

        return vector.dtype(vector), codegen

    return function


def _halved(by: int) -> Any:
    @intrinsic
    def function(typing, vector):  # type: ignore[no-untyped-def]
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.shuffle_vector(args[0], args[0], _mask([(i + by) % LANES for i in range(LANES)]))

        return vector(vector), codegen

    return function


lane = _lane(0)
"""The first of eight values."""
turned = {by: _halved(by) for by in (1, 2, 4)}
"""The lanes moved round by so many places."""
