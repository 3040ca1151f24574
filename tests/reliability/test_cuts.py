"""However a log is cut into batches, the last revisions after flush are those of the reference."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
import pytest

from muntin.reference import run
from tests.conftest import Tally
from tests.reliability.cuts import WINDOWS, at_random, check_same, embedded, every, last_rows, log, spec_of
from tests.reliability.sizes import SEED, seeds, sized

ROWS = sized(700, 100_000)
HOW: list[dict[str, Any]] = [{}, {"store": "eager"}, {"threads": 2}, {"emit": "updates"}]


@functools.cache
def the_log() -> pa.Table:
    return log(SEED, ROWS)


@functools.cache
def wanted(kind: str) -> dict[Any, dict[str, Any]]:
    spec = spec_of(kind)
    return last_rows(pa.concat_tables(run(spec, [(the_log(), None)], flush=True).results), spec)


@pytest.mark.parametrize("size", [1, 7, 1_000, ROWS])
@pytest.mark.parametrize("kind", WINDOWS)
def test_batches_of_one_size(kind: str, size: int, tally: Tally) -> None:
    found, late = embedded(spec_of(kind), every(the_log(), size))
    assert not late
    check_same(found, wanted(kind))
    tally(events=ROWS, cuts=1, windows=len(found))


@pytest.mark.parametrize("kind", WINDOWS)
def test_random_cuts(kind: str, tally: Tally) -> None:
    for i, seed in enumerate(seeds(3, 50)):
        found, late = embedded(spec_of(kind), at_random(the_log(), seed), **HOW[i % len(HOW)])
        assert not late
        check_same(found, wanted(kind))
        tally(events=ROWS, cuts=1, windows=len(found))


@pytest.mark.parametrize("kind", WINDOWS)
def test_a_restart_at_any_cut_changes_nothing(kind: str, tally: Tally) -> None:
    """An engine from the snapshot of the one before it, after every batch."""
    spec = spec_of(kind)
    for seed in seeds(1, 10):
        engine, parts = spec.engine(), []
        for batch in at_random(the_log(), seed, most=20):
            parts.append(engine.push(batch))
            data, engine = engine.snapshot(), spec.engine()
            engine.restore(data)
        parts.append(engine.flush())
        check_same(last_rows(pa.concat_tables(part for part in parts if part.num_rows), spec), wanted(kind))
        tally(events=ROWS, restarts=len(parts) - 1)
