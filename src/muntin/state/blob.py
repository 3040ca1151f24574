"""The state format: a tree of plain values, NumPy arrays and Arrow data as one checked block of bytes.

    prefix    magic (8 bytes), format version (u16), codec (u8), flags (u8), size of the header (u64),
              size of the payload (u64), checksum of everything else (8 bytes); all little-endian
    header    JSON: the tree, with spaces at the end so that the payload begins at a multiple of 64
    payload   the buffers, each at a multiple of 64, in the order of the tree

In the header null, true, false, strings, floats and ints of 64 bits are themselves and an object is a dict. An array
says what it is first: `["list", ...]`, `["int", hex]`, `["float", bits]` (NaN and infinities), `["bytes", offset,
length]`, `["array", dtype, shape, offset, length]`, and `["arrow-array" | "arrow-schema" | "arrow-table", offset,
length]` for an Arrow IPC stream.

With a codec the payload is the bytes of all arrays together once they are decoded (u64), then a block of
`muntin.state.codecs` with the payload in it, in which arrays are encoded by columns: `["coded", dtype, shape, offset,
length]`. Both sizes are looked at before anything is allocated.

The checksum (XXH3) finds accidents. It is no signature: a forged state is read safely, but is believed. Version 1 has
BLAKE2b in its place, all else is the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import reprlib
import struct
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from muntin.errors import StateCorrupt
from muntin.state.codecs import CODECS, Codec, expand, machine_limit, squeeze, suited
from muntin.state.encodings import decode, encode

__all__ = ["VERSION", "pack", "unpack"]

VERSION = 2  # the newest format version that is read, and the one that is written

_MAGIC = b"MUNTIN\0\1"
_FIXED = struct.Struct("<8sHBBQQ")
_CHECKSUM = 8
_PREFIX = _FIXED.size + _CHECKSUM
_ALIGN = 64
_DEPTH = 64
_PLAIN = 0  # codec: the payload as it is
_DECODED = struct.Struct("<Q")
_NAMES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
_DTYPES = {name: np.dtype(name) for name in _NAMES}
_AGAIN = "Restore from another snapshot."
_NEWER = "Use a newer Muntin."

# Where in the tree: (where the parent is, key or index). Made for every node, so it is only put in words on an error.
_Where = tuple[Any, str | int] | None


def pack(tree: Any, codec: Codec | Literal["auto"] | None = None) -> bytes:
    """The bytes of a tree of dicts (with str keys) and lists; the same tree gives the same bytes.

    Leaves are None, bool, int, float, str, bytes, NumPy arrays of bool, int, uint or float, and pyarrow Arrays,
    Schemas and Tables. The order of a dict's keys is kept, and so is part of the tree. With a codec there are
    fewer bytes.

    >>> blob = pack({"n": 3, "sums": np.array([1.5, 2.5])})
    >>> unpack(blob)
    {'n': 3, 'sums': array([1.5, 2.5])}
    """
    writer = _Writer(codec)
    node = writer.write(tree, 1, None)
    # surrogatepass: a Python string may hold lone surrogates, and a JSON escape could join two of them into one.
    text = json.dumps(node, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    header = text.encode("utf-8", "surrogatepass")
    header += b" " * (-(_PREFIX + len(header)) % _ALIGN)
    number, pieces, size = _PLAIN, writer.pieces, writer.end
    if codec is not None:
        payload = b"".join(pieces)
        chosen = suited(payload) if codec == "auto" else codec
        pieces = [_DECODED.pack(writer.decoded), squeeze(payload, chosen)]
        number, size = CODECS[chosen.name], sum(map(len, pieces))
    fixed = _FIXED.pack(_MAGIC, VERSION, number, 0, len(header), size)
    return b"".join([fixed, _checksum(VERSION, fixed, header, *pieces), header, *pieces])


def unpack(data: bytes | bytearray | memoryview, *, limit: int | None = None, copy: bool = True) -> Any:
    """The tree that `pack` was given; `StateCorrupt` says what is wrong with anything else.

    A state that declares more than `limit` bytes is refused before it is looked at. Arrays are writable copies, or
    with `copy=False` read-only views of `data` where it has no codec.

    >>> unpack(pack([1, None]))
    [1, None]
    >>> unpack(pack([1, None])[:-1])
    Traceback (most recent call last):
    ...
    muntin.errors.StateCorrupt: the state declares 64 bytes and has 63. Restore from another snapshot.
    """
    header, payload, decoded = _open(memoryview(data).toreadonly().cast("B"), limit)
    try:
        node = json.loads(str(header, "utf-8", "surrogatepass"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except StateCorrupt:
        raise
    except (ValueError, RecursionError) as error:
        raise StateCorrupt(f"the header of the state is not JSON that can be read: {error}. {_AGAIN}") from error
    reader = _Reader(payload, copy, decoded)
    tree = reader.read(node, 1, None)
    if reader.end != len(payload):
        raise StateCorrupt(f"the state's payload has {len(payload)} bytes and its header uses {reader.end}. {_AGAIN}")
    if reader.room:
        raise StateCorrupt(f"the state's arrays have {reader.room} bytes fewer than the {decoded} declared. {_AGAIN}")
    return tree


def _open(data: memoryview, limit: int | None) -> tuple[memoryview, memoryview, int]:
    """Header and payload of a state whose prefix and checksum are right, and how large its encoded arrays will be."""
    if len(data) < _PREFIX:
        raise StateCorrupt(f"the state has {len(data)} bytes, fewer than the {_PREFIX} of its prefix. {_AGAIN}")
    magic, version, codec, flags, header, payload = _FIXED.unpack_from(data)
    if magic != _MAGIC:
        raise StateCorrupt(f"not a Muntin state: it begins with {magic!r}, not with {_MAGIC!r}. {_AGAIN}")
    # Version and codec come before the checksum: a newer format may have its sizes and its checksum elsewhere.
    if version > VERSION:
        raise StateCorrupt(
            f"the state has format version {version}, this Muntin reads up to {VERSION}. Use a newer Muntin."
        )
    if version < 1:
        raise StateCorrupt(f"the state has format version {version}, and the first is 1. {_AGAIN}")
    if codec != _PLAIN and codec not in CODECS.values():
        raise StateCorrupt(f"the state has codec {codec}, this Muntin knows 0 to {max(CODECS.values())}. {_NEWER}")
    if flags:
        raise StateCorrupt(f"the state has flags {flags:#04x}, this Muntin knows none. Use a newer Muntin.")
    declared = _PREFIX + header + payload
    if limit is not None and declared > limit:
        raise StateCorrupt(
            f"the state declares {declared} bytes, over the limit of {limit}. Raise limit if you trust its source."
        )
    if declared != len(data):
        raise StateCorrupt(f"the state declares {declared} bytes and has {len(data)}. {_AGAIN}")
    found = bytes(data[_FIXED.size : _PREFIX])
    right = _checksum(version, data[: _FIXED.size], data[_PREFIX:])
    if found != right:
        raise StateCorrupt(f"the state's checksum is {found.hex()} and should be {right.hex()}. {_AGAIN}")
    head, rest = data[_PREFIX : _PREFIX + header], data[_PREFIX + header :]
    if codec == _PLAIN:
        return head, rest, 0
    if len(rest) < _DECODED.size or rest[_DECODED.size : _DECODED.size + 1] != bytes([codec]):
        raise StateCorrupt(f"the state's payload of {len(rest)} bytes does not begin as one of codec {codec}. {_AGAIN}")
    (decoded,) = _DECODED.unpack_from(rest)
    most = machine_limit() if limit is None else limit
    if declared + decoded > most:
        raise StateCorrupt(
            f"the state declares {decoded} bytes of arrays, over the limit of {most}. Raise limit if you trust its "
            "source."
        )
    inside: Any = expand(rest[_DECODED.size :], most)
    return head, memoryview(inside).toreadonly(), decoded


def _checksum(version: int, *parts: Any) -> bytes:
    # XXH3 takes 0.1 ms for 5 MB, where BLAKE2b took 5: a bucket on Spark may write and read as much in every batch.
    digest: Any = hashlib.blake2b(digest_size=_CHECKSUM) if version == 1 else xxhash.xxh3_64()
    for part in parts:
        digest.update(part)
    found: bytes = digest.digest()
    return found


class _Writer:
    """Turns a tree into the nodes of the header, and keeps the buffers of the payload."""

    def __init__(self, codec: Codec | Literal["auto"] | None) -> None:
        self.pieces: list[Any] = []
        self.end = 0
        self.coded = codec is not None
        self.squeezed = codec != Codec("none")
        self.decoded = 0

    def write(self, value: Any, depth: int, where: _Where) -> Any:
        # Types are compared exactly: a subclass (np.float64, a masked array, a defaultdict) would come back as another.
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if -(2**63) <= value < 2**63 else ["int", f"{value:x}"]  # decimal digits are limited
        if kind is float:
            return value if math.isfinite(value) else ["float", struct.pack(">d", value).hex()]
        if kind is bytes:
            return ["bytes", *self.put(value)]
        if kind is np.ndarray:
            return self.array(value, where)
        if isinstance(value, pa.Array | pa.Schema | pa.Table):
            return self.arrow(value, where)
        if kind is not dict and kind is not list:
            raise TypeError(
                f"{_shown(where)} is a {kind.__module__}.{kind.__qualname__}, which a state cannot hold. Use dict, "
                "list, None, bool, int, float, str, bytes, a NumPy array, or a pyarrow Array, Schema or Table."
            )
        if depth > _DEPTH:
            raise ValueError(f"{_shown(where)} is nested more than {_DEPTH} deep. Use a flatter tree.")
        if kind is list:
            return ["list", *[self.write(item, depth + 1, (where, i)) for i, item in enumerate(value)]]
        for key in value:
            if type(key) is not str:
                raise TypeError(f"{_shown(where)} has the key {key!r}, which is not a str. Use str keys.")
        return {key: self.write(item, depth + 1, (where, key)) for key, item in value.items()}

    def array(self, value: npt.NDArray[Any], where: _Where) -> list[Any]:
        dtype = value.dtype.newbyteorder("<")
        if dtype.str not in _DTYPES:
            raise TypeError(
                f"{_shown(where)} is an array of {value.dtype}, which a state cannot hold. "
                "Use bool, int, uint or float of up to 64 bits (.view('int64') for times)."
            )
        flat = value.astype(dtype, copy=False).ravel()
        raw = flat.view(np.uint8)
        if dtype.kind == "b":
            raw = (raw != 0).view(np.uint8)  # a view of other bytes as bool may hold more than 0 and 1
        if self.coded:
            self.decoded += len(raw)
            return ["coded", dtype.str, list(value.shape), *self.put(encode(raw.view(dtype), codec=self.squeezed))]
        return ["array", dtype.str, list(value.shape), *self.put(raw)]

    def arrow(self, value: Any, where: _Where) -> list[Any]:
        kind, schema, table = "arrow-schema", value, None
        if not isinstance(value, pa.Schema):
            try:
                value.validate(full=True)  # what could not be read again is not written
            except pa.ArrowInvalid as error:
                raise ValueError(f"{_shown(where)} is not valid Arrow data: {error}") from error
            kind, table = "arrow-table", value
            if isinstance(value, pa.Array):
                kind, table = "arrow-array", pa.RecordBatch.from_arrays([value], names=[""])
            schema = table.schema
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V5, compression=None)
        with pa.ipc.new_stream(sink, schema, options=options) as stream:
            if table is not None:
                stream.write(table)
        return [kind, *self.put(memoryview(sink.getvalue()))]

    def put(self, raw: Any) -> tuple[int, int]:
        """Add a buffer to the payload: its offset and length."""
        gap = -self.end % _ALIGN
        offset = self.end + gap
        self.pieces += [bytes(gap), raw]
        self.end = offset + len(raw)
        return offset, len(raw)


class _Reader:
    """Turns the nodes of a header, none of which is trusted, into a tree."""

    def __init__(self, payload: memoryview, copy: bool, room: int) -> None:
        self.payload = payload
        self.copy = copy
        self.end = 0
        self.room = room  # what encoded arrays may still take

    def read(self, node: Any, depth: int, where: _Where) -> Any:
        kind = type(node)
        if node is None or kind is bool or kind is str:
            return node
        if kind is int and -(2**63) <= node < 2**63:
            return node
        if kind is float and math.isfinite(node):  # 1e999 is infinite
            return node
        if depth > _DEPTH and (kind is dict or (kind is list and node[:1] == ["list"])):
            raise StateCorrupt(f"{_shown(where)} is nested more than {_DEPTH} deep. {_AGAIN}")
        if kind is dict:
            return {key: self.read(item, depth + 1, (where, key)) for key, item in node.items()}
        match node:
            case ["list", *items]:
                return [self.read(item, depth + 1, (where, i)) for i, item in enumerate(items)]
            case ["int", str(digits)] if re.fullmatch("-?[0-9a-f]+", digits):
                return int(digits, 16)
            case ["float", str(bits)] if re.fullmatch("[0-9a-f]{16}", bits):
                return struct.unpack(">d", bytes.fromhex(bits))[0]
            case ["bytes", offset, length]:
                return bytes(self.take(offset, length, where))
            case ["array", str(dtype), list(shape), offset, length]:
                return self.array(dtype, shape, self.take(offset, length, where), where)
            case ["coded", str(dtype), list(shape), offset, length]:
                return self.decoded(dtype, shape, self.take(offset, length, where), where)
            case ["arrow-array" | "arrow-schema" | "arrow-table" as kind, offset, length]:
                return self.arrow(kind, self.take(offset, length, where), where)
        raise StateCorrupt(f"{_shown(where)} is {reprlib.repr(node)}, which means nothing in a state. {_AGAIN}")

    def take(self, offset: Any, length: Any, where: _Where) -> memoryview:
        """A buffer of the payload. No two overlap, so that a small state cannot ask for copies without end."""
        if type(offset) is not int or type(length) is not int or length < 0:
            raise StateCorrupt(f"{_shown(where)} has offset {offset!r} and length {length!r}. {_AGAIN}")
        if offset % _ALIGN or offset < self.end or offset + length > len(self.payload):
            raise StateCorrupt(
                f"{_shown(where)} has {length} bytes at offset {offset}: not at a multiple of {_ALIGN} between the "
                f"{self.end} bytes before it and the end of the payload at {len(self.payload)}. {_AGAIN}"
            )
        self.end = offset + length
        return self.payload[offset : self.end]

    def array(self, name: str, shape: list[Any], raw: memoryview, where: _Where) -> npt.NDArray[Any]:
        dtype = _DTYPES.get(name)
        if dtype is None:
            raise StateCorrupt(f"{_shown(where)} has the dtype {reprlib.repr(name)}, not a known one. {_AGAIN}")
        right = all(type(size) is int and size >= 0 for size in shape)
        if not right or math.prod(shape) * dtype.itemsize != len(raw):
            raise StateCorrupt(
                f"{_shown(where)} has the shape {reprlib.repr(shape)} of {name} in {len(raw)} bytes. {_AGAIN}"
            )
        if name == "|b1" and np.frombuffer(raw, np.uint8).max(initial=0) > 1:
            raise StateCorrupt(f"{_shown(where)} has bools that are neither 0 nor 1. {_AGAIN}")
        try:
            view: npt.NDArray[Any] = np.frombuffer(raw, dtype).reshape(shape)
        except (ValueError, OverflowError) as error:  # too many dimensions, or a size beyond NumPy's next to a 0
            raise StateCorrupt(f"{_shown(where)} has the shape {reprlib.repr(shape)}: {error}. {_AGAIN}") from error
        return view.astype(dtype.newbyteorder("=")) if self.copy else view

    def decoded(self, name: str, shape: list[Any], raw: memoryview, where: _Where) -> npt.NDArray[Any]:
        dtype = _DTYPES.get(name)
        right = all(type(size) is int and size >= 0 for size in shape)
        if dtype is None or not right or math.prod(shape) * dtype.itemsize > self.room:
            raise StateCorrupt(
                f"{_shown(where)} has the shape {reprlib.repr(shape)} of {reprlib.repr(name)}, and the arrays that the "
                f"state declares have {self.room} bytes left. {_AGAIN}"
            )
        count = math.prod(shape)
        self.room -= count * dtype.itemsize
        flat: Any = decode(raw, dtype, count).view(np.uint8)
        return self.array(name, shape, memoryview(flat), where)

    def arrow(self, kind: str, raw: memoryview, where: _Where) -> Any:
        try:
            source = pa.py_buffer(bytes(raw) if self.copy else raw)
            batches = _batches(source)
            table = pa.ipc.open_stream(source).read_all()
            table.validate(full=True)
            if kind == "arrow-table":
                return table
            if kind == "arrow-schema" and batches == 0:
                return table.schema
            if kind == "arrow-array" and batches == 1 and table.num_columns == 1:
                return table.column(0).chunk(0)
        except MemoryError:
            raise
        except Exception as error:  # Arrow's own, and OSError, KeyError, EOFError, struct.error, ...
            raise StateCorrupt(f"{_shown(where)} is not valid Arrow data: {error}. {_AGAIN}") from error
        raise StateCorrupt(
            f"{_shown(where)} is an {kind} of {batches} batches and {table.num_columns} columns. {_AGAIN}"
        )


def _batches(source: Any) -> int:
    """How many batches an IPC stream has. Compressed ones are refused: they declare sizes that Arrow allocates."""
    stream = pa.BufferReader(source)
    count = 0
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type == "schema":
            continue
        if message.type not in ("record batch", "dictionary"):
            raise ValueError(f"a {message.type} is in it")
        # By Message.fbs: Message.header is field 2, DictionaryBatch.data field 1, RecordBatch.compression field 3.
        # pyarrow does not show them; it has verified the offsets.
        table = memoryview(message.metadata)
        batch = _follow(table, _follow_at(table, 0), 2)
        if message.type == "dictionary":
            batch = _follow(table, batch, 1)
        if _field(table, batch, 3):
            raise ValueError("it is compressed")
        count += message.type == "record batch"
    if stream.tell() != source.size:
        raise ValueError(f"it ends after {stream.tell()} of {source.size} bytes")
    return count


def _field(buffer: memoryview, table: int, index: int) -> int:
    """Where a field of a FlatBuffers table is; 0 for a field that is not there."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    (size,) = struct.unpack_from("<H", buffer, vtable)
    entry = 4 + 2 * index
    offset = struct.unpack_from("<H", buffer, vtable + entry)[0] if entry < size else 0
    return table + offset if offset else 0


def _follow(buffer: memoryview, table: int, index: int) -> int:
    """Where the table is that a field of a FlatBuffers table refers to."""
    return _follow_at(buffer, _field(buffer, table, index))


def _follow_at(buffer: memoryview, at: int) -> int:
    return at + int(struct.unpack_from("<I", buffer, at)[0])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise StateCorrupt(f"the header of the state has the key {reprlib.repr(key)} twice. {_AGAIN}")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _shown(where: _Where) -> str:
    keys: list[str] = []
    while where is not None:
        where, key = where
        keys.append(f"[{reprlib.repr(key)}]")
    return "tree" + "".join(reversed(keys))
