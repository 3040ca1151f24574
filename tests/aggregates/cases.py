"""The one table of cases: every aggregate with values to try it on and an oracle that shares no code with it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import muntin as mt
from muntin.aggregates import Bound

__all__ = ["CASES", "Case", "Row"]

Row = tuple[Any, ...]
Rows = list[Row]
REL = 1e-12


@dataclass(frozen=True)
class Case:
    """One aggregate on columns of certain types."""

    make: Callable[[], mt.Aggregate]
    types: tuple[pa.DataType, ...]
    values: st.SearchStrategy[Row]
    """One event: a value for each column."""
    oracle: Callable[[Rows], Any]
    """The result from all events in order, before it is settled."""
    exact: bool = True
    """Whether partials can be compared field by field, or results only."""
    within: Callable[[Rows, Any], float] = lambda rows, result: 0.0
    """How far a result may be off: from the events ever taken in, and the right result."""
    within_inverted: Callable[[Rows, Any], float] | None = None
    """The same after events were taken out again, where that is another bound."""
    removable: Callable[[Row], bool] = lambda row: True
    """Whether an event can be taken out again without a trace: an infinity cannot."""

    def bind(self) -> Bound:
        return self.make().bind(self.types)


# ---- users' own, as in the docs ----


class Growth(mt.Aggregate):
    """The geometric mean."""

    partial: ClassVar = {"logs": float, "n": int}
    identity = (0.0, 0)
    commutative, kind = True, "algebraic"

    def lift(value):
        return math.log(value), 1

    def combine(a, b):
        return a.logs + b.logs, a.n + b.n

    def invert(a, b):
        return a.logs - b.logs, a.n - b.n

    def lower(p):
        return math.exp(p.logs / p.n)


class Chain(mt.Aggregate):
    """Strings one after the other."""

    partial: ClassVar = {"text": str}
    identity = ""
    commutative, kind = False, "holistic"
    takes, returns = "text", str

    def lift(value):
        return value

    def combine(a, b):
        return a.text + b.text

    def lower(p):
        return p.text


class Range(mt.Aggregate):
    """Largest less smallest."""

    partial: ClassVar = {"low": float, "high": float}
    identity = (math.inf, -math.inf)
    commutative, kind = True, "algebraic"

    def lift(value):
        return value, value

    def combine(a, b):
        return min(a.low, b.low), max(a.high, b.high)

    def lower(p):
        return p.high - p.low


# ---- values ----

F64, I64, TEXT, BOOL = pa.float64(), pa.int64(), pa.string(), pa.bool_()

INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])
UINTS = st.integers(0, 2**64 - 1) | st.integers(0, 3) | st.just(2**64 - 1)
SMALL = st.integers(-4, 4)
DAYS = st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 3)
STRINGS = st.text("abé€😀", max_size=2)
MODERATE = st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float)
POSITIVE = st.floats(1e-6, 1e6)
SPECIAL = st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 0.0])
WITH_SPECIAL = st.sampled_from([1.0, -1.5, 2.0, -0.0, 0.0, math.nan, math.inf, -math.inf]) | st.floats()
FLOATS32 = st.floats(width=32) | SPECIAL


def alone(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Row]:
    return st.tuples(values)


# ---- oracles ----


def column(rows: Rows) -> list[Any]:
    return [row[0] for row in rows]


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def key(value: Any) -> Any:
    """NaN as something that equals itself."""
    return "NaN" if is_nan(value) else value


def ascending(values: list[Any]) -> list[Any]:
    """Sorted, the NaNs last."""
    return sorted(v for v in values if not is_nan(v)) + [v for v in values if is_nan(v)]


def smallest(values: list[Any]) -> Any:
    return ascending(values)[0]


def largest(values: list[Any]) -> Any:
    return ascending(values)[-1]


def occurrences(values: list[Any], wanted: Any) -> int:
    return Counter(map(key, values))[key(wanted)]


def beside(rows: Rows, wanted: Any) -> Any:
    """The value of the first row whose second column is the wanted one."""
    return next(value for value, by in rows if key(by) == key(wanted))


def float_total(values: list[Any]) -> float:
    """By IEEE's rules for what is not finite, by exact fractions for the rest."""
    odd = {key(v) for v in values if not math.isfinite(v)}
    if odd:
        return math.nan if len(odd) > 1 else float(odd.pop())
    return float(sum(map(Fraction, values)))


