"""The late output: late and rejected rows with their original columns, a reason, the query and what was missed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.layout import Layout
from muntin.slicing.batch import Rejected

__all__ = ["LateRows"]

Int64s = npt.NDArray[np.int64]


class LateRows:
    """Collects the late rows of one batch, query by query."""

    def __init__(self, layout: Layout, rejected: Rejected | None = None) -> None:
        self._layout = layout
        self._rows: list[Int64s] = []
        self._reasons: list[list[str]] = []
        self._queries: list[Int64s] = []
        self._bounds: list[tuple[Int64s, Int64s, npt.NDArray[np.bool_]]] = []
        if rejected is not None and len(rejected):
            self.rejected(rejected.rows, rejected.reason)

    def rejected(self, rows: Int64s, reasons: Any) -> None:
        """Rows that no query can take."""
        self._add(rows, list(reasons), -1, None)

    def missed(self, rows: Int64s, query: int, bounds: tuple[Int64s, Int64s] | None, reason: str = "late") -> None:
        """Rows that one query cannot take, and from where to where they missed windows, where that is known."""
        self._add(rows, [reason] * len(rows), query, bounds)

    def _add(self, rows: Int64s, reasons: list[str], query: int, bounds: tuple[Int64s, Int64s] | None) -> None:
        if not len(rows):
            return
        self._rows.append(rows)
        self._reasons.append(reasons)
        self._queries.append(np.full(len(rows), query, np.int64))
        zeros = np.zeros(len(rows), np.int64)
        start, end = (zeros, zeros) if bounds is None else bounds
        self._bounds.append((start, end, np.full(len(rows), bounds is None)))

    def extend(self, other: LateRows, rows: Int64s) -> None:
        """Take over what was collected of a part of the batch; `rows` are where its rows stand in the whole."""
        self._rows += [rows[part] for part in other._rows]
        self._reasons += other._reasons
        self._queries += other._queries
        self._bounds += other._bounds

    def table(self, table: pa.Table) -> pa.Table | None:
        """The late rows of a batch in the order of arrival, within a row in the order of the queries."""
        if not self._rows:
            return None
        rows, queries = np.concatenate(self._rows), np.concatenate(self._queries)
        order = np.lexsort((queries, rows))
        reasons = pa.array([reason for part in self._reasons for reason in part], pa.string()).take(pa.array(order))
        names = pa.array([query.name for query in self._layout.queries], pa.string())
        queries = queries[order]
        which = pa.array(np.maximum(queries, 0), mask=queries < 0)
        start, end, unknown = (np.concatenate(parts)[order] for parts in zip(*self._bounds, strict=True))
        kind = self._layout.late.field("missed").type
        stamp = kind.field("start").type
        missed = pa.StructArray.from_arrays(
            [pa.array(start).cast(stamp), pa.array(end).cast(stamp)], fields=list(kind), mask=pa.array(unknown)
        )
        taken = table.take(pa.array(rows[order]))
        columns = [*taken.columns, reasons, names.take(which), missed]
        return pa.table(columns, schema=self._layout.late)
