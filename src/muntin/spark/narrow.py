"""Tables with whole numbers in as few bytes as they need, for the way from one stage to another.

Every byte of a blob is copied by Spark several times between processes, and written into the state where rows are kept.
Times of one batch lie close together, keys are often few: as differences from the least they fit into fewer bytes.
Nothing is lost.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["narrowed", "widened"]

_LEAST = b"muntin least"
_SCHEMA = b"muntin schema"
_WIDTHS = [(1 << 8, pa.uint8()), (1 << 16, pa.uint16()), (1 << 32, pa.uint32())]


def narrowed(table: pa.Table) -> pa.Table:
    """The same table with integers and times as small differences, and how to get them back in its metadata.

    >>> table = pa.table({"ts": pa.array([1_700_000_000_000_000, 1_700_000_000_000_900], pa.timestamp("us"))})
    >>> narrowed(table).column("ts").to_pylist(), widened(narrowed(table)).equals(table)
    ([0, 900], True)
    """
    least: dict[str, int] = {}
    columns = list(table.columns)
    for i, field in enumerate(table.schema):
        if not _is_long(field.type) or not len(table):
            continue
        numbers = columns[i].cast(pa.int64())
        low, high = (value.as_py() for value in pc.min_max(numbers).values())
        if low is None:
            continue
        width = next((type_ for limit, type_ in _WIDTHS if high - low < limit), None)
        if width is None:
            continue
        columns[i] = pc.subtract(numbers, pa.scalar(low, pa.int64())).cast(width)
        least[str(i)] = low
    if not least:
        return table
    names = table.schema.names
    told = {_LEAST: json.dumps(least).encode(), _SCHEMA: table.schema.serialize().to_pybytes()}
    return pa.table(columns, names=names, metadata=told)


def widened(table: pa.Table) -> pa.Table:
    """The table that `narrowed` was given."""
    told = table.schema.metadata
    if not told or _LEAST not in told:
        return table
    schema = pa.ipc.read_schema(pa.py_buffer(told[_SCHEMA]))
    columns = list(table.columns)
    for place, low in json.loads(told[_LEAST]).items():
        i = int(place)
        wide = pc.add(columns[i].cast(pa.int64()), pa.scalar(low, pa.int64()))
        columns[i] = wide.cast(schema.field(i).type)
    return pa.table(columns, schema=schema)


def _is_long(type_: pa.DataType) -> bool:
    return bool(pa.types.is_int64(type_) or pa.types.is_timestamp(type_))