def product_root(values: list[Any]) -> float:
    if any(is_nan(v) or v < 0 for v in values) or (0 in values and math.inf in values):
        return math.nan
    if 0 in values or math.inf in values:
        return 0.0 if 0 in values else math.inf
    return statistics.geometric_mean(values)


def spread(values: list[Any]) -> float:
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return math.nan
    middle = sum(map(Fraction, values)) / len(values)
    return float(sum((Fraction(v) - middle) ** 2 for v in values) / (len(values) - 1))


def balance(rows: Rows) -> float:
    masses = [mass for _, mass in rows]
    return math.nan if sum(masses) == 0 else float(np.average(column(rows), weights=masses))


def percentile(share: float) -> Callable[[Rows], float]:
    return lambda rows: float(np.quantile(np.array(column(rows), np.float64), share))


def most_frequent(values: list[Any]) -> Any:
    counts = Counter(map(key, values))
    return smallest([v for v in values if counts[key(v)] == max(counts.values())])


def hitters(share: str) -> Callable[[Rows], Any]:
    def oracle(rows: Rows) -> Any:
        values = column(rows)
        counts = Counter(map(key, values))
        hits = [v for v in ascending(values) if Fraction(counts[key(v)], len(values)) >= Fraction(share)]
        found = {key(v): {"value": v, "count": counts[key(v)]} for v in hits}
        return sorted(found.values(), key=lambda hit: -hit["count"])

    return oracle


def path(heights: np.ndarray, weights: np.ndarray) -> float:
    """The way up and down, weighted: its result depends on the order of the events."""
    return float(np.abs(np.diff(heights) * weights[1:]).sum())


def walked(rows: Rows) -> float:
    return float(sum(abs((b - a) * w) for (a, _), (b, w) in pairwise(rows)))


# ---- error bounds ----


def magnitude(rows: Rows, result: Any) -> float:
    return REL * sum(abs(v) for v in column(rows) if math.isfinite(v))


def squares(rows: Rows, result: Any) -> float:
    return REL * sum(v * v for v in column(rows) if math.isfinite(v))


def root_of_squares(rows: Rows, result: Any) -> float:
    # near 0, a root has half the digits of what it is taken of
    return math.sqrt(squares(rows, result))


def logarithms(rows: Rows, result: Any) -> float:
    logs = sum(abs(math.log(v)) for v in column(rows) if 0 < v < math.inf)
    return REL * (1 + logs) * result if math.isfinite(result) else 0.0


def moments(rows: Rows, result: Any) -> float:
    # masses are at least 1 / 2
    return 2 * REL * sum((abs(x) + abs(result)) * mass for x, mass in rows)


def ends(rows: Rows, result: Any) -> float:
    return REL * max(abs(v) for v in column(rows))


def finite(row: Row) -> bool:
    return math.isfinite(row[0])


def positive(row: Row) -> bool:
    return 0 < row[0] < math.inf


def inexact(
    make: Callable[[], mt.Aggregate], oracle: Any, within: Any, values: Any, type_: Any = F64, **more: Any
) -> Case:
    return Case(make, (type_,), alone(values), lambda rows: oracle(column(rows)), False, within, **more)


