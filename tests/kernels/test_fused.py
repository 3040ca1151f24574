"""The fused update and its merges against plain Python folds over the events of each cell."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import muntin as mt
from muntin.aggregates import Bound
from muntin.fused import EARLIEST, LATEST, Fused, fused
from tests.reliability.sizes import examples

few = examples(30, suppress_health_check=[HealthCheck.too_slow], database=None)
FLOAT, INT8 = pa.float64(), pa.int8()


@dataclass
class Values:
    values: np.ndarray
    valid: np.ndarray | None = None


class Digits(mt.Aggregate):
    """Depends on the order of its values, and has no identity."""

    partial: ClassVar = {"value": int, "power": int}
    commutative, kind, returns = False, "algebraic", int

    def lift(value):
        return int(value) % 1_000_003, 10

    def combine(a, b):
        return (a.value * b.power + b.value) % 1_000_003, a.power * b.power % 1_000_003

    def lower(p):
        return p.value


BUILT_IN = [
    mt.count().bind([]),
    mt.count("x").bind([FLOAT]),
    mt.sum("x").bind([FLOAT]),
    mt.mean("x").bind([FLOAT]),
    mt.var("x").bind([FLOAT]),
    mt.stddev("x").bind([FLOAT]),
    mt.sum("y").bind([INT8]),
    mt.max("y").bind([INT8]),
    mt.min_count("x").bind([FLOAT]),
    mt.arg_min("x", by="y").bind([FLOAT, INT8]),
    mt.center_of_mass("x", mass="y").bind([FLOAT, INT8]),
    mt.m4("x").bind([FLOAT]),
]
FEW = [mt.sum("x").bind([FLOAT]), mt.max("y").bind([INT8]), mt.mean("y").bind([INT8]), mt.count("x").bind([FLOAT])]
ONE = [mt.sum("y").bind([INT8])]
OWN = [mt.count("y").bind([INT8]), Digits("x").bind([FLOAT]), mt.last("x").bind([FLOAT])]


MIXES = {"built in": BUILT_IN, "own": OWN, "few": FEW, "one": ONE}


@functools.cache
def cells_of(which: str, nullable: tuple[str, ...] | None = None, spans: bool = True) -> Fused:
    return fused(MIXES[which], nullable, spans=spans)


class Stream:
    """Random events: time, order, two columns with or without nulls."""

    def __init__(self, seed: int, rows: int, ordered: bool, nulls: bool) -> None:
        chance = np.random.default_rng(seed)
        self.time = chance.integers(-50, 50, rows)
        self.order = chance.integers(0, 3, rows) if ordered else None
        x, y = chance.integers(-3, 4, rows).astype(np.float64), chance.integers(1, 5, rows).astype(np.int8)
        x[chance.random(rows) < 0.1] = math.nan
        if which := not nulls:
            self.columns = {"x": Values(x), "y": Values(y)}
        else:
            valid = chance.random(rows) < 0.7
            self.columns = {"x": Values(x, valid), "y": Values(y, None if seed % 2 else chance.random(rows) < 0.7)}
        self.plain = which
        self.chance = chance

    def without_nan(self) -> Stream:
        self.columns["x"].values[np.isnan(self.columns["x"].values)] = 2.0
        return self

    def row(self, bound: Bound, i: int) -> tuple[Any, ...] | None:
        """What lift takes of an event; None where a value is null."""
        columns = [self.columns[name] for name in bound.aggregate.columns]
        if any(column.valid is not None and not column.valid[i] for column in columns):
            return None
        place = (int(self.time[i]), 0 if self.order is None else int(self.order[i]))
        return (*(column.values[i].item() for column in columns), *(place if bound.aggregate.timed else ()))


def check(
    cells: Fused, bounds: list[Bound], stream: Stream, state: list[np.ndarray], held: dict[int, list[int]]
) -> None:
    """Each cell holds just these events, in this order."""
    assert [column.dtype for column in state] == cells.slots
    for cell in range(len(state[0])):
        events = held.get(cell, [])
        assert state[0][cell] == len(events)
        times = [int(stream.time[i]) for i in events]
        assert (state[1][cell], state[2][cell]) == ((min(times), max(times)) if events else (LATEST, EARLIEST))
        for k, bound in enumerate(bounds):
            rows = [row for i in events if (row := stream.row(bound, i)) is not None]
            assert state[cells.counts[k]][cell] == len(rows)
            if not rows:
                continue
            right = functools.reduce(bound.combine, [bound.lift(*row) for row in rows])
            found = [state[place][cell].item() for place in cells.places[k]]
            assert found == pytest.approx(list(right), rel=1e-12, abs=1e-12, nan_ok=True)


def grouped(cells: np.ndarray) -> dict[int, list[int]]:
    held: dict[int, list[int]] = {}
    for i, cell in enumerate(cells.tolist()):
        held.setdefault(cell, []).append(i)
    return held


streams = {
    "seed": st.integers(0, 2**32),
    "rows": st.integers(0, 30),
    "ordered": st.booleans(),
    "nulls": st.booleans(),
}
both = pytest.mark.parametrize("which", ["built in", "own"])


def made(which: str, seed: int, rows: int, ordered: bool, nulls: bool) -> tuple[Fused, list[Bound], Stream]:
    stream = Stream(seed, rows, ordered, nulls)
    cells = cells_of(which)
    return cells, MIXES[which], stream.without_nan() if which == "own" else stream


@both
@few
@given(**streams)
def test_rows_go_to_their_cells(which: str, seed: int, rows: int, ordered: bool, nulls: bool) -> None:
    cells, bounds, stream = made(which, seed, rows, ordered, nulls)
    state = cells.new(8)
    index = stream.chance.integers(-1, 8, rows)
    half = rows // 2
    for part in (slice(0, half), slice(half, rows)):
        columns = {
            name: Values(c.values[part], None if c.valid is None else c.valid[part])
            for name, c in stream.columns.items()
        }
        order = None if stream.order is None else stream.order[part]
        cells.update_cells(state, index[part], stream.time[part], order, columns)
    check(cells, bounds, stream, state, {cell: held for cell, held in grouped(index).items() if cell >= 0})


@both
@few
@given(**streams, step=st.sampled_from([1, 7, 30]))
def test_rows_of_one_key_go_to_their_slices(
    which: str, seed: int, rows: int, ordered: bool, nulls: bool, step: int
) -> None:
    """Resumed wherever a row lies beyond the last slice, as an engine does that adds slices as it goes.

    edges   |----|-|-------|---|      irregular, from before the first event
    stop                        x     the first row at or after the last end
    """
    cells, bounds, stream = made(which, seed, rows, ordered, nulls)
    if which == "own":
        stream.time.sort()
    edges = np.unique(np.concatenate([[-51, 51], stream.chance.integers(-50, 51, 100 // step)]))
    suspect, first_open = int(stream.chance.integers(-60, 60)), int(stream.chance.integers(0, 3))
    check_slices(cells, bounds, stream, edges, suspect, min(first_open, len(edges) - 2))


@pytest.mark.parametrize("which", ["one", "few", "own"])
@few
@given(
    seed=st.integers(0, 10_000), rows=st.integers(300, 900), ordered=st.booleans(),
    late=st.sampled_from([0, 0.02, 0.3]),
    step=st.sampled_from([5, 40]),
)  # fmt: skip
def test_blocks_of_rows_go_to_their_slices(
    which: str, seed: int, rows: int, ordered: bool, late: float, step: int
) -> None:
    """Streams long enough for whole blocks in one slice, in order and with late rows among them."""
    cells, bounds, stream = made(which, seed, rows, ordered, False)
    stream.time.sort()
    if which != "own":
        stream.time[stream.chance.random(rows) < late] -= int(stream.chance.integers(1, 40))
    edges = np.unique(np.concatenate([[-100, 51], stream.chance.integers(-80, 51, 130 // step)]))
    suspect = EARLIEST if seed % 2 else int(stream.chance.integers(-90, 40))
    check_slices(cells, bounds, stream, edges, suspect, 0)


def check_slices(
    cells: Fused, bounds: list[Bound], stream: Stream, edges: np.ndarray, suspect: int, first_open: int
) -> None:
    """Rows into the slices between edges, as an engine does that adds slices as it goes."""
    rows, head = len(stream.time), int(stream.chance.integers(0, 3))
    state = cells.new(len(edges) + head)
    used, i, cur, newest, late = 2 + first_open, 0, first_open, EARLIEST, []
    used = min(used, len(edges))
    lowest = []
    while True:
        taken = cells.update_one(
            state, edges[: used - 1].copy(), int(edges[used - 1]), stream.time, stream.order, stream.columns,
            head=head, cur=cur, first_open=first_open, suspect=suspect, i0=i,
        )  # fmt: skip
        late += taken.late.tolist()
        newest, cur, i = max(newest, taken.newest), taken.cur, taken.stop
        lowest.append(taken.lowest)
        if i == rows:
            break
        assert stream.time[i] >= edges[used - 1]
        used = int(np.searchsorted(edges, stream.time[i], "right")) + 1
    place = np.searchsorted(edges, stream.time, "right") - 1
    right = {s + head: held for s, held in grouped(place).items() if s >= first_open}
    check(cells, bounds, stream, state, right)
    assert late == np.flatnonzero(stream.time < suspect).tolist()
    if right:
        assert newest == stream.time[place >= first_open].max()
        assert cur == max(right) - head or cur == first_open
        assert min(lowest) <= min(right) - head


@both
@few
@given(**streams)
def test_rows_of_many_keys_go_to_their_slices(which: str, seed: int, rows: int, ordered: bool, nulls: bool) -> None:
    cells, bounds, stream = made(which, seed, rows, ordered, nulls)
    edges = np.unique(np.concatenate([[-50, 50], stream.chance.integers(-50, 51, int(stream.chance.integers(0, 60)))]))
    starts, stride, head = edges[:-1].copy(), 4, int(stream.chance.integers(0, 3))
    state, key = cells.new((len(starts) + head) * stride), stream.chance.integers(0, stride, rows)
    cells.update_keyed(state, starts, 50, stream.time, stream.order, stream.columns, key, stride, head)
    index = (np.searchsorted(starts, stream.time, "right") - 1 + head) * stride + key
    check(cells, bounds, stream, state, grouped(index))


def test_a_row_before_the_first_slice_stops_the_update() -> None:
    cells = cells_of("own")
    columns = {"x": Values(np.array([1.0, 2.0])), "y": Values(np.array([1, 2], np.int8))}
    state = cells.new(1)
    assert cells.update_one(state, np.array([10]), 20, np.array([15, 5]), None, columns).stop == 1
    assert state[0].tolist() == [1]


@both
@few
@given(**streams)
def test_merges_are_folds_over_the_cells_in_order(which: str, seed: int, rows: int, ordered: bool, nulls: bool) -> None:
    cells, bounds, stream = made(which, seed, rows, ordered, nulls)
    state, keys, slices, stride = cells.new(6 * 4), 3, 6, 4
    index = stream.chance.integers(0, slices, rows) * stride + stream.chance.integers(0, keys, rows)
    cells.update_cells(state, index, stream.time, stream.order, stream.columns)
    held = grouped(index)

    lo = stream.chance.integers(0, len(state[0]), 5)
    hi = np.minimum(lo + stream.chance.integers(0, 12, 5), len(state[0]))
    of = {i: [e for cell in range(lo[i], hi[i]) for e in held.get(cell, [])] for i in range(5)}
    check(cells, bounds, stream, cells.merge_ranges(lo, hi, state), of)

    order = stream.chance.permutation(len(state[0]))
    of = {i: [e for cell in order[lo[i] : hi[i]].tolist() for e in held.get(cell, [])] for i in range(5)}
    check(cells, bounds, stream, cells.merge_gather(lo, hi, order, state), of)

    # The heads are the same cells once more: key 2's head is cell 2.
    key, headed = stream.chance.integers(0, len(state[0]), 5), stream.chance.integers(0, 2, 5)
    of = {i: held.get(int(key[i]), []) * int(headed[i]) + of[i] for i in range(5)}
    check(cells, bounds, stream, cells.merge_headed(key, headed, lo, hi, order, state, state), of)

    a, b = np.array([0, 2, 3]), np.array([6, 5, 3])
    of = {
        w * keys + key: [e for s in range(a[w], b[w]) for e in held.get(s * stride + key, [])]
        for w in range(3)
        for key in range(keys)
    }
    check(cells, bounds, stream, cells.merge_dense(a, b, stride, state, keys), of)


# ---- layout ----


def test_equal_partials_are_shared() -> None:
    cells = cells_of("built in")
    names = [bound.aggregate.name for bound in BUILT_IN]
    places = dict(zip(names, cells.places, strict=True))
    assert places["var"] == places["stddev"]
    assert cells.places[0] == (0,)
    assert cells.places[1] == (cells.counts[1],)
    assert places["mean"][1] == cells.counts[3]
    assert len(set(cells.counts)) == 4  # rows, x, y, x and y


def test_without_nulls_every_count_is_the_number_of_rows() -> None:
    cells = cells_of("built in", ())
    assert set(cells.counts) == {0}
    assert fused([mt.mean("x").bind([FLOAT])], []).places == [(3, 0)]


def test_without_spans_first_and_last_stay_as_they_are() -> None:
    cells = cells_of("own", None, False)
    state = cells.new(2)
    columns = {"x": Values(np.array([1.0, 2.0])), "y": Values(np.array([1, 2], np.int8))}
    cells.update_cells(state, np.array([0, 1]), np.array([5, 6]), None, columns)
    taken = cells.update_one(state, np.array([0, 10]), 20, np.array([12, 5]), None, columns)
    assert taken.newest == 12
    assert state[0].tolist() == [2, 2]
    for merged in (
        cells.merge_ranges(np.array([0]), np.array([2]), state),
        cells.merge_dense(*[np.array([0]), np.array([2])], 1, state),
    ):
        assert merged[0].tolist() == [4]
        assert merged[1].tolist() == merged[2].tolist() == [0]


def test_no_aggregates_still_count_rows() -> None:
    cells = fused([])
    state = cells.new(3)
    cells.update_cells(state, np.array([0, 2, 2]), np.array([7, 5, 9]), None, {})
    assert [column.tolist() for column in cells.merge_ranges(np.array([0]), np.array([3]), state)] == [[3], [5], [9]]


def test_what_is_not_compiled_is_refused() -> None:
    with pytest.raises(mt.UnsupportedAggregate, match=r"^median\('x'\) is not compiled: its field"):
        fused([mt.median("x").bind([FLOAT])])
