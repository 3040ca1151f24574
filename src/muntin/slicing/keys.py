"""Keys as dense ids: one number per distinct tuple of key values, in the order of first appearance."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.slicing.values import Interner, Mask, dtype_of, read, to_arrow, unwrapped

__all__ = ["KeyTable", "key_bits"]

Int64s = npt.NDArray[np.int64]

_NO_MASK = np.empty(0, np.bool_)
_NOTHING = np.empty(0, np.int32)
_LEAST = 4_096  # places of a table at first: 64 KiB


class KeyTable:
    """Key tuples and their ids 0 to `size`. Equal keys are equal: NaN equals NaN, -0.0 equals 0.0, null equals null.

    Several columns become ids column by column; then pairs of ids become ids, from the left. Without columns there
    is one key, of id 0.

    >>> table = KeyTable([pa.string(), pa.float64()])
    >>> table.encode([pa.chunked_array([["a", None, "a"]]), pa.chunked_array([[-0.0, 0.0, 0.0]])]).tolist()
    [0, 1, 0]
    >>> [column.to_pylist() for column in table.arrays(np.array([1, 0]))]
    [[None, 'a'], [0.0, 0.0]]
    """

    def __init__(self, types: list[pa.DataType]) -> None:
        self._columns: list[_Part] = [_part(type_) for type_ in types]
        self._pairs = [_Numbers() for _ in self._columns[1:]]

    @property
    def size(self) -> int:
        """How many keys there are."""
        if not self._columns:
            return 1
        return self._pairs[-1].size if self._pairs else self._columns[0].size

    @property
    def nbytes(self) -> int:
        """The bytes of the tables."""
        return sum(part.nbytes for part in self._columns) + sum(pairs.nbytes for pairs in self._pairs)

    def encode(self, columns: list[pa.ChunkedArray]) -> Int64s:
        """The id of each row's key; new keys get new ids."""
        ids = self._columns[0].encode(columns[0])
        for part, pairs, column in zip(self._columns[1:], self._pairs, columns[1:], strict=True):
            # Ids stay below 2**31: that many would not fit into memory.
            ids = pairs.ids((ids << 32) | part.encode(column), None)
        return ids

    def arrays(self, ids: Int64s) -> list[pa.Array]:
        """The key columns of ids, in their original types."""
        found: list[pa.Array] = []
        for part, pairs in zip(self._columns[:0:-1], self._pairs[::-1], strict=True):
            both = pairs.known[ids]
            found.append(part.array(both & 0xFFFFFFFF))
            ids = both >> 32
        found += [part.array(ids) for part in self._columns[:1]]
        return found[::-1]

    def compact(self, keep: Mask) -> Int64s:
        """Forget all keys but those to keep, a mask over ids; gives the new id of each old one, -1 where forgotten.

        Ids keep their order.
        """
        if not self._columns:
            return np.zeros(1, np.int64)
        moved = _renumbered(keep)
        kept = np.flatnonzero(keep)
        for part, pairs in zip(self._columns[:0:-1], self._pairs[::-1], strict=True):
            left, right = pairs.known[kept] >> 32, pairs.known[kept] & 0xFFFFFFFF
            used, used_right = np.unique(left), np.unique(right)
            part.retain(used_right)
            pairs.reset((np.searchsorted(used, left) << 32) | np.searchsorted(used_right, right), -1)
            kept = used
        self._columns[0].retain(kept)
        return moved


def _renumbered(keep: Mask) -> Int64s:
    return np.where(keep, np.cumsum(keep) - 1, -1)


class _Part(Protocol):
    """The distinct values of one key column."""

    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def encode(self, column: pa.ChunkedArray) -> Int64s: ...
    def array(self, ids: Int64s) -> pa.Array: ...
    def retain(self, ids: Int64s) -> None: ...


