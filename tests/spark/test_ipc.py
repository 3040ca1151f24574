"""Tables as bytes: what is narrowed comes back as it was."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.spark.ipc import opened, packed
from muntin.spark.narrow import narrowed, widened

_LONGS = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-300, 300), st.integers(2**62, 2**62 + 70_000)
)


@given(st.lists(st.tuples(_LONGS, _LONGS, st.text(max_size=3)), max_size=30), st.integers(1, 30))
def test_narrowed_and_widened_is_the_same(rows: list[tuple[int | None, int | None, str]], cut: int) -> None:
    table = pa.table(
        {
            "n": pa.array([row[0] for row in rows], pa.int64()),
            "ts": pa.array([row[1] for row in rows], pa.timestamp("us", "UTC")),
            "text": pa.array([row[2] for row in rows], pa.string()),
        },
        metadata={b"newest": b"5"},
    )
    chunks = pa.Table.from_batches(table.to_batches(max_chunksize=cut), table.schema)
    for given_ in (table, chunks, table.slice(1)):
        back = widened(narrowed(given_))
        assert back.equals(given_)
        assert back.schema.equals(given_.schema, check_metadata=True)


@pytest.mark.parametrize(
    ("spread", "width"), [(255, 1), (256, 2), (65_535, 2), (65_536, 4), (2**32 - 1, 4), (2**32, 8)]
)
def test_as_few_bytes_as_the_spread_needs(spread: int, width: int) -> None:
    low = -(2**63)
    table = narrowed(pa.table({"n": pa.array([low, low + spread, None], pa.int64())}))
    assert table.schema.field("n").type.bit_width == 8 * width
    assert widened(table).column("n").to_pylist() == [low, low + spread, None]


def test_a_large_table_is_small_as_bytes() -> None:
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    rows = 20_000
    table = pa.table({"ts": pa.array([start + dt.timedelta(milliseconds=i) for i in range(rows)]), "x": [7] * rows})
    blob = packed(table)
    assert len(blob) < table.nbytes / 3
    assert opened(blob).equals(table)
