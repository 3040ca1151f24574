"""Sinks of a stream: a table, a path or a function. Each batch is written once, even when it is retried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from muntin.errors import SpecError

__all__ = ["Calls", "Path", "Sink", "Table", "sink"]

_TABLE = re.compile(r"(\w+|`([^`]|``)+`)(\.(\w+|`([^`]|``)+`))*")


@dataclass(frozen=True)
class Path:
    """Files: a batch is the folder `batch_id=N`, overwritten where it is there already."""

    path: str
    format: str = "parquet"

    def write(self, frame: DataFrame, batch_id: int | str, rows: int) -> None:
        """Write one batch; one without rows leaves no folder."""
        if rows:
            frame.write.format(self.format).mode("overwrite").save(f"{self.path.rstrip('/')}/batch_id={batch_id}")


@dataclass(frozen=True)
class Table:
    """A table: a batch is its partition `batch_id`, a string, overwritten where it is there already."""

    name: str

    def write(self, frame: DataFrame, batch_id: int | str, rows: int) -> None:
        """Write one batch; the first makes the table."""
        spark = frame.sparkSession
        if not spark.catalog.tableExists(self.name):
            frame.withColumn("batch_id", F.lit(str(batch_id))).write.partitionBy("batch_id").saveAsTable(self.name)
        elif rows:
            # One partition named in full: whatever the session's mode of overwriting, the others stay.
            spark.sql(
                f"INSERT OVERWRITE TABLE {self.name} PARTITION (batch_id='{batch_id}') SELECT * FROM {{batch}}",
                batch=self._fitted(frame),
            )

    def _fitted(self, frame: DataFrame) -> DataFrame:
        """The columns in the order of the table; those of windows that were added since are added to it."""
        spark = frame.sparkSession
        has = [name for name in spark.table(self.name).columns if name != "batch_id"]
        if has == frame.columns:
            return frame
        new = [field for field in frame.schema.fields if field.name not in has]
        if new:
            added = ", ".join(f"{_quoted(field.name)} {field.dataType.simpleString()}" for field in new)
            spark.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({added})")
        has = [name for name in spark.table(self.name).columns if name != "batch_id"]
        return frame.select(
            *(F.col(_quoted(name)) if name in frame.columns else F.lit(None).alias(name) for name in has)
        )


@dataclass(frozen=True)
class Calls:
    """A function of the batch and its number; to write it only once is the function's own business."""

    function: Callable[[DataFrame, Any], None]

    def write(self, frame: DataFrame, batch_id: int | str, rows: int) -> None:
        """Hand one batch over."""
        self.function(frame, batch_id)


Sink = Path | Table | Calls


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def sink(given: object, what: str) -> Sink:
    """The sink that a user means: a function, `(path, format)`, a path (it has a slash), or the name of a table.

    >>> sink("/data/out", "results"), sink(("/data/late", "json"), "late"), sink("db.windows", "results")
    (Path(path='/data/out', format='parquet'), Path(path='/data/late', format='json'), Table(name='db.windows'))
    """
    if callable(given):
        return Calls(given)
    if isinstance(given, str) and "/" in given:
        return Path(given)
    if isinstance(given, str) and given:
        # It becomes part of a statement, and may come from a file.
        if not _TABLE.fullmatch(given):
            raise SpecError(
                f"{what}={given!r} is no name of a table. Give parts of letters, digits and _ with dots between them "
                f"(others in backticks), or a path, which has a slash."
            )
        return Table(given)
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(part, str) and part for part in given):
        return Path(*given)
    raise SpecError(
        f"{what}={given!r} is no sink. Give the name of a table, a path, a pair (path, format), or a function of a "
        f"DataFrame and the batch's number."
    )
