"""When state is compressed, and how: what `Spec.compress` says (paper 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from muntin.state.codecs import Codec, codec_of
from muntin.state.lossy import Loss, losses_of
from muntin.units import duration, show_duration

__all__ = ["Compression", "compression"]


@dataclass(frozen=True)
class Compression:
    """The knob D, in microseconds of event time, with a codec and how far values may be off.

    >>> Compression(after=60_000_000)
    compress(after='1 minute')
    """

    after: int
    codec: str = "auto"
    lossy: Loss | tuple[tuple[str, Loss], ...] | None = None

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
        said = [f"after={show_duration(self.after)!r}"]
        if self.codec != "auto":
            said.append(f"codec={self.codec!r}")
        if isinstance(self.lossy, tuple):
            named = {name: loss.given for name, loss in self.lossy}
            said.append(f"lossy={named!r}")
        elif self.lossy is not None:
            said.append(f"lossy={self.lossy.given!r}")
        return f"compress({', '.join(said)})"


def compression(after: object, codec: object, lossy: object) -> Compression:
    """What was given to `Spec.compress`, checked.

    >>> compression("1 minute", "zstd:3", {"speed": 0.5})
    compress(after='1 minute', codec='zstd:3', lossy={'speed': 0.5})
    """
    chosen, losses = codec_of(codec), losses_of(lossy)
    named = tuple(losses.items()) if isinstance(losses, dict) else losses
    return Compression(duration(after, "after"), "auto" if chosen is None else str(chosen), named)
