"""What a user sees: explain on Spark, and the live table of batches."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from rich.console import Console

import muntin as mt
import muntin.spark
from tests.spark.logs import Folder, cut, table


def test_a_live_table_of_batches_and_what_explain_says(spark: Any, tmp_path: Path) -> None:
    spec = mt.over("ts", by="key", disorder="5 ms").window("w", mt.sliding("20 ms", every="5 ms"), n=mt.count())
    folder = Folder(tmp_path / "in")
    folder.put(*cut(table(21, behind=20), 1, 2))
    stream = folder.stream(spark)
    told = spec.explain(stream)
    assert "read:     the time, and 1 of 9 columns: key" in told
    assert "slices are cut and combined" in told
    assert "2 buckets of keys; each is one call per batch" in told
    assert "about 5 slices over 25 milliseconds" in told
    assert "rows pass as they are, since a late output may need any row whole" in spec.explain(stream, late=True)
    out = io.StringIO()
    with muntin.spark.watch(spark, Console(file=out, width=120)) as progress:
        spec.start(
            stream,
            results=lambda frame, batch_id: frame.collect(),
            checkpoint=str(tmp_path / "c"),
            trigger={"availableNow": True},
            flush=True,
        )
        # Spark tells listeners a little later.
        for _ in range(100):
            if progress.totals["rows"] == 200:
                break
            import time

            time.sleep(0.1)
    assert progress.totals["rows"] == 200
    assert progress.totals["windows"] > 0
    assert "windows" in out.getvalue()
