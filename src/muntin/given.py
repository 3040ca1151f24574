"""What `explain` is given: a frame of any kind, its schema, or nothing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from muntin.errors import SpecError
from muntin.spec import Spec

__all__ = ["prepared_schema", "rows_of", "schema_of"]


def schema_of(frame: Any) -> Any:
    """The pyarrow schema of a frame, of a schema itself, or None."""
    if frame is None or isinstance(frame, pa.Schema):
        return frame
    from muntin.frames import to_arrow

    return to_arrow(frame).table.schema


def prepared_schema(spec: Spec, schema: Any) -> Any:
    """The schema with the columns that are computed; None stays None."""
    if schema is None or not spec.rows:
        return schema
    from muntin.sql.rows import prepared

    return prepared(spec, schema.empty_table()).schema


def rows_of(spec: Spec, frame: Any) -> Any:
    """The rows of a frame that count, for a sample; an error where there are none."""
    if frame is None or isinstance(frame, pa.Schema):
        raise SpecError(
            "rate='sample' takes the rate from a frame, and none is given. Write explain(frame, rate='sample')."
        )
    from muntin.engine import prepared
    from muntin.frames import to_arrow

    return prepared(spec, to_arrow(frame).table)
