"""Column-wise encodings: what makes a column of state small before a codec sees its bytes.

    plain     the values as they are
    constant  one value
    offset    small domains: how far above the smallest, in steps of the greatest common divisor, in few bytes
    delta     times: the difference to the value before, written as `offset` writes values
    runs      run lengths, and the values of the runs
    dictionary  few distinct values of any type: their numbers
    shuffle   floats: the first bytes of all values, then the second ones, ...
    bits      bools, eight in a byte

All of them are exact: values are compared and subtracted as integers of their bits, so NaNs and -0.0 stay what they
are. Which one is taken goes by a sample of the column. Paper 5 leaves other techniques than Snappy over serialized
tuples as future work (section 7); what fits a column is what its neighbours have in common.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.errors import StateCorrupt

__all__ = ["ENCODINGS", "choose", "decode", "encode", "encoding_of"]

Array = npt.NDArray[Any]

ENCODINGS = ("plain", "constant", "offset", "delta", "runs", "dictionary", "shuffle", "bits")
"""The names, each at the number that stands for it in the bytes."""

PLAIN, CONSTANT, OFFSET, DELTA, RUNS, DICTIONARY, SHUFFLE, BITS = range(len(ENCODINGS))

SAMPLE = 1_024  # values that an encoding is chosen by: four stretches, since runs and deltas show only side by side
FEW = 16  # values that no encoding is worth the trouble for
# How much smaller an encoding has to be than others: to find runs or distinct values takes longer than to subtract.
_WORTH = {PLAIN: 1.0, OFFSET: 1.0, DELTA: 1.0, RUNS: 1.2, DICTIONARY: 1.5, SHUFFLE: 1.0}

_UNSIGNED: dict[int, np.dtype[Any]] = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
_SCALED = struct.Struct("<qQB")  # the smallest value, the step, and the bytes of each number; 0: all are smallest
_DELTA = struct.Struct("<q")  # the first value
_RUNS = struct.Struct("<QBQ")  # how many, the bytes of a length, and those of the values
_DICTIONARY = struct.Struct("<IB")  # how many values, and the bytes of a number


def encode(values: Array, how: str = "auto", codec: bool = True) -> bytes:
    """A column as bytes; `how` names an encoding, and where it does not fit the values another one is taken.

    Where no `codec` will see them, none that is only worth something with one.

    >>> len(encode(np.arange(0, 30_000_000_000, 30_000_000))), len(encode(np.zeros(1_000)))
    (26, 9)
    """
    flat = np.ascontiguousarray(values).ravel()
    if how == "auto":
        how = choose(flat, codec)
    number = ENCODINGS.index(how)
    if flat.dtype.kind == "b" and number not in (PLAIN, CONSTANT):
        number = BITS
    body = _body(_integers(flat), number, flat.dtype.kind == "b")
    if body is None:
        number = PLAIN if flat.dtype.itemsize == 1 else SHUFFLE
        body = _body(_integers(flat), number, False)
        assert body is not None
    return bytes([number]) + body


def encoding_of(data: bytes | memoryview) -> str:
    """The name of the encoding of some bytes.

    >>> encoding_of(encode(np.array([True, False] * 50)))
    'bits'
    """
    return ENCODINGS[data[0]]


def choose(values: Array, codec: bool = True) -> str:
    """The encoding that makes a sample of a column smallest after a fast codec; without a `codec` no shuffling.

    >>> choose(np.arange(1_000) * 30), choose(np.repeat([5, 900, 7], 400)), choose(np.zeros(50))
    ('delta', 'runs', 'constant')
    """
    import cramjam

    n = len(values)
    if n < FEW:
        return "plain"
    if values.dtype.kind == "b":
        return "constant" if _constant(_integers(values)) else "bits"
    if _constant(_integers(values)):
        return "constant"
    if n <= SAMPLE:
        sample = values
    else:
        part = SAMPLE // 4
        starts = [0, (n - part) // 3, 2 * (n - part) // 3, n - part]
        sample = np.concatenate([values[start : start + part] for start in starts])
    bits = _integers(sample)
    sizes = {}
    for number, worth in _WORTH.items():
        body = _body(bits, number, False) if codec or number != SHUFFLE else None
        if body is not None:
            sizes[number] = len(cramjam.lz4.compress_block(body, store_size=False)) * worth
    return ENCODINGS[min(sizes, key=lambda number: sizes[number])]


def _integers(values: Array) -> Array:
    """The values as signed integers of their bits."""
    return values.view(np.dtype(f"<i{values.dtype.itemsize}"))


def _constant(bits: Array) -> bool:
    return bool(bits[0] == bits[-1] and (bits == bits[0]).all()) if len(bits) else False


# -- writing -----------------------------------------------------------------------------------------------------------


def _body(bits: Array, number: int, bools: bool) -> bytes | None:
    """The bytes of one encoding; None where it does not fit."""
    if number == PLAIN:
        return bits.tobytes()
    if number == SHUFFLE:
        return _shuffled(bits)
    if number == BITS:
        return np.packbits(bits.view(np.bool_)).tobytes() if bools else None
    if not len(bits):
        return None
    if number == CONSTANT:
        return bits[:1].tobytes() if _constant(bits) else None
    if number == OFFSET:
        return _scaled(bits.astype(np.int64, copy=False))
    if number == DELTA:
        wide = bits.astype(np.int64, copy=False)
        steps = _scaled(wide, delta=True) if len(wide) > 1 else None  # differences wrap around, and so do sums
        return None if steps is None else _DELTA.pack(int(wide[0])) + steps
    if number == RUNS:
        return _runs(bits)
    return _dictionary(bits)


def _width(largest: int) -> int:
    return next(width for width in _UNSIGNED if largest < 1 << 8 * width)


def _shuffled(values: Array) -> bytes:
    width = values.dtype.itemsize
    if width == 1:
        return values.tobytes()
    return np.ascontiguousarray(values.view(np.uint8).reshape(-1, width).T).tobytes()


def _scaled(values: npt.NDArray[np.int64], delta: bool = False) -> bytes | None:
    """The values, or their differences, in steps above the smallest."""
    from muntin.kernels.packing import pack, scan  # here: `explain` needs no Numba

    found = np.empty(3, np.int64)
    scan(values, delta, found)
    low, high, step = found.tolist()
    if high - low >= 1 << 62:
        return None
    if high == low:
        return _SCALED.pack(low, 1, 0)
    width = _width((high - low) // step)
    out = np.empty((len(values) - delta) * width, np.uint8)
    pack(values, delta, low, step, width, out)
    return _SCALED.pack(low, step, width) + out.tobytes()


def _runs(bits: Array) -> bytes | None:
    starts = np.concatenate([[0], np.flatnonzero(bits[1:] != bits[:-1]) + 1])
    if 2 * len(starts) > len(bits):
        return None
    lengths = np.diff(starts, append=len(bits))
    width = _width(int(lengths.max()))
    values = bits[starts]
    inner = _scaled(values.astype(np.int64, copy=False))
    coded = bytes([OFFSET]) + inner if inner is not None else bytes([SHUFFLE]) + _shuffled(values)
    return _RUNS.pack(len(starts), width, len(coded)) + coded + _shuffled(lengths.astype(_UNSIGNED[width]))


def _dictionary(bits: Array) -> bytes | None:
    if len(bits) > SAMPLE and len(np.unique(bits[:SAMPLE])) > 256:  # sorting all of them would be for nothing
        return None
    distinct, numbers = np.unique(bits, return_inverse=True)
    if len(distinct) > 65_536 or 2 * len(distinct) > len(bits):
        return None
    width = _width(len(distinct) - 1)
    return _DICTIONARY.pack(len(distinct), width) + distinct.tobytes() + _shuffled(numbers.astype(_UNSIGNED[width]))


# -- reading, which trusts nothing -------------------------------------------------------------------------------------


def decode(data: bytes | memoryview, dtype: Any, count: int) -> Array:
    """The column that `encode` was given; it has `count` values of a dtype, and `StateCorrupt` says if it has not.

    No more is allocated than `count` values take, whatever the bytes say: check that first.

    >>> decode(encode(np.array([1.5, -0.0])), "f8", 2).tolist()
    [1.5, -0.0]
    """
    wanted = np.dtype(dtype)
    raw = memoryview(data)
    if not len(raw) or raw[0] >= len(ENCODINGS):
        raise _wrong(f"begins with {bytes(raw[:1])!r}, which is the number of no encoding")
    number = raw[0]
    if (number == BITS) != (wanted.kind == "b") and number not in (PLAIN, CONSTANT):
        raise _wrong(f"is of {wanted} and encoded as {ENCODINGS[number]}")
    if number == BITS:
        found: Array = np.unpackbits(_taken(raw[1:], np.dtype(np.uint8), -(-count // 8)), count=count).view(np.bool_)
        return found
    bits = _read(number, raw[1:], np.dtype(f"<i{wanted.itemsize}"), count)
    if wanted.kind == "b" and len(bits) and not 0 <= bits.min() <= bits.max() <= 1:
        raise _wrong("has bools that are neither 0 nor 1")
    return bits.view(wanted)


def _read(number: int, raw: memoryview, dtype: np.dtype[Any], count: int) -> Array:
    if number == PLAIN:
        return _taken(raw, dtype, count).copy()
    if number == SHUFFLE:
        return _unshuffled(raw, dtype, count)
    if not count:
        raise _wrong(f"has no values, and is encoded as {ENCODINGS[number]}")
    if number == CONSTANT:
        return np.full(count, _taken(raw, dtype, 1)[0])
    if number == OFFSET:
        return _narrowed(_unscaled(raw, count), dtype)
    if number == DELTA:
        (first,) = _head(_DELTA, raw)
        return _narrowed(_unscaled(raw[_DELTA.size :], count, first), dtype)
    return _read_runs(raw, dtype, count) if number == RUNS else _read_dictionary(raw, dtype, count)


def _head(form: struct.Struct, raw: memoryview) -> tuple[Any, ...]:
    if len(raw) < form.size:
        raise _wrong(f"ends after {len(raw)} bytes, within the first {form.size}")
    return form.unpack_from(raw)


def _taken(raw: memoryview, dtype: np.dtype[Any], count: int) -> Array:
    """So many values, and nothing after them."""
    if len(raw) != count * dtype.itemsize:
        raise _wrong(f"has {len(raw)} bytes for {count} values of {dtype}")
    return np.frombuffer(raw, dtype)


def _unshuffled(raw: memoryview, dtype: np.dtype[Any], count: int) -> Array:
    flat = _taken(raw, dtype, count)
    if dtype.itemsize == 1:
        return flat.copy()
    return flat.view(np.uint8).reshape(dtype.itemsize, count).T.copy(order="C").view(dtype).ravel()


def _unsigned(width: int) -> np.dtype[Any]:
    if width not in _UNSIGNED:
        raise _wrong(f"has numbers of {width} bytes")
    return _UNSIGNED[width]


def _unscaled(raw: memoryview, count: int, first: int | None = None) -> npt.NDArray[np.int64]:
    """Values in steps above the smallest; with a `first` one they are differences, and it is where the sums begin."""
    from muntin.kernels.packing import unpack

    low, step, width = _head(_SCALED, raw)
    rest = raw[_SCALED.size :]
    body = _taken(rest, np.dtype(np.uint8), (count - (first is not None)) * (_unsigned(width).itemsize if width else 0))
    wide = np.full(count, low, np.int64) if width == 0 else np.empty(count, np.int64)
    if width:
        unpack(body, first is not None, first or 0, low, step, width, wide)
    elif first is not None:
        wide[0] = first
        np.cumsum(wide, out=wide)
    return wide


def _narrowed(wide: npt.NDArray[np.int64], dtype: np.dtype[Any]) -> Array:
    if dtype.itemsize == 8:
        return wide
    if len(wide):
        limits = np.iinfo(dtype)
        if wide.min() < limits.min or wide.max() > limits.max:
            raise _wrong(f"has values that {dtype} does not hold")
    return wide.astype(dtype)


def _read_runs(raw: memoryview, dtype: np.dtype[Any], count: int) -> Array:
    runs, width, size = _head(_RUNS, raw)
    rest = raw[_RUNS.size :]
    if runs > count or not 0 < size <= len(rest) or rest[0] not in (OFFSET, SHUFFLE):
        raise _wrong(f"has {runs} runs in {size} of {len(rest)} bytes, for {count} values")
    lengths = _unshuffled(rest[size:], _unsigned(width), runs)
    # Each of them is looked at first: lengths that wrap around to the right sum would be repeated without end.
    if len(lengths) and (int(lengths.max()) > count or int(lengths.sum(dtype=np.float64)) > 2 * count):
        raise _wrong(f"has runs that are longer than its {count} values")
    if int(lengths.sum(dtype=np.uint64)) != count:
        raise _wrong(f"has runs of {int(lengths.sum(dtype=np.uint64))} values together, for {count}")
    return np.repeat(_read(rest[0], rest[1:size], dtype, runs), lengths.astype(np.int64))


def _read_dictionary(raw: memoryview, dtype: np.dtype[Any], count: int) -> Array:
    distinct, width = _head(_DICTIONARY, raw)
    size = distinct * dtype.itemsize
    rest = raw[_DICTIONARY.size :]
    if not 0 < size <= len(rest):
        raise _wrong(f"has a dictionary of {distinct} values in {len(rest)} bytes")
    numbers = _unshuffled(rest[size:], _unsigned(width), count)
    if int(numbers.max()) >= distinct:
        raise _wrong(f"names value {int(numbers.max())} of a dictionary of {distinct}")
    return np.frombuffer(rest[:size], dtype)[numbers]


def _wrong(what: str) -> StateCorrupt:
    return StateCorrupt(f"a column of the state {what}. Restore from another snapshot.")
