"""Buckets: which keys go together, and labels that Spark spreads evenly over its partitions.

The state of all keys of a bucket is one engine. A key's bucket follows from its values alone, by a hash that never
changes; a bucket's label is a number whose own hash, Spark's, leads to the partition that it should go to.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.slicing.keys import KeyTable
from muntin.slicing.spread import key_hashes

__all__ = ["Buckets", "bucket_of_keys", "labels", "partition_of"]

Int64s = npt.NDArray[np.int64]

_SEED = 42  # of Spark's hash partitioning


def partition_of(label: npt.NDArray[np.int32], partitions: int) -> Int64s:
    """The partition to which Spark sends an int: Murmur3 (x86, 32 bits), modulo the number of partitions.

    >>> partition_of(np.arange(4, dtype=np.int32), 4).tolist()
    [3, 3, 2, 3]
    """
    with np.errstate(over="ignore"):
        k = label.astype(np.uint32) * np.uint32(0xCC9E2D51)
        k = (k << np.uint32(15)) | (k >> np.uint32(17))
        h = np.uint32(_SEED) ^ (k * np.uint32(0x1B873593))
        h = (h << np.uint32(13)) | (h >> np.uint32(19))
        h = h * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    return h.view(np.int32).astype(np.int64) % partitions


def labels(buckets: int, partitions: int) -> list[int]:
    """A label for each bucket, such that bucket i lands in partition i modulo the number of partitions.

    >>> found = labels(6, 4)
    >>> partition_of(np.array(found, np.int32), 4).tolist()
    [0, 1, 2, 3, 0, 1]
    """
    found: list[int] = []
    tried = np.arange(max(4_096, 64 * max(buckets, partitions)), dtype=np.int32)
    lands = partition_of(tried, partitions)
    free = {p: iter(tried[lands == p].tolist()) for p in range(min(partitions, buckets))}
    for i in range(buckets):
        label = next(free[i % partitions], None)
        if label is None:
            raise ValueError(f"no label for bucket {i} of {buckets} on {partitions} partitions")
        found.append(label)
    return found


def bucket_of_keys(columns: list[pa.Array], buckets: int) -> Int64s:
    """The bucket of each key, from its values: the same in every process and in every version.

    >>> bucket_of_keys([pa.array(["a", "b", None]), pa.array([1, 1, 2])], 8).tolist()
    [2, 6, 4]
    """
    hashes = key_hashes([pa.chunked_array([column]) for column in columns])
    return (hashes % np.uint64(buckets)).astype(np.int64)


class Buckets:
    """The bucket of each row: keys are hashed once, when they are first seen.

    >>> Buckets([pa.string()], 8).of([pa.chunked_array([["a", "b", "a"]])]).tolist()
    [4, 6, 4]
    """

    def __init__(self, types: list[pa.DataType], buckets: int) -> None:
        self._keys, self._buckets = KeyTable(types), buckets
        self._known = np.empty(0, np.int64)

    def of(self, columns: list[pa.ChunkedArray]) -> Int64s:
        """The bucket of each row."""
        ids = self._keys.encode(columns)
        first, size = len(self._known), self._keys.size
        if size > first:
            new = bucket_of_keys(self._keys.arrays(np.arange(first, size)), self._buckets)
            self._known = np.concatenate([self._known, new])
        return self._known[ids]
