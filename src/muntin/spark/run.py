"""Run a pipeline that a file declares: `muntin run FILE.toml`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from muntin.errors import SpecError
from muntin.pipeline import Pipeline

__all__ = ["run_pipeline"]


def run_pipeline(pipeline: Pipeline, spark: SparkSession) -> Any:
    """Start the query of a pipeline, and wait for its end."""
    query = pipeline.spec.start(
        _stream(pipeline.source, spark), results=pipeline.results, late=pipeline.late, **pipeline.run
    )
    query.awaitTermination()
    return query


def _stream(source: dict[str, Any], spark: SparkSession) -> DataFrame:
    if "format" not in source:
        raise SpecError("[source] has no format, such as 'parquet', 'json', 'kafka' or 'rate'.")
    reader = spark.readStream.format(source["format"]).options(**source.get("options", {}))
    path = source.get("path")
    if "schema" in source:
        reader = reader.schema(source["schema"])
    elif path is not None:
        # A stream of files must know its columns before the first: those that are there tell.
        reader = reader.schema(spark.read.format(source["format"]).load(path).schema)
    return reader.load(path) if path is not None else reader.load()
