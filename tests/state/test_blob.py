"""The state format: what goes in comes out, and nothing damaged, forged or newer does."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import pickle
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import muntin as mt
from muntin.state.blob import VERSION, pack, unpack

GOLDEN = Path(__file__).parent / "golden"

PLAIN: dict[str, Any] = {
    "none": None,
    "bools": [True, False],
    "ints": [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**200)],
    "floats": [0.0, -0.0, 0.1, 5e-324, math.inf, -math.inf, math.nan],
    "texts": ["", "é\n\0", "\ud800\udc00", "list"],
    "bytes": [b"", b"\0\xff" * 40],
    "empty": [{}, []],
    "arrays": [
        np.array([[1, 2, 3], [4, 5, 6]], np.int32),
        np.array(7, np.uint64),
        np.array([True, False]),
        np.array([1.5, math.nan], np.float16),
        np.empty((2, 0, 3)),
    ],
}
TREE: dict[str, Any] = PLAIN | {
    "arrow": [
        pa.array(["a", None, "b"]),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.schema([pa.field("ts", pa.timestamp("us", "UTC"), nullable=False)], metadata={"k": "v"}),
        pa.table({"k": ["a", "b"], "v": [1, None]}),
    ],
}


def same(a: Any, b: Any) -> bool:
    """Equal with the same types, NaN to NaN, 0.0 not to -0.0, and keys in the same order."""
    if isinstance(a, pa.Array | pa.Table | pa.Schema):
        if isinstance(a, pa.Schema):
            return a.equals(b, check_metadata=True)
        if isinstance(a, pa.Table):
            return same(a.schema, b.schema) and a.num_rows == b.num_rows and same(a.to_pydict(), b.to_pydict())
        return a.type == b.type and same(a.to_pylist(), b.to_pylist())
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    return bool(a == b)


def sealed(blob: bytes) -> bytes:
    """The same bytes with the right checksum, as a forger would send them."""
    rest = blob[:28] + blob[36:]
    old = blob[8:10] == b"\1\0"
    return (
        blob[:28] + (hashlib.blake2b(rest, digest_size=8).digest() if old else xxhash.xxh3_64_digest(rest)) + blob[36:]
    )


def forged(header: Any, payload: bytes = b"", *, fixed: tuple[Any, ...] | None = None) -> bytes:
    """A state with this header (JSON, or its text) and payload, and the right checksum."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    version, codec, flags, head, body = fixed or (VERSION, 0, 0, len(text), len(payload))
    return sealed(struct.pack("<8sHBBQQ8x", b"MUNTIN\0\1", version, codec, flags, head, body) + text + payload)


def stream(table: Any, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()


# ---- round trip ----

dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="<"),
    hnp.unsigned_integer_dtypes(endianness="<"),
    hnp.floating_dtypes(endianness="<", sizes=(16, 32, 64)),
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
arrow_arrays = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda x: pa.array(x, pa.int64())),
    st.lists(st.none() | st.floats(allow_nan=True)).map(lambda x: pa.array(x, pa.float64())),
    st.lists(st.none() | st.text(st.characters(codec="utf-8"))).map(lambda x: pa.array(x, pa.string())),
    st.lists(st.none() | st.booleans()).map(lambda x: pa.array(x, pa.bool_())),
    st.lists(st.none() | st.sampled_from("abc")).map(lambda x: pa.array(x, pa.string()).dictionary_encode()),
    st.lists(st.none() | st.lists(st.none() | st.integers(0, 9))).map(lambda x: pa.array(x, pa.list_(pa.int8()))),
)
arrow = st.one_of(
    arrow_arrays,
    st.tuples(arrow_arrays, st.integers(0, 5)).map(lambda x: x[0].slice(x[1])),
    arrow_arrays.map(lambda x: pa.table({"": x, "n": pa.nulls(len(x))})),
    arrow_arrays.map(lambda x: pa.schema([pa.field("x", x.type)], metadata={"a": "b"})),
)
texts = st.text(st.characters())  # surrogates too
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**300), 2**300),
    st.floats(),
    texts,
    st.binary(),
    arrays,
    arrow,
)
trees = st.recursive(leaves, lambda t: st.lists(t, max_size=4) | st.dictionaries(texts, t, max_size=4), max_leaves=12)


