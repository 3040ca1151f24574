"""What a state belongs to, and whether a query with other windows may go on with it (paper 1, section 5).

Windows may be added and removed; a window that is written otherwise than before is both. Time, keys, delays and the
types of columns stay as they were.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from muntin.errors import SpecError
from muntin.spec import Spec
from muntin.state.rebuilt import of_users, parts_of, rebuilt
from muntin.state.written import over_of, over_unlike, written

__all__ = ["described", "former"]

_AFRESH = "start with a new checkpoint"


def described(spec: Spec, schema: pa.Schema) -> dict[str, Any]:
    """What a state is written under, as JSON: how the spec is written, what of it is a user's own, and the columns.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    >>> found = described(spec, pa.schema([("ts", pa.int64())]))
    >>> found["windows"], found["users"], found["columns"]
    ([['w', "tumbling('1 second'), n=count()", [1]]], [], [['ts', 'int64']])
    """
    return {
        "over": over_of(spec),
        "windows": [[*part] for part in written(spec)],
        "users": of_users(spec),
        "columns": [[field.name, str(field.type)] for field in schema],
    }


def former(before: dict[str, Any], spec: Spec, schema: pa.Schema) -> Spec:
    """The spec that a state was written under, as far as it is known; an error where this one may not follow it.

    Windows are made anew from how they are written. Those with parts of a user's own are known where these parts are
    in the spec that follows, written the same and of the same version; else they are left out: they are removed, and
    nothing that goes on needs them.

    >>> import muntin as mt
    >>> old = mt.over("ts").window("w", mt.tumbling("1 s"), n=mt.count())
    >>> schema = pa.schema([("ts", pa.int64())])
    >>> former(described(old, schema), mt.over("ts").window("v", mt.session("2 s"), n=mt.count()), schema) == old
    True
    """
    unlike = over_unlike(before["over"], over_of(spec))
    if unlike is not None:
        raise SpecError(
            f"this checkpoint belongs to another spec: it has {unlike}. Windows may be added and removed, all else "
            f"stays. Go on with that, or {_AFRESH}."
        )
    if spec.spans is not None:
        raise SpecError(
            f"windows over events with a duration do not change within a checkpoint: slices do not tell where the "
            f"events in them began. Go on with the windows it has, or {_AFRESH}."
        )
    types = {field.name: str(field.type) for field in schema}
    for name, type_ in before["columns"]:
        if types.get(name, type_) != type_:
            raise SpecError(
                f"column {name!r} has type {types[name]}, and in the state of this checkpoint {type_}. Cast it to that "
                f"type, or {_AFRESH}."
            )
    known, now = parts_of(spec), [[*part] for part in written(spec)]
    queries = []
    for window in before["windows"]:
        name, text, versions = window
        same = spec.queries[now.index(window)] if window in now else None
        query = same or rebuilt(name, text, versions, known, before["users"])
        if query is not None:
            queries.append(query)
    if not queries:
        was = "\n".join(f".window({name!r}, {text})" for name, text, _ in before["windows"])
        raise SpecError(
            f"none of the windows of this checkpoint is in the new spec, and they have classes or functions of your "
            f"own, without which their state cannot be read:\n{was}\nKeep one of them, or {_AFRESH}."
        )
    head = dict(before["over"])
    rows = {
        "condition": head.pop("where", None),
        "derived": tuple((name, text) for name, text in head.pop("computed", ())),
    }
    return Spec(**{**head, "by": tuple(head["by"])}, **rows, queries=tuple(queries))
