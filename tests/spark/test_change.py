"""Windows added to and removed from a checkpoint, bucket by bucket and without Spark; with it: test_change_stream."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.layout import layout
from muntin.slicing.partials import Combiner, why_events
from muntin.spark import bucket as buckets
from muntin.spark.bucket import Bucket
from muntin.spark.change import described, former
from muntin.spark.ipc import packed
from muntin.spark.saved import restored
from muntin.spark.step import Done, Step, Wanted, bucket_spec
from tests.reliability.sizes import examples
from tests.slicing.changing import ALIKE, MIXES, Model, rows
from tests.spark.test_bucket import Memory
from tests.strategies import AGGREGATES, SCHEMA, cuts, specs, streams, watermarks, windows

KEYS = {"a": 0, "b": 1, None: 1}


class Checkpoint:
    """The buckets of a query, each with its store, and what `spec.start` does with them."""

    def __init__(self, spec: mt.Spec, late: bool, data: Any) -> None:
        self.late, self.data = late, data
        self.stores = [Memory(), Memory()] if spec.by else [Memory()]
        self.workers: list[OrderedDict[Any, Any]] = [OrderedDict(), OrderedDict()]
        self.wanted = self._of(spec, {})

    def _of(self, spec: mt.Spec, since: dict[str, int]) -> Wanted:
        needed = {*spec.by, "ts"}
        for query in spec.queries:
            needed.update(query.window.columns, *(aggregate.columns for _, aggregate in query.aggregates))
        read = [field for field in SCHEMA if self.late or field.name in needed]
        return Wanted(bucket_spec(spec), pa.schema(read), "final", since)

    def change(self, spec: mt.Spec) -> dict[str, int]:
        """Go on with another spec; gives from when its windows are exact."""
        same = {query.name for query in spec.queries} & {query.name for query in self.wanted.spec.queries}
        wanted = self._of(spec, {name: start for name, start in self.wanted.since.items() if name in same})
        found: dict[str, int] = {}
        for store in self.stores:
            for name, start in {} if store.value is None else restored(wanted, *stored(store)).engine._since.items():
                found[name] = max(start, found.get(name, start))
        self.wanted = replace(wanted, since=found)
        return found

    def step(self, batch: pa.Table, watermark: int | None) -> list[Done]:
        """One batch; each bucket fails now and then, and moves between two workers that live on and one that is new."""
        found, draw = [], self.data.draw
        for i, store in enumerate(self.stores):
            step = self._step(batch, i, watermark)
            if store.value is None and watermark is None and not (step.events or step.partials) and draw(st.booleans()):
                continue  # a bucket that begins later, perhaps after a change
            for fails in range(draw(st.sampled_from([1, 1, 1, 2])), 0, -1):
                worker = draw(st.integers(0, 2))
                attempt = store.copy()
                bucket = Bucket(self.wanted, i, attempt)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(buckets, "_ENGINES", OrderedDict() if worker == 2 else self.workers[worker])
                    if not step.events and not step.partials and bucket.idle(watermark):
                        break
                    done = bucket.run(step, None)
                if fails == 1:
                    self.stores[i] = attempt
                    found.append(done)
        return found

    def _step(self, batch: pa.Table, bucket: int, watermark: int | None) -> Step:
        if self.wanted.spec.by:
            batch = batch.filter(pa.array([KEYS[key] == bucket for key in batch.column("key").to_pylist()], pa.bool_()))
        table = batch.select(self.wanted.schema.names)
        bound = layout(self.wanted.spec, self.wanted.schema)
        combined = not self.late and table.num_rows and why_events(bound) is None
        found = Combiner(bound).combine(table) if combined and self.data.draw(st.booleans()) else None
        if found is not None:
            return Step([], [packed(found)], watermark, 0)
        return Step([packed(table)] if table.num_rows else [], [], watermark, 0)

    def flush(self) -> pa.Table:
        return together([restored(self.wanted, *stored(s)).engine.flush() for s in self.stores if s.value is not None])


def stored(store: Memory) -> tuple[bytes, list[bytes]]:
    assert store.base is not None
    return store.base, [store.steps[number] for number in sorted(store.steps)]


def together(tables: list[pa.Table]) -> pa.Table:
    some = [table for table in tables if table.num_rows]
    return pa.concat_tables(some) if some else pa.table({})


def of_query(table: pa.Table, name: str) -> list[Any]:
    return rows(table.filter(pa.compute.equal(table["query"], name))) if table.num_rows else []


def check(spec: mt.Spec, more: list[tuple[str, Any, tuple[str, ...]]], data: Any) -> None:
    """Windows that are added at two places in a stream, and one that is removed, give what the reference gives."""
    late = data.draw(st.booleans())
    steps, newest = [], None
    for batch, moved in data.draw(watermarks(data.draw(cuts(data.draw(streams()))))):
        newest = moved if newest is None else newest if moved is None else max(newest, moved)  # Spark's never goes back
        steps.append((batch, newest))
    query, model = Checkpoint(spec, late, data), Model(spec)
    for part in spec.queries:
        model.add(part, None)
    places = data.draw(st.lists(st.integers(0, len(steps)), min_size=2, max_size=2))
    gone = data.draw(st.integers(0, len(steps)))
    for i in range(len(steps) + 1):
        for place, (name, window, aggregates) in zip(places, more, strict=True):
            if place == i:
                spec = spec.window(name, window, **{part: AGGREGATES[part] for part in aggregates})
        removed = spec.queries[0].name if gone == i and len(spec.queries) > 1 else None
        if removed is not None:
            spec = spec.without(removed)
        if i in places or removed is not None:
            try:
                since = query.change(spec)
            except mt.SpecError as error:
                assert "Keep one of them" in str(error)  # noqa: PT017
                assert described(query.wanted.spec, SCHEMA)["users"]
                return
            for part in spec.queries:
                if part.name not in model.queries:
                    model.add(part, since.get(part.name))
            if removed is not None:
                model.queries.pop(removed, None)
        if i == len(steps):
            found, missed, counts = query.flush(), None, None
            results, _ = model.run(None, None, True)
        else:
            done = query.step(*steps[i])
            found, missed = together([part.results for part in done]), together([part.late for part in done])
            counts = {part.name: sum(one.late_events.get(part.name, 0) for one in done) for part in spec.queries}
            results, gone_by = model.run(*steps[i])
        for name in model.queries:
            assert of_query(found, name) == results[name], f"{name} in step {i}"
            if missed is not None and late:
                assert of_query(missed, name) == gone_by[name], f"late rows of {name} in step {i}"
            if counts is not None:
                assert counts[name] == len(gone_by[name]), f"late events of {name} in step {i}"


@examples(50)
@given(specs(mixes=MIXES), windows(), windows(), st.sampled_from(MIXES), st.data())
def test_any_windows_equal_the_reference(spec: mt.Spec, first: Any, second: Any, mix: Any, data: Any) -> None:
    names = tuple(name for name, _ in spec.queries[0].aggregates)
    check(spec, [("same", first, names), ("other", second, mix)], data)


@pytest.mark.parametrize("mixes", [MIXES, (("n", "total"),)], ids=["events", "partials"])
def test_windows_that_share_slices_equal_the_reference(mixes: Any) -> None:
    @examples(60)
    @given(st.data())
    def equal(data: Any) -> None:
        mix, alike = data.draw(st.sampled_from(mixes)), st.sampled_from(ALIKE[:-1])
        lateness = data.draw(st.sampled_from([0, 5, 20]))
        by = data.draw(st.sampled_from([(), ("key",)]))
        spec = mt.over("ts", by=by, disorder="5 us", lateness=f"{lateness} us")
        for i, window in enumerate(data.draw(st.lists(alike, min_size=1, max_size=3))):
            spec = spec.window(f"w{i}", window, **{name: AGGREGATES[name] for name in mix})
        check(spec, [(name, data.draw(alike), mix) for name in ("first", "second")], data)

    equal()


class Biggest(mt.Aggregate):
    """The largest value, as a user declares it."""

    partial = {"top": int}  # noqa: RUF012
    identity = (-(2**60),)
    commutative, kind = True, "distributive"
    returns = int

    def lift(value: int) -> Any:
        return (value,)

    def combine(a: Any, b: Any) -> Any:
        return (a.top if a.top > b.top else b.top,)

    def lower(p: Any) -> Any:
        return p.top


def test_a_window_with_an_aggregate_of_your_own_is_removed() -> None:
    # Its class is not at hand any more: what was written as partials of both windows is read for the other one.
    plain = mt.over("ts").window("w", mt.tumbling("4 us"), low=mt.min("x"), total=mt.sum("x"))
    both = (
        mt.over("ts")
        .window("own", mt.tumbling("2 us"), top=Biggest("x"))
        .window("w", mt.tumbling("4 us"), low=mt.min("x"), total=mt.sum("x"))
    )
    batches = [pa.table({"ts": [0, 1, 5, 5], "x": [3, 4, 5, 6]}), pa.table({"ts": [6, 6, 7, 7], "x": [1, 2, 3, 4]})]
    store, expected = Memory(), plain.engine(watermark="manual")
    for i, batch in enumerate(batches):
        wanted = Wanted(bucket_spec(both), batch.schema)
        found = Combiner(layout(wanted.spec, batch.schema)).combine(batch)
        assert found is not None
        Bucket(wanted, 0, store).run(Step([], [packed(found)], 4 * i, 0), None)
        expected._run(batch, 4 * i, False)
    assert store.value is not None
    assert store.value.step > store.value.base
    wanted = Wanted(bucket_spec(plain), batches[0].schema)
    done = Bucket(wanted, 0, store).run(Step([], [], 8, 0), None)
    assert rows(done.results) == rows(expected.advance(8))
    assert store.value.step == store.value.base


def test_what_may_not_follow_is_refused() -> None:
    schema = pa.schema([("ts", pa.int64()), ("x", pa.int64()), ("k", pa.string())])
    spec = mt.over("ts", by="k", disorder="1 s").window("w", mt.tumbling("1 s"), top=Biggest("x"))
    before = described(spec, schema)
    assert former(before, spec, schema) == spec
    for other, said in {
        "time='ts'": mt.over("x", by="k", disorder="1 s"),
        r"by=\['k'\], and this spec has by=\[\]": mt.over("ts", disorder="1 s"),
        r"disorder=1000000 \(microseconds\), and": mt.over("ts", by="k", disorder="2 s"),
    }.items():
        with pytest.raises(mt.SpecError, match=other):
            former(before, said.window("w", mt.tumbling("1 s"), top=Biggest("x")), schema)
    with pytest.raises(mt.SpecError, match="column 'x' has type double, and in the state of this checkpoint int64"):
        former(before, spec, schema.set(1, pa.field("x", pa.float64())))
    more = spec.window("v", mt.tumbling("2 s"), n=mt.count())
    with pytest.raises(mt.SpecError, match=r"classes or functions of your own(?s:.*)Keep one of them"):
        former(before, more.without("w"), schema)
    assert former(described(more, schema), more.without("w"), schema) == more.without("w")
    # A part of a window that goes is in one that comes.
    other = mt.over("ts", by="k", disorder="1 s").window("u", mt.session("1 s"), top=Biggest("x"))
    assert former(before, other, schema) == spec
    # How a lambda is written cannot even be read; the window goes on all the same.
    odd = spec.window("odd", mt.tumbling("3 s"), n=mt.process(lambda x: len(x), "x", returns=pa.int64()))
    assert former(described(odd, schema), odd.without("w"), schema) == odd.without("w")


def test_a_class_with_the_name_of_a_built_in_one_is_not_taken_for_it() -> None:
    class Other(Biggest):
        name = "max"

    schema = pa.schema([("ts", pa.int64()), ("x", pa.int64())])
    one = mt.over("ts").window("own", mt.tumbling("1 s"), top=Other("x"))
    assert repr(one.queries[0].aggregates[0][1]) == repr(mt.max("x"))
    two = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    both = one.window("w", mt.tumbling("1 s"), n=mt.count())
    assert former(described(both, schema), two, schema) == two


@pytest.mark.parametrize("window", [mt.tumbling("1 rows"), mt.tumbling(1, on="m"), mt.frame("mark")], ids=str)
def test_a_window_has_one_start_for_the_keys_of_all_buckets(window: Any) -> None:
    # a          x (100)         [ from 101 on, whichever the newest event of a key's own bucket is
    # b   x (10)       . (50)    [
    schema = pa.schema([("ts", pa.int64()), ("m", pa.int64()), ("mark", pa.bool_())])
    spec = mt.over("ts", disorder="1 ms").window("w", mt.tumbling("5 us"), n=mt.count())
    stores = [Memory(), Memory()]
    for store, time in zip(stores, (100, 10), strict=True):
        rows_in = pa.table([[time], [time], [True]], schema=schema)
        Bucket(Wanted(bucket_spec(spec), schema), 0, store).run(Step([packed(rows_in)], [], None, 0), None)
    more = spec.window("v", window, n=mt.count())
    found = [restored(Wanted(bucket_spec(more), schema), *stored(store)).engine._since["v"] for store in stores]
    assert found == [101, 11]
    wanted = Wanted(bucket_spec(more), schema, "final", {"v": 101})
    for store in (stores[1], Memory()):
        rows_in = pa.table([[50, 101, 102], [50, 101, 102], [True, True, False]], schema=schema)
        Bucket(wanted, 0, store).run(Step([packed(rows_in)], [], None, 0), None)
        done = restored(wanted, *stored(store)).engine.flush().to_pylist()
        starts = [row["window"]["start"].microsecond for row in done if row["query"] == "v"]
        assert min(starts) == 101


def test_conditions_and_computed_columns_stay_with_a_state() -> None:
    schema = pa.schema([("ts", pa.int64()), ("x", pa.int64())])
    rows = mt.over("ts").where("x > 0").computed(twice="x * 2")
    old = rows.window("w", mt.tumbling("1 s"), n=mt.count())
    new = rows.window("v", mt.tumbling("2 s"), n=mt.count())
    assert former(described(old, schema), new, schema) == old
    with pytest.raises(mt.SpecError, match="where"):
        former(described(old, schema), mt.over("ts").window("v", mt.tumbling("2 s"), n=mt.count()), schema)
