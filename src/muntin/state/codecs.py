"""Codecs for bytes of state, through cramjam: Snappy (as in paper 5, section 5), LZ4, and Zstandard with its levels.

    block     codec (u8), size of what is in it (u64), checksum of the bytes that follow (u32), little-endian; the bytes

The declared size is checked against a limit before anything is allocated, and a codec writes into a buffer of just
that size: it can neither fill more, nor leave some of it unwritten.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.errors import SpecError, StateCorrupt, nearest

__all__ = ["CODECS", "Codec", "codec_of", "expand", "machine_limit", "squeeze", "suited"]

CODECS = {"none": 1, "snappy": 2, "lz4": 3, "zstd": 4}
"""The codecs by name, with the number that stands for each in the bytes; 0 is for states without a codec."""

_HEAD = struct.Struct("<BQI")
_NAMES = {number: name for name, number in CODECS.items()}
_LEVELS = range(1, 23)
_TRIED = 1 << 16  # bytes that "auto" is decided by
_WORTH = 0.8  # Zstandard takes about three times as long as LZ4: it has to make things so much smaller


@dataclass(frozen=True)
class Codec:
    """A codec, with the level of Zstandard.

    >>> Codec("zstd", 3)
    Codec(name='zstd', level=3)
    """

    name: str
    level: int = 1

    def __str__(self) -> str:
        return f"{self.name}:{self.level}" if self.name == "zstd" else self.name


def codec_of(text: object) -> Codec | None:
    """A codec as it is written: `"snappy"`, `"lz4"`, `"zstd"` or `"zstd:9"`, `"none"`; None stands for `"auto"`.

    >>> codec_of("zstd:9"), codec_of("auto")
    (Codec(name='zstd', level=9), None)
    """
    if text == "auto":
        return None
    name, colon, level = text.partition(":") if isinstance(text, str) else ("", "", "")
    if name not in CODECS:
        raise SpecError(f"codec={text!r} is unknown. {nearest(name, ['auto', *CODECS])}")
    if not colon:
        return Codec(name)
    if name != "zstd" or not level.isdecimal() or int(level) not in _LEVELS:
        raise SpecError(f"codec={text!r}: only zstd has levels, from 1 to {_LEVELS[-1]}, as in 'zstd:3'.")
    return Codec(name, int(level))


def suited(data: Any) -> Codec:
    """What `"auto"` takes for bytes like these: LZ4, or Zstandard where it makes them much smaller.

    >>> suited(bytes(100))
    Codec(name='lz4', level=1)
    """
    some = memoryview(data)[:_TRIED]
    fast, small = (len(_compressed(some, Codec(name))) for name in ("lz4", "zstd"))
    return Codec("zstd") if small < _WORTH * fast and fast - small > 64 else Codec("lz4")


def squeeze(data: Any, codec: Codec) -> bytes:
    """Bytes as a block of a codec.

    >>> len(squeeze(bytes(10_000), Codec("snappy"))) < 1_000
    True
    """
    raw = memoryview(data).cast("B")
    body = _compressed(raw, codec)
    return _HEAD.pack(CODECS[codec.name], len(raw), zlib.crc32(body)) + body


def expand(data: Any, limit: int | None = None) -> npt.NDArray[np.uint8]:
    """What is in a block; `StateCorrupt` says what is wrong with anything else, or with more than `limit` bytes.

    >>> bytes(expand(squeeze(b"abc", Codec("lz4"))))
    b'abc'
    """
    raw = memoryview(data).cast("B")
    if len(raw) < _HEAD.size:
        raise StateCorrupt(f"a block of {len(raw)} bytes is shorter than its head of {_HEAD.size}. {_AGAIN}")
    number, size, checksum = _HEAD.unpack_from(raw)
    body = raw[_HEAD.size :]
    if number not in _NAMES:
        raise StateCorrupt(f"a block has codec {number}, this Muntin knows {_NAMES}. Use a newer Muntin.")
    most = machine_limit() if limit is None else limit
    if size > most:
        raise StateCorrupt(f"a block declares {size} bytes, over the limit of {most}. {_AGAIN}")
    found = zlib.crc32(body)
    if found != checksum:
        raise StateCorrupt(f"the checksum of a block is {found:08x} and should be {checksum:08x}. {_AGAIN}")
    return _expanded(_NAMES[number], body, size)


_AGAIN = "Restore from another snapshot."


def machine_limit() -> int:
    """The memory of this machine: no state is larger, whatever it declares.

    >>> machine_limit() > 1 << 20
    True
    """
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # a system that does not say
        return 1 << 40


def _compressed(raw: memoryview, codec: Codec) -> bytes:
    import cramjam

    if codec.name == "none":
        return bytes(raw)
    if codec.name == "snappy":
        return bytes(cramjam.snappy.compress_raw(raw))
    if codec.name == "lz4":
        return bytes(cramjam.lz4.compress_block(raw, store_size=False))
    return bytes(cramjam.zstd.compress(raw, level=codec.level))


def _expanded(name: str, body: memoryview, size: int) -> npt.NDArray[np.uint8]:
    import cramjam

    if name == "none":
        if len(body) != size:
            raise StateCorrupt(f"a block declares {size} bytes and has {len(body)}. {_AGAIN}")
        return np.frombuffer(body, np.uint8)
    try:
        out = np.empty(size, np.uint8)
        into: Any = out
        if name == "snappy":
            got = cramjam.snappy.decompress_raw_into(body, into)
        elif name == "lz4":
            got = cramjam.lz4.decompress_block_into(body, into, output_len=size)
        else:
            got = cramjam.zstd.decompress_into(body, into)
    except MemoryError as error:
        raise StateCorrupt(f"a block declares {size} bytes, more than can be had. {_AGAIN}") from error
    except cramjam.DecompressionError as error:
        raise StateCorrupt(f"a block of {len(body)} bytes is not {name} of {size}: {error}. {_AGAIN}") from error
    if got != size:
        raise StateCorrupt(f"a block declares {size} bytes and has {got}. {_AGAIN}")
    return out
