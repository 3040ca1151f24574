"""What `explain` says is what the engine does: events kept, what runs in Python, how large the state will be."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.explain import truth
from muntin.memory import assumed
from tests.strategies import SCHEMA, Moved, Pairs

WINDOWS = {
    "tumbling": mt.tumbling("5 us"),
    "sliding": mt.sliding("5 us", every="2 us"),
    "cumulative": mt.cumulative("6 us", every="2 us"),
    "own": Pairs(),
    "session": mt.session("3 us"),
    "rows": mt.sliding("3 rows", every="1 row"),
    "rows cumulative": mt.cumulative("6 rows", every="2 rows"),
    "rows by time": mt.sliding("3 rows", every="5 us"),
    "time by rows": mt.sliding("5 us", every="1 row"),
    "measure": mt.tumbling(5, on="m"),
    "measure session": mt.session(5, on="m"),
    "measure by time": mt.sliding(5, every="2 us", on="m"),
    "punctuated": mt.punctuated("mark"),
    "frame": mt.frame("mark"),
    "own aware": Moved(),
}


class Longest(mt.Aggregate):
    """The longest text: of no fixed size."""

    partial: ClassVar = {"text": str}
    takes, returns = "text", str

    def lift(value: Any) -> Any:
        return value

    def combine(a: Any, b: Any) -> Any:
        return a.text if len(a.text) >= len(b.text) else b.text

    def lower(p: Any) -> Any:
        return p.text


class Odd(mt.Aggregate):
    """Numba cannot compile this."""

    partial: ClassVar = {"total": float}

    def lift(value: Any) -> Any:
        return float(format(value, ".3f"))

    def combine(a: Any, b: Any) -> Any:
        return a.total + b.total

    def lower(p: Any) -> Any:
        return p.total


class Doubled(Odd):
    """Numba can compile this."""

    def lift(value: Any) -> Any:
        return value * 2.0


AGGREGATES = {
    "fixed": mt.sum("x"),
    "text": mt.max("s"),
    "holistic": mt.median("x"),
    "distinct texts": mt.count_distinct("s"),
    "ordered": mt.collect("x"),
    "youngest": mt.nth_youngest("x", 2),
    "texts of your own": Longest("s"),
    "in Python": Odd("f"),
    "compiled": Doubled("f"),
}


@pytest.mark.parametrize("disorder", ["0 us", "4 us"], ids=["in order", "out of order"])
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_events_are_kept_exactly_where_explain_says_so(window: mt.windows.Window, disorder: str) -> None:
    spec = mt.over("ts", disorder=disorder)
    for name, aggregate in AGGREGATES.items():
        spec = spec.window(name, window, **{name.replace(" ", "_"): aggregate})
    engine = spec.engine()
    engine._fit(SCHEMA.empty_table())
    places = {*engine._kept._place, *(engine._rows.keeping if engine._rows is not None else ())}
    keeping = [query.name for i, query in enumerate(spec.queries) if i in places]
    text = spec.explain(SCHEMA)
    sections = [section for section in str(text).split("\n\n") if "events kept:" in section]
    said = [section.split(":")[0] for section in sections if "events kept: yes" in section]
    assert said == keeping
    assert ("events are kept" in text) == bool(keeping)
    # Without a schema the same, as far as the types do not matter.
    types = assumed(spec)
    assert [query.name for query in spec.queries if truth(spec, query, types).keep_events] == keeping


def test_figure_4_alone_does_not_keep_events_over_slices() -> None:
    spec = mt.over("ts", disorder="1 s").window("w", mt.session("1 s"), low=mt.min("s"), kinds=mt.count_distinct("s"))
    assert "events kept: no. The aggregates are commutative" in spec.explain()


def test_what_runs_in_python_is_named_with_the_reason() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), a=Odd("x"), b=Longest("s"), c=Doubled("x"), d=mt.collect("x"))
    spec = spec.window("v", mt.tumbling("1 s"), e=mt.process(max, "x"))
    lines = str(spec.explain(pa.schema([("ts", pa.int64()), ("x", pa.float64()), ("s", pa.string())]))).splitlines()
    found = {lines[i - 1].split()[0]: line.strip() for i, line in enumerate(lines) if "runs in Python:" in line}
    assert list(found) == ["a", "b", "e"]
    assert found["a"].startswith("runs in Python: Numba does not compile its lift: ")
    assert "nopython" not in found["a"]
    assert found["b"] == "runs in Python: its field 'text' has no fixed size"
    assert found["e"] == "runs in Python: its function is called once per window"
    assert "explain(frame) knows the types" in spec.explain()
    assert "events kept: yes. Figure 4 does not ask for them, but a, b runs in Python" in spec.explain()


def test_explain_takes_a_frame_or_a_schema() -> None:
    spec = mt.over("ts").window("w", mt.tumbling("1 s"), low=mt.min("x"))
    table = pa.table({"ts": [1], "x": ["a"]})
    assert spec.explain(table) == spec.explain(table.schema) == spec.explain(table.to_pandas())
    with pytest.raises(mt.FrameError, match="no column 'x'"):
        spec.explain({"ts": [1]})


@pytest.mark.parametrize(
    ("options", "match"), [({"rate": 0}, "rate=0"), ({"keys": 0}, "keys=0"), ({"keys": 1.5}, "keys=1.5")]
)
def test_explain_refuses_what_is_no_rate_or_number_of_keys(options: dict[str, Any], match: str) -> None:
    with pytest.raises(mt.SpecError, match=match):
        mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()).explain(**options)


def test_predicted_state_is_printed_part_by_part() -> None:
    spec = mt.over("ts", by="key", disorder="2 seconds").window("w", mt.tumbling("1 minute"), top=mt.max("x"))
    text = str(spec.explain(rate=10_000, keys=100))
    assert "State at 10,000 events per second of event time and 100 keys: about 16.1 kB, and room to grow." in text
    assert "slices: 400 of 40.32 bytes, 16.1 kB" in text
    assert "kept events" not in text
    assert "lazy slicing" in text
    assert "on tuples" not in text
    kept = str(spec.window("all", mt.tumbling("1 second"), all=mt.collect("x")).explain(rate=10_000, keys=100))
    assert "kept events: 30,000 of 40 bytes, 1.2 MB" in kept
    assert "lazy slicing on tuples" in kept
    assert "State" not in spec.explain()


def slice_sizes(*windows: mt.windows.Window, **aggregates: mt.Aggregate) -> list[str]:
    spec = mt.over("ts")
    for i, window in enumerate(windows):
        spec = spec.window(f"w{i}", window, **aggregates)
    return [line.split(":", 1)[1].strip() for line in str(spec.explain()).splitlines() if "slice size:" in line]


def test_it_is_said_where_slices_of_kept_events_are_cached() -> None:
    mixed = (mt.sliding("9 rows", every="1 s"), mt.sliding("9 s", every="1 row"), mt.sliding(9, every="3 s", on="m"))
    assert [line[:30] for line in slice_sizes(*mixed, s=mt.sum("x"))] == ["32 to 2,048 events, as measure"] * 3
    once = (mt.punctuated("mark"), mt.frame("mark"), mt.session(9, on="m"))
    assert all(line.startswith("none. An event is in one window only") for line in slice_sizes(*once, s=mt.sum("x")))
    assert slice_sizes(Moved(), s=mt.sum("x"))[0].startswith("none. Windows of your own do not tell")
    assert slice_sizes(mixed[0], s=mt.median("x"), n=mt.count())[0].startswith("none. No aggregate has a compiled")
    sliced = mt.sliding("9 s", every="1 s"), mt.sliding("9 rows", every="1 row"), mt.sliding(9, every=3, on="m")
    assert slice_sizes(*sliced, s=mt.sum("x")) == []
    assert slice_sizes(sliced[-1], s=mt.sum("x"), mid=mt.median("x")) == slice_sizes(mixed[0], s=mt.sum("x"))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_running_engine_tells_what_splits_cost(threads: int) -> None:
    spec = mt.over("ts", by="key").window("w", mt.sliding("400000 rows", every="1 ms"), s=mt.sum("x"))
    engine = spec.engine(threads=threads)
    assert str(engine.explain()) == str(spec.explain())
    for at in range(20):
        ts = np.arange(at * 100_000, (at + 1) * 100_000)
        engine.push({"ts": ts, "key": ts % 40, "x": ts / 7})
    text = str(engine.explain())
    assert text.startswith(str(spec.explain(pa.schema([("ts", pa.int64()), ("key", pa.int64()), ("x", pa.float64())]))))
    told = text.split("Measured:\n")[1].splitlines()
    assert [line.split(": ")[0].strip() for line in told] == (["w"] if threads == 1 else ["thread 0", "thread 1"])
    for line in told:
        assert "w: slices of " in line
        assert int(line.split(" splits")[0].split()[-1].replace(",", "")) > 0
        assert "ns to aggregate an event" in line


def test_what_compress_does_to_a_spec() -> None:
    spec = mt.over("ts", by="car").window("w", mt.tumbling("1 hour"), all=mt.collect("x"))
    told = spec.compress("1 minute").explain()
    assert "Compressed: the kept events of a key, when it got none for 1 minute of event time (D)" in told
    assert "Warning: the windows" not in told
    assert "of a slice" not in told
    more = spec.window("f", mt.frame("fast"), n=mt.count()).window("m", mt.tumbling("1 s"), mid=mt.median("x"))
    told = more.compress(0, codec="zstd:3", lossy=0.5).explain()
    assert "at the end of every step (D = 0), many keys at a time in columns, with zstd:3" in told
    assert "Warning: the windows of f are found among the events of all keys" in told
    assert "Compressed: the cells and sorted values of a slice, of all keys together, at the end of every step" in told
    assert "lossy= states" in told
    counted = spec.without("w").window("n", mt.tumbling("1 s"), n=mt.count()).memory("1 GiB").explain()
    assert "Compressed: the cells of a slice, of all keys together, when the budget" in counted
    rows = spec.without("w").window("r", mt.tumbling("10 rows"), n=mt.count()).compress(0).explain()
    assert "Compressed: the events and slices of a key in windows in rows, at the end of every step" in rows
    along = spec.without("w").window("r", mt.tumbling(10, on="km"), n=mt.count()).compress(0).explain()
    assert "Compressed: the slices of a key along another column, at the end of every step" in along
    assert "D is moved" in spec.target(latency="10 ms").explain()
