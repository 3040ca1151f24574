"""Random specs and streams of events with a duration."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import muntin as mt
from muntin.reference import run
from tests.strategies import AGGREGATES, cuts, optional, rows_of, windows

SCHEMA = pa.schema(
    [
        ("start", pa.int64()),
        ("ts", pa.int64()),
        ("key", pa.string()),
        ("x", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
    ]
)
FIXED = ("tumbling", "sliding", "cumulative")
MIXES: tuple[tuple[str, ...], ...] = (
    ("all", "n", "total", "low", "m4"),
    ("fsum", "var", "first", "high", "ties"),
    ("text", "mode", "top", "last", "second", "p90", "going"),
)
ALL = AGGREGATES | {"going": mt.concurrent()}


@st.composite
def specs(
    draw: Any,
    kinds: tuple[str, ...] = FIXED,
    mixes: tuple[tuple[str, ...], ...] = MIXES,
    techniques: tuple[str, ...] = ("auto", "single", "multi"),
) -> mt.Spec:
    """A spec with one to three windows over spans."""
    technique = draw(st.sampled_from(techniques))
    height = draw(st.sampled_from(["auto", 1, 2, 3, 5])) if technique == "multi" else "auto"
    spec = mt.over(
        span=("start", "ts"),
        by=draw(st.sampled_from([(), ("key",)])),
        disorder=f"{draw(st.sampled_from([0, 0, 5, 15]))} us",
        lateness=f"{draw(st.sampled_from([0, 0, 5, 20]))} us",
        postpone=draw(st.sampled_from([0, "4 us", "12 us", "40 us", "auto"])),
        technique=technique,
        height=height,
    )
    mix = draw(st.sampled_from(mixes))
    for i in range(draw(st.integers(1, 3))):
        spec = spec.window(f"w{i}", draw(windows(kinds)), **{name: ALL[name] for name in mix})
    return spec


@st.composite
def streams(draw: Any, max_rows: int = 30, longest: int = 40, bad: bool = True) -> pa.Table:
    """Rows in the order of arrival, more or less in the order of their ends."""
    newest, rows = draw(st.integers(-20, 20)), []
    for _ in range(draw(st.integers(1, max_rows))):
        end = newest + draw(st.sampled_from([0, 0, 1, 1, 2, 3, 7, 25])) - draw(st.sampled_from([0, 0, 0, 2, 9, 30]))
        newest = max(newest, end)
        length = draw(st.one_of(st.integers(0, 3), st.integers(0, longest)))
        rows.append(
            {
                "start": draw(st.sampled_from([None, end + 1]))
                if bad and draw(st.integers(0, 30)) == 0
                else end - length,
                "ts": end,
                "key": draw(st.sampled_from(["a", "b", None])),
                "x": draw(optional(st.integers(-4, 9))),
                "f": draw(optional(st.integers(-8, 8).map(lambda i: i / 2))),
                "s": draw(optional(st.sampled_from(["p", "q", "r"]))),
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@st.composite
def steps_of(draw: Any, table: pa.Table) -> list[tuple[pa.Table, int | None]]:
    """Cut into batches, each with a watermark that trails the ends more or less."""
    steps, newest = [], None
    for batch in draw(cuts(table)):
        seen = batch.column("ts").to_pylist()
        newest = max([*seen, *([] if newest is None else [newest])], default=None)
        moved = None if newest is None or draw(st.integers(0, 3)) == 0 else newest - draw(st.integers(-10, 30))
        steps.append((batch, moved))
    return steps


def check(
    spec: mt.Spec, steps: list[tuple[Any, int | None]], restarts: tuple[int, ...] = (), engine: str = "auto",
    emit: str = "final",
) -> None:  # fmt: skip
    """The same results and late rows as the reference at every step, and at flush; before some steps restored."""
    expected = run(spec, steps, flush=True, emit=emit)
    running = spec.engine(engine=engine, watermark="manual", emit=emit)
    for i, (batch, watermark) in enumerate([*steps, (None, None)]):
        if i in restarts:
            state = running.snapshot()
            running = spec.engine(engine=engine, watermark="manual", emit=emit)
            running.restore(state)
        found = running.flush() if i == len(steps) else running._run(batch, watermark, False)
        assert rows_of(found) == rows_of(expected.results[i]), f"step {i}"
        assert running.late().to_pylist() == expected.late[i].to_pylist(), f"late rows of step {i}"
