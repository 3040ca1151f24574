"""What an engine has done and holds: the metrics of paper 5, section 3."""

from __future__ import annotations

from dataclasses import dataclass, fields

from muntin.compression import NEVER

__all__ = ["Held", "Meter", "Metrics"]


@dataclass(frozen=True)
class Held:
    """What is compressed of an engine's state, and how often that was done; of several engines it adds up.

    >>> Held(compressions=2, keys_compressed=1, keys=4) + Held(keys=4)
    Held(compressions=2, decompressions=0, chunks_written=0, chunks_read=0, bytes_compressed=0, bytes_open=0, \
keys_compressed=1, keys=8)
    """

    compressions: int = 0
    decompressions: int = 0
    chunks_written: int = 0
    chunks_read: int = 0
    bytes_compressed: int = 0
    bytes_open: int = 0
    keys_compressed: int = 0
    keys: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(Held)))


@dataclass
class Meter:
    """Counts the steps of an engine and the time that they take.

    >>> meter = Meter()
    >>> meter.step(rows=100, results=3, seconds=0.5)
    >>> meter.rows, meter.longest
    (100, 0.5)
    """

    rows: int = 0
    results: int = 0
    seconds: float = 0.0
    answers: int = 0
    waited: float = 0.0
    longest: float = 0.0

    def step(self, rows: int, results: int, seconds: float) -> None:
        """A step has taken rows in and given results."""
        self.rows += rows
        self.results += results
        self.seconds += seconds
        if results:
            self.answers += 1
            self.waited += seconds
            self.longest = max(self.longest, seconds)


@dataclass(frozen=True)
class Metrics:
    """The metrics of an engine since it began. Made by `Engine.metrics`.

    >>> import muntin as mt
    >>> engine = mt.over("ts").window("s", mt.tumbling("1 second"), n=mt.count()).engine()
    >>> _ = engine.push({"ts": [0, 1_000_000]})
    >>> engine.metrics().rows, engine.metrics().results, engine.metrics().compressions
    (2, 1, 0)
    """

    rows: int
    """Rows that were pushed."""
    results: int
    """Rows of results that were given."""
    throughput: float
    """Rows per second of the time that the engine took."""
    latency: float
    """Seconds from a push to the results that it gives, on average over pushes that give some."""
    longest: float
    """The longest of these."""
    compressions: int
    """How often the state of a key, or of a slice, was compressed."""
    decompressions: int
    """How often the state of a key, or of a slice, was decompressed, for an event or for a window that was due."""
    chunks_written: int
    """Chunks of many keys or slices that were compressed: this many calls of a codec, for each column."""
    chunks_read: int
    """Chunks that were decompressed."""
    nbytes: int
    """The bytes of all state, from the sizes of the real buffers."""
    bytes_compressed: int
    """Those of them that are of compressed chunks."""
    bytes_open: int
    """The bytes that the chunks would take if they were not compressed."""
    keys_compressed: int
    """Keys whose kept events are compressed now."""
    keys: int
    """Keys that have kept events, where events may be compressed."""
    after: int | None
    """The D in use, in microseconds, the smallest of several threads; None: nothing is compressed."""
    codec: str | None
    """The codec in use; None: nothing was compressed yet."""

    @property
    def share_compressed(self) -> float:
        """The share of keys with kept events that are compressed."""
        return self.keys_compressed / self.keys if self.keys else 0.0

    @classmethod
    def of(cls, meter: Meter, nbytes: int, held: Held, chosen: list[tuple[int, str | None]]) -> Metrics:
        """What was counted, what is held, and the D and codec of each store that compresses."""
        after = min((after for after, _ in chosen), default=NEVER)
        return cls(
            meter.rows,
            meter.results,
            meter.rows / meter.seconds if meter.seconds else 0.0,
            meter.waited / meter.answers if meter.answers else 0.0,
            meter.longest,
            held.compressions,
            held.decompressions,
            held.chunks_written,
            held.chunks_read,
            nbytes,
            held.bytes_compressed,
            held.bytes_open,
            held.keys_compressed,
            held.keys,
            None if after >= NEVER else after,
            next((codec for _, codec in chosen if codec is not None), None),
        )
