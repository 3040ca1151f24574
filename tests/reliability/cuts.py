"""One log, cut into batches in many ways: shared by the tests of the embedded engine and of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

import muntin as mt

SECOND = 1_000_000
DISORDER, LATENESS = 8, 12  # seconds

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("key", pa.string()),
        ("x", pa.int64()),
        ("f", pa.float64()),
        ("size", pa.float64()),
        ("s", pa.string()),
        ("mark", pa.bool_()),
    ]
)

AGGREGATES: dict[str, mt.Aggregate] = {
    "n": mt.count(),
    "total": mt.sum("x"),
    "float": mt.sum("f"),
    "mean": mt.mean("f"),
    "weight": mt.sum("size"),
    "high": mt.max("f"),
    "last": mt.last("s"),
    "p90": mt.quantile("x", 0.9),
}

WINDOWS: dict[str, dict[str, mt.windows.Window]] = {
    "sliced": {
        "tumbling": mt.tumbling("1 minute"),
        "sliding": mt.sliding("2 minutes", every="30 seconds"),
        "cumulative": mt.cumulative("5 minutes", every="1 minute"),
        "session": mt.session("20 seconds"),
    },
    "kept": {
        "rows": mt.sliding("20 rows", every="10 rows"),
        "rows by time": mt.sliding("5 rows", every="1 minute"),
        "frame": mt.frame("mark"),
    },
}


def spec_of(kind: str) -> mt.Spec:
    """A spec of windows that are combined from slices, or of windows that look at events again."""
    spec = mt.over("ts", by="key", disorder=f"{DISORDER} s", lateness=f"{LATENESS} s", max_ahead=None)
    for name, window in WINDOWS[kind].items():
        spec = spec.window(name, window, **AGGREGATES)
    return spec


def log(seed: int, rows: int, *, keys: int = 20, ties: bool = True) -> pa.Table:
    """Rows in the order of arrival, none further behind than is declared; with nulls, and floats of all sizes."""
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.choice([0, 1, 2, 5, 40], rows, p=[0.3, 0.3, 0.2, 0.19, 0.01]) * (SECOND // 2))
    behind = rng.integers(0, (DISORDER + LATENESS) * SECOND, rows) * (rng.random(rows) < 0.4)
    order = np.argsort(at + behind, kind="stable")  # so none is more than that behind an earlier one
    at = at[order] + (0 if ties else np.arange(rows))  # distinct: then every order of ties is the same
    x = rng.integers(-99, 99, rows)
    f = rng.standard_normal(rows) * 10.0 ** rng.integers(-8, 9, rows)
    columns = [
        at,
        rng.choice([*(f"k{i}" for i in range(keys - 1)), None], rows).tolist(),
        [None if hidden else int(v) for v, hidden in zip(x, rng.random(rows) < 0.1, strict=True)],
        f,
        np.abs(f),
        rng.choice(["p", "q", "r"], rows).tolist(),
        rng.random(rows) < 0.5,
    ]
    types = [pa.int64(), *SCHEMA.types[1:]]
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    return pa.table([arrays[0].cast(SCHEMA.types[0]), *arrays[1:]], schema=SCHEMA)


def every(table: pa.Table, size: int) -> Iterator[pa.Table]:
    """A log in batches of one size."""
    return (table.slice(start, size) for start in range(0, table.num_rows, size))


def at_random(table: pa.Table, seed: int, most: int = 200) -> Iterator[pa.Table]:
    """A log in a random number of random batches, some of them empty."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.integers(0, table.num_rows + 1, rng.integers(1, most)))
    return (table.slice(a, b - a) for a, b in pairwise([0, *places.tolist(), table.num_rows]))


def last_rows(results: pa.Table, spec: mt.Spec) -> dict[Any, dict[str, Any]]:
    """The last row of each identity, of results in the order of their reports; retracted ones are gone."""
    identities = {query.name: str(query.window.identity) for query in spec.queries}
    found: dict[Any, dict[str, Any]] = {}
    for row in results.to_pylist():
        window, rows = row["window"], row["rows"]
        what = {
            "time bounds": (window["start"], window["end"]),
            "start": window["start"],
            "positions": rows and (rows["start"], rows["end"]),
            "end": window["end"],
        }[identities[row["query"]]]
        found[row["key"], row["query"], what] = row
    return {name: row for name, row in found.items() if row.pop("revision") >= 0}


def check_same(found: dict[Any, dict[str, Any]], wanted: dict[Any, dict[str, Any]]) -> None:
    """The same windows with the same values; sums of floats may be off by 1e-12 of the sum of the absolute values."""
    assert found.keys() == wanted.keys()
    for name, row in wanted.items():
        other = found[name]
        if other == row:
            continue
        weight = row["weight"] * 1e-12
        allowed = {"float": weight, "weight": weight, "mean": weight / row["n"]}
        for column, value in row.items():
            if column in allowed:
                assert abs(other[column] - value) <= allowed[column], (name, column, other[column], value)
            else:
                assert other[column] == value, (name, column)


def embedded(spec: mt.Spec, batches: Iterator[pa.Table], **options: Any) -> tuple[dict[Any, dict[str, Any]], int]:
    """The last rows of an embedded engine after flush, and how many rows were late."""
    engine = spec.engine(**options)
    parts = [engine.push(batch) for batch in batches]
    parts = [part for part in [*parts, engine.flush()] if part.num_rows]
    return last_rows(pa.concat_tables(parts), spec), engine.late().num_rows
