"""The laws of an aggregate, for every case: identity, associativity, inverse, commutativity, and Beam's re-sharding."""

from __future__ import annotations

import math
import random
from functools import reduce
from itertools import chain, pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import muntin as mt
from muntin.aggregates import BUILTIN, Bound
from tests.reliability.sizes import examples

from .cases import CASES, INTS, Case, Row

laws = examples(15, suppress_health_check=[HealthCheck.too_slow], database=None)
every_case = pytest.mark.parametrize("name", CASES)
INVERTIBLE = [name for name, case in CASES.items() if case.make().invertible]
COMMUTATIVE = [name for name, case in CASES.items() if case.make().commutative]
WITH_IDENTITY = [name for name, case in CASES.items() if case.bind().identity is not None]


class Event(NamedTuple):
    values: Row
    time: int
    order: int


def events(case: Case, at_least: int = 1) -> st.SearchStrategy[list[Event]]:
    """Events in order, with distinct places: time goes on or stands still, and order starts anew with each time."""
    rows = st.lists(st.tuples(case.values, st.integers(0, 2)), min_size=at_least, max_size=10)
    return rows.map(placed)


def placed(rows: list[tuple[Row, int]]) -> list[Event]:
    found: list[Event] = []
    time = order = 0
    for values, step in rows:
        time, order = (time + step, -step * len(found)) if step else (time, order + 1)
        found.append(Event(values, time, order))
    return found


def lift(bound: Bound, event: Event) -> Any:
    return bound.lift(*event.values, *((event.time, event.order) if bound.aggregate.timed else ()))


def fold(bound: Bound, stream: list[Event]) -> Any:
    return reduce(bound.combine, [lift(bound, event) for event in stream])


def lowered(bound: Bound, partial: Any, stream: list[Event]) -> Any:
    """The result, or None where there are too few values for one."""
    return bound.lower(partial) if len(stream) >= bound.aggregate.least else None


def close(found: Any, right: Any, within: float = 0.0) -> bool:
    """Equal up to an error; NaN equals NaN, and -0.0 equals 0.0, at any depth."""
    if isinstance(right, dict):
        return list(found) == list(right) and close(list(found.values()), list(right.values()), within)
    if isinstance(right, list | tuple):
        return len(found) == len(right) and all(close(f, r, within) for f, r in zip(found, right, strict=True))
    if isinstance(right, float) and isinstance(found, int | float):
        if math.isnan(right) or math.isinf(right):
            return math.isnan(found) if math.isnan(right) else found == right
        return abs(found - right) <= within
    return type(found) is type(right) and found == right


def agree(case: Case, bound: Bound, p: Any, q: Any, stream: list[Event]) -> None:
    """Two partials of the same events: the same fields, or for floats results that are near enough."""
    if case.exact:
        assert close(p, q)
        return
    left, right = lowered(bound, p, stream), lowered(bound, q, stream)
    if left is not None:
        assert close(left, right, case.within([event.values for event in stream], right))


def result(case: Case, stream: list[Event]) -> Any:
    return case.oracle([event.values for event in stream]) if len(stream) >= case.make().least else None


def parts(case: Case, n: int) -> st.SearchStrategy[list[list[Event]]]:
    """A stream cut into n parts, none empty."""
    return st.tuples(events(case, n), st.integers(0, 2**32)).map(lambda drawn: cut(*drawn, n))


def cut(stream: list[Event], seed: int, n: int) -> list[list[Event]]:
    places = sorted(random.Random(seed).sample(range(1, len(stream)), n - 1))
    return [stream[i:j] for i, j in pairwise([0, *places, len(stream)])]


def test_every_built_in_aggregate_has_a_case() -> None:
    of_spans = {name for name, aggregate in BUILTIN.items() if aggregate.of_spans}  # not made of partials
    assert set(BUILTIN) - {case.make().name for case in CASES.values()} == of_spans == {"concurrent"}
    assert set(BUILTIN) <= set(mt.__all__)


def test_only_the_extremes_of_strings_have_no_identity() -> None:
    assert [name for name in CASES if name not in WITH_IDENTITY] == [
        "min string",
        "max string",
        "min_count string",
        "arg_min string",
        "m4 string",
    ]


