"""Where in a text something stands, and errors that show it."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from muntin.errors import SqlError

__all__ = ["Place", "error", "place_of"]


class Place(NamedTuple):
    """The first and the last character of something in a text, both included."""

    start: int
    end: int


def place_of(node: exp.Expr) -> Place | None:
    """Where a node stands: from the first to the last of its parts whose places are known.

    >>> import sqlglot
    >>> place_of(sqlglot.parse_one("SELECT a + b FROM t").expressions[0])
    Place(start=7, end=11)
    """
    known = [part.meta for part in node.walk() if "start" in part.meta]
    return Place(min(m["start"] for m in known), max(m["end"] for m in known)) if known else None


def error(text: str, place: Place | None, message: str) -> SqlError:
    """An error that shows the line and marks the place.

    >>> print(error("SELECT a\\nFROM b", Place(14, 14), "no table 'b'."))
    no table 'b'.
    line 2, column 6:
      FROM b
           ^
    """
    if place is None:
        return SqlError(message)
    start = min(place.start, max(len(text) - 1, 0))
    before = text.rfind("\n", 0, start) + 1
    after = text.find("\n", start)
    line = text[before : after if after >= 0 else len(text)]
    column = start - before
    mark = " " * column + "^" * max(1, min(place.end, before + len(line) - 1) - start + 1)
    number = text.count("\n", 0, start) + 1
    return SqlError(f"{message}\nline {number}, column {column + 1}:\n  {line}\n  {mark}")