@given(trees, st.booleans())
def test_what_goes_in_comes_out(tree: Any, copy: bool) -> None:
    blob = pack(tree)
    back = unpack(blob, copy=copy)
    assert same(tree, back)
    assert pack(tree) == blob
    assert pack(back) == blob


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=">i4").reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(24, dtype=np.uint16).reshape(4, 6)[::-2, ::3],
        np.broadcast_to(np.float32(1), (2, 3)),
    ],
)
def test_byte_order_and_layout_do_not_matter(array: Any) -> None:
    back = unpack(pack(array))
    assert np.array_equal(back, array)
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.flags.c_contiguous
    assert pack(array) == pack(back)


@pytest.mark.parametrize(
    "array",
    [
        pa.nulls(3),
        pa.array(["a", "long enough not to be inlined", None], pa.string_view()).slice(1),
        pa.array([[1], None, []], pa.large_list(pa.int8())),
        pa.array([{"a": 1, "b": ["x"]}, None]),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        pa.RunEndEncodedArray.from_arrays([2, 5], ["a", "b"]),
        pa.array([1, None], pa.timestamp("us", "Europe/Zurich")),
        pa.array([[b"abc"], None], pa.list_(pa.binary(3), 1)),
        pa.array(["a", "b"]).dictionary_encode().slice(1),
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])]),
    ],
    ids=lambda array: str(array.type),
)
def test_arrow_types(array: Any) -> None:
    assert same(array, unpack(pack(array)))


def test_tables_of_many_chunks_and_of_none() -> None:
    dictionaries = [pa.array(list(text)).dictionary_encode() for text in ("ab", "cd")]
    chunked = pa.table({"x": pa.chunked_array([[1, 2], [3], [4]]), "d": pa.chunked_array(dictionaries)})
    for table in (chunked, chunked.slice(1, 2), chunked.slice(4), chunked.schema.empty_table(), chunked.select([])):
        assert same(table, unpack(pack(table)))


def test_copies_are_writable_and_views_are_not() -> None:
    blob = bytearray(pack([np.arange(4.0), pa.array([1, 2])]))
    copied, arrow_copied = unpack(blob)
    viewed, arrow_viewed = unpack(blob, copy=False)
    copied[0] = 9
    with pytest.raises(ValueError, match="read-only"):
        viewed[0] = 9
    with pytest.raises(ValueError, match="WRITEABLE"):
        viewed.flags.writeable = True
    assert np.shares_memory(viewed, np.frombuffer(blob, np.uint8))
    assert arrow_copied.equals(arrow_viewed)
    end = np.frombuffer(blob, np.uint8).ctypes.data
    addresses = [buffer.address for array in (arrow_copied, arrow_viewed) for buffer in array.buffers() if buffer]
    assert [end <= address < end + len(blob) for address in addresses] == [False, True]


def test_buffers_are_aligned() -> None:
    blob = pack({"a": b"x", "b": np.array([0x1122334455667788]), "c": np.array([0x99], np.uint8)})
    assert blob.index(bytes.fromhex("8877665544332211")) % 64 == 0
    assert blob.index(b"\x99", blob.index(bytes.fromhex("8877665544332211"))) % 64 == 0


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_golden(version: int) -> None:
    assert same(unpack((GOLDEN / f"v{version}.bin").read_bytes()), TREE)


def test_the_format_is_what_it_was() -> None:
    # A new digest needs a new VERSION and a new golden file. Without Arrow: its bytes are its own affair.
    assert VERSION == 2
    assert hashlib.blake2b(pack(PLAIN), digest_size=8).hexdigest() == "8f3f764817b99320"


