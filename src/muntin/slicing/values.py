"""Columns of values as NumPy storage, and back: numbers as they are, texts and bytes as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Column", "Interner", "Mask", "dtype_of", "is_opaque", "read", "read_column", "stored", "to_arrow"]

Mask = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]

_TEXT = pa.string()
_LEAST = 1_024  # places of a table of texts at first


def dtype_of(type_: pa.DataType) -> np.dtype[Any] | None:
    """The NumPy type that values of an Arrow type are kept in; None where they are no numbers.

    >>> dtype_of(pa.timestamp("ns")), dtype_of(pa.date32()), dtype_of(pa.string())
    (dtype('int64'), dtype('int32'), None)
    """
    types = pa.types
    if types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_):
        dtype: np.dtype[Any] = np.dtype(type_.to_pandas_dtype())
        return dtype
    if types.is_temporal(type_) and not types.is_interval(type_):
        return np.dtype(np.int32 if type_.bit_width == 32 else np.int64)
    return None


def stored(type_: pa.DataType) -> pa.DataType:
    """The type that an extension type is stored in; any other type as it is.

    >>> stored(pa.uuid())
    FixedSizeBinaryType(fixed_size_binary[16])
    """
    return type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_


def is_opaque(type_: pa.DataType) -> bool:
    """Whether values are only counted: nested ones, intervals, and columns of nulls only."""
    types = pa.types
    return bool(types.is_nested(type_) or types.is_null(type_) or types.is_interval(type_))


def read(column: pa.ChunkedArray, dtype: np.dtype[Any]) -> tuple[npt.NDArray[Any], Mask | None]:
    """A column of numbers as storage and a mask of what is valid; zeros stand for nulls.

    One chunk without nulls is not copied, but for booleans.

    >>> read(pa.chunked_array([pa.array([7, None], pa.date32())]), np.dtype(np.int32))
    (array([7, 0], dtype=int32), array([ True, False]))
    """
    if column.num_chunks == 1:
        values = _chunk(column.chunk(0), dtype)
    else:
        values = np.concatenate([np.empty(0, dtype), *(_chunk(chunk, dtype) for chunk in column.chunks)])
    if not column.null_count:
        return values, None
    valid = _valid(column)
    # What Arrow keeps under a null may be anything.
    values = values.copy()
    values[~valid] = 0
    return values, valid


def _chunk(chunk: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    rows, data = len(chunk), chunk.buffers()[1]
    if data is None or not rows:
        return np.zeros(rows, dtype)
    if dtype.kind == "b":
        return _bits(data, chunk.offset, rows)
    return np.frombuffer(data, dtype, rows, chunk.offset * dtype.itemsize)


def _bits(data: pa.Buffer, offset: int, rows: int) -> Mask:
    """Bits as booleans; from whole bytes, since a chunk may be a small part of a large buffer."""
    first = offset // 8
    used = np.frombuffer(data, np.uint8, (offset + rows + 7) // 8 - first, first)
    return np.unpackbits(used, count=offset % 8 + rows, bitorder="little")[offset % 8 :].view(np.bool_)


def _valid(column: pa.ChunkedArray) -> Mask:
    parts = []
    for chunk in column.chunks:
        bits = chunk.buffers()[0]
        # Arrow has to say what is null where no bits do: none are, or it is a union.
        told = bits is None or not chunk.null_count
        parts.append(chunk.is_valid().to_numpy(zero_copy_only=False) if told else _bits(bits, chunk.offset, len(chunk)))
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.bool_), *parts])


def to_arrow(values: npt.NDArray[Any], valid: Mask | None, type_: pa.DataType) -> pa.Array:
    """Storage as an array of an Arrow type that `dtype_of` knows. Shares the memory of `values`.

    >>> to_arrow(np.array([1, 0]), np.array([True, False]), pa.timestamp("s")).to_pylist()
    [datetime.datetime(1970, 1, 1, 0, 0, 1), None]
    """
    dtype = dtype_of(type_)
    assert dtype is not None
    values = np.ascontiguousarray(values, dtype)
    data = pa.py_buffer(np.packbits(values, bitorder="little") if dtype.kind == "b" else values)
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [bits, data])


class Interner:
    """Distinct values without a number of their own (texts, bytes, decimals), each with a code.

    Codes are given by first appearance. The bytes of all values lie end to end in one buffer, which Arrow reads in
    place; it grows by doubling, and what was handed out before is never written to again.

    >>> words = Interner()
    >>> codes = words.encode(pa.chunked_array([["b", "a", None, "b"]]))
    >>> codes.tolist(), words.ranks().tolist(), words.decode(codes[:2]).to_pylist()
    ([0, 1, 0, 0], [1, 0], ['b', 'a'])
    """

    def __init__(self, type_: pa.DataType = _TEXT) -> None:
        self.type = type_
        # Plain texts and bytes have offsets; all else has one width.
        self._width = None if pa.types.is_string(type_) or pa.types.is_binary(type_) else type_.bit_width // 8
        self._reset()

    def _reset(self) -> None:
        self._table = np.zeros((_LEAST, 2), np.int64)
        self._bytes = np.empty(_LEAST, np.uint8)
        self._ends = np.zeros(_LEAST // 2 + 1, np.int64)
        self._state = np.array([0, -1])  # how many codes there are, and the one of null
        self._hashes = np.empty(0, np.int64)
        self._order = np.empty(0, np.int64)
        self._ranks = np.empty(0, np.int64)

    def __len__(self) -> int:
        return int(self._state[0])

    def encode(self, column: pa.ChunkedArray) -> Int64s:
        """The code of each value; 0 for null."""
        codes = self._encode(column, "mask")
        if column.null_count:
            codes[~_valid(column)] = 0
        return codes

    def encode_with_null(self, column: pa.ChunkedArray) -> Int64s:
        """The code of each value, where null is one more value."""
        return self._encode(column, "encode")

    def _encode(self, column: pa.ChunkedArray, nulls: str) -> Int64s:
        chunks = [self._as_bytes(chunk) for chunk in column.chunks if len(chunk)]
        if not chunks:
            return np.empty(0, np.int64)
        # All chunks of the answer share one dictionary.
        found = pa.chunked_array(chunks).dictionary_encode(nulls).chunks
        place = self._codes(found[-1].dictionary)
        if not len(place):
            return np.zeros(len(column), np.int64)
        index = np.concatenate([read(pa.chunked_array([part.indices]), np.dtype(np.int32))[0] for part in found])
        codes: Int64s = place[index]
        return codes

    def _as_bytes(self, chunk: pa.Array) -> pa.Array:
        """Values of one width as plain bytes: Arrow cannot make a dictionary of each such type."""
        if self._width is None:
            return chunk
        return pa.Array.from_buffers(pa.binary(self._width), len(chunk), chunk.buffers(), offset=chunk.offset)

    def _codes(self, distinct: pa.Array) -> Int64s:
        from muntin.kernels.hashing import intern, rehash

        size, (bits, *offsets, data) = len(distinct), distinct.buffers()
        if self._width is None:
            ends = np.frombuffer(offsets[0], np.int32)[distinct.offset :][: size + 1].astype(np.int64)
        else:
            ends = np.arange(distinct.offset, distinct.offset + size + 1) * self._width
        raw = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        valid = np.empty(0, np.bool_)
        if bits is not None and distinct.null_count:
            valid = distinct.is_valid().to_numpy(zero_copy_only=False)
        # Room is made before, as if all were new: the kernel need not stop half-way.
        before = len(self)
        self._bytes = _room(self._bytes, int(self._ends[before] + ends[-1] - ends[0]))
        self._ends = _room(self._ends, before + size + 1)
        if 2 * (before + size) > len(self._table):
            places = 4 << (before + size).bit_length()
            hashes = self._table[self._table[:, 1] != 0]
            self._table = np.zeros((places, 2), np.int64)
            rehash(np.ascontiguousarray(hashes[:, 0]), np.ascontiguousarray(hashes[:, 1]), self._table)
        codes = np.empty(size, np.int64)
        intern(raw, ends, valid, self._table, self._bytes, self._ends, self._state, codes)
        return codes

    def hashes(self) -> Int64s:
        """64 bits of each text, the same in every process; see `text_hash`.

        >>> words = Interner()
        >>> _ = words.encode(pa.chunked_array([["b"]]))
        >>> from muntin.aggregates.sketches import text_hash
        >>> words.hashes().tolist() == [text_hash("b")]
        True
        """
        known = len(self._hashes)
        if known < len(self):
            from muntin.kernels.texts import text_hashes

            found = np.empty(len(self), np.uint64)
            found[:known] = self._hashes.view(np.uint64)
            text_hashes(self._bytes, self._ends, known, found)
            self._hashes = found.view(np.int64)
        return self._hashes

    def decode(self, codes: Int64s, valid: Mask | None = None, type_: pa.DataType | None = None) -> pa.Array:
        """The values of codes, of the interner's own type; null where not valid."""
        assert type_ is None or type_ == self.type
        if self._state[1] >= 0:
            valid = codes != self._state[1] if valid is None else valid & (codes != self._state[1])
        index = pa.array(codes, pa.int64(), mask=None if valid is None else ~valid)
        found = self._all().take(index)
        return found if found.type == self.type else found.cast(self.type)

    def _all(self) -> pa.Array:
        """All values in the order of their codes, in place."""
        size = len(self)
        if self._width is not None:
            return pa.Array.from_buffers(self.type, size, [None, pa.py_buffer(self._bytes)])
        wide = pa.large_string() if pa.types.is_string(self.type) else pa.large_binary()
        return pa.Array.from_buffers(wide, size, [None, pa.py_buffer(self._ends), pa.py_buffer(self._bytes)])

    def ranks(self) -> Int64s:
        """The place of each code's value in sorted order; texts sort by their UTF-8 bytes."""
        if len(self._ranks) < len(self):
            order = self.order()
            self._ranks = np.empty(len(order), np.int64)
            self._ranks[order] = np.arange(len(order))
        return self._ranks

    def order(self) -> Int64s:
        """All codes in the order of their values. What was handed out before is not written to again.

        >>> words = Interner()
        >>> _ = words.encode(pa.chunked_array([["b", "a"]])), words.order(), words.encode(pa.chunked_array([["ab"]]))
        >>> words.order().tolist()
        [1, 2, 0]
        """
        known = len(self._order)
        if known == len(self):
            return self._order
        if known and self._width is None:  # only the new ones are sorted: the others stand in order
            from muntin.kernels.ordering import places

            fresh = known + pc.sort_indices(self._all().slice(known)).to_numpy().astype(np.int64)
            at = np.empty(len(fresh), np.int64)
            places(self._bytes, self._ends, self._order, fresh, at)
            self._order = np.insert(self._order, at, fresh)
        else:
            self._order = pc.sort_indices(self._all()).to_numpy().astype(np.int64)
        return self._order

    def retain(self, codes: Int64s) -> None:
        """Forget all values but those of some codes, in ascending order, which are numbered anew from 0."""
        kept = self.decode(codes)
        self._reset()
        if len(codes):
            self._codes(self._as_bytes(kept))

    @property
    def nbytes(self) -> int:
        """The bytes held."""
        held = (self._table, self._bytes, self._ends, self._order, self._ranks)
        return sum(array.nbytes for array in held)


