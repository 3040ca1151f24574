"""Compiled aggregates against plain Python folds by the same declarations, for every case of the table."""

from __future__ import annotations

import functools
import itertools
import math
import random
import re
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import muntin as mt
from muntin.aggregates import VALUE, Bound
from muntin.aggregates.types import resolve
from muntin.compile import compiled, why_not
from tests.aggregates import cases
from tests.aggregates.cases import Case
from tests.reliability.sizes import examples

some = examples(15, suppress_health_check=[HealthCheck.too_slow], database=None)
NUMBERS = Case(
    lambda: mt.arg_min("x", by="y"),
    (pa.int32(), pa.float64()),
    st.tuples(cases.SMALL, cases.WITH_SPECIAL),
    lambda rows: cases.beside(rows, cases.smallest([by for _, by in rows])),
)
CASES = {**cases.CASES, "arg_min numbers": NUMBERS}
FIXED = [name for name, case in CASES.items() if compiled(case.bind()) is not None]
FLOAT, INT, BOOL = pa.float64(), pa.int64(), pa.bool_()


class Digits(mt.Aggregate):
    """Digits put one after the other, as a remainder: its result depends on their order."""

    partial: ClassVar = {"value": int, "power": int}
    identity = (0, 1)
    commutative, kind, returns = False, "algebraic", int

    def lift(value):
        return value % 1_000_003, 10

    def combine(a, b):
        return (a.value * b.power + b.value) % 1_000_003, a.power * b.power % 1_000_003

    def lower(p):
        return p.value


class Latest(mt.Aggregate):
    """The time of the last event that holds; no identity, one field as a tuple, a field of bool."""

    partial: ClassVar = {"time": int, "holds": bool}
    commutative, kind, timed, returns = True, "algebraic", True, bool

    def lift(value, time, order):
        return time * 10 + order, value

    def combine(a, b):
        if a.time > b.time:
            return a.time, a.holds
        return b.time, b.holds

    def lower(p):
        return p.holds


class Single(mt.Aggregate):
    """One field, given as a tuple here and as a scalar there."""

    partial: ClassVar = {"product": "float32"}
    commutative, kind = True, "distributive"

    def lift(value):
        return (value,)

    def combine(a, b):
        return a.product * b.product

    def lower(p):
        return p.product


def arrays(case: Case, rows: list[tuple[Any, ...]]) -> list[np.ndarray]:
    dtypes = [resolve(VALUE, [type_]) for type_ in case.types]
    dtypes = [np.dtype(np.int64) if dtype.kind == "O" else dtype for dtype in dtypes]
    found = [np.array(column, dtype) for column, dtype in zip(zip(*rows, strict=True), dtypes, strict=False)]
    return found or [np.empty(0, dtype) for dtype in dtypes]


def same(found: Any, right: Any) -> bool:
    if isinstance(right, float) and math.isnan(right):
        return math.isnan(found)
    return bool(found == right)


def fold(bound: Bound, rows: list[tuple[Any, ...]], places: list[tuple[int, int]]) -> Any:
    timed = bound.aggregate.timed
    lifted = [bound.lift(*row, *(place if timed else ())) for row, place in zip(rows, places, strict=True)]
    return functools.reduce(bound.combine, lifted)


def agree(case: Case, bound: Bound, partials: list[np.ndarray], i: int, rows: list[Any], places: list[Any]) -> None:
    """Row i of the partials is that of these events."""
    right = fold(bound, rows, places)
    if case.exact:
        assert all(same(column[i].item(), field) for column, field in zip(partials, right, strict=True))
    elif len(rows) >= bound.aggregate.least:
        functions = compiled(bound)
        assert functions is not None
        (results,), _ = functions.lower([column[i : i + 1] for column in partials])
        wanted = bound.lower(right)
        near = abs(results[0] - wanted) <= case.within(rows, wanted) if math.isfinite(wanted) else False
        assert near or same(results[0].item(), wanted)


