"""Rows by bucket: every row in the part of its bucket, in the order in which it came, whatever its columns are."""

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from muntin.spark.parting import parted

TYPES = {
    "long": pa.int64(),
    "short": pa.int16(),
    "byte": pa.uint8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "time": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
    "flag": pa.bool_(),
    "word": pa.string(),
    "some": pa.list_(pa.int64()),
}


def column(name: str, numbers: list[int | None]) -> pa.Array:
    """Values of a type, made from small numbers."""
    made: dict[str, Any] = {"flag": bool, "word": str, "some": lambda n: [n] * (n % 3), "float": float, "double": float}
    return pa.array([None if n is None else made.get(name, int)(n) for n in numbers], TYPES[name])


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=40),
    st.sets(st.sampled_from(sorted(TYPES)), min_size=1),
    st.booleans(),
    st.integers(1, 7),
)
def test_parts_have_the_rows_of_their_buckets(
    rows: list[tuple[int, int]], names: set[str], nulls: bool, chunk: int
) -> None:
    which = np.array([bucket for bucket, _ in rows], np.int64)
    numbers = [None if nulls and n == 9 else n for _, n in rows]
    whole = pa.table({name: column(name, numbers) for name in sorted(names)})
    # As Spark hands them over: in several batches.
    table = pa.concat_tables([whole.slice(i, chunk) for i in range(0, max(len(rows), 1), chunk)])
    found = parted(table, which)
    assert set(found) == set(which.tolist())
    for bucket, part in found.items():
        assert part.schema == table.schema
        part.validate(full=True)
        assert part.to_pylist() == [row for row, b in zip(whole.to_pylist(), which, strict=True) if b == bucket]