@pytest.mark.parametrize("name", WITH_IDENTITY)
@laws
@given(data=st.data())
def test_the_identity_changes_nothing(name: str, data: st.DataObject) -> None:
    case, bound = CASES[name], CASES[name].bind()
    stream = data.draw(events(case))
    partial = fold(bound, stream)
    agree(case, bound, bound.combine(partial, bound.identity), partial, stream)
    agree(case, bound, bound.combine(bound.identity, partial), partial, stream)
    assert close(bound.combine(bound.identity, bound.identity), bound.identity)


@every_case
@laws
@given(data=st.data())
def test_combine_is_associative(name: str, data: st.DataObject) -> None:
    case, bound = CASES[name], CASES[name].bind()
    shards = data.draw(parts(case, 3))
    a, b, c = (fold(bound, shard) for shard in shards)
    one, other = bound.combine(bound.combine(a, b), c), bound.combine(a, bound.combine(b, c))
    agree(case, bound, one, other, [*chain(*shards)])


@pytest.mark.parametrize("name", COMMUTATIVE)
@laws
@given(data=st.data())
def test_combine_is_commutative_where_declared(name: str, data: st.DataObject) -> None:
    case, bound = CASES[name], CASES[name].bind()
    shards = data.draw(parts(case, 2))
    a, b = (fold(bound, shard) for shard in shards)
    agree(case, bound, bound.combine(a, b), bound.combine(b, a), [*chain(*shards)])


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.make().timed])
@laws
@given(data=st.data())
def test_events_of_equal_time_and_order_stay_in_the_order_of_arrival(name: str, data: st.DataObject) -> None:
    case, bound = CASES[name], CASES[name].bind()
    shards = data.draw(parts(case, 3))
    a, b, c = (fold(bound, [event._replace(time=5, order=0) for event in shard]) for shard in shards)
    right = result(case, [*chain(*shards)])
    assert close(bound.lower(bound.combine(bound.combine(a, b), c)), right)
    assert close(bound.lower(bound.combine(a, bound.combine(b, c))), right)


@pytest.mark.parametrize("name", [name for name in CASES if name not in COMMUTATIVE])
def test_what_is_not_declared_commutative_is_not(name: str) -> None:
    case, bound = CASES[name], CASES[name].bind()
    rows = [("a", "b")[: len(case.types)], ("b", "a")[: len(case.types)]]
    if case.types[0] != pa.string():
        rows = [(1, 2)[: len(case.types)], (5, 7)[: len(case.types)]]
    if name == "collect two":
        rows = [(1, "a"), (2, "b")]
    a, b = (bound.lift(*row) for row in rows)
    assert bound.lower(bound.combine(a, b)) != bound.lower(bound.combine(b, a))


@pytest.mark.parametrize("name", INVERTIBLE)
@laws
@given(data=st.data())
def test_invert_undoes_combine(name: str, data: st.DataObject) -> None:
    case, bound = CASES[name], CASES[name].bind()
    first, second = data.draw(parts(case, 2))
    a, b = fold(bound, first), fold(bound, second)
    both = bound.combine(a, b)
    pairs = [(bound.invert(both, b), first), (bound.invert(both, a), second)]
    clean = all(case.removable(event.values) for event in first + second)
    for left, stream in pairs:
        if case.exact:
            assert close(left, fold(bound, stream))
            continue
        found, right = lowered(bound, left, stream), result(case, stream)
        within = (case.within_inverted or case.within)([event.values for event in first + second], right or 0.0)
        # What cannot be taken out leaves a mark, so that an engine can tell: a wrong result is never finite.
        marked = not clean and found is not None and not math.isfinite(found)
        assert found is right is None or marked or close(found, right, within)
    if clean:
        assert close(bound.invert(both, both), bound.identity)


@every_case
@laws
@given(data=st.data())
def test_any_sharding_gives_what_one_fold_gives(name: str, data: st.DataObject) -> None:
    case, bound = CASES[name], CASES[name].bind()
    stream = data.draw(events(case))
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    shards = cut(stream, chance.randrange(2**32), chance.randint(1, len(stream)))
    if case.make().commutative:
        shards = cut(chance.sample(stream, len(stream)), chance.randrange(2**32), len(shards))
    nodes = [(fold(bound, shard), len(shard)) for shard in shards]
    if bound.identity is not None:
        for _ in range(chance.randint(0, 3)):
            nodes.insert(chance.randint(0, len(nodes)), (bound.identity, 0))
    while len(nodes) > 1:
        i = chance.randrange(len(nodes) - 1)
        (a, n), (b, m) = nodes[i : i + 2]
        if n >= max(1, case.make().least):
            spoil(bound.lower(a))
        nodes[i : i + 2] = [(bound.combine(a, b), n + m)]
    partial = nodes[0][0]
    agree(case, bound, partial, fold(bound, stream), stream)
    right = result(case, stream)
    if right is None:
        return
    within = case.within([event.values for event in stream], right)
    assert close(bound.lower(partial), right, within)
    if bound.aggregate.plain is not None:
        values = [event.values[0] if len(case.types) == 1 else event.values for event in stream]
        assert close(bound.aggregate.plain(values), right, within)