@pytest.mark.parametrize("name", FIXED)
@some
@given(data=st.data())
def test_kernels_do_what_the_declaration_says(name: str, data: st.DataObject) -> None:
    case, bound = CASES[name], CASES[name].bind()
    functions = compiled(bound)
    assert functions is not None
    rows = data.draw(st.lists(case.values, min_size=1, max_size=12))
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    places = [(chance.randint(0, 5), chance.randint(0, 2)) for _ in rows]
    inputs = arrays(case, rows)
    if bound.aggregate.timed:
        inputs += [np.array(column, np.int64) for column in zip(*places, strict=True)]
    for column in inputs:
        column.flags.writeable = False

    # segments that cover all rows, then ranges of segments; one of each is empty
    cuts = sorted({0, len(rows), *(chance.randint(0, len(rows)) for _ in range(4))})
    lo, hi = np.array([*cuts[:-1], 0]), np.array([*cuts[1:], 0])
    partials = functions.fold(lo, hi, inputs)
    assert [column.dtype for column in partials] == functions.slots == list(bound.fields.values())
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        agree(case, bound, partials, i, rows[a:b], places[a:b])
    if bound.identity is not None:
        assert all(same(c[-1].item(), field) for c, field in zip(partials, bound.identity, strict=True))

    segments = len(cuts) - 1
    a = chance.randrange(segments)
    b = chance.randint(a + 1, segments)
    merged = functions.merge(np.array([a, 1]), np.array([b, 1]), partials)
    agree(case, bound, merged, 0, rows[cuts[a] : cuts[b]], places[cuts[a] : cuts[b]])
    index = np.array(chance.sample(range(segments), segments))
    gathered = functions.gather_merge(np.array([0]), np.array([segments]), index, partials)
    shuffled = [
        (row, place) for i in index for row, place in list(zip(rows, places, strict=True))[cuts[i] : cuts[i + 1]]
    ]
    agree(case, bound, gathered, 0, [row for row, _ in shuffled], [place for _, place in shuffled])

    whole = functions.fold(np.array([0]), np.array([len(rows)]), inputs)
    results, failed = functions.lower(whole)
    partial = bound.partial(*(column[0].item() for column in whole))
    assert (failed is None) == (bound.aggregate.fails is None)
    if len(rows) < bound.aggregate.least:
        return
    if failed is not None:
        assert failed[0] == bound.aggregate.fails(partial)
        if failed[0]:
            return
    right = bound.lower(partial)
    for found, wanted in zip(results, right if isinstance(right, tuple) else (right,), strict=True):
        assert same(found[0].item(), wanted) or found[0] == pytest.approx(wanted, rel=1e-14)


def test_every_built_in_of_fixed_size_is_compiled() -> None:
    names = {CASES[name].make().name for name in FIXED}
    assert names >= {"count", "sum", "mean", "geometric_mean", "var", "stddev", "center_of_mass", "min", "max"}
    assert names >= {"min_count", "max_count", "arg_min", "arg_max", "first", "last", "m4", "Growth", "Range"}


@pytest.mark.parametrize(
    "type_", [pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), BOOL, pa.float32()], ids=str
)
@pytest.mark.parametrize("make", [mt.sum, mt.mean, mt.min, mt.var])
def test_numbers_of_every_width(make: Any, type_: pa.DataType) -> None:
    bound = make("x").bind([type_])
    functions = compiled(bound)
    assert functions is not None
    dtype = resolve(VALUE, [type_])
    limits = [0, 1] if dtype.kind == "b" else [0.25, -3.0, 7.5] if dtype.kind == "f" else [*_limits(dtype), 1]
    values = np.array(limits, dtype)
    partials = functions.fold(np.array([0]), np.array([len(values)]), [values])
    right = bound.lower(functools.reduce(bound.combine, map(bound.lift, values.tolist())))
    assert functions.lower(partials)[0][0][0] == pytest.approx(right, rel=1e-12)


def _limits(dtype: np.dtype) -> list[int]:
    return [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]


