"""Where the state of a bucket stands, and how Spark's state store names what it holds."""

from __future__ import annotations

from typing import NamedTuple

from muntin.state.blob import pack, unpack

__all__ = ["HEAD", "SNAPSHOT", "STATE", "Head"]

STATE = "blobs"
"""The state variable: a map of blobs by number, of steps from 1 on."""
HEAD, SNAPSHOT = -2, -1
"""The numbers of the two others."""


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
        return cls(**unpack(blob))
