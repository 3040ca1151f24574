"""Random specs, streams and cuts, shared by the tests of the reference and of every engine."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import muntin as mt

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("key", pa.string()),
        ("x", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("mark", pa.bool_()),
        ("stop", pa.bool_()),
        ("m", pa.int64()),
    ]
)


class Order(mt.Aggregate):
    """A number of the order of values: a user's own, not commutative."""

    partial: ClassVar[dict[str, Any]] = {"code": int, "scale": int}
    identity = (0, 1)
    commutative = False
    returns = int

    def lift(value: Any) -> Any:
        return int(value) % 97, 31

    def combine(a: Any, b: Any) -> Any:
        return (a.code * b.scale + b.code) % 1_000_003, a.scale * b.scale % 1_000_003

    def lower(p: Any) -> Any:
        return p.code


@dataclass(frozen=True)
class Moved(mt.ContextAwareWindow):
    """A new window whenever the value has moved by delta; decided by the first value at each distinct time."""

    column: str = "x"
    delta: int = 3

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def notify_context(self, context: mt.windows.Context, times: Any) -> None:
        start = context.edge_before(int(times[0]))
        events = context.events(since=start)
        context.remove(context.edges[context.edges >= events.times[0]])
        at, first = np.unique(events.times, return_index=True)
        anchor = None
        for time, value in zip(at, events[self.column][first], strict=True):
            known = value is not None and value == value
            if anchor is None or (known and abs(value - anchor) >= self.delta):
                context.add(time)
                anchor = value if known else 0


