"""Several sources that feed one engine: each has its own newest time, and the slowest one holds the watermark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muntin.errors import SpecError, nearest
from muntin.units import duration

if TYPE_CHECKING:
    from muntin.spec import Spec

__all__ = ["Sources", "check_sources"]


@dataclass
class _Source:
    newest: int | None = None
    """The largest time seen from it; None: none yet, so it holds the watermark where it is."""
    heard: int | None = None
    """The clock when it last pushed, or when it began to be waited for."""


class Sources:
    """The sources of one engine, by name.

    Either every push names its source or none does: the first one decides. Where names are declared, only these count,
    from the beginning on; else a source counts from its first push on.

    >>> sources = Sources(["a", "b"])
    >>> sources.turn("a")
    >>> sources.least(5, None) is None  # "b" has not come yet
    True
    >>> sources.turn("b")
    >>> sources.least(3, None)
    3
    """

    def __init__(self, declared: Iterable[str] | None = None, idle: object = None) -> None:
        if isinstance(declared, str):
            raise SpecError(f"sources={declared!r} is one text. Give a list of names: sources=[{declared!r}].")
        names = None if declared is None else list(declared)
        if names is not None and (not names or not all(isinstance(name, str) for name in names)):
            raise SpecError(f"sources={names!r} is not a list of names. Leave it out where sources are not known.")
        self._declared = names
        self._idle = None if idle is None else duration(idle, "idle_source")
        if self._idle == 0:
            raise SpecError("idle_source is 0: every source would be idle at once. Leave it out, or give a time.")
        self._known = {name: _Source() for name in names or []}
        self._plain = False
        self._turn: str | None = None

    @property
    def asked(self) -> bool:
        """Whether the engine was made for sources."""
        return self._declared is not None or self._idle is not None

    @property
    def named(self) -> bool:
        """Whether the push at hand names its source."""
        return self._turn is not None

    def turn(self, name: str | None) -> None:
        """A source is about to push; refuses a name that cannot be."""
        if name is None:
            if self._known:
                raise SpecError(
                    f"push() without source=, but this engine has the sources {_listed(self._known)}. Name one of "
                    f"them in every push: rows without a source would hold the watermark back, or not, at random."
                )
            self._plain = True
            return
        if not isinstance(name, str):
            raise SpecError(f"source={name!r} is not a text. Name the source, as in push(batch, source='a').")
        if self._plain:
            raise SpecError(
                f"push() with source={name!r} after a push without. Name the source in every push from the first on, "
                f"or in none."
            )
        if self._declared is not None and name not in self._declared:
            raise SpecError(f"source={name!r} is not among those declared. {nearest(name, self._declared)}")
        self._known.setdefault(name, _Source())
        self._turn = name

    def newest(self) -> int | None:
        """The largest time seen so far from the source whose turn it is."""
        return None if self._turn is None else self._known[self._turn].newest

    def least(self, newest: int | None, clock: Callable[[], int] | None) -> int | None:
        """The source whose turn it is has come to `newest`; gives how far all that count have come.

        Sources that have not pushed for the idle timeout do not count, until they push again. None: one of those that
        count has sent no row yet.
        """
        assert self._turn is not None
        turn = self._known[self._turn]
        turn.newest = newest
        found = list(self._known.values())
        if self._idle is not None and clock is not None:
            now = clock()
            turn.heard = now
            for source in found:
                source.heard = now if source.heard is None else source.heard
            found = [source for source in found if source.heard is not None and now - source.heard < self._idle]
        times = [source.newest for source in found if source.newest is not None]
        return min(times) if len(times) == len(found) else None

    def dump(self) -> dict[str, Any]:
        """What a snapshot holds. Not when sources were heard of: after a restart all of them are waited for anew."""
        return {"newest": {name: source.newest for name, source in self._known.items()}, "plain": self._plain}

    def load(self, tree: dict[str, Any]) -> None:
        """Take over what a snapshot holds; where sources are declared now, those count and no others."""
        for name, newest in tree["newest"].items():
            if self._declared is None or name in self._declared:
                self._known[name] = _Source(newest)
        self._plain = tree["plain"] and not self.asked


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def check_sources(spec: Spec, automatic: bool) -> None:
    """Sources have a say in automatic watermarks over event time only."""
    if not automatic:
        raise SpecError(
            "sources and watermark='manual' do not go together: a manual watermark moves only on advance(). Leave "
            "watermark= out, or push without source=."
        )
    if spec.time is None:
        raise SpecError(
            "over(None) goes by arrival: the rows of all sources have one clock, so no source can lag behind. Leave "
            "source=, sources= and idle_source= out, or name a column of event times."
        )
