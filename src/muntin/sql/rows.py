"""Rows of an Arrow table as a spec wants them: those that count, with the computed columns."""

from __future__ import annotations

import pyarrow as pa

from muntin.errors import FrameError
from muntin.spec import Spec
from muntin.sql.arrow import evaluated, kept_rows

__all__ = ["prepared"]


def prepared(spec: Spec, table: pa.Table) -> pa.Table:
    """Conditions first: a column is computed for the rows that count only.

    >>> import muntin as mt
    >>> spec = mt.over("ts").where("b <> 0").computed(ratio="a / b")
    >>> prepared(spec, pa.table({"a": [1, 2], "b": [0, 4]})).to_pydict()
    {'a': [2], 'b': [4], 'ratio': [0.5]}
    """
    given = table if spec.condition is None else kept_rows(table, spec.condition)
    found = given
    for name, text in spec.derived:
        if name in table.schema.names:
            raise FrameError(f"the frame has a column {name!r} already. Give the computed column another name.")
        found = found.append_column(name, evaluated(given, text))
    return found
