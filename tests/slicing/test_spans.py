"""A slice holds its start and end and the times of its first and last event, whatever happens to it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.kernels.spans import span_slices
from muntin.layout import layout
from muntin.slicing import slices
from muntin.slicing.partials import Combiner, absorb
from tests.reliability.sizes import examples
from tests.strategies import SCHEMA, cuts, streams

WINDOWS = {
    "w": mt.tumbling("5 us"),
    "two": mt.sliding("8 us", every="4 us"),
    "long": mt.tumbling("20 us"),
    "session": mt.session("16 us"),
}


@examples(50)
@given(st.data(), st.sampled_from([(), ("key",), ("key",)]), st.sampled_from([0, slices.SMALL]))
def test_slices_know_their_first_and_last_events(data: Any, by: tuple[str, ...], small: int) -> None:
    over = mt.over("ts", by=by, disorder="8 us", lateness=data.draw(st.sampled_from(["0 us", "10 us"])))
    names = data.draw(st.lists(st.sampled_from(list(WINDOWS)), min_size=1, max_size=2, unique=True))
    spec = over
    for name in names:
        spec = spec.window(name, WINDOWS[name], n=mt.count())
    threads = data.draw(st.sampled_from([1, 1, 1, 2])) if by else 1
    engine: Any = spec.engine(watermark="manual", threads=threads)
    taken: list[dict[str, Any]] = []
    whole = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SMALL", small)  # dense or sparse cells
        for batch in data.draw(cuts(data.draw(streams()))):
            needed = engine._sliced._needed if threads == 1 and engine._layout is not None else None
            taken += [row for row in batch.to_pylist() if needed is None or row["ts"] >= needed]
            if threads == 1 and batch.num_rows and data.draw(st.booleans()):
                engine._fit(SCHEMA.empty_table())
                absorb(engine, Combiner(layout(engine.spec, SCHEMA)).combine(batch))
                batch = SCHEMA.empty_table()
            engine.push(batch)
            newest = max([row["ts"] for row in taken], default=None)
            act = data.draw(st.sampled_from(["", "advance", "add", "remove", "restore"]))
            if act == "advance" and newest is not None and threads == 1:
                engine.advance(newest - data.draw(st.integers(0, 30)))
            elif act == "add":
                fresh = data.draw(st.sampled_from(list(WINDOWS)))
                if fresh not in [query.name for query in engine.spec.queries]:
                    engine.add_window(fresh, WINDOWS[fresh], n=mt.count())
                    whole = False  # it may begin after events that are gone
            elif act == "remove" and len(engine.spec.queries) > 1:
                engine.remove_window(engine.spec.queries[0].name)
            elif act == "restore":
                again = engine.spec.engine(watermark="manual", threads=threads)
                again.restore(engine.snapshot())
                engine = again
            check(engine, taken, by, whole)


def check(engine: Any, taken: list[dict[str, Any]], by: tuple[str, ...], whole: bool) -> None:
    """Slices hold what the events taken say; as a whole all of the events that an open window needs."""
    held: Counter[int] = Counter()
    needed = engine._sliced._needed if hasattr(engine, "_sliced") else None
    rows = engine.slices().to_pylist()
    for row in rows:
        if needed is not None and us(row["end"]) <= needed:
            continue  # to be let go; what comes for it may or may not be in it
        inside = [event for event in taken if us(row["start"]) <= event["ts"] < us(row["end"])]
        times = [event["ts"] for event in inside]
        if by and not whole and not hasattr(engine, "_sliced"):
            # A thread to which the first key comes after a window was added cuts otherwise than the others.
            alike = {other["key"] for other in rows if (other["start"], other["end"]) == (row["start"], row["end"])}
            times = [event["ts"] for event in inside if event["key"] in alike]
        assert (us(row["first"]), us(row["last"])) == (min(times), max(times))
        assert row["n"] == sum(not by or event["key"] == row["key"] for event in inside)
        held.update(event["ts"] for event in inside if not by or event["key"] == row["key"])
    if not whole:
        return
    for time, n in Counter(event["ts"] for event in taken if needed is None or event["ts"] >= needed).items():
        assert held[time] == n


def us(time: datetime) -> int:
    return int((time - datetime(1970, 1, 1)) / timedelta(microseconds=1))


@examples(30)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True),
    st.lists(st.integers(0, 50), max_size=300),
    st.booleans(),
)
def test_the_times_of_slices_are_those_of_a_plain_loop(starts: list[int], times: list[int], ordered: bool) -> None:
    starts = [0, *sorted(set(starts) - {0})]
    times = sorted(times) if ordered else times
    first, last = np.full(len(starts), 99), np.full(len(starts), -99)
    span_slices(np.array(starts), np.array(times, np.int64), first, last)
    for i, start in enumerate(starts):
        inside = [t for t in times if start <= t and (i + 1 == len(starts) or t < starts[i + 1])]
        assert (first[i], last[i]) == (min(inside, default=99), max(inside, default=-99))


def test_all_threads_tell_of_one_slice() -> None:
    spec = mt.over("ts", by="key").window("w", mt.tumbling("100 us"), n=mt.count())
    engine = spec.engine(watermark="manual", threads=3)
    engine.push(pa.table({"ts": list(range(40, 60)), "key": list(range(20))}))
    found = engine.slices()
    assert found.num_rows == 20
    assert {(us(row["first"]), us(row["last"]), row["n"]) for row in found.to_pylist()} == {(40, 59, 1)}