class _Numbers:
    """Distinct int64 values and their ids."""

    def __init__(self) -> None:
        self.reset(np.empty(0, np.int64), -1)

    def reset(self, known: Int64s, null: int) -> None:
        """Hold these values, in this order; `null` is which of them stands for null."""
        self._state = np.array([len(known), null])
        self._allot(max(_LEAST, 4 << len(known).bit_length()), known)

    def _allot(self, places: int, known: Int64s) -> None:
        self._base, self._near, self._looked = 0, _NOTHING, 0
        self._table = np.zeros((places, 2), np.int64)
        self.known = np.zeros(places // 2, np.int64)
        self.known[: len(known)] = known
        if len(known):
            from muntin.kernels.hashing import refill

            refill(self.known, len(known), self._state[1], self._table)

    @property
    def size(self) -> int:
        return int(self._state[0])

    @property
    def nbytes(self) -> int:
        return self._table.nbytes + self.known.nbytes + self._near.nbytes

    @property
    def null(self) -> int:
        """The id of null, -1 where there is none."""
        return int(self._state[1])

    def ids(self, values: Int64s, valid: Mask | None) -> Int64s:
        """The id of each value; new values get new ids."""
        from muntin.kernels.hashing import lookup

        ids = np.empty(len(values), np.int64)
        mask = _NO_MASK if valid is None else valid
        done = 0
        while done < len(values):
            if self.size > 2 * self._looked:
                self._look_near()
            near = (self._base, self._near)
            done = lookup(values, mask, done, *near, self._table, self.known, self._state, ids)
            if done < len(values):
                self._allot(4 * len(self._table), self.known[: self.size])
        return ids

    def _look_near(self) -> None:
        """Where the values so far lie close together: a list of all that lie there, and as far again on both sides."""
        self._looked = self.size
        known = self.known[: self.size]
        low, high = int(known.min()), int(known.max())
        width = high - low + 1
        if width <= len(self._table) and width > len(self._near) // 3:
            self._base = max(low - width, int(np.iinfo(np.int64).min))
            self._near = np.zeros(3 * width, np.int32)


def key_bits(column: pa.ChunkedArray, dtype: np.dtype[Any]) -> tuple[Int64s, Mask | None]:
    """Numbers as int64 that are equal where the keys are, and which are valid.

    >>> key_bits(pa.chunked_array([[-0.0, 0.0]]), np.dtype(np.float64))
    (array([0, 0]), None)
    """
    values, valid = read(column, dtype)
    if dtype.kind == "f":
        values = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        values[values != values] = np.nan  # there are many NaN, and one key
        values = values.view(np.int64)
    return np.ascontiguousarray(values.astype(np.int64, copy=False)), valid


class _NumberColumn:
    """A key column of numbers, times or booleans."""

    def __init__(self, type_: pa.DataType, dtype: np.dtype[Any]) -> None:
        self._type, self._dtype, self._numbers = type_, dtype, _Numbers()

    @property
    def size(self) -> int:
        return self._numbers.size

    @property
    def nbytes(self) -> int:
        return self._numbers.nbytes

    def encode(self, column: pa.ChunkedArray) -> Int64s:
        return self._numbers.ids(*key_bits(column, self._dtype))

    def array(self, ids: Int64s) -> pa.Array:
        values = self._numbers.known[ids]
        if self._dtype.kind == "f":
            values = values.view(np.float64)
        null = self._numbers.null
        return to_arrow(values.astype(self._dtype), None if null < 0 else ids != null, self._type)

    def retain(self, ids: Int64s) -> None:
        null = self._numbers.null
        place = int(np.searchsorted(ids, null))
        self._numbers.reset(self._numbers.known[ids], place if place < len(ids) and ids[place] == null else -1)


class _TextColumn:
    """A key column of texts, bytes, decimals: whatever is no number."""

    def __init__(self, type_: pa.DataType) -> None:
        self._values = Interner(type_)

    @property
    def size(self) -> int:
        return len(self._values)

    @property
    def nbytes(self) -> int:
        return self._values.nbytes

    def encode(self, column: pa.ChunkedArray) -> Int64s:
        return self._values.encode_with_null(column)

    def array(self, ids: Int64s) -> pa.Array:
        return self._values.decode(ids)

    def retain(self, ids: Int64s) -> None:
        self._values.retain(ids)


class _Wrapped:
    """A key column of an extension type."""

    def __init__(self, type_: pa.DataType) -> None:
        self._type, self._inner = type_, _part(type_.storage_type)

    @property
    def size(self) -> int:
        return self._inner.size

    @property
    def nbytes(self) -> int:
        return self._inner.nbytes

    def encode(self, column: pa.ChunkedArray) -> Int64s:
        return self._inner.encode(unwrapped(column))

    def array(self, ids: Int64s) -> pa.Array:
        return pa.ExtensionArray.from_storage(self._type, self._inner.array(ids))

    def retain(self, ids: Int64s) -> None:
        self._inner.retain(ids)


class _NullColumn:
    """A key column without a type: there is one value, null."""

    def __init__(self) -> None:
        self.size = self.nbytes = 0

    def encode(self, column: pa.ChunkedArray) -> Int64s:
        self.size = max(self.size, int(len(column) > 0))
        return np.zeros(len(column), np.int64)

    def array(self, ids: Int64s) -> pa.Array:
        return pa.nulls(len(ids))

    def retain(self, ids: Int64s) -> None:
        self.size = len(ids)


def _part(type_: pa.DataType) -> _Part:
    if isinstance(type_, pa.BaseExtensionType):
        return _Wrapped(type_)
    if pa.types.is_null(type_):
        return _NullColumn()
    dtype = dtype_of(type_)
    return _TextColumn(type_) if dtype is None else _NumberColumn(type_, dtype)
