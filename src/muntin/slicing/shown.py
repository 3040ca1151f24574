"""The slices of an engine as a table, for people who want to look."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from muntin.layout import Layout
from muntin.slicing.bare import counted
from muntin.slicing.kept_values import KeptValues
from muntin.slicing.keys import KeyTable
from muntin.slicing.sliced import Sliced
from muntin.slicing.slices import N
from muntin.slicing.values import to_arrow

__all__ = ["slices_table"]


def slices_table(layout: Layout, sliced: Sliced | None, keys: KeyTable, kept: KeptValues) -> pa.Table:
    """A row for each key with events in each slice, by the time of the slices."""
    stamp = layout.results.field("window").type.field("start").type
    by = [layout.schema.field(name) for name in layout.spec.by]
    stamps = [pa.field(name, stamp) for name in ("start", "end", "first", "last")]
    schema = pa.schema([*by, *stamps, pa.field("n", pa.int64())])
    if sliced is None or not len(sliced.slices):
        return schema.empty_table()
    slices = sliced.slices
    if sliced.bare:
        row, key, n = counted(slices.starts, slices.ends, kept.taken_by(sliced.keeping))
    else:
        slices.need(0)
        if slices.sparse is not None:
            cells, key, row = slices.sparse.listed(0, len(slices))
        else:
            key, cells = slices.occupied(0, len(slices))
            row = cells // slices.stride - slices.first_row
        order = np.lexsort((key, row))
        key, row, n = key[order], row[order], slices.columns[N][cells[order]]
    columns = [] if not by else keys.arrays(key)
    times = (slices.starts, slices.ends, *slices.event_times())
    columns += [to_arrow(each[row], None, stamp) for each in times]
    columns.append(pa.array(n))
    return pa.Table.from_arrays(columns, schema=schema)
