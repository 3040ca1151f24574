"""What the figures of paper 1 share: series by name, concurrent windows, and sentences about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import muntin as mt
from muntin.bench.engine import tumbling
from muntin.bench.figure import Axis, Run, Step
from muntin.bench.measuring import Made

__all__ = [
    "BATCH", "ROWS_PER_SECOND", "WINDOWS", "best", "by_windows", "concurrent", "contenders", "counts", "fell", "last",
    "millions", "step", "times",
]  # fmt: skip

BATCH = 32_768
ROWS_PER_SECOND = Axis("rows per second", log=True)
WINDOWS = Axis("concurrent windows", log=True)

_ENGINES: dict[str, dict[str, str]] = {
    "slicing": {"store": "lazy"},
    "eager slicing": {"store": "eager"},
    "pairs": {"engine": "pairs"},
    "cutty": {"engine": "cutty"},
    "panes": {"engine": "panes"},
    "aggregate buckets": {"engine": "aggregate_buckets"},
    "tuple buckets": {"engine": "tuple_buckets"},
    "tuple buffer": {"engine": "tuple_buffer"},
    "aggregate tree": {"engine": "aggregate_tree"},
}


def contenders(spec: mt.Spec, names: Sequence[str]) -> dict[str, Made]:
    """The engines of some series, over one spec.

    >>> list(contenders(mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count()), ["pairs"]))
    ['pairs']
    """

    def made(given: dict[str, Any]) -> Made:
        return lambda: spec.engine(**given)

    return {name: made(_ENGINES[name]) for name in names}


def concurrent(count: int, session: bool, aggregate: mt.Aggregate, disorder: float = 0.0) -> mt.Spec:
    """Concurrent tumbling windows of 1 to 20 seconds (section 6.2.1), with a session of 1 s or without (6.2.2)."""
    spec = tumbling(count, mt.over("ts", disorder=f"{round(disorder * 1e6)} us"), result=aggregate)
    return spec.window("session", mt.session("1 second"), result=aggregate) if session else spec


def counts(run: Run) -> Sequence[int]:
    """How many concurrent windows."""
    if run.scale < 1:
        return 1, 10
    return (1, 10, 100, 1_000) if run.quick else (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)


def step(what: str, call: Callable[..., None], *given: Any) -> Step:
    """A step of a figure: a call with its arguments.

    >>> step("one", lambda x: None, 1)[0]
    'one'
    """
    return what, lambda: call(*given)


def millions(rate: float) -> str:
    """A rate in words.

    >>> millions(12_345_678), millions(4_500)
    ('12.3 M rows/s', '4,500 rows/s')
    """
    return f"{rate / 1e6:.1f} M rows/s" if rate >= 1e5 else f"{rate:,.0f} rows/s"


def times(ratio: float) -> str:
    """A ratio in words.

    >>> times(2.345), times(123.4)
    ('2.3 times', '123 times')
    """
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


def fell(run: Run, panel: str, series: str) -> str:
    """How a series goes from the first to the last place along the x axis."""
    rates = list(run.of(panel, series).values())
    return f"{series} {millions(rates[0])} to {millions(rates[-1])}"


def best(run: Run, panel: str, names: Sequence[str], at: Callable[[dict[Any, float]], float]) -> tuple[str, float]:
    """Of some series the one with the largest value."""
    found = {name: at(run.of(panel, name)) for name in names if run.of(panel, name)}
    name = max(found, key=lambda one: found[one])
    return name, found[name]


def last(found: dict[Any, float]) -> float:
    """The value at the last place along the x axis."""
    return list(found.values())[-1]


def by_windows(run: Run, panel: str, slicing: Sequence[str], others: Sequence[str]) -> str:
    """From few to many windows: how each series goes, and how far slicing is ahead of what does not slice."""
    most = max(run.of(panel, "slicing"))
    name, rate = best(run, panel, others, last)
    ends = ", ".join(fell(run, panel, series) for series in (*slicing, *others))
    ahead = last(run.of(panel, "slicing")) / rate
    return (
        f"From 1 to {most:,} windows we see {ends}; with {most:,} windows slicing is {times(ahead)} as fast as the "
        f"best technique that does not slice ({name})"
    )
