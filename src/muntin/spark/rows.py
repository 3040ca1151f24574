"""Rows of a Spark DataFrame as a spec wants them: conditions and computed columns are Spark's own expressions."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from sqlglot import exp

from muntin.errors import FrameError, nearest
from muntin.spark.source import named
from muntin.spec import Spec
from muntin.sql.expressions import columns_of, expression
from muntin.sql.places import error, place_of
from muntin.sql.read import Shown

__all__ = ["prepared", "shown_columns"]


def prepared(spec: Spec, frame: DataFrame) -> DataFrame:
    """The rows that count, with the computed columns."""
    if not spec.rows:
        return frame
    names = frame.columns
    taken = [name for name, _ in spec.derived if name in names]
    if taken:
        raise FrameError(f"the frame has a column {taken[0]!r} already. Give the computed column another name.")
    if spec.condition is not None:
        frame = frame.where(_expression(spec.condition, names))
    computed = [_expression(text, names).alias(name) for name, text in spec.derived]
    return frame.select(*(named(name) for name in names), *computed)


def _expression(text: str, names: list[str]) -> Column:
    tree = expression(text)
    for column in columns_of(tree):
        if column.name not in names:
            hint = nearest(column.name, names)
            raise error(f"SELECT {text}", place_of(column), f"the frame has no column {column.name!r}. {hint}")
    return F.expr(tree.transform(_spark_term).sql(dialect="spark", identify=True))


def _spark_term(node: exp.Expr) -> exp.Expr:
    """Numbers with a point are doubles, as everywhere else; Spark would make decimals of them."""
    if isinstance(node, exp.Literal) and not node.is_string and not node.this.isdigit():
        return exp.cast(node.copy(), exp.DataType.Type.DOUBLE)
    return node


def shown_columns(results: DataFrame, shown: tuple[Shown, ...]) -> DataFrame:
    """Columns of results under the names that a query gives them."""
    what = {
        "window_start": F.col("window.start"),
        "window_end": F.col("window.end"),
        "window_time": F.col("window.end") - F.expr("INTERVAL 1 MILLISECOND"),
    }
    return results.select(*(what.get(c.what, named(c.what)).alias(c.name) for c in shown))
