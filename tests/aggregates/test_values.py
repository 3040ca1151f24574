"""What aggregates give through the public API: nulls, ties, NaN, types of results, and errors."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.aggregates import BUILTIN

from .cases import CASES, Chain, Growth, Range

NAN = math.nan


def apply(columns: dict[str, Any], **aggregates: mt.Aggregate) -> pa.Table:
    """All rows in one window, in the order given."""
    rows = len(next(iter(columns.values())))
    frame = pa.table({"ts": pa.array(range(rows), pa.int64()), **columns})
    spec = mt.over("ts").window("w", mt.tumbling("1 hour"), **aggregates)
    found = spec.apply(frame)
    right = spec.apply(frame, engine="reference")
    assert found.schema == right.schema
    return found


def value(aggregate: mt.Aggregate, *columns: Any) -> Any:
    """The one result for columns x, y, ..."""
    named = dict(zip("xy", columns, strict=False))
    return apply(named, r=aggregate).column("r").to_pylist()[0]


def same(found: Any, right: Any) -> bool:
    return found == right or (found != found and right != right)


# ---- nulls ----

F, S = pa.float64(), pa.string()
ONE_COLUMN = {
    "count": (mt.count("x"), 3),
    "sum": (mt.sum("x"), 12.0),
    "mean": (mt.mean("x"), 4.0),
    "geometric_mean": (mt.geometric_mean("x"), pytest.approx(32 ** (1 / 3))),
    "var": (mt.var("x"), 12.0),
    "stddev": (mt.stddev("x"), math.sqrt(12)),
    "min": (mt.min("x"), 2.0),
    "max": (mt.max("x"), 8.0),
    "min_count": (mt.min_count("x"), 2),
    "max_count": (mt.max_count("x"), 1),
    "first": (mt.first("x"), 2.0),
    "last": (mt.last("x"), 8.0),
    "m4": (mt.m4("x"), {"min": 2.0, "max": 8.0, "first": 2.0, "last": 8.0}),
    "median": (mt.median("x"), 2.0),
    "quantile": (mt.quantile("x", 0.75), 5.0),
    "mode": (mt.mode("x"), 2.0),
    "nth_smallest": (mt.nth_smallest("x", 3), 8.0),
    "nth_youngest": (mt.nth_youngest("x", 3), 2.0),
    "count_distinct": (mt.count_distinct("x"), 2),
    "approx_count_distinct": (mt.approx_count_distinct("x"), 2),
    "approx_quantile": (mt.approx_quantile("x", 0, error=0.25), 2.5),
    "heavy_hitters": (mt.heavy_hitters("x", 0.5), [{"value": 2.0, "count": 2}]),
    "collect": (mt.collect("x"), [2.0, 2.0, 8.0]),
    "process": (mt.process(lambda x: float(len(x)), "x"), 3.0),
}
TWO_COLUMNS = {
    "arg_min": (mt.arg_min("x", by="y"), 2.0),
    "arg_max": (mt.arg_max("x", by="y"), 8.0),
    "center_of_mass": (mt.center_of_mass("x", mass="y"), 6.5),
    "collect": (mt.collect("x", "y"), [{"x": 2.0, "y": 1.0}, {"x": 8.0, "y": 3.0}]),
    "process": (mt.process(lambda x, y: (x * y).sum(), "x", "y"), 26.0),
}


def test_the_tables_here_name_every_aggregate() -> None:
    assert ONE_COLUMN.keys() | TWO_COLUMNS.keys() | {"concat", "concurrent"} == BUILTIN.keys()


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_nulls_are_skipped(name: str) -> None:
    aggregate, right = ONE_COLUMN[name]
    assert value(aggregate, [None, 2.0, None, 2.0, 8.0, None]) == right


@pytest.mark.parametrize("name", TWO_COLUMNS)
def test_a_row_with_a_null_in_any_column_is_skipped(name: str) -> None:
    aggregate, right = TWO_COLUMNS[name]
    assert value(aggregate, [9.0, 2.0, None, 8.0], [None, 1.0, 0.5, 3.0]) == right


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_nulls_alone_give_null_and_a_count_of_0(name: str) -> None:
    assert value(ONE_COLUMN[name][0], pa.array([None, None], F)) == (0 if name == "count" else None)


@pytest.mark.parametrize("name", TWO_COLUMNS)
def test_rows_that_all_have_a_null_give_null(name: str) -> None:
    assert value(TWO_COLUMNS[name][0], pa.array([None, 1.0], F), pa.array([1.0, None], F)) is None


def test_strings_and_nulls() -> None:
    assert value(mt.concat("x", sep="-"), ["a", None, "b"]) == "a-b"
    assert value(mt.concat("x"), pa.array([None], S)) is None
    assert value(mt.concat("x"), [""]) == ""


def test_count_without_a_column_counts_rows() -> None:
    assert value(mt.count(), pa.array([None, 1.0, None], F)) == 3


# ---- too few values, ties, interpolation ----


def test_one_value_has_no_variance() -> None:
    assert value(mt.var("x"), [5.0]) is None
    assert value(mt.stddev("x"), [5.0, None]) is None
    assert value(mt.var("x"), [5.0, 5.0]) == 0.0


def test_fewer_than_n_values_have_no_nth() -> None:
    assert value(mt.nth_smallest("x", 3), [1, 2, None]) is None
    assert value(mt.nth_youngest("x", 3), [1, 2, None]) is None


@pytest.mark.parametrize(
    ("share", "right"), [(0, 10.0), (0.1, 13.0), (0.25, 17.5), (0.5, 25.0), (0.95, 38.5), (1, 40.0)]
)
def test_quantiles_interpolate_linearly(share: float, right: float) -> None:
    assert value(mt.quantile("x", share), [40, 10, 30, 20]) == pytest.approx(right, abs=1e-12)


def test_quantiles_of_what_is_not_finite() -> None:
    assert value(mt.median("x"), [1.0, math.inf, math.inf]) == math.inf
    assert math.isnan(value(mt.median("x"), [-math.inf, math.inf]))
    assert value(mt.quantile("x", 0.5), [NAN, 2.0, 1.0]) == 2.0
    assert math.isnan(value(mt.quantile("x", 0.75), [NAN, 2.0, 1.0]))


def test_of_equally_frequent_values_mode_takes_the_smallest() -> None:
    assert value(mt.mode("x"), [3, 3, 1, 2, 2]) == 2
    assert value(mt.mode("x"), ["b", "a"]) == "a"
    assert value(mt.mode("x"), [NAN, NAN, 1.0, 1.0, 2.0]) == 1.0
    assert math.isnan(value(mt.mode("x"), [NAN, NAN, 1.0]))


def test_of_equal_extremes_arg_takes_the_earliest() -> None:
    assert value(mt.arg_min("x", by="y"), ["c", "b", "a"], [7, 5, 5]) == "b"
    assert value(mt.arg_max("x", by="y"), ["c", "b", "a"], [7, 5, 7]) == "c"
    assert value(mt.arg_max("x", by="y"), ["c", "b", "a"], [7.0, NAN, NAN]) == "b"


def test_at_equal_times_the_order_column_decides() -> None:
    frame = {"ts": [5, 5, 5, 4], "seq": [3, 1, 2, 9], "x": ["c", "a", "b", "z"], "y": [1, 1, 1, 2]}
    spec = mt.over("ts", order="seq").window(
        "w",
        mt.tumbling("1 hour"),
        first=mt.first("x"),
        last=mt.last("x"),
        all=mt.concat("x"),
        low=mt.arg_min("x", by="y"),
        second=mt.nth_youngest("x", 2),
    )
    row = spec.apply(frame).to_pylist()[0]
    assert [row[name] for name in ("first", "last", "all", "low", "second")] == ["z", "c", "zabc", "a", "b"]


def test_heavy_hitters_come_by_count_then_by_value() -> None:
    found = value(mt.heavy_hitters("x", share=0.2), ["d", "b", "b", "c", "c", "a"])
    assert found == [{"value": "b", "count": 2}, {"value": "c", "count": 2}]


# ---- NaN, zeros ----


@pytest.mark.parametrize(
    ("aggregate", "right"),
    [
        (mt.min("x"), 1.0),
        (mt.max("x"), NAN),
        (mt.min_count("x"), 1),
        (mt.max_count("x"), 2),
        (mt.nth_smallest("x", 2), math.inf),
        (mt.nth_smallest("x", 3), NAN),
        (mt.count_distinct("x"), 3),
        (mt.sum("x"), NAN),
        (mt.mean("x"), NAN),
        (mt.var("x"), NAN),
        (mt.count("x"), 4),
    ],
    ids=repr,
)
def test_nan_is_larger_than_any_number_and_spreads(aggregate: mt.Aggregate, right: Any) -> None:
    assert same(value(aggregate, [NAN, math.inf, 1.0, NAN]), right)


def test_nan_alone() -> None:
    assert math.isnan(value(mt.min("x"), [NAN, None]))
    assert all(map(math.isnan, value(mt.m4("x"), [NAN, NAN]).values()))


def test_infinities_of_both_signs_sum_to_nan() -> None:
    assert math.isnan(value(mt.sum("x"), [math.inf, 1.0, -math.inf]))
    assert value(mt.sum("x"), [math.inf, 1.0]) == math.inf


def test_zeros_of_both_signs_are_one_value() -> None:
    assert value(mt.count_distinct("x"), [0.0, -0.0]) == 1
    assert value(mt.min_count("x"), [0.0, -0.0]) == 2
    assert value(mt.heavy_hitters("x", 1), [0.0, -0.0]) == [{"value": 0.0, "count": 2}]


def test_geometric_mean_of_zero_and_of_negatives() -> None:
    assert value(mt.geometric_mean("x"), [0.0, 5.0]) == 0.0
    assert math.isnan(value(mt.geometric_mean("x"), [-1.0, 5.0]))


def test_masses_that_add_up_to_0_have_no_center() -> None:
    assert math.isnan(value(mt.center_of_mass("x", mass="y"), [1.0, 2.0], [1.0, -1.0]))


# ---- integer sums ----


def test_an_integer_sum_is_exact_and_an_overflow_an_error() -> None:
    assert value(mt.sum("x"), [2**53 + 1, 1]) == 2**53 + 2
    assert value(mt.sum("x"), [2**63 - 1, 2**63 - 1, -(2**63)]) == 2**63 - 2
    with pytest.raises(mt.SumOverflow, match=rf"^sum\('x'\) is {2**63}.* overflow='null'.* float64"):
        value(mt.sum("x"), [2**63 - 1, 1])
    assert value(mt.sum("x", overflow="null"), [2**63 - 1, 1]) is None
    assert value(mt.sum("x", overflow="null"), [2**63 - 1]) == 2**63 - 1
    with pytest.raises(mt.SumOverflow, match=str(2**64 - 1)):
        value(mt.sum("x"), pa.array([2**64 - 1], pa.uint64()))


# ---- types of results ----

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
NUMBERS = [pa.float64(), pa.float32(), *INTEGERS, pa.bool_()]
SAMPLES: dict[pa.DataType, list[Any]] = {
    **{type_: [1, 3, 1] for type_ in INTEGERS},
    pa.float64(): [1.5, 3.0, 1.5],
    pa.float32(): [1.5, 3.0, 1.5],
    pa.bool_(): [False, True, False],
    pa.string(): ["a", "é", "a"],
    pa.date32(): [dt.date(1969, 1, 1), dt.date(2024, 2, 29), dt.date(1969, 1, 1)],
    pa.timestamp("us"): [dt.datetime(1969, 1, 1), dt.datetime(2024, 2, 29, 1), dt.datetime(1969, 1, 1)],
    pa.timestamp("us", "Europe/Berlin"): [-1, 10**15, -1],
    pa.timestamp("ns", "UTC"): [-1, 10**18 + 1, -1],
    pa.time64("us"): [dt.time(1), dt.time(2), dt.time(1)],
    pa.duration("ms"): [dt.timedelta(1), dt.timedelta(2), dt.timedelta(1)],
}


@pytest.mark.parametrize("type_", SAMPLES, ids=str)
def test_what_keeps_the_type(type_: pa.DataType) -> None:
    column = pa.array(SAMPLES[type_], type_)
    low, high = column[0], column[1]
    aggregates = {
        "min": (mt.min("x"), low),
        "max": (mt.max("x"), high),
        "first": (mt.first("x"), low),
        "last": (mt.last("x"), low),
        "mode": (mt.mode("x"), low),
        "smallest": (mt.nth_smallest("x", 3), high),
        "youngest": (mt.nth_youngest("x", 2), high),
        "at_min": (mt.arg_min("x", by="y"), high),
        "at_max": (mt.arg_max("y", by="x"), pa.scalar(0)),
        "value": (mt.process(lambda x: x[1], "x", returns=mt.VALUE), high),
    }
    found = apply({"x": column, "y": [5, 0, 5]}, **{name: aggregate for name, (aggregate, _) in aggregates.items()})
    for name, (_, right) in aggregates.items():
        assert found.column(name)[0] == right, name
        assert found.schema.field(name).type == right.type, name


@pytest.mark.parametrize("type_", SAMPLES, ids=str)
def test_what_has_a_type_made_of_the_columns_own(type_: pa.DataType) -> None:
    column = pa.array(SAMPLES[type_], type_)
    found = apply(
        {"x": column, "y": [5, 0, 5]},
        m4=mt.m4("x"),
        hitters=mt.heavy_hitters("x", share=0.5),
        one=mt.collect("x"),
        two=mt.collect("y", "x"),
        n=mt.count("x"),
        distinct=mt.count_distinct("x"),
        lows=mt.min_count("x"),
        highs=mt.max_count("x"),
    )
    types = {name: found.schema.field(name).type for name in found.column_names}
    assert types["m4"] == pa.struct([(name, type_) for name in ("min", "max", "first", "last")])
    assert types["hitters"] == pa.list_(pa.struct([("value", type_), ("count", pa.int64())]))
    assert types["one"] == pa.list_(type_)
    assert types["two"] == pa.list_(pa.struct([("y", pa.int64()), ("x", type_)]))
    assert found.column("m4").combine_chunks().field("max")[0] == column[1]
    assert found.column("hitters")[0].values.field("value")[0] == column[0]
    assert found.column("one")[0].values.equals(column)
    assert found.column("two")[0].values.field("x").equals(column)
    counts = {"n": 3, "distinct": 2, "lows": 2, "highs": 1}
    assert all(types[name] == pa.int64() for name in counts)
    assert {name: found.column(name)[0].as_py() for name in counts} == counts


@pytest.mark.parametrize("type_", NUMBERS, ids=str)
def test_what_is_computed_of_numbers(type_: pa.DataType) -> None:
    column = pa.array(SAMPLES[type_], type_)
    numbers = [float(v) for v in column.to_pylist()]
    found = apply(
        {"x": column, "y": pa.array([True] * 3)},
        sum=mt.sum("x"),
        mean=mt.mean("x"),
        root=mt.geometric_mean("x"),
        var=mt.var("x"),
        stddev=mt.stddev("x"),
        median=mt.median("x"),
        quantile=mt.quantile("x", 0.75),
        center=mt.center_of_mass("x", mass="y"),
    )
    assert found.schema.field("sum").type == (pa.float64() if pa.types.is_floating(type_) else pa.int64())
    row = found.to_pylist()[0]
    right = {
        "sum": sum(numbers),
        "mean": np.mean(numbers),
        "root": np.prod(numbers) ** (1 / 3),
        "var": np.var(numbers, ddof=1),
        "stddev": np.std(numbers, ddof=1),
        "median": np.median(numbers),
        "quantile": np.quantile(numbers, 0.75),
        "center": np.mean(numbers),
    }
    for name, expected in right.items():
        assert row[name] == pytest.approx(expected, rel=1e-12), name
        assert name == "sum" or found.schema.field(name).type == pa.float64(), name


# ---- process ----


def test_process_gets_arrays_of_the_columns_own_types() -> None:
    seen: dict[str, Any] = {}

    def look(*arrays: np.ndarray) -> float:
        seen.update({str(i): array.dtype.str[1:] for i, array in enumerate(arrays)})
        return 0.0

    types = [pa.float32(), pa.int8(), pa.bool_(), pa.string(), pa.date32(), pa.timestamp("ns", "UTC"), pa.time64("us")]
    columns = {f"c{i}": pa.array(SAMPLES.get(type_, [1]), type_)[:1] for i, type_ in enumerate(types)}
    apply(columns, r=mt.process(look, *columns))
    assert list(seen.values()) == ["f4", "i1", "b1", "O", "M8[D]", "M8[ns]", "m8[us]"]


@pytest.mark.parametrize(
    ("given", "returns", "right"),
    [
        (np.datetime64("2024-02-29T01:00", "us"), pa.timestamp("us"), dt.datetime(2024, 2, 29, 1)),
        (np.datetime64("2024-02-29", "D"), pa.timestamp("us"), dt.datetime(2024, 2, 29)),
        (np.datetime64("2024-02-29", "D"), pa.date32(), dt.date(2024, 2, 29)),
        (dt.datetime(2024, 2, 29, 1), pa.timestamp("us"), dt.datetime(2024, 2, 29, 1)),
        (dt.date(2024, 2, 29), pa.date32(), dt.date(2024, 2, 29)),
        (np.timedelta64(90, "s"), pa.duration("ms"), dt.timedelta(seconds=90)),
        (np.datetime64("NaT", "us"), pa.timestamp("us"), None),
        (np.int64(3), float, 3.0),
        (np.bool_(True), bool, True),
        (7, int, 7),
        ("text", str, "text"),
        (np.array([1.0, 2.0]), pa.list_(pa.float64()), [1.0, 2.0]),
        (None, float, None),
    ],
    ids=repr,
)
def test_process_may_return_what_fits_its_type(given: Any, returns: Any, right: Any) -> None:
    assert value(mt.process(lambda x: given, "x", returns=returns), [1]) == right


# ---- users' own ----


def test_users_own_aggregates() -> None:
    assert value(Growth("x"), [2.0, None, 8.0]) == pytest.approx(4.0)
    assert value(Chain("x"), ["b", None, "a"]) == "ba"
    assert value(Range("x"), [5.0, 9.0, 7.0]) == 4.0
    assert value(Range("x"), pa.array([None], F)) is None


def test_an_identity_of_one_field_may_stand_without_a_tuple() -> None:
    bound = Chain("x").bind([pa.string()])
    assert bound.identity == ("",)
    assert bound.combine(bound.identity, bound.lift("a")) == ("a",)


# ---- errors: each names the problem, the value and the way out ----


class NoLower(mt.Aggregate):
    partial: ClassVar = {"n": int}

    def lift(value):
        return 1

    def combine(a, b):
        return a.n + b.n


class OddKind(Range):
    kind = "odd"


def window(**aggregates: Any) -> mt.Spec:
    return mt.over("ts").window("w", mt.tumbling("1 hour"), **aggregates)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: mt.quantile("x", 1.5), mt.SpecError, r"quantile\('x', 1.5\).*\[0, 1\].*0\.95"),
        (lambda: mt.quantile("x", -0.1), mt.SpecError, r"-0\.1.*\[0, 1\]"),
        (lambda: mt.quantile("x", NAN), mt.SpecError, r"nan.*\[0, 1\]"),
        (lambda: mt.quantile("x", True), mt.SpecError, r"True.*\[0, 1\]"),
        (lambda: mt.nth_smallest("x", 0), mt.SpecError, r"nth_smallest\('x', 0\).*from 1"),
        (lambda: mt.nth_youngest("x", -2), mt.SpecError, r"nth_youngest\('x', -2\).*from 1"),
        (lambda: mt.nth_youngest("x", 1.0), mt.SpecError, r"nth_youngest\('x', 1.0\).*from 1"),
        (lambda: mt.heavy_hitters("x", share=0), mt.SpecError, r"share=0\).*\(0, 1\].*0\.05"),
        (lambda: mt.heavy_hitters("x", share=5), mt.SpecError, r"share=5\).*\(0, 1\].*0\.05"),
        (lambda: mt.sum("x", overflow="wrap"), mt.SpecError, "'wrap'.*'error' or 'null'"),
        (lambda: mt.concat("x", sep=1), mt.SpecError, r"sep=1\).*text.*', '"),
        (lambda: mt.process("x", "y"), mt.SpecError, r"function first, got 'x'.*mt\.process\(function, 'column'\)"),
        (lambda: mt.process(len, "x", returns="number"), mt.SpecError, "'number'.*Use float, int"),
        (lambda: mt.max(3), mt.SpecError, "max takes names of columns, got 3.*column first"),
        (lambda: NoLower("x"), mt.UnsupportedAggregate, "NoLower declares no 'lower'.*lift, combine and lower"),
        (lambda: OddKind("x"), mt.UnsupportedAggregate, "OddKind: kind='odd'.*'algebraic' and 'holistic'"),
        (lambda: window(x=mt.sum), mt.SpecError, r"x=sum is not called\. Write x=mt\.sum\(\.\.\.\)"),
        (lambda: window(x="sum"), mt.SpecError, r"x='sum' is no aggregate\. Use .*mt\.sum\('column'\)"),
        (lambda: mt.max("x").bind([F]).invert(1, 2), mt.UnsupportedAggregate, "'max' has no invert.*Recompute"),
    ],
)  # fmt: skip
def test_errors_in_a_declaration(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("aggregate", "column", "words"),
    [
        (mt.sum("x"), ["a"], r"sum\('x'\).*type string.*takes numbers\. Cast"),
        (mt.mean("x"), ["a"], r"mean\('x'\).*type string.*takes numbers\. Cast"),
        (mt.median("x"), pa.array([1], pa.date32()), r"median\('x'\).*type date32.*takes numbers\. Cast"),
        (mt.sum("x"), pa.array([1], pa.timestamp("us")), r"sum\('x'\).*type timestamp.*takes numbers\. Cast"),
        (mt.concat("x"), [1, 2], r"concat\('x'\).*type int64.*takes strings\. Cast"),
        (mt.max("x"), [[1], [2]], r"max\('x'\).*type list.*takes numbers, booleans, strings, dates.*Cast"),
        (mt.min("x"), pa.array([(1, 2, 3)], pa.month_day_nano_interval()), r"min\('x'\).*interval.*Cast"),
        (Range("x"), ["a"], r"Range\('x'\).*type string.*takes numbers\. Cast"),
        (mt.max("speed"), [1], r"no column 'speed'.*Known: 'ts', 'x'"),
    ],
    ids=lambda given: repr(given) if isinstance(given, mt.Aggregate) else "",
)
def test_errors_in_a_frame(aggregate: mt.Aggregate, column: Any, words: str) -> None:
    with pytest.raises(mt.FrameError, match=words):
        value(aggregate, column)


# ---- what the papers say of them ----

PAPER_3_TABLE_1 = {
    "count": ("distributive", "cumulative"),
    "sum": ("distributive", "cumulative"),
    "mean": ("algebraic", "cumulative"),
    "stddev": ("algebraic", "cumulative"),
    "max": ("distributive", "selective"),
    "min": ("distributive", "selective"),
    "arg_max": ("algebraic", "selective"),
    "arg_min": ("algebraic", "selective"),
    "max_count": ("algebraic", "cumulative"),
    "min_count": ("algebraic", "cumulative"),
    "collect": ("holistic", "cumulative"),
    "concat": ("holistic", "cumulative"),
    "nth_youngest": ("holistic", "selective"),
    "median": ("holistic", "cumulative"),
    "quantile": ("holistic", "cumulative"),
    "nth_smallest": ("holistic", "selective"),
}
PAPER_2_SECTION_3_2_2 = {
    "count": "full-differential",
    "mean": "full-differential",
    "var": "full-differential",
    "heavy_hitters": "pseudo-differential",
    "approx_quantile": "full-differential",
    "approx_count_distinct": "full-differential",
    "max": "not differential",
}


@pytest.mark.parametrize("name", BUILTIN)
def test_the_properties_are_those_of_the_papers(name: str) -> None:
    for case in CASES.values():
        aggregate = case.make()
        if aggregate.name == name:
            properties = (*aggregate.properties, *case.bind().aggregate.properties)
            assert set(PAPER_3_TABLE_1.get(name, ())) <= set(properties)
            assert PAPER_2_SECTION_3_2_2.get(name, aggregate.differential) in properties
            # a full-differential aggregate is bounded, a holistic one at best pseudo-differential (paper 2)
            assert aggregate.kind != "holistic" or "full-differential" not in properties
            assert aggregate.properties == case.bind().aggregate.properties
