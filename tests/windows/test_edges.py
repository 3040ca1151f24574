"""`next_edge` and `trigger` of the context-free windows say the same as the definitions in the reference."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.layout import layout
from muntin.reference.families import Fixed
from muntin.windows.base import as_windows, next_edges

sizes = st.integers(1, 12)


@st.composite
def context_free(draw: Any) -> mt.ContextFreeWindow:
    size, every, align = draw(sizes), draw(sizes), draw(st.integers(-50, 50))
    on = {"on": "m", "align": align}
    kind = draw(st.sampled_from(["tumbling", "sliding", "cumulative"]))
    if kind == "tumbling":
        return mt.tumbling(size, **on)
    if kind == "sliding":
        return mt.sliding(size, every=every, **on)  # type: ignore[return-value]
    return mt.cumulative(size * every, every=every, **on)


@cache
def _family(window: mt.ContextFreeWindow) -> Fixed:
    spec = mt.over("ts").window("w", window, n=mt.count())
    bound = layout(spec, pa.schema([("ts", pa.int64()), ("m", pa.int64())]))
    return Fixed(bound.queries[0], bound)


def containing(window: mt.ContextFreeWindow, at: int) -> list[tuple[int, int]]:
    return _family(window).containing(at)


@given(context_free(), st.integers(-200, 200), st.integers(0, 100))
def test_trigger_reports_each_window_once(window: mt.ContextFreeWindow, previous: int, width: int) -> None:
    starts, ends = as_windows(window.trigger(previous, previous + width))
    found = list(zip(starts.tolist(), ends.tolist(), strict=True))
    expected = {
        bounds
        for at in range(previous - 150, previous + width)
        for bounds in containing(window, at)
        if previous < bounds[1] <= previous + width
    }
    assert len(found) == len(set(found))
    assert set(found) == expected


@given(context_free(), st.integers(-200, 200))
def test_next_edge_is_the_next_start_or_end(window: mt.ContextFreeWindow, at: int) -> None:
    near = {bounds for point in range(at - 150, at + 30) for bounds in containing(window, point)}
    edges = sorted({edge for bounds in near for edge in bounds if edge > at})
    assert int(next_edges(window, np.array([at]))[0]) == edges[0]


@given(context_free(), st.integers(-200, 200))
def test_walking_the_edges_finds_the_windows_of_the_definition(window: mt.ContextFreeWindow, at: int) -> None:
    assert sorted(window.containing(at)) == sorted(containing(window, at))
