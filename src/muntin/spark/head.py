"""Where the state of a bucket stands, and how Spark's state store names what it holds."""

from __future__ import annotations

from typing import NamedTuple

from muntin.errors import StateCorrupt
from muntin.state.blob import pack, unpack
from muntin.state.understood import understood

__all__ = ["HEAD", "SNAPSHOT", "STATE", "Head", "missing"]

STATE = "blobs"
"""The state variable: a map of blobs by number, of steps from 1 on."""
HEAD, SNAPSHOT = -2, -1
"""The numbers of the two others."""


def missing(what: str) -> StateCorrupt:
    """The error for a blob that the head says is there, and is not."""
    return StateCorrupt(
        f"{what} of a bucket is not in the state store, so the checkpoint is not whole. Put back what is gone, or "
        f"start with a new checkpoint."
    )


class Head(NamedTuple):
    """Where the state of a bucket stands: the one value that every step reads and writes."""

    line: str
    """Names the line of steps that began with the first batch of the checkpoint."""
    token: str
    """Names the last step."""
    step: int
    base: int
    """The step that the snapshot was taken after."""
    log: int
    """The bytes of the steps since."""
    size: int
    """The bytes of the snapshot."""
    watermark: int | None
    timer: int | None
    """When Spark will call, in its milliseconds; None: never."""

    def blob(self) -> bytes:
        """As it is stored."""
        return pack(self._asdict())

    @classmethod
    def of(cls, blob: bytes) -> Head:
        """A head that was stored."""
        with understood():
            found = cls(**unpack(blob))
            texts, numbers = found[:2], found[2:6]
            times = [time for time in found[6:] if time is not None]
            if {type(text) for text in texts} != {str} or not {type(n) for n in (*numbers, *times)} <= {int}:
                raise TypeError(f"{found}")
            return found
