"""The demonstration on Spark agrees with the embedded engine on the same flights."""

from __future__ import annotations

import importlib.resources
import io
from pathlib import Path
from typing import Any

from rich.console import Console

from muntin.demo import flights
from muntin.pipeline import load
from muntin.spark.demo import run
from tests.strategies import last_revisions


def test_the_demonstration_shows_every_window_and_draws(spark: Any, tmp_path: Path) -> None:
    out = io.StringIO()
    plot = tmp_path / "demo.png"
    results = run(Console(file=out, width=120), months=1, plot=plot)
    spec = load(importlib.resources.files("muntin").joinpath("demo.toml").read_text(), tmp_path).spec
    for query in spec.queries:
        assert query.name in out.getvalue()
    assert f"{results.num_rows:,} windows from {flights(1).num_rows:,} flights" in out.getvalue()
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "already reported, 0 late rows" in out.getvalue()
    # Nothing was late, so the stream ends with the windows of the whole table.
    whole = spec.apply(flights(1))
    assert last_revisions([results.select(whole.column_names)], spec) == last_revisions([whole], spec)
