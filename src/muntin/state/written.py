"""How a spec is written in a saved state, and what of it may have changed when the state is read."""

from __future__ import annotations

from typing import Any

from muntin.errors import SpecError
from muntin.spec import Spec

__all__ = ["check_over", "over_of", "over_unlike", "shown", "written"]


def over_of(spec: Spec) -> dict[str, Any]:
    """What a spec says beside its windows and decides what state means.

    >>> import muntin as mt
    >>> over_of(mt.over("ts", by="city"))
    {'time': 'ts', 'by': ['city'], 'disorder': 0, 'lateness': 0, 'order': None, 'idle': None, 'max_ahead': 86400000000}
    """
    names = ("disorder", "lateness", "order", "idle", "max_ahead")
    found = {"time": spec.time, "by": list(spec.by)} | {name: getattr(spec, name) for name in names}
    if spec.spans is not None:  # its technique and height may change: the same slices serve all of them
        found |= {"span": [spec.spans.start, spec.spans.end], "postpone": spec.spans.postpone}
    # Only where they are given: the states of specs without them stay as they are.
    if spec.condition is not None:
        found["where"] = spec.condition
    if spec.derived:
        found["computed"] = [list(pair) for pair in spec.derived]
    return found


def written(spec: Spec) -> list[tuple[str, str, list[int]]]:
    """The windows of a spec: their names, how they are written, and the versions of their aggregates.

    >>> import muntin as mt
    >>> written(mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()))
    [('s', "tumbling('1 second'), n=count()", [1])]
    """
    found = []
    for query in spec.queries:
        named = ", ".join(f"{name}={aggregate!r}" for name, aggregate in query.aggregates)
        found.append((query.name, f"{query.window!r}, {named}", [part.version for _, part in query.aggregates]))
    return found


def shown(tree: dict[str, Any]) -> str:
    """The spec of a saved state, for a message."""
    said = ", ".join(f"{name}={value!r}" for name, value in tree["over"].items() if value)
    return "\n".join([f"over({said})", *(f".window({name!r}, {text})" for name, text, _ in tree["spec"])])


def check_over(before: dict[str, Any], spec: Spec) -> None:
    """A state may be read under other windows (and another `max_ahead`), but not with other times, keys or delays.

    >>> import muntin as mt
    >>> check_over(over_of(mt.over("ts", lateness="5 s")), mt.over("ts"))
    Traceback (most recent call last):
    ...
    muntin.errors.SpecError: the snapshot has lateness=5000000 (microseconds), and this spec has lateness=0. Only \
windows may change: restore it with the same over(...), or start afresh.
    """
    unlike = over_unlike(before, over_of(spec))
    if unlike is not None:
        raise SpecError(
            f"the snapshot has {unlike}. Only windows may change: restore it with the same over(...), or start afresh."
        )


def over_unlike(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """What two specs differ in beside their windows (and `max_ahead`), in words; None: nothing.

    >>> import muntin as mt
    >>> over_unlike(over_of(mt.over("ts", by="city")), over_of(mt.over("ts")))
    "by=['city'], and this spec has by=[]"
    """
    for name in dict.fromkeys([*before, *now]):
        was, is_ = before.get(name), now.get(name)
        if was != is_ and name != "max_ahead":
            unit = " (microseconds)" if name in ("disorder", "lateness", "idle", "postpone") else ""
            return f"{name}={was!r}{unit}, and this spec has {name}={is_!r}"
    return None