# ---- what cannot be packed ----


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        ({"a": [0, (1, 2)]}, TypeError, r"tree\['a'\]\[1\] is a builtins.tuple"),
        ({1: 2}, TypeError, "the key 1"),
        (np.float64(1), TypeError, "numpy.float64"),
        (np.ma.array([1], mask=[True]), TypeError, "MaskedArray"),
        (np.array([object()]), TypeError, "array of object"),
        (np.array(["2020-01-01"], "M8[us]"), TypeError, "int64"),
        (np.array([1j]), TypeError, "complex128"),
        (np.array([1], np.longdouble), TypeError, "longdouble|float128"),
        (np.zeros(1, [("a", "i4")]), TypeError, "cannot hold"),
        (pa.chunked_array([[1]]), TypeError, "ChunkedArray"),
        (object(), TypeError, "builtins.object"),
        (pa.array([b"\xff"]).view(pa.string()), ValueError, "not valid Arrow data"),
    ],
)
def test_other_things_are_refused(tree: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pack(tree)


def nested(depth: int, wrap: Any) -> Any:
    tree = None
    for _ in range(depth):
        tree = wrap(tree)
    return tree


@pytest.mark.parametrize("wrap", [lambda t: [t], lambda t: {"": t}])
def test_depth_is_limited(wrap: Any) -> None:
    assert same(unpack(pack(nested(64, wrap))), nested(64, wrap))
    with pytest.raises(ValueError, match="64 deep"):
        pack(nested(65, wrap))
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="64 deep"):
        pack(loop)


# ---- damage ----


def test_every_flipped_byte_is_found() -> None:
    blob = bytearray(pack(TREE))
    for at in range(len(blob)):
        for mask in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            blob[at] ^= mask
            with pytest.raises(mt.StateCorrupt):
                unpack(blob)
            blob[at] ^= mask


def test_every_truncation_and_every_addition_is_found() -> None:
    blob = pack(TREE)
    for size in range(len(blob)):
        with pytest.raises(mt.StateCorrupt):
            unpack(blob[:size])
    for more in (b"\0", blob):
        with pytest.raises(mt.StateCorrupt):
            unpack(blob + more)


# ---- forgery: the checksum is right ----


@pytest.mark.parametrize("copy", [True, False])
def test_a_flipped_byte_under_a_right_checksum_is_read_or_refused(copy: bool) -> None:
    blob = bytearray(pack(TREE))
    for at in range(len(blob)):
        for mask in (1, 4, 128, 255):
            blob[at] ^= mask
            with contextlib.suppress(mt.StateCorrupt):
                unpack(sealed(bytes(blob)), copy=copy)
            blob[at] ^= mask


