"""A query on the frames that it names."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import SqlError, nearest
from muntin.frames import is_spark, to_arrow
from muntin.sql.places import error
from muntin.sql.read import Read, Shown

__all__ = ["run"]


def run(found: Read, frames: dict[str, Any]) -> Any:
    """All windows of the frame that a query is over; the result is of the frame's kind."""
    if found.table not in frames:
        raise error(
            found.text,
            found.place,
            f"no frame is named {found.table!r}. {nearest(found.table, frames)} Give it by "
            f"name: mt.sql(text, {found.table}=frame).",
        )
    unused = [name for name in frames if name != found.table]
    if unused:
        raise SqlError(
            f"the query is over {found.table!r} alone, and {', '.join(map(repr, unused))} is given beside it."
        )
    frame = frames[found.table]
    if is_spark(frame):
        from muntin.spark.rows import shown_columns

        found.check_columns(frame.columns)
        result = found.spec.apply(frame)
        return result if found.shown is None else shown_columns(result, wanted(found))
    given = to_arrow(frame)
    found.check_columns(given.table.schema.names)
    results = found.spec.apply(given.table)
    return given.restore(results if found.shown is None else selected(results, wanted(found)))


def wanted(found: Read) -> tuple[Shown, ...]:
    """The columns of a table function; where windows may be corrected, which correction it is comes along."""
    assert found.shown is not None
    if not found.spec.lateness or any(column.what == "revision" for column in found.shown):
        return found.shown
    return (*found.shown, Shown("revision", "revision"))


def selected(results: pa.Table, shown: tuple[Shown, ...]) -> pa.Table:
    """Columns of results under the names that a query gives them."""
    columns = {}
    for column in shown:
        if column.what in ("window_start", "window_end", "window_time"):
            bound = pc.struct_field(results.column("window"), "start" if column.what == "window_start" else "end")
            if column.what == "window_time":
                bound = pc.subtract(bound, pa.scalar(1_000, pa.duration("us")))
            columns[column.name] = bound
        else:
            columns[column.name] = results.column(column.what)
    return pa.table(columns)
