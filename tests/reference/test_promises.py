"""What the design promises of every engine, checked on the reference itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import muntin as mt
from tests.reliability.sizes import examples
from tests.strategies import cuts, last_revisions, rows_of, specs, streams


@examples(75)
@given(specs(idle=False), st.data())
def test_within_bounds_nothing_is_late_and_cuts_do_not_matter(spec: mt.Spec, data: Any) -> None:
    batches = data.draw(cuts(data.draw(streams(spec))))
    engine = spec.engine(engine="reference")
    tables = [engine.push(batch) for batch in batches]
    tables.append(engine.flush())
    assert engine.late().num_rows == 0
    whole = spec.apply(pa.concat_tables(batches), engine="reference")
    assert last_revisions(tables, spec) == last_revisions([whole], spec)
    if spec.lateness == 0:
        assert {row["revision"] for table in tables for row in table.to_pylist()} <= {0}


@examples(30)
@given(specs(), st.data())
def test_each_identity_appears_at_most_once_per_step(spec: mt.Spec, data: Any) -> None:
    engine = spec.engine(engine="reference")
    for batch in data.draw(cuts(data.draw(streams()))):
        rows = rows_of(engine.push(batch).drop_columns(["revision"]))
        assert len(rows) == len(set(map(repr, rows)))
