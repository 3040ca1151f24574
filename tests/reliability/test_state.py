"""Saved states of engines: damage is found, what is whole goes on exactly, what is of another shape is refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.reference import run
from muntin.state.blob import VERSION, pack, unpack
from muntin.state.codecs import CODECS, Codec
from muntin.state.encodings import encode, encoding_of
from tests.conftest import Tally
from tests.reliability.sizes import SOAK
from tests.state.test_blob import same, sealed
from tests.strategies import rows_of

GOLDEN = Path(__file__).parents[1] / "state" / "golden"
ROWS = {
    "ts": [1, 4, 11, 13, 9, 22],
    "k": ["a", "b", None, "a", "b", "a"],
    "x": [1, None, 3, 4, 5, 6],
    "mark": [True, False, True, None, True, False],
}
MORE = {"ts": [14, 25, 60], "k": ["b", "c", "a"], "x": [7, 8, 9], "mark": [True, False, True]}


def the_spec(**options: Any) -> mt.Spec:
    """Slices, sessions, rows and kept events, with a lateness: a state of every kind."""
    spec = mt.over("ts", by="k", disorder="5 us", lateness="20 us", **options)
    spec = spec.window("tumbling", mt.tumbling("10 us"), n=mt.count(), total=mt.sum("x"))
    spec = spec.window("session", mt.session("4 us"), n=mt.count(), total=mt.sum("x"))
    spec = spec.window("rows", mt.sliding("2 rows", every="1 row"), n=mt.count(), total=mt.sum("x"))
    return spec.window("frame", mt.frame("mark"), n=mt.count(), total=mt.sum("x"))


SPECS = {
    "plain": the_spec(),
    "compressed": the_spec().compress(0, codec="zstd"),
    "spans": mt.over(span=("start", "ts"), by="k", postpone="5 us").window("w", mt.tumbling("10 us"), n=mt.count()),
}


def state_of(name: str) -> bytes:
    engine = SPECS[name].engine()
    engine.push(table(ROWS))
    return engine.snapshot()


def table(rows: dict[str, list[Any]]) -> pa.Table:
    return pa.table(rows).append_column("start", pa.array([time - 3 for time in rows["ts"]]))


@pytest.mark.parametrize("name", SPECS)
def test_every_flipped_byte_and_every_truncation_of_a_state_is_found(name: str, tally: Tally) -> None:
    spec, whole = SPECS[name], state_of(name)
    blob = bytearray(whole)
    # Where one flipped bit is found, all are: the checksum does not care. The prefix is read before it, so all of it.
    places = range(len(blob)) if SOAK else [*range(64), *range(64, len(blob), 11)]
    for at in places:
        for mask in (1, 128, 255):
            blob[at] ^= mask
            with pytest.raises(mt.StateCorrupt):
                spec.engine().restore(bytes(blob))
            blob[at] ^= mask
    for size in places:
        with pytest.raises(mt.StateCorrupt):
            spec.engine().restore(whole[:size])
    spec.engine().restore(whole)
    tally(flips=3 * len(places), truncations=len(places))


@pytest.mark.parametrize("name", SPECS)
def test_a_tree_of_another_shape_is_refused(name: str) -> None:
    """The checksum is right, but it is no state of an engine, or one that another version wrote."""
    tree = unpack(state_of(name))
    trees: list[Any] = [None, 7, [], {}, "state", [tree], {"engine": tree}]
    for part, value in tree.items():
        if value is not None:
            trees.append({key: other for key, other in tree.items() if key != part})
    trees.append(tree | {"decoder": tree["decoder"] | {"keys": []}})
    for other in trees:
        engine = SPECS[name].engine()
        if isinstance(other, dict) and "schema" not in other and "over" in other:
            continue  # a state before the first batch is a state
        with pytest.raises((mt.StateCorrupt, mt.SpecError)):
            engine.restore(pack(other))


def test_a_state_of_a_newer_version_is_refused_and_names_both() -> None:
    for version in (VERSION + 1, 65_535):
        blob = bytearray(state_of("plain"))
        blob[8:10] = version.to_bytes(2, "little")
        with pytest.raises(mt.StateCorrupt, match=f"format version {version}, this Muntin reads up to {VERSION}"):
            the_spec().engine().restore(sealed(bytes(blob)))


# -- golden states: one per format version, read by every later version ---------------------------------------------
#
# Written by `golden()` of that version, and never again once it is released: what is written otherwise needs another
# VERSION, and code that still reads the former. (Until the first release: python -c "from tests.reliability.test_state
# import golden; golden()".)


def columns() -> dict[str, Any]:
    """A column for each encoding."""
    n = np.arange(200)
    return {
        "plain": (n * 37 % 256 - 128).astype(np.int8),
        "constant": np.full(200, 7.5),
        "offset": 10**12 + (n * 7 % 10) * 1_000,
        "delta": 1_700_000_000_000_000 + n * 30_000_000 + n % 3,
        "runs": np.repeat(n[:4] * 10**15, 50),
        "dictionary": np.array([0.1, -0.0, np.nan, 5e-324])[n * 7 % 4],
        "shuffle": np.sqrt(n + 0.5),
        "bits": n * n % 7 < 3,
    }


def golden() -> None:
    """Write the golden files of this version."""
    for name in CODECS:
        (GOLDEN / f"v{VERSION}-{name}.bin").write_bytes(pack(columns(), Codec(name)))
    for name in SPECS:
        (GOLDEN / f"v{VERSION}-engine-{name}.bin").write_bytes(state_of(name))


@pytest.mark.parametrize("version", range(1, VERSION + 1))
@pytest.mark.parametrize("name", CODECS)
def test_compressed_states_of_all_versions_are_read(version: int, name: str) -> None:
    assert same(unpack((GOLDEN / f"v{version}-{name}.bin").read_bytes()), columns())


def test_each_column_shows_its_encoding() -> None:
    for name, values in columns().items():
        assert encoding_of(encode(values, name)) == name


@pytest.mark.parametrize("version", range(1, VERSION + 1))
@pytest.mark.parametrize("name", SPECS)
def test_an_engine_of_any_version_goes_on_exactly(version: int, name: str) -> None:
    """The rows that were pushed before the state was written, then others: as if there had been no restart."""
    spec = SPECS[name]
    engine = spec.engine(clock=lambda: dt.datetime(2024, 1, 1))
    engine.restore((GOLDEN / f"v{version}-engine-{name}.bin").read_bytes())
    found = rows_of(engine.push(table(MORE)), engine.flush())
    steps = [(table(ROWS), 17), (table(MORE), 55)]  # the watermark trails by the disorder of 5
    wanted = run(spec, steps if spec.spans is None else [(steps[0][0], 22), (steps[1][0], 60)], flush=True)
    assert found == rows_of(*wanted.results[1:])
    assert rows_of(engine.late()) == rows_of(*wanted.late)


# -- a state of another spec -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        the_spec(order="x"),
        mt.over("ts", by="k", disorder="6 us", lateness="20 us").window("tumbling", mt.tumbling("10 us"), n=mt.count()),
        mt.over("ts", disorder="5 us", lateness="20 us").window("tumbling", mt.tumbling("10 us"), n=mt.count()),
    ],
    ids=["order", "disorder", "no key"],
)
@pytest.mark.parametrize("changed", [False, True])
def test_a_state_of_another_spec_is_refused_before_the_first_batch(other: mt.Spec, changed: bool) -> None:
    with pytest.raises(mt.SpecError, match="snapshot"):
        other.engine().restore(state_of("plain"), changed=changed)