def test_a_count_reads_no_values() -> None:
    functions = compiled(mt.count("city").bind([pa.string()]))
    assert functions is not None
    assert functions.fold(np.array([0]), np.array([3]), [np.array(["a", "b", "c"], object)])[0].tolist() == [3]


# ---- users' own ----


def test_order_matters_where_it_is_declared_to() -> None:
    bound = Digits("x").bind([INT])
    functions = compiled(bound)
    assert functions is not None
    values = np.array([3, 1, 4, 1, 5, 9])
    partials = functions.fold(np.array([0, 2, 4]), np.array([2, 4, 6]), [values])
    assert functions.lower(functions.merge(np.array([0]), np.array([3]), partials))[0][0].tolist() == [314159]
    swapped = functions.gather_merge(np.array([0]), np.array([3]), np.array([2, 0, 1]), partials)
    assert functions.lower(swapped)[0][0].tolist() == [593141]


def test_users_own_with_time_and_bool() -> None:
    functions = compiled(Latest("x").bind([BOOL]))
    assert functions is not None
    inputs = [np.array([True, False, True]), np.array([3, 7, 5]), np.array([0, 1, 2])]
    partials = functions.fold(np.array([0, 1]), np.array([2, 3]), inputs)
    assert [column.tolist() for column in partials] == [[71, 71], [False, False]]
    assert functions.lower(partials)[0][0].dtype == np.bool_


def test_a_field_of_float32_rounds_wherever_partials_are_cut() -> None:
    functions = compiled(Single("x").bind([FLOAT]))
    assert functions is not None
    values = np.array([1.1, 1.3, 1.7])
    whole = functions.fold(np.array([0]), np.array([3]), [values])
    parts = functions.fold(np.array([0, 2]), np.array([2, 3]), [values])
    assert functions.merge(np.array([0]), np.array([2]), parts)[0].tolist() == whole[0].tolist()
    assert whole[0].dtype == np.float32


def own(**parts: Any) -> Bound:
    base = {
        "partial": {"n": int},
        "lift": lambda value: 1,
        "combine": lambda a, b: a.n + b.n,
        "lower": lambda p: p.n,
        "returns": int,
        "kind": "algebraic",
    }
    return type("Own", (mt.Aggregate,), base | parts)("x").bind([FLOAT])


@pytest.mark.parametrize(
    ("bound", "reason"),
    [
        (mt.median("x").bind([FLOAT]), "its field 'values' has no fixed size"),
        (mt.min("x").bind([pa.string()]), "its field 'value' has no fixed size"),
        (own(lower=lambda self, p: p.n), "its lower takes self"),
        (own(lift=lambda value: value.as_integer_ratio()[0]), "Numba does not compile its lift"),
        (own(lift=lambda value: value), "its lift gives float64 where int64 is declared"),
        (own(lift=lambda value: (1, 2)), "its lift gives 2 values, not 1"),
        (own(lower=lambda p: p.n / 2), "its lower gives float64 where int64 is declared"),
        (own(lower=lambda p: p.n > 2), "its lower gives bool where int64 is declared"),
        (own(lower=lambda p: None if p.n > 2 else p.n), "its lower gives|Numba does not compile its lower"),
        (own(lower=lambda p: "many", returns=str), "its result, string, has no fixed size"),
    ],
)
def test_what_is_not_compiled_says_why(bound: Bound, reason: str) -> None:
    assert compiled(bound) is None
    assert re.match(reason, why_not(bound) or "")


def test_strided_and_unaligned_inputs_are_copied() -> None:
    functions = compiled(mt.sum("x").bind([FLOAT]))
    assert functions is not None
    strided = np.arange(20.0)[::2]
    unaligned = np.frombuffer(b"." + np.arange(10.0).tobytes(), np.uint8)[1:].view(np.float64)
    assert functions.fold(np.array([0]), np.array([10]), [strided])[0].tolist() == [90.0]
    assert functions.fold(np.array([0]), np.array([10]), [unaligned])[0].tolist() == [45.0]
