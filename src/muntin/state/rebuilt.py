"""Windows and aggregates from how they are written in a saved state, without running any of it.

A state says of each window how it is written, as in `tumbling('1 minute'), n=count()`. Those that come with Muntin can
be made anew from that; what a user wrote can not, and is taken from what is at hand where it is written the same.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any

from muntin import windows
from muntin.aggregates import BUILTIN, Aggregate
from muntin.errors import MuntinError
from muntin.spec import Query, Spec
from muntin.state.written import written
from muntin.windows import Window

__all__ = ["of_users", "parts_of", "rebuilt"]

_WINDOWS = ("tumbling", "sliding", "session", "cumulative", "punctuated", "frame")
_MADE: dict[str, Any] = {name: getattr(windows, name) for name in _WINDOWS} | BUILTIN


def parts_of(spec: Spec) -> dict[str, Window | Aggregate]:
    """The windows and aggregates of a spec by how they are written.

    >>> import muntin as mt
    >>> parts_of(mt.over("ts").window("w", mt.tumbling("60 s"), n=mt.count()))
    {"tumbling('1 minute')": tumbling('1 minute'), 'count()': count()}
    """
    found: dict[str, Window | Aggregate] = {}
    for query in spec.queries:
        found[repr(query.window)] = query.window
        found |= {repr(aggregate): aggregate for _, aggregate in query.aggregates}
    return found


def of_users(spec: Spec) -> list[str]:
    """The windows and aggregates of a spec that how they are written alone does not tell.

    A class of a user's own may have the name of one that comes with Muntin: so it is not by names that they are told.

    >>> import muntin as mt
    >>> of_users(mt.over("ts").window("w", mt.tumbling("60 s"), n=mt.count(), all=mt.process(len, "x")))
    ["process(len, 'x')"]
    """
    return [text for text, part in parts_of(spec).items() if _made_from(text) != part]


def rebuilt(
    name: str, text: str, versions: list[int], known: Mapping[str, Any], users: Collection[str] = ()
) -> Query | None:
    """A window of this name, written so, with aggregates of these versions; None where it cannot be made.

    `known` are windows and aggregates that are at hand, by how they are written; of those in `users` only these do.

    >>> rebuilt("s", "tumbling('1 second'), n=count(), p=quantile('x', share=0.5)", [1, 1], {}).aggregates[1]
    ('p', quantile('x', share=0.5))
    >>> rebuilt("s", "tumbling('1 second'), n=mine('x')", [1], {}) is None
    True
    """
    source = f"window({text})"
    call = _parsed(source)
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        return None

    def made(node: ast.expr) -> Any:
        said = ast.get_source_segment(source, node) or ""
        return known[said] if said in known else None if said in users else _made(node)

    window = made(call.args[0])
    pairs = tuple((str(pair.arg), made(pair.value)) for pair in call.keywords)
    if not isinstance(window, Window) or not all(isinstance(part, Aggregate) for _, part in pairs):
        return None
    query = Query(name, window, pairs)
    return query if written(Spec(None, queries=(query,)))[0] == (name, text, versions) else None


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a lambda, a name with a space, a forged text
        return None


def _made_from(text: str) -> Any:
    node = _parsed(text)
    return None if node is None else _made(node)


def _made(node: ast.expr) -> Any:
    """What a name that Muntin knows gives with plain values; None for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in _MADE:
        return None
    try:
        values = [ast.literal_eval(value) for value in node.args]
        named = {pair.arg: ast.literal_eval(pair.value) for pair in node.keywords if pair.arg}
        return _MADE[node.func.id](*values, **named)
    except (ValueError, TypeError, SyntaxError, MuntinError):
        return None