def ordered(name: str, make: Callable[[], mt.Aggregate], oracle: Callable[[list[Any]], Any]) -> dict[str, Case]:
    """An aggregate of one column on each type of values that have an order."""
    kinds = {
        "float64": (F64, WITH_SPECIAL),
        "float32": (pa.float32(), FLOATS32),
        "int64": (I64, INTS),
        "int8": (pa.int8(), st.integers(-128, 127)),
        "uint64": (pa.uint64(), UINTS),
        "string": (TEXT, STRINGS),
        "bool": (BOOL, st.booleans()),
        "date32": (pa.date32(), DAYS),
        "timestamp": (pa.timestamp("us", "UTC"), INTS),
    }
    return {
        f"{name} {kind}": Case(make, (type_,), alone(values), lambda rows: oracle(column(rows)))
        for kind, (type_, values) in kinds.items()
    }


def some(cases: dict[str, Case], *kinds: str) -> dict[str, Case]:
    return {name: case for name, case in cases.items() if name.split()[-1] in kinds}


CASES: dict[str, Case] = {
    "count rows": Case(lambda: mt.count(), (), st.just(()), len),
    "count values": Case(lambda: mt.count("x"), (F64,), alone(WITH_SPECIAL), len),
    "sum int64": Case(lambda: mt.sum("x"), (I64,), alone(INTS), lambda rows: sum(column(rows))),
    "sum uint64": Case(lambda: mt.sum("x"), (pa.uint64(),), alone(UINTS), lambda rows: sum(column(rows))),
    "sum bool": Case(lambda: mt.sum("x"), (BOOL,), alone(st.booleans()), lambda rows: column(rows).count(True)),
    "sum float64": inexact(lambda: mt.sum("x"), float_total, magnitude, MODERATE | SPECIAL, removable=finite),
    "mean float64": inexact(
        lambda: mt.mean("x"), lambda v: float_total(v) / len(v), magnitude, MODERATE | SPECIAL, removable=finite
    ),
    "mean int64": inexact(lambda: mt.mean("x"), lambda v: float(Fraction(sum(v), len(v))), magnitude, INTS, I64),
    "geometric_mean": inexact(
        lambda: mt.geometric_mean("x"),
        product_root,
        logarithms,
        POSITIVE | st.sampled_from([0.0, 1.0, math.inf, math.nan, -2.0]),
        removable=positive,
    ),
    "var float64": inexact(lambda: mt.var("x"), spread, squares, MODERATE | SPECIAL, removable=finite),
    "var int64": inexact(lambda: mt.var("x"), spread, squares, st.integers(-(10**6), 10**6), I64),
    "stddev": inexact(
        lambda: mt.stddev("x"),
        lambda v: math.sqrt(spread(v)),
        magnitude,
        MODERATE | SPECIAL,
        removable=finite,
        within_inverted=root_of_squares,
    ),
    "center_of_mass": Case(
        lambda: mt.center_of_mass("x", mass="m"),
        (F64, F64),
        st.tuples(MODERATE, st.floats(0.5, 10)),
        balance,
        False,
        moments,
    ),
    **ordered("min", lambda: mt.min("x"), smallest),
    **ordered("max", lambda: mt.max("x"), largest),
    **some(
        ordered("min_count", lambda: mt.min_count("x"), lambda v: occurrences(v, smallest(v))),
        "float64",
        "int8",
        "string",
    ),
    **some(
        ordered("max_count", lambda: mt.max_count("x"), lambda v: occurrences(v, largest(v))), "float64", "int8", "bool"
    ),
    "arg_min float64": Case(
        lambda: mt.arg_min("x", by="y"),
        (TEXT, F64),
        st.tuples(STRINGS, WITH_SPECIAL),
        lambda rows: beside(rows, smallest([by for _, by in rows])),
    ),
    "arg_min string": Case(
        lambda: mt.arg_min("x", by="y"),
        (F64, TEXT),
        st.tuples(WITH_SPECIAL, STRINGS),
        lambda rows: beside(rows, smallest([by for _, by in rows])),
    ),
    "arg_max float64": Case(
        lambda: mt.arg_max("x", by="y"),
        (I64, F64),
        st.tuples(INTS, WITH_SPECIAL),
        lambda rows: beside(rows, largest([by for _, by in rows])),
    ),
    "arg_max int64": Case(
        lambda: mt.arg_max("x", by="y"),
        (BOOL, I64),
        st.tuples(st.booleans(), INTS),
        lambda rows: beside(rows, largest([by for _, by in rows])),
    ),
    **some(ordered("first", lambda: mt.first("x"), lambda v: v[0]), "float64", "string", "timestamp"),
    **some(ordered("last", lambda: mt.last("x"), lambda v: v[-1]), "float64", "string", "timestamp"),
    **some(
        ordered("m4", lambda: mt.m4("x"), lambda v: (smallest(v), largest(v), v[0], v[-1])),
        "float64",
        "string",
        "date32",
    ),
    "median": Case(lambda: mt.median("x"), (F64,), alone(MODERATE), percentile(0.5), within=ends),
    "quantile float64": Case(lambda: mt.quantile("x", 0.9), (F64,), alone(MODERATE), percentile(0.9), within=ends),
    "quantile int64": Case(lambda: mt.quantile("x", 1), (I64,), alone(INTS), percentile(1), within=ends),
    **some(ordered("mode", lambda: mt.mode("x"), most_frequent), "float64", "string", "bool"),
    **some(ordered("nth_smallest", lambda: mt.nth_smallest("x", 2), lambda v: ascending(v)[1]), "float64", "string"),
    **some(ordered("nth_youngest", lambda: mt.nth_youngest("x", 3), lambda v: v[-3]), "float64", "date32"),
    **some(
        ordered("count_distinct", lambda: mt.count_distinct("x"), lambda v: len(set(map(key, v)))), "float64", "string"
    ),
    "approx_quantile": Case(
        lambda: mt.approx_quantile("x", 0.9),
        (F64,),
        alone(MODERATE),
        percentile(0.9),
        within=lambda rows, result: 0.01 * max(map(abs, column(rows)), default=0.0),
    ),
    **{
        name.replace("count_distinct", "approx_count_distinct"): replace(
            case, make=lambda: mt.approx_count_distinct("x"), within=lambda rows, result: 1 + 0.1 * result
        )
        for name, case in some(
            ordered("count_distinct", lambda: mt.count_distinct("x"), lambda v: len(set(map(key, v)))),
            "float64",
            "string",
        ).items()
    },
    "heavy_hitters float64": Case(
        lambda: mt.heavy_hitters("x", share=0.3),
        (F64,),
        alone(st.sampled_from([math.nan, -0.0, 0.0, 1.0])),
        hitters("0.3"),
    ),
    "heavy_hitters string": Case(
        lambda: mt.heavy_hitters("x", 0.25), (TEXT,), alone(st.sampled_from("abcde")), hitters("0.25")
    ),
    "collect one": Case(lambda: mt.collect("x"), (F64,), alone(WITH_SPECIAL), column),
    "collect two": Case(
        lambda: mt.collect("x", "y"),
        (I64, TEXT),
        st.tuples(INTS, STRINGS),
        lambda rows: [{"x": x, "y": y} for x, y in rows],
    ),
    "concat": Case(lambda: mt.concat("x"), (TEXT,), alone(STRINGS), lambda rows: "".join(column(rows))),
    "concat with a separator": Case(
        lambda: mt.concat("x", sep=", "), (TEXT,), alone(STRINGS), lambda rows: ", ".join(column(rows))
    ),
    "process": Case(lambda: mt.process(path, "x", "y"), (I64, I64), st.tuples(SMALL, SMALL), walked),
    "own growth": inexact(lambda: Growth("x"), statistics.geometric_mean, logarithms, POSITIVE),
    "own chain": Case(lambda: Chain("x"), (TEXT,), alone(STRINGS), lambda rows: "".join(column(rows))),
    "own range": Case(
        lambda: Range("x"), (F64,), alone(MODERATE), lambda rows: float(np.ptp(np.array(column(rows)))), within=ends
    ),
}
