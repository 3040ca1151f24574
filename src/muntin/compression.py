"""When state is compressed, and how: what `Spec.compress` says (paper 5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from muntin.errors import SpecError
from muntin.state.codecs import Codec, codec_of
from muntin.state.lossy import Loss, losses_of
from muntin.units import duration, show_duration

__all__ = ["NEVER", "Compression", "compression", "targeted"]

NEVER = 1 << 62
"""D, where nothing is compressed."""


@dataclass(frozen=True)
class Compression:
    """The knob D, in microseconds of event time, with a codec and how far values may be off.

    >>> Compression(after=60_000_000)
    compress(after='1 minute')
    """

    after: int
    codec: str = "auto"
    lossy: Loss | tuple[tuple[str, Loss], ...] | None = None
    budget: int | None = None
    """The bytes that state may take: D and the codec are moved so that it does."""
    latency: float | None = None
    """The seconds that an answer may take: D is moved so that it does not take longer."""
    throughput: float | None = None
    """The rows per second that are to be taken in."""

    @property
    def moves(self) -> bool:
        """Whether D is moved."""
        return self.budget is not None or self.latency is not None or self.throughput is not None

    @property
    def for_states(self) -> Codec | Literal["auto"]:
        """The codec of snapshots and of stored states."""
        return self.given or "auto"

    @property
    def given(self) -> Codec | None:
        """The codec that was asked for; None: whichever suits."""
        return codec_of(self.codec)

    def loss(self, column: str) -> Loss | None:
        """How far values of a column may be off; None: not at all."""
        return dict(self.lossy).get(column) if isinstance(self.lossy, tuple) else self.lossy

    def __repr__(self) -> str:
        said = []
        if self.codec != "auto":
            said.append(f"codec={self.codec!r}")
        if isinstance(self.lossy, tuple):
            named = {name: loss.given for name, loss in self.lossy}
            said.append(f"lossy={named!r}")
        elif self.lossy is not None:
            said.append(f"lossy={self.lossy.given!r}")
        calls = []
        if self.budget is not None:
            calls.append(f"memory({', '.join([repr(self.budget), *said])})")
        elif self.after < NEVER or not self.moves:
            calls.append(f"compress({', '.join([f'after={show_duration(self.after)!r}', *said])})")
        level = {"latency": self.latency, "throughput": self.throughput}
        asked = ", ".join(f"{name}={value!r}" for name, value in level.items() if value is not None)
        return ".".join([*calls, f"target({asked})"] if asked else calls)


def compression(after: object, codec: object, lossy: object, budget: int | None = None) -> Compression:
    """What was given to `Spec.compress` or `Spec.memory`, checked.

    >>> compression("1 minute", "zstd:3", {"speed": 0.5})
    compress(after='1 minute', codec='zstd:3', lossy={'speed': 0.5})
    """
    chosen, losses = codec_of(codec), losses_of(lossy)
    named = tuple(losses.items()) if isinstance(losses, dict) else losses
    wait = NEVER if after is None else duration(after, "after")
    return Compression(wait, "auto" if chosen is None else str(chosen), named, budget)


def targeted(before: Compression | None, latency: object, throughput: object) -> Compression:
    """What was given to `Spec.target`, checked.

    >>> targeted(None, "100 ms", None)
    target(latency=0.1)
    """
    if latency is None and throughput is None:
        raise SpecError("target() asks for nothing. Give latency='100 ms', throughput=10_000 rows per second, or both.")
    wait = None if latency is None else duration(latency, "latency") / 1_000_000
    if wait == 0:
        raise SpecError("latency=0 cannot be kept. Give the time that an answer may take, as in latency='100 ms'.")
    rate = throughput
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float) or not rate > 0):
        raise SpecError(f"throughput={rate!r} is no number of rows per second above 0.")
    return replace(before or Compression(NEVER), latency=wait, throughput=rate)
