"""The demonstration runs, and what it shows agrees with plain arithmetic on the same flights."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from typer.testing import CliRunner

from muntin.cli import app
from muntin.demo import flights, last_revisions, spec
from tests.strategies import rows_of


def test_the_command_shows_every_window() -> None:
    shown = CliRunner().invoke(app, ["demo", "--embedded"])
    assert shown.exit_code == 0, shown.output
    for query in spec().queries:
        assert query.name in shown.output
    assert "75,294 windows from 328,521 flights" in shown.output
    assert "0 late rows" in shown.output


def test_a_replay_ends_with_the_windows_of_the_whole_table() -> None:
    """Whatever the batches: the last revisions are those of the reference on the finite frame."""
    table, engine = flights(months=1), spec().engine()
    tables = [engine.push(table.slice(i, 1_000)) for i in range(0, table.num_rows, 1_000)]
    replayed = last_revisions(pa.concat_tables([*tables, engine.flush()]))
    whole = last_revisions(spec().apply(table, engine="reference"))
    assert engine.late().num_rows == 0
    assert rows_of(replayed.drop_columns(["revision"])) == rows_of(whole.drop_columns(["revision"]))


def test_its_hours_agree_with_a_plain_group_by() -> None:
    table = flights(months=1)
    hours = table.append_column("hour", pc.floor_temporal(table["ts"], unit="hour"))
    plain = hours.group_by(["origin", "hour"]).aggregate([("delay", "count"), ("delay", "mean")])
    expected = {(r["origin"], r["hour"]): (r["delay_count"], r["delay_mean"]) for r in plain.to_pylist()}
    results = spec().apply(table).filter(pc.field("query") == "hour").to_pylist()
    found = {(r["origin"], r["window"]["start"]): (r["flights"], r["delay"]) for r in results}
    assert found.keys() == expected.keys()
    assert all(found[key][0] == expected[key][0] and abs(found[key][1] - expected[key][1]) < 1e-9 for key in found)
