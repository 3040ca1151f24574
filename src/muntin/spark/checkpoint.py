"""What Muntin writes into a checkpoint folder: the spec and the buckets that its state belongs to.

It is written and read by Spark, so that it works wherever a checkpoint can lie.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from muntin.errors import SpecError, StateCorrupt

__all__ = ["Manifest", "agreed", "read", "replace", "write"]

_FORMAT = 1
_FOLDER = "muntin"


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint was begun with."""

    spec: str
    """The fingerprint of the spec."""
    labels: tuple[int, ...]
    late: bool
    emit: str
    ended: bool = False
    """Whether it was flushed: then nothing may be added."""


def read(spark: SparkSession, checkpoint: str) -> Manifest | None:
    """What was written; None where the checkpoint is new."""
    try:
        found = spark.read.text(_place(checkpoint), wholetext=True).collect()
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
    if not found:
        return None
    try:
        tree = json.loads(found[0][0])
        if tree.pop("format") != _FORMAT:
            raise ValueError("it is of another format")
        return Manifest(**{**tree, "labels": tuple(tree["labels"])})
    except (ValueError, KeyError, TypeError) as error:
        raise StateCorrupt(
            f"{_place(checkpoint)} is not what Muntin wrote there: {error}. Start with a new checkpoint."
        ) from error


def write(spark: SparkSession, checkpoint: str, manifest: Manifest) -> None:
    """Write it, in place of what is there."""
    text = json.dumps({"format": _FORMAT, **asdict(manifest)})
    spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode("overwrite").text(_place(checkpoint))


def agreed(found: Manifest | None, wanted: Manifest, buckets: int | None) -> Manifest:
    """What a query on this checkpoint runs with, or why it cannot run."""
    if found is None:
        return wanted
    if found.ended:
        raise SpecError("this checkpoint was flushed: all its windows are reported. Start with a new checkpoint.")
    if found.spec != wanted.spec:
        raise SpecError(
            f"this checkpoint belongs to another spec:\n{found.spec}\nand this one is:\n{wanted.spec}\nGo on with that "
            f"spec, or start with a new checkpoint."
        )
    if buckets is not None and buckets != len(found.labels):
        raise SpecError(
            f"buckets={buckets}, but this checkpoint was begun with {len(found.labels)}: keys would not find their "
            f"state. Leave buckets= out, or start with a new checkpoint."
        )
    if (found.late, found.emit) != (wanted.late, wanted.emit):
        said = f"{'with' if found.late else 'without'} a late= sink and with emit={found.emit!r}"
        raise SpecError(f"this checkpoint was begun {said}. Go on so, or start with a new checkpoint.")
    return replace(wanted, labels=found.labels)


def _place(checkpoint: str) -> str:
    return f"{checkpoint.rstrip('/')}/{_FOLDER}"
