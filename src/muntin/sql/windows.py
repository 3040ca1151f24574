"""Windows out of brackets and out of table functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muntin.errors import SpecError
from muntin.sql.dialect import Clause, TableWindow
from muntin.sql.places import Place, error
from muntin.windows import Window, cumulative, session, sliding, tumbling

__all__ = ["Found", "bracketed", "table_window"]


@dataclass(frozen=True)
class Found:
    """A window with the name that its query gets, and the column that it goes by."""

    name: str
    window: Window
    time: Clause | None
    """None: it goes by the column of the windows beside it."""


def bracketed(text: str, clauses: list[Clause], whole: Place | None) -> Found:
    """The window of a bracket: RANGE and perhaps SLIDE, or SESSION GAP (paper 2, section 1)."""
    by_word: dict[str, Clause] = {}
    for clause in clauses:
        if clause.word in by_word:
            raise error(text, clause.place, f"{clause.word} is given twice in one bracket. Give it once.")
        by_word[clause.word] = clause
    size, slide, gap = (by_word.get(word) for word in ("RANGE", "SLIDE", "GAP"))
    align, wattr = by_word.get("ALIGN"), by_word.get("WATTR")
    name = by_word["AS"].value if "AS" in by_word else _named(clauses)
    if gap is not None:
        other = size or slide or align
        if other is not None:
            raise error(text, other.place, f"SESSION GAP and {other.word} do not go together: a session has no size.")
        on = _on(gap, None, wattr)
        return Found(name, _made(text, [gap], lambda: session(_value(gap), on=on)), None if on else wattr)
    if size is None:
        raise error(text, whole, "this bracket has no RANGE and no SESSION GAP. Write RANGE 4 MINUTES SLIDE 1 MINUTE.")
    on, shift = _on(size, slide, wattr), None if align is None else _value(align)
    if slide is None:
        window: Window = _made(text, [size, align], lambda: tumbling(_value(size), on=on, align=shift))
    else:
        made = lambda: sliding(_value(size), every=_value(slide), on=on, align=shift)  # noqa: E731
        window = _made(text, [size, slide, align], made)
    return Found(name, window, None if on else wattr)


def _named(clauses: list[Clause]) -> str:
    """What a window is called that has no name: its own text."""
    words = {"GAP": "SESSION GAP"}
    return " ".join(f"{words.get(c.word, c.word)} {c.value.upper()}" for c in clauses if c.word != "WATTR")


def _bare(clause: Clause | None) -> bool:
    return clause is not None and clause.value.lstrip("-").isdigit()


def _value(clause: Clause) -> object:
    return int(clause.value) if _bare(clause) else clause.value


def _on(size: Clause, slide: Clause | None, wattr: Clause | None) -> str | None:
    """The column that bare numbers count in: WATTR, which then is no time."""
    return wattr.value if wattr is not None and (_bare(size) or _bare(slide)) else None


def _made(text: str, clauses: list[Clause | None], make: Callable[[], Any]) -> Any:
    try:
        return make()
    except SpecError as problem:
        given = [clause.place for clause in clauses if clause is not None]
        raise error(text, Place(given[0].start, given[-1].end), str(problem)) from None


_ORDER = {
    "TUMBLE": ("SIZE", "OFFSET"),
    "HOP": ("SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("STEP", "SIZE", "OFFSET"),
    "SESSION": ("GAP",),
}
"""The lengths of a table function in the order in which Flink takes them; the offset may be left out."""


def table_window(text: str, found: TableWindow) -> Window:
    """The window of a table function, whose lengths come in the order, or by the names, that Flink has."""
    kind, order = found.args["kind"], _ORDER[found.args["kind"]]
    given: dict[str, Clause] = {}
    whole = Place(found.meta["start"], found.meta["end"])
    for i, clause in enumerate(found.args["lengths"]):
        name = clause.word or (order[i] if i < len(order) else "")
        if name not in order or name in given:
            raise error(text, clause.place, f"{kind} takes {', '.join(order)} and no more.")
        given[name] = clause
    missing = [name for name in order if name not in given and name != "OFFSET"]
    if missing:
        raise error(text, whole, f"{kind} lacks {' and '.join(missing)}. It takes {', '.join(order)}.")
    of = {name: _value(clause) for name, clause in given.items()}
    make = {
        "TUMBLE": lambda: tumbling(of["SIZE"], align=of.get("OFFSET")),
        "HOP": lambda: sliding(of["SIZE"], every=of["SLIDE"], align=of.get("OFFSET")),
        "CUMULATE": lambda: cumulative(of["SIZE"], every=of["STEP"], align=of.get("OFFSET")),
        "SESSION": lambda: session(of["GAP"]),
    }[kind]
    return _made(text, list(given.values()), make)  # type: ignore[no-any-return]
