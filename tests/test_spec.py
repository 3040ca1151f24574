"""The spec: immutable, printable, comparable; every mistake is caught when it is built."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

import muntin as mt


def example() -> mt.Spec:
    return (
        mt.over("ts", by="sensor", disorder="2 seconds", lateness="1 minute")
        .window("minute", mt.tumbling("1 minute"), n=mt.count(), peak=mt.max("speed"))
        .window("hour", mt.sliding("1 hour", every="10 seconds"), p95=mt.quantile("speed", 0.95))
        .window("last", mt.sliding("10 rows", every="5 seconds"), mean=mt.mean("speed"))
        .window("visit", mt.session("30 seconds"), n=mt.count())
    )


def test_prints_as_it_is_written() -> None:
    assert repr(example()) == (
        "over('ts', by='sensor', disorder='2 seconds', lateness='1 minute')\n"
        ".window('minute', tumbling('1 minute'), n=count(), peak=max('speed'))\n"
        ".window('hour', sliding('1 hour', every='10 seconds'), p95=quantile('speed', share=0.95))\n"
        ".window('last', sliding('10 rows', every='5 seconds'), mean=mean('speed'))\n"
        ".window('visit', session('30 seconds'), n=count())"
    )


def test_compares_by_value() -> None:
    assert example() == example()
    assert hash(example()) == hash(example())
    assert example() != example().window("more", mt.tumbling("1 hour"), n=mt.count())
    assert mt.quantile("x", 0.5) != mt.quantile("x", 0.6)
    assert mt.quantile("x", 0.5) != mt.median("x")
    assert mt.sum("x") == mt.sum("x")
    assert mt.process(len, "x") == mt.process(len, "x")
    assert mt.process(len, "x") != mt.process(max, "x")
    assert mt.tumbling("60 seconds") == mt.tumbling("1 minute")


def test_is_immutable_and_can_be_extended_twice() -> None:
    base = mt.over("ts").window("a", mt.tumbling("1 second"), n=mt.count())
    one = base.window("b", mt.tumbling("2 seconds"), n=mt.count())
    two = base.window("c", mt.tumbling("3 seconds"), n=mt.count())
    assert [query.name for query in one.queries] == ["a", "b"]
    assert [query.name for query in two.queries] == ["a", "c"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        base.time = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: mt.over("ts").apply({"ts": [1]}), ["no window", ".window("]),
        (lambda: mt.over("ts").engine(), ["no window"]),
        (lambda: mt.over("ts").explain(), ["no window"]),
        (lambda: mt.over(5), ["5", "time column"]),
        (lambda: mt.over("ts", by=["a", "a"]), ["twice", "a"]),
        (lambda: mt.over("ts", by="window"), ["window", "reserved"]),
        (lambda: mt.over("ts", by=[1]), ["1", "key columns"]),
        (lambda: mt.over("ts", disorder="-1 second"), ["disorder", "negative"]),
        (lambda: mt.over("ts", disorder="5 rows"), ["disorder", "time"]),
        (lambda: mt.over(None, disorder="1 second"), ["arrival", "disorder"]),
        (lambda: mt.over(None, lateness="1 second"), ["arrival", "lateness"]),
        (lambda: mt.over("ts").window("", mt.tumbling("1 s"), n=mt.count()), ["name"]),
        (lambda: mt.over("ts").window("w", mt.tumbling("1 s")), ["'w'", "computes nothing"]),
        (lambda: mt.over("ts").window("w", "1 minute", n=mt.count()), ["'w'", "1 minute", "mt.tumbling"]),
        (lambda: mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count), ["not called", "mt.count("]),
        (lambda: mt.over("ts").window("w", mt.tumbling("1 s"), n=len), ["no aggregate"]),
        (lambda: mt.over("ts").window("w", mt.tumbling("1 s"), rows=mt.count()), ["rows", "reserved"]),
        (lambda: mt.over("ts", by="n").window("w", mt.tumbling("1 s"), n=mt.count()), ["'n'", "key column"]),
        (
            lambda: (
                mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).window("w", mt.session("1 s"), n=mt.count())
            ),
            ["two windows", "'w'"],
        ),
        (lambda: mt.tumbling("10 parsecs"), ["parsecs", "seconds"]),
        (lambda: mt.tumbling("0 seconds"), ["positive"]),
        (lambda: mt.tumbling(10), ["no unit", "on="]),
        (lambda: mt.tumbling("1 minute", on="x"), ["on='x'", "bare numbers"]),
        (lambda: mt.sliding("1 minute", every="1 second", on="x"), ["on='x'"]),
        (lambda: mt.tumbling("5 rows", align="1 second"), ["align", "rows"]),
        (lambda: mt.tumbling(5, on="x", align="1 second"), ["align", "whole number"]),
        (lambda: mt.tumbling("1 minute", align="3 rows"), ["align"]),
        (lambda: mt.cumulative("1 hour", every="7 minutes"), ["divide", "7 minutes"]),
        (lambda: mt.cumulative("1 hour", every="7 rows"), ["two measures"]),
        (lambda: mt.session("5 rows"), ["rows", "gap"]),
        (lambda: mt.session("5 seconds", on="x"), ["on='x'"]),
        (lambda: mt.punctuated(), ["start=", "end="]),
        (lambda: mt.punctuated("a", start="b"), ["start=", "end="]),
        (lambda: mt.punctuated(start="b"), ["start=", "end="]),
        (lambda: mt.frame(True), ["name of a column", "True"]),
        (lambda: mt.quantile("x", 1.5), ["[0, 1]", "1.5"]),
        (lambda: mt.sum(5), ["names of columns", "5"]),
        (lambda: mt.sum("x", overflow="wrap"), ["overflow", "wrap", "null"]),
        (
            lambda: mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).engine(watermark="often"),
            ["often", "manual"],
        ),
        (
            lambda: mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).engine(engine="referense"),
            ["referense", "Did you mean 'reference'"],
        ),
    ],
)
def test_mistakes_are_caught_when_the_spec_is_built(build: object, words: list[str]) -> None:
    with pytest.raises(mt.SpecError) as caught:
        build()  # type: ignore[operator]
    for word in words:
        assert word in str(caught.value)


FRAME = pa.table({"ts": [1, 2], "speed": [1.0, 2.0], "name": ["a", "b"], "on": [1.5, 2.5], "list": [[1], [2]]})


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (mt.over("tss").window("w", mt.tumbling("1 s"), n=mt.count()), ["no column 'tss'", "Did you mean 'ts'"]),
        (mt.over("ts", by="nome").window("w", mt.tumbling("1 s"), n=mt.count()), ["'nome'", "key", "'name'"]),
        (mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.sum("sped")), ["'sped'", "'n' of 'w'", "'speed'"]),
        (mt.over("ts").window("w", mt.punctuated("mark"), n=mt.count()), ["'mark'", "window 'w'"]),
        (mt.over("ts").window("w", mt.punctuated("name"), n=mt.count()), ["'name'", "boolean"]),
        (mt.over("ts").window("w", mt.tumbling(5, on="on"), n=mt.count()), ["'on'", "exact", "scale"]),
        (mt.over("ts").window("w", mt.tumbling(5, on="name"), n=mt.count()), ["'name'", "integer, decimal"]),
        (mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.sum("name")), ["sum('name')", "string", "numbers"]),
        (mt.over("name").window("w", mt.tumbling("1 s"), n=mt.count()), ["'name'", "no time", "timestamp"]),
        (mt.over("ts", by="list").window("w", mt.tumbling("1 s"), n=mt.count()), ["'list'", "plain value"]),
        (mt.over("ts", order="name").window("w", mt.tumbling("1 s"), n=mt.count()), ["order='name'"]),
        (mt.over(None).window("w", mt.tumbling("1 s"), n=mt.count()), ["arrival", "finite frame"]),
        (
            mt.over("ts")
            .window("v", mt.tumbling("1 s"), n=mt.count())
            .window("w", mt.tumbling("1 s"), n=mt.sum("speed")),
            ["'n'", "int64", "double", "one type"],
        ),
    ],
)
def test_what_does_not_fit_the_frame_is_caught_when_applied(spec: mt.Spec, words: list[str]) -> None:
    with pytest.raises(mt.FrameError) as caught:
        spec.apply(FRAME)
    for word in words:
        assert word in str(caught.value)


def test_batches_must_be_alike_and_an_engine_ends() -> None:
    engine = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).engine()
    assert engine.advance(5).num_rows == 0
    engine.push({"ts": [1]})
    with pytest.raises(mt.FrameError, match="batches are alike"):
        engine.push({"ts": [1.5]})
    engine.flush()
    for call in (lambda: engine.push({"ts": [1]}), lambda: engine.advance(9), engine.flush):
        with pytest.raises(mt.EngineEnded, match="Make a new one"):
            call()
    with pytest.raises(mt.FrameError, match=r"'reason'.*Rename"):
        mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).engine().push({"ts": [1], "reason": ["x"]})


def test_explain_names_classes_properties_and_answers() -> None:
    text = str(example().explain())
    for line in (
        "over('ts'): out of order by up to 2 seconds, corrected for 1 minute, keyed by sensor",
        "  context free, measured in time; a window is identified by its time bounds",
        "  peak = max('speed'): distributive, commutative, not invertible, selective, not differential",
        "  forward context aware, measured in rows; a window is identified by its end",
        "  events kept: yes. Out of order, the window is neither context free nor a session: its edges may move.",
        "  splits:      no. Sessions only merge, extend or start in a gap.",
        "Warning: rows are counted per key for ever",
        "max_ahead",
    ):
        assert line in text
    assert repr(example().explain()) == text


def test_explain_names_the_scalar_fallback() -> None:
    class Scalar(mt.ContextFreeWindow):
        def next_edge(self, time: int) -> int:
            return 10 if time < 10 else mt.windows.NEVER

        def trigger(self, previous: int, current: int) -> list[tuple[int, int]]:
            return [(0, 10)] if previous < 10 <= current else []

    text = str(mt.over("ts").window("w", Scalar(), n=mt.count()).explain())
    assert "one time at a time" in text
    assert "one time at a time" not in str(example().explain())


def test_an_empty_untyped_first_batch_does_not_decide_the_types() -> None:
    engine = mt.over("ts").window("w", mt.tumbling("1 us"), n=mt.count("x")).engine()
    engine.push({"ts": [], "x": []})
    engine.push({"ts": [1], "x": [5]})
    assert engine.push({"ts": [2], "x": [None]}).column("n").to_pylist() == [1]
    assert engine.flush().column("n").to_pylist() == [0]


def test_a_bad_first_batch_does_not_spoil_the_engine() -> None:
    engine = mt.over("ts").window("w", mt.tumbling("1 us"), n=mt.count()).engine()
    with pytest.raises(mt.FrameError, match="no time"):
        engine.push({"ts": ["2020"]})
    assert engine.push({"ts": [1, 5]}).num_rows == 1


def test_rows_of_a_finite_frame_without_a_time_are_named_in_a_warning() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("1 us"), n=mt.count())
    with pytest.warns(mt.RejectedRows, match="1 rows are in no window: 1 with null time"):
        assert spec.apply({"ts": [1, None]}).num_rows == 1


def test_count_takes_any_type_and_unused_columns_do_not_matter() -> None:
    frame = pa.table(
        {"ts": [1, 1], "x": [[1], None], "odd": pa.array([None, None], pa.month_day_nano_interval())},
    )
    assert mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count("x")).apply(frame).column("n").to_pylist() == [1]


@pytest.mark.parametrize(
    "build",
    [
        lambda: mt.tumbling(float("nan"), on="x"),
        lambda: mt.tumbling(float("inf"), on="x"),
        lambda: mt.tumbling(1j, on="x"),
        lambda: mt.tumbling(5, on=5),
        lambda: mt.punctuated(5),
        lambda: mt.over("ts", order=5),
        lambda: mt.tumbling("99999999999 weeks"),
    ],
)
def test_odd_values_are_spec_errors_too(build: object) -> None:
    with pytest.raises(mt.SpecError):
        build()  # type: ignore[operator]


def test_a_users_aggregate_takes_parameters_and_the_right_number_of_columns() -> None:
    class Above(mt.Aggregate):
        """How many values are above a limit."""

        partial = {"n": int}  # noqa: RUF012
        identity = (0,)
        returns = int

        def lift(self, value: float) -> int:
            return int(value > self.limit)  # type: ignore[attr-defined]

        def combine(a, b):  # type: ignore[no-untyped-def]
            return a.n + b.n

        def lower(p):  # type: ignore[no-untyped-def]
            return p.n

    assert Above("x", limit=3) == Above("x", limit=3) != Above("x", limit=4)
    assert repr(Above("x", limit=3)) == "Above('x', limit=3)"
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=Above("x", limit=3))
    assert spec.apply({"ts": [1, 2, 3], "x": [3, 4, 5]}).column("n").to_pylist() == [2]
    for wrong in ((), ("x", "y")):
        with pytest.raises(mt.SpecError, match="as many columns as lift takes"):
            Above(*wrong, limit=3)


def test_a_users_window_that_breaks_its_contract_is_told_so() -> None:
    class Twice(mt.ContextFreeWindow):
        def next_edge(self, time: int) -> int:
            return time // 10 * 10 + 10

        def trigger(self, previous: int, current: int) -> list[tuple[int, int]]:
            return [(k, k + 10) for k in range(0, current - 9, 10)]

    class Back(Twice):
        def next_edge(self, time: int) -> int:
            return time

    for window, words in ((Twice(), "previous < end <= current"), (Back(), "must be later")):
        with pytest.raises(mt.SpecError, match=words):
            mt.over("ts").window("w", window, n=mt.count()).apply({"ts": [5, 25]})
