"""Encodings, codecs and rounding: exact, within their bound, and nothing damaged or forged gets through."""

from __future__ import annotations

import contextlib
import struct
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import muntin as mt
from muntin.state import encodings
from muntin.state.blob import pack, unpack
from muntin.state.codecs import Codec, codec_of, expand, squeeze, suited
from muntin.state.encodings import ENCODINGS, choose, decode, encode, encoding_of
from muntin.state.lossy import Loss, loss_of, losses_of
from tests.state.test_blob import PLAIN, TREE, same, sealed, trees

ALL = [Codec("none"), Codec("snappy"), Codec("lz4"), Codec("zstd"), Codec("zstd", 9)]
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


@st.composite
def columns(draw: st.DrawFn) -> Any:
    """Columns with runs, steps, small domains and extremes."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    values = draw(hnp.arrays(dtype, st.integers(0, 40)))
    if draw(st.booleans()):
        values = np.repeat(values, draw(st.integers(1, 60)))
    if dtype.kind in "iu" and draw(st.booleans()):
        step = draw(st.integers(1, 9))
        values = (np.arange(len(values)) * step % (np.iinfo(dtype).max // 2)).astype(dtype)
    return values


def test_without_a_codec_small_numbers_are_in_few_bytes() -> None:
    """To shuffle bytes makes nothing smaller by itself: a snapshot on Spark had eight bytes for each of these."""
    values = np.random.default_rng(5).integers(0, 1_000, 50_000)
    data = encode(values, codec=False)
    assert len(data) < 2.1 * len(values)
    assert np.array_equal(decode(data, values.dtype, len(values)), values)


@given(columns(), st.sampled_from(["auto", *ENCODINGS]))
@example(np.array([-(2**63), 2**63 - 1, 0]), "delta")
@example(np.array([np.nan, -0.0, 0.0, np.inf] * 20), "dictionary")
@example(np.array([2**64 - 1, 0] * 20, np.uint64), "offset")
def test_a_column_comes_back_as_it_was(values: Any, how: str) -> None:
    data = encode(values, how)
    back = decode(data, values.dtype, len(values))
    assert back.dtype == values.dtype
    assert back.tobytes() == values.tobytes()
    back[:1] = 0  # it can be written to


def test_every_encoding_is_taken_where_it_fits() -> None:
    rng = np.random.default_rng(1)
    n = 5_000
    cases = {
        "constant": np.full(n, 7.5),
        "delta": 1_700_000_000_000_000 + np.arange(n) * 30_000_000,
        "offset": 10**12 + rng.integers(0, 100, n) * 1_000,
        "runs": np.repeat(rng.integers(0, 10**15, n // 50), 50),
        "dictionary": rng.normal(size=12)[rng.integers(0, 12, n)],
        "shuffle": 20 + rng.normal(size=n),
        "bits": rng.random(n) < 0.5,
        "plain": rng.integers(-128, 128, n).astype(np.int8),
    }
    for how, values in cases.items():
        data = encode(values)
        assert choose(values) == how
        assert encoding_of(data) == how
        assert len(data) <= values.nbytes + 1
    assert len(encode(cases["delta"])) < 40
    assert len(squeeze(encode(cases["offset"]), Codec("zstd"))) < cases["offset"].nbytes / 7


@given(columns(), st.integers(0, 2**63), st.data())
def test_damaged_columns_are_read_or_refused(values: Any, count: int, data: st.DataObject) -> None:
    raw = bytearray(encode(values, data.draw(st.sampled_from(["auto", *ENCODINGS]))))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(mt.StateCorrupt):
        assert len(decode(bytes(raw), values.dtype, len(values))) == len(values)
    with contextlib.suppress(mt.StateCorrupt):
        assert len(decode(bytes(raw[:at]), values.dtype, len(values))) == len(values)
    with contextlib.suppress(mt.StateCorrupt):
        decode(bytes(raw), values.dtype, min(count, 1 << 16))


def forged_runs(lengths: list[int]) -> bytes:
    inner = bytes([encodings.SHUFFLE]) + encodings._shuffled(np.arange(len(lengths)))
    body = encodings._RUNS.pack(len(lengths), 8, len(inner)) + inner
    planes = encodings._shuffled(np.array(lengths, np.uint64))
    return bytes([encodings.RUNS]) + body + planes


@pytest.mark.parametrize("lengths", [[2**63, 2**63, 8], [2**64 - 1, 9], [9], [7], [0, 2**40]])
def test_forged_run_lengths_allocate_nothing(lengths: list[int]) -> None:
    assert decode(forged_runs([5, 3]), "i8", 8).tolist() == [0] * 5 + [1] * 3
    tracemalloc.start()
    with pytest.raises(mt.StateCorrupt):
        decode(forged_runs(lengths), "i8", 8)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        bytes([encodings.OFFSET]) + struct.pack("<qQB", 0, 1, 3) + bytes(24),
        bytes([encodings.OFFSET]) + struct.pack("<qQB", 0, 1, 0) + bytes(1),
        bytes([encodings.DICTIONARY]) + struct.pack("<IB", 1, 1) + bytes(8) + bytes([0] * 7 + [1]),
        bytes([encodings.DICTIONARY]) + struct.pack("<IB", 0, 1) + bytes(8),
        bytes([encodings.DICTIONARY]) + struct.pack("<IB", 2**32 - 1, 1) + bytes(8),
        bytes([encodings.BITS]) + bytes(1),
    ],
)
def test_forged_columns(raw: bytes) -> None:
    with pytest.raises(mt.StateCorrupt, match="a column of the state"):
        decode(raw, "i8", 8)


def test_values_that_do_not_fit_their_type_are_refused() -> None:
    with pytest.raises(mt.StateCorrupt, match="does not hold"):
        decode(encode(np.array([1, 70_000, 3] * 9), "offset"), "i2", 27)
    with pytest.raises(mt.StateCorrupt, match="neither 0 nor 1"):
        decode(encode(np.full(9, 3, np.int8), "constant"), "?", 9)


# ---- codecs ----


@given(st.binary(max_size=300) | st.binary(max_size=5).map(lambda part: part * 100), st.sampled_from(ALL))
def test_bytes_come_back_as_they_were(data: bytes, codec: Codec) -> None:
    assert bytes(expand(squeeze(data, codec))) == data


@pytest.mark.parametrize("codec", ALL, ids=str)
def test_damaged_blocks_are_refused(codec: Codec) -> None:
    block = bytearray(squeeze(bytes(range(40)) * 10, codec))
    for size in range(len(block)):
        with pytest.raises(mt.StateCorrupt):
            expand(bytes(block[:size]))
    for at in range(len(block)):
        for mask in (1, 128, 255):
            block[at] ^= mask
            with pytest.raises(mt.StateCorrupt):
                expand(bytes(block))
            # and under a right checksum, as a forger would send it: read with the declared size, or refused
            again = block[:9] + struct.pack("<I", zlib.crc32(block[13:])) + block[13:]
            with contextlib.suppress(mt.StateCorrupt):
                assert len(expand(bytes(again), 1 << 20)) == struct.unpack_from("<Q", again, 1)[0]
            block[at] ^= mask


@pytest.mark.parametrize("codec", ALL, ids=str)
@pytest.mark.parametrize("size", [0, 99_999, 100_001, 2**40, 2**63])
def test_a_forged_size_is_refused_before_it_is_allocated(codec: Codec, size: int) -> None:
    block = squeeze(bytes(100_000), codec)
    tracemalloc.start()
    with pytest.raises(mt.StateCorrupt):
        expand(block[:1] + struct.pack("<Q", size) + block[9:], limit=1 << 20)
    assert tracemalloc.get_traced_memory()[1] < 1 << 19
    tracemalloc.stop()


def test_codecs_are_written_by_name() -> None:
    assert [codec_of(str(codec)) for codec in ALL] == ALL
    assert codec_of("zstd") == Codec("zstd", 1)
    for wrong in ("gzip", "zstd:0", "zstd:23", "zstd:x", "lz4:3", 7, None):
        with pytest.raises(mt.SpecError, match="codec="):
            codec_of(wrong)
    with pytest.raises(mt.SpecError, match="snappy"):
        codec_of("snapy")


def test_auto_takes_zstd_where_that_is_much_smaller() -> None:
    rng = np.random.default_rng(1)
    assert suited(rng.integers(0, 16, 10_000).astype(np.uint8)).name == "zstd"  # half of each byte is free
    assert suited(rng.bytes(10_000)).name == "lz4"


# ---- states with a codec ----


@given(trees, st.sampled_from([*ALL, "auto"]), st.booleans())
def test_a_state_with_a_codec_comes_back(tree: Any, codec: Any, copy: bool) -> None:
    blob = pack(tree, codec)
    assert same(tree, unpack(blob, copy=copy))
    assert pack(tree, codec) == blob


def test_a_state_with_a_codec_is_smaller() -> None:
    tree = {"time": np.arange(100_000) * 1_000_000, "speed": np.tile(np.arange(50), 2_000)}
    plain = len(pack(tree))
    assert all(len(pack(tree, codec)) < plain / 6 for codec in ALL)
    assert len(pack(tree, "auto")) < plain / 50


@pytest.mark.parametrize("codec", ALL, ids=str)
def test_damaged_and_forged_states_with_a_codec(codec: Codec) -> None:
    tree = PLAIN | {"many": np.repeat(np.arange(5), 40), "times": np.arange(90) * 7}
    blob = bytearray(pack(tree, codec))
    for size in range(len(blob)):
        with pytest.raises(mt.StateCorrupt):
            unpack(blob[:size])
    for at in range(len(blob)):
        blob[at] ^= 5
        with pytest.raises(mt.StateCorrupt):
            unpack(blob)
        with contextlib.suppress(mt.StateCorrupt):
            unpack(sealed(bytes(blob)), limit=1 << 20)
        blob[at] ^= 5
    assert same(unpack(sealed(bytes(blob))), tree)


def test_what_the_arrays_of_a_state_take_is_declared() -> None:
    blob = pack({"a": np.zeros(1 << 20)}, Codec("lz4"))
    assert len(blob) < 1_000
    with pytest.raises(mt.StateCorrupt, match="declares 8388608 bytes of arrays, over the limit of 1000000"):
        unpack(blob, limit=1_000_000)
    at = 36 + struct.unpack_from("<Q", blob, 12)[0]
    for forged, message in ((0, "0 bytes left"), (2**23 + 8, "8 bytes fewer"), (2**60, "over the limit")):
        with pytest.raises(mt.StateCorrupt, match=message):
            unpack(sealed(blob[:at] + struct.pack("<Q", forged) + blob[at + 8 :]))


@pytest.mark.parametrize("codec", ALL, ids=str)
def test_arrow_and_texts_in_a_state_with_a_codec(codec: Codec) -> None:
    assert same(unpack(pack(TREE, codec)), TREE)


# ---- rounding ----

floats = hnp.arrays(
    st.sampled_from(["f4", "f8"]).map(np.dtype),
    st.integers(0, 30),
    elements=st.floats(width=32) | st.floats(-1e4, 1e4, width=32),
)
shares = st.floats(1e-9, 0.9)


def off(values: Any, rounded: Any) -> Any:
    """How far off, computed exactly enough to hold against a bound: in extended precision."""
    finite = np.isfinite(values)
    assert (rounded[~finite].view(f"i{values.itemsize}") == values[~finite].view(f"i{values.itemsize}")).all()
    return np.abs(rounded[finite].astype(np.longdouble) - values[finite].astype(np.longdouble)), values[finite]


@given(floats, st.floats(1e-12, 1e12))
@example(np.array([1.7976931348623157e308, -5e-324, 1e300]), 0.5)
def test_an_absolute_error_is_kept(values: Any, error: float) -> None:
    rounded = Loss(error).rounded(values)
    assert (off(values, rounded)[0] <= error).all()
    assert rounded.dtype == values.dtype
    assert Loss(error).rounded(rounded).tobytes() == rounded.tobytes()  # once more changes nothing


@given(floats, shares)
@example(np.array([1.7976931348623157e308, -5e-324, 2.3e-308, np.nan]), 0.4)
def test_a_relative_error_is_kept(values: Any, share: float) -> None:
    rounded = Loss(share, relative=True).rounded(values)
    found, finite = off(values, rounded)
    assert (found <= np.longdouble(share) * np.abs(finite)).all()
    assert Loss(share, relative=True).rounded(rounded).tobytes() == rounded.tobytes()


@given(hnp.arrays(st.sampled_from(["i1", "i4", "i8"]).map(np.dtype), st.integers(0, 30)), st.floats(0.1, 1e20))
def test_integers_are_rounded_within_an_absolute_error(values: Any, error: float) -> None:
    rounded = Loss(error).rounded(values)
    assert rounded.dtype == values.dtype
    assert all(abs(a - b) <= error for a, b in zip(values.tolist(), rounded.tolist(), strict=True))
    assert (Loss(error).rounded(rounded) == rounded).all()
    assert (Loss(0.5, relative=True).rounded(values) == values).all()


def test_rounding_makes_floats_small() -> None:
    values = 50 + np.random.default_rng(1).normal(size=10_000)
    exact = len(squeeze(encode(values), Codec("zstd")))
    assert len(squeeze(encode(Loss(0.05).rounded(values)), Codec("zstd"))) < exact / 6
    assert len(squeeze(encode(loss_of("0.1 %").rounded(values)), Codec("zstd"))) < exact / 6


@pytest.mark.parametrize("wrong", [0, -1, True, float("nan"), float("inf"), "1", "100 %", "0 %", "..%", [1], "x %"])
def test_wrong_bounds_are_refused(wrong: Any) -> None:
    with pytest.raises(mt.SpecError, match="lossy="):
        losses_of(wrong)
    with pytest.raises(mt.SpecError, match="lossy="):
        losses_of({"a": wrong})


def test_bounds_as_they_are_written() -> None:
    assert losses_of(None) is None
    assert losses_of({"a": 2, "b": "1e-3 %"}) == {"a": Loss(2.0), "b": Loss(1e-5, relative=True)}
