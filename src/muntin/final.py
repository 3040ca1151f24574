"""The choice of the final aggregation (paper 4): what may be asked for, what it needs, and what `auto` goes by."""

from __future__ import annotations

from typing import NamedTuple

from muntin.aggregates import Aggregate
from muntin.errors import SpecError, UnsupportedAggregate, nearest

__all__ = ["CARDS", "FINALS", "Card", "Choice", "check", "chosen_for_slices", "chosen_for_values"]


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
    """An algorithm, and why it was chosen."""

    final: str
    why: str


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


# What `auto` goes by: see `muntin.bench.rolling`, which measures it.


def chosen_for_values(window: int, every: int, lanes: bool) -> Choice:
    """The algorithm for windows over values; `lanes`: a built-in aggregate over plain numbers.

    >>> chosen_for_values(1024, 1, True).final, chosen_for_values(1024, 1024, True).final
    ('blocks', 'rescan')
    """
    # At twice the slide a rescan reads each value twice, and took 1.08 to 1.27 of the time of one pass.
    if 2 * window <= 3 * every:
        return Choice("rescan", f"a window is at most 1.5 times its slide ({window} and {every}): little is shared")
    how = "eight windows side by side" if lanes else "one partial per slide behind, one in front"
    return Choice("blocks", f"all values are there: {how}, and no value is gone over more than three times")


# Over partials of slices, measured with a sum: a combine takes 1 to 1.5 ns; in blocks a window takes three, and each
# slice one; the calls cost the same. Below so many combines saved they are not worth another kernel.
PER_WINDOW = 4
WORTH = 256


def chosen_for_slices(slices: int, windows: int, span: int) -> str:
    """The algorithm for windows over slices: `slices` in all windows together, `span` from first to last.

    >>> chosen_for_slices(240 * 26, 26, 266), chosen_for_slices(240, 1, 240)
    ('blocks', 'rescan')
    """
    return "blocks" if slices - (span + PER_WINDOW * windows) >= WORTH else "rescan"


def explained(longest: float | None, corrected: bool) -> str:
    """A line for `explain`: which algorithm combines slices into windows of so many (None: unknown), and why.

    >>> explained(240, True)[-58:]
    'Floats that may be corrected are never combined in blocks.'
    """
    many = "a number of slices that only it knows" if longest is None else f"up to about {longest:.4g} slices"
    text = (
        f"Final aggregation: blocks (two-stacks over slices) where several windows are due at once and that saves "
        f"{WORTH} combines or more, since a window has {many}; else each window from its slices or the tree."
    )
    return text + (" Floats that may be corrected are never combined in blocks." if corrected else "")
