"""Several threads, each with a part of the keys, give what one gives: results, late rows, snapshots."""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from muntin.slicing import parallel
from muntin.slicing.parallel import split
from tests.reliability.sizes import examples
from tests.slicing.test_compaction import passing
from tests.slicing.test_engine import check, steps_of
from tests.strategies import rows_of, specs, streams

SPEC = mt.over("ts", by="key").window("w", mt.tumbling("10 us"), n=mt.count())


@examples(60)
@given(specs().filter(lambda spec: spec.by), st.data())
def test_equals_the_reference(spec: mt.Spec, data: Any) -> None:
    steps = steps_of(data, passing(data.draw(streams()), 10))
    restarts = tuple(data.draw(st.sets(st.integers(0, len(steps)), max_size=2)))
    check(spec, steps, restarts, threads=data.draw(st.sampled_from([2, 3])))


@pytest.mark.parametrize("piece", [1, 1_000_000], ids=["lined up", "sorted"])
def test_results_come_by_their_ends_and_late_rows_as_they_came(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(parallel, "PIECE", piece)
    random = np.random.default_rng(5)
    table = pa.table({"ts": np.arange(5_000) - random.integers(0, 100, 5_000), "key": random.integers(0, 50, 5_000)})
    spec = mt.over("ts", by="key", disorder="20 us", max_ahead=None).window("w", mt.tumbling("10 us"), n=mt.count())
    one, several = spec.engine(), spec.engine(threads=3)
    for first in range(0, 5_000, 1_000):
        batch = table.slice(first, 1_000)
        expected, found = one.push(batch), several.push(batch)
        ends = found.column("window").combine_chunks().field("end").cast(pa.int64()).to_numpy()
        assert len(ends) > 100
        assert (np.diff(ends) >= 0).all()
        assert rows_of(found) == rows_of(expected)
        assert one.late().equals(several.late())
    assert several.nbytes > 0
    assert rows_of(several.flush()) == rows_of(one.flush())


def test_an_open_window_comes_last() -> None:
    spec = mt.over("ts", by="key").window("f", mt.frame("on"), n=mt.count())
    engine = spec.engine(threads=2)
    keys = list(range(20))
    engine.push({"ts": keys, "key": keys, "on": [True] * 20})
    engine.push({"ts": [20 + key for key in keys[::2]], "key": keys[::2], "on": [False] * 10})
    ends = [row["window"]["end"] for row in engine.flush().to_pylist()]
    assert ends == sorted(ends, key=lambda end: (end is None, end))
    assert None in ends


def test_sources_go_with_threads() -> None:
    engine = SPEC.engine(threads=2, sources=["a", "b"])
    assert engine.push({"ts": [1, 25], "key": [1, 2]}, source="a").num_rows == 0
    state = engine.snapshot()
    engine = SPEC.engine(threads=2, sources=["a", "b"])
    engine.restore(state)
    assert engine.push({"ts": [3, 15], "key": [3, 4]}, source="b").column("key").to_pylist() == [1, 3]


def in_python(text: str | None, parts: int) -> int:
    """The part of a text: FNV-1a, then the finaliser of splitmix64 twice, in plain integers."""
    wide, bits = 2**64 - 1, 0xCBF29CE484222325
    for byte in b"" if text is None else text.encode():
        bits = (bits ^ byte) * 0x100000001B3 & wide
    bits = 0 if text is None else bits
    for _ in range(2):
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & wide
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & wide
        bits ^= bits >> 31
    return (bits >> 32) * parts >> 32


def test_a_key_has_one_part_whatever_it_is_written_as() -> None:
    def part_of(values: list[Any], type_: pa.DataType, parts: int = 64) -> list[int]:
        return split([pa.chunked_array([pa.array(values, type_)])], parts).tolist()

    for type_ in (pa.float32(), pa.float64()):
        zero, minus, nan, other, one = part_of([0.0, -0.0, math.nan, -math.nan, 1.5], type_)
        assert zero == minus
        assert nan == other
        assert one != zero
    # the same in every run, in every batch, beside whichever others
    words = ["a", "b", None, "", "é", "a longer text"]
    assert part_of(words, pa.string()) == [in_python(word, 64) for word in words]
    assert part_of(words[::-1], pa.string()) == [in_python(word, 64) for word in words[::-1]]
    assert part_of([0, 1, 2, None], pa.int64()) == part_of([0, 1, 2, None], pa.int16())
    assert part_of([None, None], pa.null()) == [part_of([None], pa.null())[0]] * 2
    assert part_of([b"ab", b"\xff\0"], pa.binary(2)) == part_of([b"ab", b"\xff\0"], pa.binary())
    assert part_of([Decimal("1.50"), None], pa.decimal128(9, 2)) == part_of(["1.50", None], pa.string())
    # chunks, slices and empty columns
    whole = pa.chunked_array([words[:2], [], words[2:]])
    assert split([whole], 64).tolist() == part_of(words, pa.string())
    assert split([whole.slice(3, 2)], 64).tolist() == part_of(words[3:5], pa.string())
    assert part_of([], pa.string()) == []
    sizes = np.bincount(part_of(list(range(64_000)), pa.int64()), minlength=64)
    assert sizes.min() > 800
    assert sizes.max() < 1_200


def test_pairs_of_keys_spread() -> None:
    a, b = (pa.chunked_array([part.reshape(-1)]) for part in np.meshgrid(np.arange(100), np.arange(100)))
    sizes = np.bincount(split([a, b], 4))
    assert len(sizes) == 4
    assert min(sizes) > 2_200


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(mt.SpecError, match="no keys"):
        mt.over("ts").window("w", mt.tumbling("10 us"), n=mt.count()).engine(threads=2)
    with pytest.raises(mt.SpecError, match="number of threads"):
        SPEC.engine(threads=0)
    with pytest.raises(mt.SpecError, match="only the slicing engine"):
        SPEC.engine(threads=2, engine="reference")
    engine = SPEC.engine(threads=2)
    engine.push({"ts": [1], "key": [1]})
    with pytest.raises(mt.SpecError, match=r"spec.engine\(threads=2\)"):
        SPEC.engine(threads=3).restore(engine.snapshot())
    with pytest.raises(mt.SpecError, match=r"spec.engine\(threads=2\)"):
        SPEC.engine().restore(engine.snapshot())
    one = SPEC.engine()
    one.push({"ts": [1], "key": [1]})
    with pytest.raises(mt.SpecError, match=r"one thread.*spec.engine\(\)"):
        SPEC.engine(threads=2).restore(one.snapshot())
    with pytest.raises(mt.SpecError, match="has run"):
        engine.restore(engine.snapshot())


def test_an_error_in_a_part_is_the_engines() -> None:
    spec = mt.over("ts", by="key").window("w", mt.tumbling("10 us"), total=mt.sum("x"))
    engine = spec.engine(threads=4)
    keys = list(range(40))
    engine.push({"ts": [1] * 40, "key": keys, "x": [2**62] * 40})
    engine.push({"ts": [2] * 40, "key": keys, "x": [2**62] * 40})
    with pytest.raises(mt.SumOverflow):
        engine.advance(10)


def test_threads_end_with_the_engine() -> None:
    before = set(threading.enumerate())
    engine = SPEC.engine(threads=3)
    engine.push({"ts": [1], "key": [1]})
    begun = set(threading.enumerate()) - before
    assert begun
    engine.flush()
    assert not begun & set(threading.enumerate())