def spoil(lowered: Any) -> None:
    """A result belongs to who asked for it: emptying it must not reach the partial."""
    if isinstance(lowered, list):
        for part in lowered:
            if isinstance(part, dict):
                part.clear()
        lowered.clear()


# ---- integer sums ----


@pytest.mark.parametrize("type_", [pa.int64(), pa.uint64()], ids=str)
@settings(laws, max_examples=150)
@given(values=st.lists(INTS, min_size=1, max_size=8))
def test_an_integer_sum_is_exact_or_refused(type_: pa.DataType, values: list[int]) -> None:
    if type_ == pa.uint64():
        values = [value % 2**64 for value in values]
    raising, silent = mt.sum("n").bind([type_]), mt.sum("n", overflow="null").bind([type_])
    total, fits = sum(values), -(2**63) <= sum(values) < 2**63
    for bound in (raising, silent):
        partial = reduce(bound.combine, map(bound.lift, values), bound.identity)
        assert all(-(2**63) <= field < 2**63 for field in partial)
        assert bound.lower(partial) == total
        assert bound.aggregate.fails(partial) is not fits
    assert silent.aggregate.settle(total) == (total if fits else None)
    if fits:
        assert raising.aggregate.settle(total) == total
    else:
        with pytest.raises(mt.SumOverflow, match=rf"^sum\('n'\) is {total}, .* outside int64\. Use .*overflow='null'"):
            raising.aggregate.settle(total)


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ([2**63 - 1], True),
        ([2**63 - 1, 1], False),
        ([-(2**63)], True),
        ([-(2**63), -1], False),
        ([2**63 - 1, 2**63 - 1, -(2**63), -(2**63)], True),
        ([-1], True),
    ],
)
def test_integer_sums_at_the_edges(values: list[int], fits: bool) -> None:
    bound = mt.sum("n").bind([pa.int64()])
    assert bound.aggregate.fails(reduce(bound.combine, map(bound.lift, values))) is not fits


# ---- floats of any size ----


def test_huge_values_next_to_no_values_keep_their_variance() -> None:
    bound = mt.var("x").bind([pa.float64()])
    huge = bound.combine(bound.lift(1e200), bound.lift(1e200))
    for partial in (bound.combine(huge, bound.identity), bound.combine(bound.identity, huge)):
        assert bound.lower(partial) == 0.0
    assert bound.lower(bound.invert(huge, bound.identity)) == 0.0


def test_the_plain_sum_does_not_depend_on_the_order() -> None:
    plain = mt.sum("x").bind([pa.float64()]).aggregate.plain
    assert plain([1e308, 1e308, -1e308]) == plain([1e308, -1e308, 1e308]) == 1e308
    assert plain([1e308, 1e308]) == math.inf


@pytest.mark.parametrize("n", [1, 3, 70, 199])
def test_a_geometric_mean_of_the_largest_values_is_finite(n: int) -> None:
    bound = mt.geometric_mean("x").bind([pa.float64()])
    top = [1.7976931348623157e308] * n
    assert bound.lower(reduce(bound.combine, map(bound.lift, top))) == pytest.approx(top[0], rel=1e-12)
    assert bound.aggregate.plain(top) == pytest.approx(top[0], rel=1e-12)


@pytest.mark.parametrize(("hits", "total", "share"), [(7, 100, 0.07), (29, 100, 0.29), (57, 100, 0.57), (1, 3, 1 / 3)])
def test_a_count_of_exactly_the_share_is_a_heavy_hitter(hits: int, total: int, share: float) -> None:
    bound = mt.heavy_hitters("x", share).bind([pa.int64()])
    values = [0] * hits + list(range(1, total - hits + 1))
    right = [{"value": 0, "count": hits}] if hits > 1 else [{"value": v, "count": 1} for v in range(total)]
    assert bound.lower(reduce(bound.combine, map(bound.lift, values))) == right
    assert bound.aggregate.plain(values) == right
