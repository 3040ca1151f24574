"""What Muntin writes into a checkpoint folder: the spec and the buckets that its state belongs to.

It is written and read by Spark, so that it works wherever a checkpoint can lie. Each change adds a file; the one with
the highest number holds. So there is always one, also where a query was killed while it wrote.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from muntin.errors import SpecError, StateCorrupt

__all__ = ["Manifest", "agreed", "place", "read", "replace", "write"]

_FORMAT = 1
_FOLDER = "muntin"


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint was begun with, and goes on with."""

    spec: dict[str, Any]
    """The spec and the columns that are read; see `described`."""
    labels: tuple[int, ...]
    late: bool
    emit: str
    ended: bool = False
    """Whether it was flushed: then nothing may be added."""
    starts: dict[str, int] = field(default_factory=dict)
    """From when windows are exact that were added later, in microseconds."""
    version: int = 0


def place(checkpoint: str) -> str:
    """The folder within a checkpoint."""
    return f"{checkpoint.rstrip('/')}/{_FOLDER}"


def read(spark: SparkSession, checkpoint: str) -> Manifest | None:
    """What was written; None where the checkpoint is new."""
    try:
        found = spark.read.text(place(checkpoint), wholetext=True).collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    if not found:
        return None
    try:
        trees = [json.loads(row[0]) for row in found]
        if any(tree.pop("format") != _FORMAT for tree in trees):
            raise ValueError("it is of another format")
        tree = max(trees, key=lambda tree: tree["version"])
        return Manifest(**{**tree, "labels": tuple(tree["labels"])})
    except (ValueError, KeyError, TypeError) as error:
        raise StateCorrupt(
            f"{place(checkpoint)} is not what Muntin wrote there: {error}. Start with a new checkpoint."
        ) from error


def write(spark: SparkSession, checkpoint: str, manifest: Manifest) -> None:
    """Write it, beside what was there before."""
    text = json.dumps({"format": _FORMAT, **asdict(manifest)})
    spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode("append").text(place(checkpoint))


def agreed(found: Manifest | None, wanted: Manifest, buckets: int | None) -> Manifest:
    """What a query on this checkpoint runs with, or why it cannot run. Where its windows may follow, see `former`.

    Where the spec is another, its version is the next one, and `starts` are those of the windows that go on.
    """
    if found is None:
        return wanted
    if found.ended:
        raise SpecError("this checkpoint was flushed: all its windows are reported. Start with a new checkpoint.")
    if buckets is not None and buckets != len(found.labels):
        raise SpecError(
            f"buckets={buckets}, but this checkpoint was begun with {len(found.labels)}: keys would not find their "
            f"state. Leave buckets= out, or start with a new checkpoint."
        )
    if (found.late, found.emit) != (wanted.late, wanted.emit):
        said = f"{'with' if found.late else 'without'} a late= sink and with emit={found.emit!r}"
        raise SpecError(f"this checkpoint was begun {said}. Go on so, or start with a new checkpoint.")
    same = [window[0] for window in wanted.spec["windows"] if window in found.spec["windows"]]
    starts = {name: start for name, start in found.starts.items() if name in same}
    version = found.version + (found.spec != wanted.spec)
    return replace(wanted, labels=found.labels, starts=starts, version=version)
