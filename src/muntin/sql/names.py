"""The names of functions: aggregates, also those by which other systems call them, and functions of one row."""

from __future__ import annotations

from muntin.aggregates import BUILTIN

__all__ = ["AGGREGATES", "ALIASES"]

ALIASES = {
    "avg": "mean",
    "std": "stddev",
    "stddev_samp": "stddev",
    "variance": "var",
    "var_samp": "var",
    "percentile": "quantile",
    "max_by": "arg_max",
    "min_by": "arg_min",
    "collect_list": "collect",
    "array_agg": "collect",
    "listagg": "concat",
    "string_agg": "concat",
}
"""What other systems call an aggregate that means the same."""

AGGREGATES = frozenset(BUILTIN) - {"process", "concat"} | frozenset(ALIASES)
"""The aggregates that a query may name.

`process` takes a Python function, which a text cannot hold; `concat` joins values of one row in SQL, so here the
aggregate goes by `listagg` and `string_agg`.
"""
