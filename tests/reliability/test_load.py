"""Load and bounds: one key with nearly all events, keys that come once, a day at a steady rate, a spike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import muntin as mt
from muntin.layout import layout
from muntin.memory import predicted
from muntin.reference import run
from tests.conftest import Tally
from tests.reliability.sizes import SEED, sized
from tests.strategies import rows_of

SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
BEHIND = 15 * SECOND


def the_spec() -> mt.Spec:
    """Windows of all slices: tumbling, sliding and sessions, with corrections."""
    spec = mt.over("ts", by="key", disorder="5 s", lateness="10 s", max_ahead=None)
    for name, window in (
        ("tumbling", mt.tumbling("1 minute")),
        ("sliding", mt.sliding("10 minutes", every="1 minute")),
        ("session", mt.session("5 s")),
    ):
        spec = spec.window(name, window, n=mt.count(), total=mt.sum("x"), high=mt.max("x"))
    return spec


def minute(rng: np.random.Generator, start: int, events: int, key: np.ndarray) -> pa.Table:
    """A minute of events, some of them behind by what is allowed; values whose sums are exact in any order."""
    time = np.sort(rng.integers(0, MINUTE, events)) + start
    time -= rng.integers(0, BEHIND, events) * (rng.random(events) < 0.1)
    return pa.table({"ts": time, "key": key, "x": rng.integers(0, 1 << 20, events) / 4})


def counted(engine: mt.Engine, batches: Iterator[pa.Table]) -> tuple[int, int, list[pa.Table]]:
    """How many events were pushed, how many the last revisions of tumbling windows have, and all results."""
    events, parts = 0, []
    for batch in batches:
        events += batch.num_rows
        parts.append(engine.push(batch))
    parts = [part for part in [*parts, engine.flush()] if part.num_rows]
    results = pa.concat_tables(parts)
    mine = results.filter(pc.equal(results["query"], "tumbling"))
    start = pc.struct_field(mine["window"], "start")
    latest = pa.table({"start": start, "key": mine["key"], "n": mine["n"], "revision": mine["revision"]})
    latest = latest.group_by(["start", "key"], use_threads=False).aggregate([("n", "last")])
    return events, pc.sum(latest["n_last"]).as_py() + engine.late().num_rows, parts


def test_one_key_with_nine_events_of_ten(tally: Tally) -> None:
    rng, each = np.random.default_rng(SEED), sized(200, 50_000)
    spec = the_spec()

    def batches() -> Iterator[pa.Table]:
        for i in range(sized(8, 60)):
            key = np.where(rng.random(each) < 0.9, 0, rng.integers(1, 1_000, each))
            yield minute(rng, i * MINUTE, each, key)

    log = list(batches())
    events, found, parts = counted(spec.engine(), iter(log))
    assert events == found
    some = pa.concat_tables(log[:3]).slice(0, 2_000)
    assert rows_of(*counted(spec.engine(), iter([some]))[2]) == rows_of(*run(spec, [(some, None)], flush=True).results)
    tally(events=events, results=sum(part.num_rows for part in parts))


@pytest.mark.parametrize("kind", ["tumbling", "session"])
def test_keys_that_come_once_leave_nothing(kind: str, tally: Tally) -> None:
    """As many keys as events: when the watermark has passed them no slice, no session and no key is left."""
    keys, each = sized(20_000, 1_000_000), sized(2_000, 20_000)
    window = mt.tumbling("10 s") if kind == "tumbling" else mt.session("1 s")
    spec = mt.over("ts", by="key", disorder="1 s", max_ahead=None).window(kind, window, n=mt.count())
    engine, reported = spec.engine(), 0
    for first in range(0, keys, each):
        number = np.arange(first, first + each)
        batch = pa.table({"ts": number * (100 * SECOND // each), "key": number})
        reported += engine.push(batch).num_rows
    end = keys * (100 * SECOND // each)
    reported += engine.advance(end + HOUR).num_rows
    assert reported == keys
    assert engine.slices().num_rows == 0
    assert engine.late().num_rows == 0
    # What is left is room that buffers have made ahead, as for one key.
    assert engine.nbytes <= predicted(layout(spec, batch.schema), rate=0, keys=1).most
    assert engine._decoder.keys.size == 0
    assert len(engine.snapshot()) < 10_000
    tally(keys=keys)


def test_a_day_at_a_steady_rate(tally: Tally) -> None:
    """State after hour 2 grows by at most 1 %, and stays below what `explain` predicts."""
    rate, keys, hours = sized(2, 50), 40, sized(4, 24)
    spec = the_spec()
    engine, events, found = spec.engine(), 0, 0
    peaks, rng = [], np.random.default_rng(SEED)
    for hour in range(hours):
        sizes = []
        for i in range(60):
            batch = minute(rng, hour * HOUR + i * MINUTE, rate * 60, rng.integers(0, keys, rate * 60))
            results = engine.push(batch)
            events += batch.num_rows
            found += results.num_rows
            sizes.append(engine.nbytes)
        peaks.append(max(sizes))
    assert engine.late().num_rows == 0
    assert max(peaks[2:]) <= 1.01 * max(peaks[:2])
    expected = predicted(layout(spec, batch.schema), rate, keys, batch=60)
    assert max(peaks) <= expected.most, (peaks, expected)
    tally(events=events, results=found, hours=hours, peak_bytes=max(peaks))


def test_a_spike_of_a_hundred_times_the_rate(tally: Tally) -> None:
    """A minute of it is counted like any other, and the state is what it was before soon after."""
    rate, spec = sized(1, 50), the_spec()
    rng, sizes = np.random.default_rng(SEED), []
    engine = spec.engine()

    def batches() -> Iterator[pa.Table]:
        for i in range(60):
            events = 60 * rate * (100 if i == 20 else 1)
            yield minute(rng, i * MINUTE, events, rng.integers(0, 40, events))
            sizes.append(engine.nbytes)

    events, found, _ = counted(engine, batches())
    assert events == found
    assert max(sizes[40:]) <= 1.5 * max(sizes[10:20]), sizes
    tally(events=events, peak_bytes=max(sizes))
