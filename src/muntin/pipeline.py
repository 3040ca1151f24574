"""A pipeline declared in a TOML file: where rows come from, the spec, where results go. Read without Spark.

[source]                      what Spark's readStream takes
format = "parquet"
path = "flights"              relative to the file
options = { maxFilesPerTrigger = "1" }

[over]                        the arguments of mt.over
time = "ts"
by = ["origin"]
disorder = "1 hour"

[[window]]                    one for each .window: its name, its type with the size, the other arguments
name = "day"
sliding = "1 day"
every = "10 minutes"
aggregates = { flights = ["count"], p95 = ["quantile", "delay", 0.95] }

[results]                     path with format, or table; [late] likewise
path = "windows"

[run]                         checkpoint, and the other arguments of spec.start
checkpoint = "checkpoint"
"""

from __future__ import annotations

import inspect
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import muntin as mt
from muntin.aggregates import BUILTIN
from muntin.errors import SpecError, nearest
from muntin.spec import Spec

__all__ = ["Pipeline", "load"]

_WINDOWS = ("tumbling", "sliding", "session", "cumulative", "punctuated", "frame")
_PARTS = {"source", "over", "window", "results", "late", "run"}
_RUN = {"checkpoint", "trigger", "flush", "emit", "buckets", "name", "final"}


@dataclass(frozen=True)
class Pipeline:
    """What a file declares; paths are whole."""

    source: dict[str, Any]
    spec: Spec
    results: Any
    late: Any
    run: dict[str, Any]


def load(text: str, folder: Path) -> Pipeline:
    """Read a pipeline; an error names what is wrong, and where.

    >>> text = '''
    ... [source]
    ... format = "parquet"
    ... path = "in"
    ... [over]
    ... time = "ts"
    ... [[window]]
    ... name = "m"
    ... tumbling = "1 minute"
    ... aggregates = { n = ["count"], top = ["max", "x"] }
    ... [results]
    ... path = "out"
    ... [run]
    ... checkpoint = "state"
    ... '''
    >>> load(text, Path("/data")).spec
    over('ts')
    .window('m', tumbling('1 minute'), n=count(), top=max('x'))
    >>> load(text, Path("/data")).results
    ('/data/out', 'parquet')
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"the pipeline is no TOML: {error}.") from error
    _known(tree, _PARTS, "the pipeline")
    for part in ("source", "over", "window", "results", "run"):
        if part not in tree:
            raise SpecError(f"the pipeline has no [{part}]. See muntin.pipeline for its parts.")
    run = dict(tree["run"])
    _known(run, _RUN, "[run]")
    if "checkpoint" not in run:
        raise SpecError("[run] has no checkpoint: the folder in which a stream keeps its state.")
    run["checkpoint"] = _whole(run["checkpoint"], folder)
    source = dict(tree["source"])
    _known(source, {"format", "path", "options", "schema"}, "[source]")
    if "path" in source:
        source["path"] = _whole(source["path"], folder)
    late = _sink(tree["late"], "[late]", folder) if "late" in tree else None
    return Pipeline(source, _spec(tree), _sink(tree["results"], "[results]", folder), late, run)


def _spec(tree: dict[str, Any]) -> Spec:
    over = dict(tree["over"])
    _known(over, set(inspect.signature(mt.over).parameters), "[over]")
    spec = mt.over(**over) if "span" in over else mt.over(over.pop("time", None), **over)
    for i, given in enumerate(tree["window"], start=1):
        given = dict(given)
        name = given.pop("name", None)
        where = f"[[window]] {name!r}" if name else f"[[window]] {i}"
        aggregates = given.pop("aggregates", {})
        kinds = [kind for kind in _WINDOWS if kind in given]
        if len(kinds) != 1:
            raise SpecError(f"{where} is of no type, or of several. Give one of {', '.join(_WINDOWS)}, with its size.")
        size = given.pop(kinds[0])
        make = getattr(mt, kinds[0])
        _known(given, set(inspect.signature(make).parameters), where)
        spec = spec.window(
            name, make(size, **given), **{key: _aggregate(key, a, where) for key, a in aggregates.items()}
        )
    return spec


def _aggregate(result: str, given: Any, where: str) -> mt.Aggregate:
    if not isinstance(given, list) or not given or not isinstance(given[0], str):
        raise SpecError(f"{where}: {result} = {given!r} is no aggregate. Write {result} = ['max', 'speed'].")
    name, *arguments = given
    if name not in BUILTIN:
        raise SpecError(f"{where}: no aggregate is named {name!r}. {nearest(name, BUILTIN)}")
    named = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
    made: mt.Aggregate = BUILTIN[name](*arguments, **named)
    return made


def _sink(given: dict[str, Any], where: str, folder: Path) -> Any:
    _known(given, {"path", "format", "table"}, where)
    if ("path" in given) == ("table" in given):
        raise SpecError(f"{where} needs a path (with a format) or a table.")
    return given["table"] if "table" in given else (_whole(given["path"], folder), given.get("format", "parquet"))


def _whole(path: str, folder: Path) -> str:
    return path if "://" in path else str(folder / path)


def _known(given: dict[str, Any], known: set[str], where: str) -> None:
    for name in given:
        if name not in known:
            raise SpecError(f"{where} has {name!r}, which means nothing there. {nearest(name, sorted(known))}")