BODY = bytes(range(128))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        # sizes, offsets
        (["bytes", 0, 129], "129 bytes at offset 0"),
        (["bytes", 64, 65], "65 bytes at offset 64"),
        (["bytes", 128, 1], "at offset 128"),
        (["bytes", 2**62, 1], "at offset"),
        (["bytes", 0, 2**62], "at offset"),
        (["bytes", 10**30, 10**30], "at offset"),
        (["bytes", 1, 1], "multiple of 64"),
        (["bytes", -64, 64], "offset -64"),
        (["bytes", 64, -64], "length -64"),
        (["bytes", 0.0, 64], "offset 0.0"),
        (["bytes", False, True], "offset False"),
        (["bytes", "0", 64], "offset '0'"),
        (["list", ["bytes", 0, 128], ["bytes", 0, 128]], "the 128 bytes before it"),
        (["bytes", 0, 64], "its header uses 64"),
        (None, "its header uses 0"),
        # dtypes
        (["array", "O", [16], 0, 128], "dtype 'O'"),
        (["array", "|O", [16], 0, 128], "dtype"),
        (["array", ">i8", [16], 0, 128], "dtype"),
        (["array", "<c16", [8], 0, 128], "dtype"),
        (["array", "<M8[us]", [16], 0, 128], "dtype"),
        (["array", "i8,i8", [8], 0, 128], "dtype"),
        (["array", "|V8", [16], 0, 128], "dtype"),
        (["array", "", [16], 0, 128], "dtype"),
        (["array", None, [16], 0, 128], "means nothing"),
        (["array", ["<i8"], [16], 0, 128], "means nothing"),
        (["array", "|b1", [128], 0, 128], "neither 0 nor 1"),
        # shapes
        (["array", "<i8", [15], 0, 128], "shape"),
        (["array", "<i8", [17], 0, 128], "shape"),
        (["array", "<i8", [2**61 + 16], 0, 128], "shape"),
        (["array", "<i8", [2**32, 2**32], 0, 128], "shape"),
        (["array", "<i8", [-4, -4], 0, 128], "shape"),
        (["array", "<i8", [-1], 0, 128], "shape"),
        (["array", "<i8", [16.0], 0, 128], "shape"),
        (["array", "<i8", [True, 16], 0, 128], "shape"),
        (["array", "<i8", [[16]], 0, 128], "shape"),
        (["array", "<i8", [], 0, 128], "shape"),
        (["array", "<i8", 16, 0, 128], "means nothing"),
        (["array", "<i8", [16, *[1] * 99], 0, 128], "shape"),
        (["array", "<i8", [0, 2**62, 2**62], 0, 0], "shape"),
        (["array", "<i8", [0, 2**200], 0, 0], "shape"),
        # kinds
        (["pickle", 0, 128], "means nothing"),
        (["set"], "means nothing"),
        ([], "means nothing"),
        ([["list"]], "means nothing"),
        ([1, 2], "means nothing"),
        (["list", ["array"]], r"tree\[0\]"),
        (["bytes", 0], "means nothing"),
        (["bytes", 0, 128, 0], "means nothing"),
        (["int", 1], "means nothing"),
        (["int", "0x1_0"], "means nothing"),
        (["int", "1\n"], "means nothing"),
        (["float", "nan"], "means nothing"),
        (["float", "7ff80000000000 0"], "means nothing"),
        (2**63, "means nothing"),
        ("1e999", "means nothing"),
        # JSON
        ('{"a":1,"a":1}', "'a' twice"),
        ("NaN", "not JSON"),
        ("-Infinity", "not JSON"),
        ("9" * 5000, "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("", "not JSON"),
        ("null null", "not JSON"),
        ('"\\', "not JSON"),
        (nested(65, lambda t: ["list", t]), "64 deep"),
        (nested(65, lambda t: {"": t}), "64 deep"),
        # Arrow
        (["arrow-array", 0, 128], "not valid Arrow"),
        (["arrow-schema", 0, 128], "not valid Arrow"),
        (["arrow-table", 0, 0], "not valid Arrow"),
        (["arrow-table", 0], "means nothing"),
        (["arrow-tensor", 0, 128], "means nothing"),
    ],
    ids=lambda value: None if not isinstance(value, str) else value[:20],
)
def test_forged_headers(header: Any, message: str) -> None:
    with pytest.raises(mt.StateCorrupt, match=message):
        unpack(forged(header, BODY))


def test_a_header_that_is_not_utf8() -> None:
    blob = bytearray(forged('"ab"'))
    blob[-2] = 0xFF
    with pytest.raises(mt.StateCorrupt, match="not JSON"):
        unpack(sealed(bytes(blob)))


def test_deep_leaves_that_mean_nothing() -> None:
    for leaf in (2**63, "1e999"):
        text = json.dumps(nested(64, lambda t: ["list", t])).replace("null", str(leaf))
        with pytest.raises(mt.StateCorrupt, match="means nothing"):
            unpack(forged(text))