def _room(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The array, or a longer copy of it where it has no room for this many."""
    if size <= len(array):
        return array
    longer = np.zeros(max(size, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer


@dataclass
class Column:
    """Values of one column. Storage may be a read-only view of the caller's memory; under a null it is zero."""

    type: pa.DataType
    values: npt.NDArray[Any]
    valid: Mask | None
    interner: Interner | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: npt.NDArray[Any]) -> Column:
        """The rows at an index, or where a mask is true."""
        valid = None if self.valid is None else self.valid[index]
        return Column(self.type, self.values[index], valid, self.interner)

    def to_arrow(self) -> pa.Array:
        """As an array of the column's type. Numbers share memory: whoever writes to `values` later copies first."""
        type_ = stored(self.type)
        if self.interner is not None:
            array = self.interner.decode(self.values, self.valid)
        elif is_opaque(type_):
            if self.valid is None or self.valid.any():
                raise TypeError(f"values of type {type_} are counted, not kept")
            array = pa.nulls(len(self), type_)
        else:
            array = to_arrow(self.values, self.valid, type_)
        return array if type_ is self.type else pa.ExtensionArray.from_storage(self.type, array)


def read_column(
    column: pa.ChunkedArray, interner: Interner | None = None, dtype: np.dtype[Any] | None = None
) -> Column:
    """A column of any type; `interner` serves where its values are no numbers, `dtype` where their type is known."""
    type_ = column.type
    if dtype is None:
        column = unwrapped(column)
        dtype = dtype_of(column.type)
    if dtype is not None:
        return Column(type_, *read(column, dtype))
    if is_opaque(column.type):
        valid = _valid(column)
        return Column(type_, np.zeros(len(column), np.int8), None if valid.all() else valid)
    assert interner is not None
    return Column(type_, interner.encode(column), _valid(column) if column.null_count else None, interner)


def unwrapped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of an extension type as what it is stored in; any other as it is."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
