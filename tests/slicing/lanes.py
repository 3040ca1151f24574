"""What the tests of rows windows and of windows on another column share: both are queries in lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing.engine import Slicing
from muntin.windows import Window
from tests.slicing.changing import Model, check_step
from tests.strategies import AGGREGATES, specs


class Spread(mt.Aggregate):
    """Sum and sum of squares, in integers: values can be taken out again."""

    partial: ClassVar = {"total": int, "squares": int}
    identity = (0, 0)

    def lift(value: Any) -> Any:
        return value, value * value

    def combine(a: Any, b: Any) -> Any:
        return a.total + b.total, a.squares + b.squares

    def invert(a: Any, b: Any) -> Any:
        return a.total - b.total, a.squares - b.squares

    def lower(p: Any) -> Any:
        return float(p.squares - p.total)


class Digits(mt.Aggregate):
    """A number from the last digits of all values in their order: not commutative, so order shows."""

    partial: ClassVar = {"number": int, "power": int}
    identity = (0, 1)
    commutative, returns = False, int

    def lift(value: Any) -> Any:
        return value & 7, 8

    def combine(a: Any, b: Any) -> Any:
        return (a.number * b.power + b.number) & 0xFFFFFF, (a.power * b.power) & 0xFFFFFF

    def lower(p: Any) -> Any:
        return p.number


INVERTED = ("n", "total", "spread")
CHOSEN = ("high", "low", "ties", "top_f", "first")
OWN = {"spread": Spread("x"), "digits": Digits("x"), "top_f": mt.arg_max("f", by="x")}
EVERY = AGGREGATES | OWN
CELLS = (
    ("n", "total", "low", "m4"),
    ("fsum", "var", "first", "high", "ties"),
    INVERTED,
    CHOSEN,
    ("total", "high", "last_x"),
    ("digits", "total"),
)
EVERY["last_x"] = mt.last("x")


Mixes = tuple[tuple[str, ...], ...]


@st.composite
def lane_specs(
    draw: Any,
    mixes: Mixes,
    windows: Callable[[Any, int, int], list[Window]],
    idle: bool = True,
    kept: bool = False,
) -> mt.Spec:
    """Up to four windows, larger and with more lateness than those of all kinds.

    `windows` are those to choose from, of a size and a step. Where `kept`, some ask for an aggregate that keeps events.
    """
    spec = draw(specs(kinds=("tumbling",), mixes=(("n",),), idle=idle))
    spec = replace(spec, queries=(), lateness=draw(st.sampled_from([0, 0, 5, 20, 80])))
    common = draw(st.sampled_from(mixes))
    for i in range(draw(st.integers(1, 4))):
        window = draw(st.sampled_from(windows(draw, draw(st.integers(1, 12)), draw(st.integers(1, 6)))))
        # Some ask for less: their values are found apart, from the same slices (every mix compiles its own kernels).
        mix = common[draw(st.sampled_from([0, 0, 1])) if i else 0 :]
        more = ("all",) if kept and draw(st.integers(0, 7)) == 0 else ()
        spec = spec.window(f"w{i}", window, **{name: EVERY[name] for name in (*mix, *more)})
    return spec


def engine_of(spec: mt.Spec) -> Slicing:
    """An engine whose watermark moves when it is told to."""
    engine = spec.engine(watermark="manual")
    assert isinstance(engine, Slicing)
    return engine


def check_windows_come_and_go(
    first: Window, added: list[Window], asked: list[tuple[str, ...]], by: Any, lateness: str
) -> None:
    """A query that is added counts what comes after all that came; the others go on, with cells of what they need."""
    random = np.random.default_rng(3)
    spec = mt.over("ts", by=by, lateness=lateness).window("w0", first, total=EVERY["total"])
    engine, model = engine_of(spec), Model(spec)
    model.add(spec.queries[0], None)
    newest = 0
    for step in range(40):
        ts = newest + random.integers(-12, 12, 8)
        newest = max(newest, int(ts.max()))
        m = ts + random.integers(-3, 4, 8)
        table = pa.table({"ts": ts, "key": random.integers(0, 2, 8), "x": random.integers(0, 9, 8), "m": m})
        check_step(engine, model, (table, newest - int(random.integers(0, 9))))
        if step % 5 == 2 and step < 20:
            i = step // 5
            since = engine.add_window(f"w{i + 1}", added[i % 3], **{name: EVERY[name] for name in asked[i % 3]})
            model.add(engine.spec.queries[-1], since)
        elif step % 7 == 6 and len(model.queries) > 1:
            name = sorted(model.queries)[step % len(model.queries)]
            engine.remove_window(name)
            del model.queries[name]
        elif step % 6 == 1:
            state = engine.snapshot()
            engine = engine_of(engine.spec)
            engine.restore(state)
            assert engine.snapshot() == state
    check_step(engine, model, (None, None), True)


def check_ids_of_keys_move(monkeypatch: pytest.MonkeyPatch, window: Window, **aggregates: mt.Aggregate) -> None:
    """A key that another query has held goes; how far those of the query in a lane have come stays."""
    monkeypatch.setattr("muntin.slicing.compaction.LEAST", 4)
    spec = mt.over("ts", by="key", disorder="5 us", lateness="4 us").window("w", mt.tumbling("4 us"), n=mt.count())
    engine, model = engine_of(spec), Model(spec)
    model.add(spec.queries[0], None)
    random = np.random.default_rng(8)
    sizes = []
    for step in range(30):
        ts = step * 10 + random.integers(-4, 10, 12)
        keys = random.integers(0, 6, 12) + (0 if step > 12 else step * 6)
        table = pa.table({"ts": ts, "key": keys, "x": keys, "m": ts // 2})
        check_step(engine, model, (table, step * 10))
        if step == 13:
            since = engine.add_window("lane", window, **aggregates)
            model.add(engine.spec.queries[-1], since)
        sizes.append(engine._decoder.keys.size)
    assert sizes[-1] < sizes[13]
    check_step(engine, model, (None, None), True)