TABLE = pa.table({"x": [1, 2, 3], "s": ["a", "b", "c"]})
DICTIONARY = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 1], pa.int32()), ["a", "b"])
ONE = pa.table({"x": pa.chunked_array([[1], [2]])})


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        ("arrow-array", stream(TABLE), "2 columns"),
        ("arrow-array", stream(ONE), "2 batches"),
        ("arrow-array", stream(TABLE.select(["x"]).slice(3)), "0 batches"),
        ("arrow-schema", stream(TABLE), "1 batches"),
        ("arrow-table", stream(TABLE, compression="zstd"), "compressed"),
        ("arrow-table", stream(pa.table({"d": pa.array(["a"] * 99).dictionary_encode()}), compression="lz4"), "compr"),
        ("arrow-table", stream(TABLE)[:-4], "not valid"),
        ("arrow-table", stream(TABLE) + b"more", "ends after"),
        ("arrow-table", stream(TABLE).replace(b"abc", b"a\xffc"), "not valid Arrow data: .*UTF8"),
        (
            "arrow-array",
            stream(pa.table({"d": DICTIONARY})).replace(struct.pack("<4i", 1, 0, 1, 1), struct.pack("<4i", 1, 0, 7, 1)),
            "not valid Arrow data: .*out of bounds",
        ),
    ],
)
def test_forged_arrow(kind: str, raw: bytes, message: str) -> None:
    with pytest.raises(mt.StateCorrupt, match=message):
        unpack(forged([kind, 0, len(raw)], raw))


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ((3, 0, 0, 4, 0), r"format version 3, this Muntin reads up to 2\. Use a newer Muntin\."),
        ((65535, 9, 9, 2**64 - 1, 2**64 - 1), "format version 65535, this Muntin reads up to 2"),
        ((0, 0, 0, 4, 0), "format version 0"),
        ((1, 1, 0, 4, 0), "codec 1"),
        ((1, 0, 1, 4, 0), "flags 0x01"),
        ((1, 0, 0, 5, 0), "declares 41 bytes and has 40"),
        ((1, 0, 0, 3, 0), "declares 39 bytes and has 40"),
        ((1, 0, 0, 0, 4), "not JSON"),
        ((1, 0, 0, 2, 2), "not JSON"),
        ((1, 0, 0, 2**64 - 1, 2**64 - 1), "declares"),
        ((1, 0, 0, 4, 2**40), "declares"),
    ],
)
def test_forged_prefixes(fixed: tuple[int, ...], message: str) -> None:
    with pytest.raises(mt.StateCorrupt, match=message):
        unpack(forged("null", fixed=fixed))


def test_nothing_is_allocated_for_what_is_only_declared() -> None:
    bomb = stream(pa.table({"x": pa.array([7] * 1000)}), compression="zstd")
    assert bomb.count(struct.pack("<q", 8000)) == 1  # the size that a compressed buffer declares
    bomb = bomb.replace(struct.pack("<q", 8000), struct.pack("<q", 2**36))
    blobs = [
        forged("null", fixed=(1, 0, 0, 4, 2**40)),
        forged("null", fixed=(1, 0, 0, 2**40, 0)),
        forged(["array", "<f8", [2**40], 0, 2**43], BODY),
        forged(["array", "<f8", [2**40], 0, 128], BODY),
        forged(["bytes", 0, 2**40], BODY),
        forged(["list", *[["bytes", 0, 128]] * 1000], BODY),
        forged(["arrow-table", 0, len(bomb)], bomb),
    ]
    arrow_before = pa.default_memory_pool().max_memory()
    tracemalloc.start()
    try:
        for blob in blobs:
            with pytest.raises(mt.StateCorrupt):
                unpack(blob)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert pa.default_memory_pool().max_memory() <= arrow_before + 2**16


def test_limit() -> None:
    blob = pack(np.zeros(1000))
    assert unpack(blob, limit=len(blob)).shape == (1000,)
    with pytest.raises(mt.StateCorrupt, match=f"declares {len(blob)} bytes, over the limit of 8000"):
        unpack(blob, limit=8000)
    with pytest.raises(mt.StateCorrupt, match="over the limit"):
        unpack(forged("null", fixed=(1, 0, 0, 4, 2**63)), limit=2**20)


class Evil:
    ran = False

    def __reduce__(self) -> Any:
        return setattr, (Evil, "ran", True)


def test_pickles_are_refused() -> None:
    raw = pickle.dumps(Evil())
    for blob in (
        raw,
        raw + bytes(64),
        forged(["pickle", 0, len(raw)], raw),
        forged(["array", "|O", [1], 0, len(raw)], raw),
        forged(["arrow-array", 0, len(raw)], raw),
    ):
        with pytest.raises(mt.StateCorrupt):
            unpack(blob)
    assert not Evil.ran
    assert unpack(pack(raw)) == raw  # as bytes they are bytes
