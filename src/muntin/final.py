"""The choice of the final aggregation (paper 4): what may be asked for, what it needs, and what `auto` goes by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Aggregate
from muntin.errors import SpecError, UnsupportedAggregate, nearest
from muntin.final_costs import cell_terms, lines, ms, plain_terms, predicted

if TYPE_CHECKING:
    from muntin.fused import Fused

__all__ = [
    "CARDS",
    "FINALS",
    "Card",
    "Choice",
    "Shape",
    "check",
    "chosen_for_cells",
    "chosen_for_rows",
    "chosen_for_slices",
    "chosen_for_values",
    "refuse_final",
]

Ints = npt.NDArray[np.int64]


class Card(NamedTuple):
    """What an algorithm needs and costs."""

    algebra: str
    order: str
    per_window: str
    memory: str
    source: str


CARDS = {
    "rescan": Card("associative", "any", "all of the window", "none", "paper 4, section 2.2"),
    "two_stacks": Card("associative", "first in, first out", "2, now and then a flip", "2 per slide", "paper 4, 3.2"),
    "blocks": Card("associative", "first in, first out", "3, vectorised", "1 per slide", "paper 4, 3.2"),
    "subtract_on_evict": Card("invert", "first in, first out", "2", "none", "paper 4, section 2.2"),
    "daba": Card("associative", "first in, first out", "at most 5", "2 per slide", "DABA, paper 4's [25]"),
}
"""The algorithms: the algebra and the order they need, combines per window, partials kept."""
FINALS = ("auto", *CARDS)


class Choice(NamedTuple):
    """An algorithm, and why it was chosen; where costs decided, those of all that may be, in nanoseconds."""

    final: str
    reason: str
    costs: dict[str, float] | None = None
    slides: float = 0

    @property
    def why(self) -> str:
        """The reason, with the costs.

        >>> Choice("blocks", "slides in a window", {"blocks": 2e6, "rescan": 5e6}, 4).why
        'predicted 2 ms, beside rescan 5 ms (4 slides in a window)'
        """
        if self.costs is None:
            return self.reason
        others = sorted(self.costs.keys() - {self.final}, key=self.costs.__getitem__)
        beside = ", ".join(f"{final} {ms(self.costs[final])}" for final in others)
        return f"predicted {ms(self.costs[self.final])}, beside {beside} ({self.slides:.4g} {self.reason})"


def check(final: str) -> str:
    """The name of an algorithm, or an error that lists them.

    >>> check("daba")
    'daba'
    """
    if final not in FINALS:
        raise SpecError(f"final={final!r} is unknown. {nearest(str(final), FINALS)}")
    return final


def refuse_without_inverse(aggregate: Aggregate, final: str) -> None:
    """Refuse to subtract what cannot be subtracted.

    >>> import muntin as mt
    >>> refuse_without_inverse(mt.max("x"), "subtract_on_evict")
    Traceback (most recent call last):
    ...
    muntin.errors.UnsupportedAggregate: 'max' has no invert, so values cannot be subtracted when they leave the window.
    Use final="two_stacks" (it needs only associativity), or leave final="auto".
    """
    if final == "subtract_on_evict" and aggregate.invert is None:
        raise UnsupportedAggregate(
            f"{aggregate.name!r} has no invert, so values cannot be subtracted when they leave the window.\n"
            f'Use final="two_stacks" (it needs only associativity), or leave final="auto".'
        )
    if final == "subtract_on_evict" and not aggregate.commutative:
        raise UnsupportedAggregate(
            f"{aggregate.name!r} is not commutative, so the oldest values cannot be subtracted from the rest.\n"
            f'Use final="two_stacks" (it needs only associativity), or leave final="auto".'
        )


# -- what `auto` goes by: the costs that `muntin.final_costs` predicts -------------------------------------------------


class Shape(NamedTuple):
    """Windows over an array: how many values there are, how many windows, and how they lie."""

    values: int
    windows: int
    window: int
    every: int
    timed: bool = False


def chosen_for_values(shape: Shape, group: str, worst: bool) -> Choice:
    """The algorithm for windows over plain numbers; `worst`: subtraction may have to scan a window for each value.

    >>> chosen_for_values(Shape(10_000, 8_977, 1024, 1), "min int", True).final
    'blocks'
    >>> chosen_for_values(Shape(10_240, 10, 1024, 1024), "min int", True).final
    'rescan'
    """
    if shape.window <= shape.every:
        return Choice("rescan", "windows share nothing, so each is made from its values")
    costs = {}
    for final in lines(group):
        # A minimum that leaves has to be looked for again: on values in order that is each of them.
        if final == "subtract_on_evict" and worst:
            continue
        # Only blocks take the head of a slide: for the others slides are cut where windows end.
        cuts = 1 if final in ("blocks", "rescan") else shape.every // math.gcd(shape.window, shape.every)
        windows, slides = shape.windows * cuts, shape.window / shape.every * cuts
        single, head = shape.every == cuts and not shape.timed, shape.window % shape.every > 0
        terms = plain_terms(final, shape.values, windows, slides, single, head)
        costs[final] = predicted(group, final, terms)
    return _cheapest(costs, shape)


def chosen_for_cells(shape: Shape, inverse: bool) -> Choice:
    """The algorithm for windows over an array by an aggregate's own functions; `inverse`: values come out exactly.

    >>> chosen_for_cells(Shape(1_000, 901, 100, 1), False).final
    'blocks'
    >>> chosen_for_cells(Shape(1_000, 10, 100, 100), False).final
    'rescan'
    """
    slides = shape.window / shape.every
    pieces = shape.windows + slides
    if shape.window % shape.every:
        pieces *= 2
    each = shape.values * slides / max(shape.windows + slides - 1, 1)
    lifted = predicted("cells", "rescan", (0, shape.values, pieces))
    costs = {"rescan": predicted("cells", "rescan", (0, each * shape.windows, shape.windows))}
    for final in ("blocks", *(["subtract_on_evict"] if inverse else [])):
        costs[final] = lifted + predicted("cells", final, (1, pieces, shape.windows))
    return _cheapest(costs, shape)


def _cheapest(costs: dict[str, float], shape: Shape) -> Choice:
    return Choice(min(costs, key=costs.__getitem__), "slides in a window", costs, shape.window / shape.every)


def refuse_final(final: str, cells: Fused, corrected: bool) -> None:
    """Refuse an algorithm that the cells of slices do not allow; `corrected`: windows may be reported again."""
    if final not in ("auto", "rescan") and corrected and not cells.exact:
        raise SpecError(
            f"final={final!r}: windows may be corrected (lateness, or emit='updates'), and floats would differ in "
            f"their last digits from report to report. Leave final='auto'."
        )
    if final == "subtract_on_evict":
        cells.refuse_without_inverse()


# Subtraction is left out for slices: where it is the quickest (integers of a few keys) it saves up to 20 µs of a
# report, and its kernel is one more to compile.
LEAST = 256
"""Combined cells below which a report goes over its slices without asking what else would cost."""


def chosen_for_slices(slices: int, windows: int, span: int, keys: int = 1) -> str:
    """The algorithm for windows over slices: `slices` in all windows together, `span` that hold them.

    >>> chosen_for_slices(240 * 26, 26, 266), chosen_for_slices(240, 1, 240), chosen_for_slices(64, 4, 20, keys=1_000)
    ('blocks', 'rescan', 'blocks')
    """
    if (slices - span) * keys < LEAST:
        return "rescan"
    # As `predicted` would say, but within a microsecond: every report asks.
    table = lines("cells" if keys == 1 else "cells of keys")
    r, s = table["rescan"], table["blocks"]
    if keys == 1:
        saved = r[0] - s[0] + r[1] * slices - s[1] * span + (r[2] - s[2]) * windows
    else:
        saved = r[0] - s[0] + (r[1] + r[2] * keys) * slices - (s[1] + s[2] * keys) * span
        saved += (r[3] - s[3] + (r[4] - s[4]) * keys) * windows
    return "blocks" if saved > 0 else "rescan"


def chosen_for_rows(a: Ints, b: Ints, cells: Fused, corrected: bool) -> str:
    """The algorithm for windows in rows over slices a to b; each key's and query's stand one after the other."""
    total = int((b - a).sum())
    if total - 2 * len(a) < LEAST or (corrected and not cells.exact):
        return "rescan"
    on = (a[1:] < b[:-1]) & (a[1:] >= a[:-1]) & (b[1:] >= b[:-1])
    span = total - int((b[:-1] - a[1:])[on].sum())
    # A long window is rescanned over blocks of blocks (`muntin.slicing.ranges_fold`): about so many combines each.
    return chosen_for_slices(min(total, span + LONG_RESCAN * len(a)), len(a), span)


LONG_RESCAN = 48


def explained(longest: float | None, corrected: bool, what: str = "Final aggregation") -> str:
    """A line for `explain`: which algorithm combines slices into windows of so many (None: unknown), and why.

    >>> explained(240, True)[-58:]
    'Floats that may be corrected are never combined in blocks.'
    """
    many = "a number of slices that only it knows" if longest is None else f"up to about {longest:.4g} slices"
    text = (
        f"{what}: blocks (two-stacks over slices) where several windows are due at once and that is "
        f"predicted to take less, since a window has {many}; else each window from its slices or the tree."
    )
    if longest is not None:
        due = next(
            (n for n in range(2, 257) if chosen_for_slices(int(longest * n), n, int(longest) + n) == "blocks"), 0
        )
        if due:
            by = cell_terms("blocks", 0, longest + due, due), cell_terms("rescan", longest * due, 0, due)
            blocks, rescan = predicted("cells", "blocks", by[0]), predicted("cells", "rescan", by[1])
            text += f" For one key blocks pay from {due} windows on: {ms(blocks)}, beside {ms(rescan)} by rescan."
        else:
            text += " For one key blocks do not pay with up to 256 windows."
    return text + (" Floats that may be corrected are never combined in blocks." if corrected else "")
