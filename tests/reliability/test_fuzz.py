"""Decoders under mutated bytes: no crash, no wrong data, bounded memory, and a pickle is never run."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import resource
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import muntin as mt
from muntin.spark.head import Head
from muntin.state.blob import pack, unpack
from muntin.state.codecs import CODECS, Codec, expand, squeeze
from muntin.state.encodings import ENCODINGS, decode, encode
from tests.conftest import Tally
from tests.reliability.sizes import SEED, sized
from tests.reliability.test_state import SPECS, columns, state_of
from tests.state.test_blob import TREE, sealed

EACH = sized(4_000, 220_000)  # of each of the five decoders below
LIMIT = 1 << 20
ROOM = 64 << 20  # bytes that the process may grow by, all mutations together


class Evil:
    """Whoever loads its pickle runs it."""

    ran = False

    def __reduce__(self) -> Any:
        return setattr, (Evil, "ran", True)


PICKLE = pickle.dumps(Evil())


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Bytes flipped, cut, doubled, moved or replaced; a number in a header made small or huge; a pickle put in."""
    raw = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        size, at = len(raw), rng.randrange(len(raw) + 1)
        kind = rng.randrange(8)
        if kind <= 2 and at < size:
            raw[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            del raw[at : at + rng.choice([1, 8, 64, size])]
        elif kind == 4:
            raw[at:at] = rng.choice([PICKLE, rng.randbytes(rng.choice([1, 8, 64])), raw[: rng.randrange(size + 1)]])
        elif kind == 5:
            raw[at : at + 8] = struct.pack("<Q", rng.choice([0, 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1]))
        elif kind == 6:
            raw[at : at + len(PICKLE)] = PICKLE
        elif at < size and chr(raw[at]).isdigit():
            raw[at : at + 1] = rng.choice([b"0", b"9", b"99999999999", b"-1", b"1e9", b"null", b'"x"', b"[]"])
        if not raw:
            return b""
    return bytes(raw)


def resized(blob: bytes) -> bytes:
    """A blob whose prefix fits its length and whose checksum is right, as a forger would make it."""
    if len(blob) < 64:
        return blob
    (header,) = struct.unpack_from("<Q", blob, 12)
    rest = len(blob) - 36
    header = min(header, rest)
    fixed = blob[:12] + struct.pack("<QQ", header, rest - header)
    return sealed(fixed + blob[28:])


def trees(rng: random.Random, blobs: list[bytes]) -> None:
    """Damaged, they are refused; forged, they are refused too, or read as a tree that can be written again."""
    whole = rng.choice(blobs)
    blob = mutated(rng, whole)
    if blob != whole:
        with pytest.raises(mt.StateCorrupt):
            unpack(blob, limit=LIMIT)
    forged = resized(blob) if rng.random() < 0.7 else sealed(blob) if len(blob) >= 36 else blob
    with contextlib.suppress(mt.StateCorrupt):
        pack(unpack(forged, limit=LIMIT, copy=rng.random() < 0.5))


def blocks(rng: random.Random, data: list[bytes]) -> None:
    """Blocks of codecs, under a right checksum: of the declared size, or refused."""
    blob = mutated(rng, rng.choice(data))
    if len(blob) >= 13 and rng.random() < 0.8:
        blob = blob[:9] + struct.pack("<I", zlib.crc32(blob[13:])) + blob[13:]
    with contextlib.suppress(mt.StateCorrupt):
        found = expand(blob, LIMIT)
        assert len(found) == struct.unpack_from("<Q", blob, 1)[0] <= LIMIT


def coded(rng: random.Random, data: list[tuple[bytes, Any]]) -> None:
    """Encoded columns: as many values of the type as asked for, or refused."""
    raw, values = rng.choice(data)
    dtype, count = values.dtype, len(values)
    if rng.random() < 0.3:
        dtype = np.dtype(rng.choice(["?", "i1", "i4", "i8", "u8", "f4", "f8"]))
        count = rng.choice([0, 1, count, 1_000, 1 << 17])
    with contextlib.suppress(mt.StateCorrupt):
        found = decode(mutated(rng, raw), dtype, count)
        assert (len(found), found.dtype) == (count, dtype)


def heads(rng: random.Random, data: list[bytes]) -> None:
    """What says where the state of a bucket on Spark stands: a head, or refused."""
    whole = rng.choice(data)
    blob = mutated(rng, whole)
    with contextlib.suppress(mt.StateCorrupt):
        assert isinstance(Head.of(resized(blob) if rng.random() < 0.7 else blob), Head)


def engines(rng: random.Random, data: list[tuple[mt.Spec, bytes]]) -> None:
    """States of engines, damaged: always refused."""
    spec, whole = rng.choice(data)
    blob = mutated(rng, whole)
    if blob != whole:
        with pytest.raises(mt.StateCorrupt):
            spec.engine().restore(blob)


def of_trees() -> list[bytes]:
    return [pack(TREE), pack(json.loads('{"a": [1, 2.5, null]}')), *(pack(columns(), Codec(name)) for name in CODECS)]


def of_blocks() -> list[bytes]:
    texts = [b"", bytes(500), bytes(range(256)) * 3, PICKLE]
    return [squeeze(text, Codec(name)) for text in texts for name in CODECS]


DECODERS: dict[str, tuple[Callable[[random.Random, Any], None], Callable[[], Any]]] = {
    "trees": (trees, of_trees),
    "blocks": (blocks, of_blocks),
    "columns": (coded, lambda: [(encode(v, how), v) for v in columns().values() for how in ENCODINGS]),
    "heads": (heads, lambda: [Head("l", "t", 3, 1, 9, 9, None, 5).blob()]),
    "engines": (engines, lambda: [(SPECS[name], state_of(name)) for name in SPECS]),
}


@pytest.mark.parametrize("name", DECODERS)
def test_mutated_bytes(name: str, tally: Tally) -> None:
    once, data = DECODERS[name][0], DECODERS[name][1]()
    rng = random.Random(f"{name} {SEED}")
    for _ in range(100):  # what is loaded on the way is not counted
        once(rng, data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(EACH):
        try:
            once(rng, data)
        except BaseException:
            print(f"seed {SEED}, mutation {i} of {name}")
            raise
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < ROOM, f"{grown} bytes more than before"
    assert not Evil.ran
    tally(mutations=EACH)


def test_a_pickle_would_run() -> None:
    """The payload above is a real one: were it loaded, this is what would be seen."""
    pickle.loads(PICKLE)
    ran, Evil.ran = Evil.ran, False
    assert ran
