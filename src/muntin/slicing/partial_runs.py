"""Summaries of approximate aggregates as columns of a table of partials: lists of values, and of rows up to each.

Texts are numbered in each place on its own, so a summary of texts takes the texts themselves along; null stands for the
rows of those that went.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates.runs import HeavyHitters
from muntin.aggregates.sketches import ApproxCountDistinct, ApproxQuantile
from muntin.layout import BoundQuery
from muntin.slicing.codings import OTHERS, largest
from muntin.slicing.runs import RunStore
from muntin.slicing.sliced import Sliced
from muntin.slicing.values import Column

__all__ = ["absorb_runs", "columns_of_runs", "is_summed", "needs_texts", "summary_bytes"]

Int64s = npt.NDArray[np.int64]


def is_summed(aggregate: object) -> bool:
    """Whether an aggregate has a summary of bounded size that merges.

    >>> import muntin as mt
    >>> is_summed(mt.approx_quantile("x", 0.5)), is_summed(mt.quantile("x", 0.5))
    (True, False)
    """
    found = isinstance(aggregate, ApproxCountDistinct | ApproxQuantile)
    return found or (isinstance(aggregate, HeavyHitters) and aggregate.approx)


def needs_texts(queries: Iterable[BoundQuery], column: str) -> bool:
    """Whether more than summaries is made from a column of texts."""
    read = (bound for query in queries for bound in query.aggregates.values() if column in bound.aggregate.columns)
    return not all(is_summed(bound.aggregate) and pa.types.is_string(bound.types[0]) for bound in read)


def columns_of_runs(sliced: Sliced, cells: Int64s, many: int, columns: Mapping[str, Column]) -> dict[str, pa.Array]:
    """The rows of so many cells as summaries, one for each cell; they are empty where all values are null."""
    found: dict[str, pa.Array] = {}
    for name, store in _stores(sliced).items():
        sizes, values, upto = store.counted(cells, many, columns[name].values, columns[name].valid)
        ends = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        shown = sliced.texts.from_ranks(name, values, OTHERS)
        found[f"values {name}"] = pa.ListArray.from_arrays(ends, pa.array(values) if shown is None else shown)
        found[f"upto {name}"] = pa.ListArray.from_arrays(ends, pa.array(upto))
    return found


def summary_bytes(sliced: Sliced, rows: float) -> float:
    """How large the summaries of a cell of so many rows may become."""
    return sum(8 + 16 * min(rows, largest(name)) for name in _stores(sliced))


def absorb_runs(sliced: Sliced, table: pa.Table, starts: Int64s, key: Int64s | None) -> None:
    """Take in the summaries of a table of partials; `starts` are the slices that its rows lie in."""
    read = {name: _read(sliced, table, name) for name in _stores(sliced)}
    for name, store in sliced.runs.items():
        store.take(starts, key, *read[name])
    for query in sliced.sessions:
        stay = np.full(len(starts), True) if query.mark is None else starts >= query.mark
        for name, store in query.stores().items():
            sizes, values, upto = read[name]
            inside = np.repeat(stay, sizes)
            taken = key if key is None else key[stay]
            store.take(starts[stay], taken, sizes[stay], values[inside], upto[inside])


def _stores(sliced: Sliced) -> dict[str, RunStore]:
    """One store for each column that has summaries."""
    found = {name: store for query in sliced.sessions for name, store in query.stores().items()}
    return dict(sorted((found | sliced.runs).items()))


def _read(sliced: Sliced, table: pa.Table, name: str) -> tuple[Int64s, Int64s, Int64s]:
    values, upto = table.column(f"values {name}"), table.column(f"upto {name}")
    sizes = pc.list_value_length(upto).to_numpy().astype(np.int64)
    flat = pc.list_flatten(values)
    ranks = sliced.texts.to_ranks(name, flat, OTHERS)
    return sizes, flat.to_numpy() if ranks is None else ranks, pc.list_flatten(upto).to_numpy()
