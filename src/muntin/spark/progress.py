"""A live table of what the streams of a session do, batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from rich.console import Console
from rich.live import Live
from rich.table import Table

from muntin.spark.step import COMPRESSION
from muntin.spark.stream import METRICS

__all__ = ["Progress", "watch"]


class Progress(StreamingQueryListener):
    """Keeps the last batches of all Muntin queries of a session; `table()` shows them.

    `watch` adds one to a session for a while. By itself: `spark.streams.addListener(Progress())`.
    """

    def __init__(self, most: int = 12, show: Any = None) -> None:
        self._rows: deque[dict[str, Any]] = deque(maxlen=most)
        self._show = show
        self.totals = {"rows": 0, "windows": 0, "late": 0, "rejected": 0}

    def onQueryStarted(self, event: Any) -> None:
        """Nothing to show yet."""

    def onQueryIdle(self, event: Any) -> None:
        """Nothing new."""

    def onQueryTerminated(self, event: Any) -> None:
        """What was shown stays."""

    def onQueryProgress(self, event: Any) -> None:
        """One more batch."""
        row = measured(event.progress)
        if row is None:
            return
        self._rows.append(row)
        for name in self.totals:
            self.totals[name] += row[name]
        if self._show is not None:
            self._show(self.table())

    def table(self) -> Table:
        """The last batches, newest below."""
        table = Table(title="batches")
        more = ("compr.", "decompr.", "compressed") if any("compressions" in row for row in self._rows) else ()
        for name in ("batch", "rows", "rows/s", "windows", "late", "rejected", "state", *more, "seconds"):
            table.add_column(name, justify="right")
        for row in self._rows:
            rate = row["rows"] / row["seconds"] if row["seconds"] else 0.0
            counts = [f"{row[name]:,}" for name in ("windows", "late", "rejected")]
            counts.append(f"{row['state'] / 1e6:,.1f} MB")
            if "compressions" in row:
                counts += [f"{row['compressions']:,}", f"{row['decompressions']:,}"]
                counts.append(f"{row['bytes_compressed'] / 1e6:,.1f} of {row['bytes_open'] / 1e6:,.1f} MB")
            elif more:
                counts += [""] * len(more)
            table.add_row(str(row["batch"]), f"{row['rows']:,}", f"{rate:,.0f}", *counts, f"{row['seconds']:.1f}")
        return table


def measured(progress: Any) -> dict[str, Any] | None:
    """The numbers of one batch; None where it is of no Muntin query."""
    found = (progress.observedMetrics or {}).get(METRICS)
    if found is None:
        return None
    metrics = {name: value or 0 for name, value in found.asDict().items()}
    return {
        "batch": progress.batchId,
        "rows": metrics["rows_in"],
        "windows": metrics["windows_out"],
        "late": sum(value for name, value in metrics.items() if name.startswith("late ")),
        "rejected": metrics["rejected"],
        "state": sum(operator.memoryUsedBytes for operator in progress.stateOperators),
        "seconds": progress.durationMs.get("triggerExecution", 0) / 1_000,
    } | {name: metrics[name] for name in COMPRESSION if name in metrics}


@contextmanager
def watch(spark: SparkSession, console: Console | None = None) -> Iterator[Progress]:
    """Show a live table of all batches that end within the block.

    ```
    with muntin.spark.watch(spark):
        spec.start(stream, ..., trigger={"availableNow": True}, flush=True)
    ```
    """
    with Live(console=console, auto_refresh=False) as live:
        listener = Progress(show=lambda table: live.update(table, refresh=True))
        spark.streams.addListener(listener)
        try:
            yield listener
        finally:
            spark.streams.removeListener(listener)