@dataclass(frozen=True)
class Pairs(mt.ContextFreeWindow):
    """Windows [7k, 7k + 3) and [7k + 2, 7k + 9), one time at a time: a user's own, by the scalar fallback."""

    def next_edge(self, time: int) -> int:
        base = time // 7 * 7
        return min(edge for edge in (base + e for e in (0, 2, 3, 7, 9, 10)) if edge > int(time))

    def trigger(self, previous: int, current: int) -> list[tuple[int, int]]:
        found = []
        for k in range((previous - 9) // 7 - 1, current // 7 + 1):
            found += [w for w in ((7 * k, 7 * k + 3), (7 * k + 2, 7 * k + 9)) if previous < w[1] <= current]
        return sorted(found, key=lambda w: w[1])


small = st.integers(1, 12)


@st.composite
def windows(draw: Any, kinds: tuple[str, ...] | None = None) -> mt.windows.Window:
    """Any window type, with small sizes so that a few events make several windows."""
    size, every, align = draw(small), draw(small), draw(st.integers(0, 12))
    us, step, shift = f"{size} us", f"{every} us", f"{align} us"
    rows, some = f"{draw(st.integers(1, 4))} rows", f"{draw(st.integers(1, 3))} rows"
    made = {
        "tumbling": lambda: mt.tumbling(us, align=shift),
        "sliding": lambda: mt.sliding(us, every=step, align=shift),
        "cumulative": lambda: mt.cumulative(f"{size * 3} us", every=us, align=shift),
        "session": lambda: mt.session(f"{draw(st.integers(1, 30))} us"),
        "rows": lambda: mt.sliding(rows, every=some),
        "rows tumbling": lambda: mt.tumbling(rows),
        "rows cumulative": lambda: mt.cumulative("6 rows", every="2 rows"),
        "rows by time": lambda: mt.sliding(rows, every=step, align=shift),
        "time by rows": lambda: mt.sliding(us, every=some),
        "measure": lambda: mt.sliding(size, every=every, on="m", align=align),
        "measure tumbling": lambda: mt.tumbling(size, on="m"),
        "measure cumulative": lambda: mt.cumulative(size * 2, every=size, on="m"),
        "measure session": lambda: mt.session(size, on="m"),
        "measure by time": lambda: mt.sliding(size, every=step, on="m"),
        "time by measure": lambda: mt.sliding(us, every=every, on="m"),
        "measure by rows": lambda: mt.sliding(size, every=some, on="m"),
        "rows by measure": lambda: mt.sliding(rows, every=every, on="m"),
        "punctuated": lambda: mt.punctuated("mark"),
        "punctuated pair": lambda: mt.punctuated(start="mark", end="stop"),
        "frame": lambda: mt.frame("mark"),
        "own": lambda: Pairs(),
        "own aware": lambda: Moved(delta=size),
    }
    return made[draw(st.sampled_from(kinds or tuple(made)))]()


AGGREGATES = {
    "all": mt.collect("x"),
    "floats": mt.collect("f"),
    "n": mt.count(),
    "total": mt.sum("x"),
    "fsum": mt.sum("f"),
    "low": mt.min("f"),
    "high": mt.max("x"),
    "first": mt.first("x"),
    "last": mt.last("s"),
    "mid": mt.median("x"),
    "text": mt.concat("s", sep=","),
    "mode": mt.mode("s"),
    "top": mt.arg_max("s", by="x"),
    "m4": mt.m4("x"),
    "ties": mt.max_count("x"),
    "var": mt.var("x"),
    "kinds": mt.count_distinct("s"),
    "second": mt.nth_youngest("x", 2),
    "third": mt.nth_smallest("x", 3),
    "often": mt.heavy_hitters("s", share=0.4),
    "p90": mt.quantile("f", 0.9),
    "mode_x": mt.mode("x"),
    "kinds_x": mt.count_distinct("x"),
    "often_x": mt.heavy_hitters("x", share=0.3),
    "about_f": mt.approx_quantile("f", 0.5),
    "about_s": mt.approx_count_distinct("s"),
    "about_x": mt.approx_count_distinct("x"),
    "some_s": mt.heavy_hitters("s", share=0.3, approx=True),  # too few values for anything to be left out
}


MIXES: tuple[tuple[str, ...], ...] = (
    ("all", "n", "total", "low", "m4"),
    ("all", "fsum", "var", "first", "high", "ties"),
    ("all", "text", "mode", "top", "last", "second"),
    (
        "all",
        "mid",
        "kinds",
        "third",
        "often",
        "p90",
        "mode_x",
        "kinds_x",
        "often_x",
        "about_f",
        "about_s",
        "about_x",
        "some_s",
    ),
)
"""Aggregates that go together. Each mix compiles its own kernels, so there are few of them; `collect` is in all."""

KEPT = ("all", "floats", "text")
"""Aggregates that are all computed from kept events, without a kernel of their own."""


@st.composite
def specs(
    draw: Any,
    kinds: tuple[str, ...] | None = None,
    mixes: tuple[tuple[str, ...], ...] = MIXES,
    idle: bool = True,
) -> mt.Spec:
    """A spec with one to three windows, all with the same mix of aggregates."""
    mix = draw(st.sampled_from(mixes))
    spec = mt.over(
        "ts",
        by=draw(st.sampled_from([(), ("key",)])),
        disorder=f"{draw(st.sampled_from([0, 0, 5, 15]))} us",
        lateness=f"{draw(st.sampled_from([0, 0, 5, 20]))} us",
        idle=draw(st.sampled_from([None, None, "8 us"])) if idle else None,
    )
    for i in range(draw(st.integers(1, 3))):
        spec = spec.window(f"w{i}", draw(windows(kinds)), **{name: AGGREGATES[name] for name in mix})
    return spec


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


@st.composite
def streams(draw: Any, spec: mt.Spec | None = None, max_rows: int = 40) -> pa.Table:
    """Rows in the order of arrival.

    With a spec, none is further behind than its disorder and lateness allow, and the measure advances with time.
    """
    n = draw(st.integers(1, max_rows))
    behind = 60 if spec is None else spec.disorder + spec.lateness
    newest, rows = draw(st.integers(-20, 20)), []
    for _ in range(n):
        ahead = draw(st.sampled_from([0, 0, 1, 1, 2, 3, 7, 25]))
        back = draw(st.integers(0, behind)) if behind and draw(st.integers(0, 2)) == 0 else 0
        time = newest + ahead - back if back else newest + ahead
        newest = max(newest, time)
        rows.append(
            {
                "ts": time,
                "key": draw(st.sampled_from(["a", "b", None])),
                "x": draw(optional(st.integers(-4, 9))),
                "f": draw(optional(st.integers(-8, 8).map(lambda i: i / 2))),
                "s": draw(optional(st.sampled_from(["p", "q", "r"]))),
                "mark": draw(st.sampled_from([True, False, False, None])),
                "stop": draw(st.sampled_from([True, False, False, None])),
                "m": time * 2 // 3 if spec else time + draw(st.sampled_from([0, 0, 0, 1, -2])),
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@st.composite
def cuts(draw: Any, table: pa.Table) -> list[pa.Table]:
    """A stream cut into batches, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, table.num_rows), max_size=6)))
    edges = [0, *places, table.num_rows]
    return [table.slice(a, b - a) for a, b in pairwise(edges)]


@st.composite
def watermarks(draw: Any, batches: list[pa.Table]) -> list[tuple[pa.Table, int | None]]:
    """Steps with watermarks that trail the events more or less; some before, some after."""
    steps, newest = [], None
    for batch in batches:
        seen = [time for time in batch.column("ts").to_pylist() if time is not None]
        newest = max([*seen, *([] if newest is None else [newest])], default=None)
        moved = None if newest is None or draw(st.integers(0, 3)) == 0 else newest - draw(st.integers(-10, 30))
        steps.append((batch, moved))
    return steps


def rows_of(*tables: pa.Table) -> list[tuple[Any, ...]]:
    """All rows as sorted, comparable tuples: NaN equals NaN."""
    return sorted((comparable(tuple(row.values())) for table in tables for row in table.to_pylist()), key=repr)


def last_revisions(tables: list[pa.Table], spec: mt.Spec) -> list[tuple[Any, ...]]:
    """The last row of each identity over all reports; retracted ones drop out."""
    by_query = {query.name: query.window.identity for query in spec.queries}
    last: dict[Any, dict[str, Any]] = {}
    for table in tables:
        for row in table.to_pylist():
            identity = by_query[row["query"]]
            what = {
                "time bounds": row["window"],
                "start": (row["rows"] or row["window"])["start"],
                "positions": row["rows"],
                "end": row["window"]["end"],
            }[str(identity)]
            key = tuple(row[name] for name in spec.by)
            last[repr((key, row["query"], what))] = row
    kept = [{k: v for k, v in row.items() if k != "revision"} for row in last.values() if row["revision"] >= 0]
    return sorted((comparable(tuple(row.values())) for row in kept), key=repr)


def comparable(value: Any) -> Any:
    """Values that compare as they should: NaN equals NaN, and the last digits of a float may differ."""
    if isinstance(value, float):
        return "NaN" if value != value else float(f"{value:.12g}")
    if isinstance(value, dict):
        return tuple((k, comparable(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return tuple(comparable(part) for part in value)
    return value
