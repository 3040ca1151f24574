"""One query per checkpoint: of two processes, the second is refused.

In one session Spark sees to it itself. Of two, each makes the next batch from the same state and writes the same folder
of the sink; Spark fails the one that is second to commit, and by then its rows may lie beside those of the other. So
the process that runs a query holds a lock on a file of the checkpoint. The system lets go of it when the process ends,
however it ends. Where a checkpoint is no folder of this host's files, there is no such lock.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.utils import is_remote

from muntin.errors import SpecError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Alone"]

_NAME = ".lock"  # Spark does not read files that begin with a dot


@dataclass
class _Held:
    file: int
    queries: int = 0


_HELD: dict[Path, _Held] = {}
_GUARD = threading.Lock()


class Alone:
    """The right of this process to run queries on a checkpoint, one after the other; `SpecError` where another has it.

    >>> import tempfile
    >>> with Alone(tempfile.mkdtemp()) as alone:
    ...     alone.lock()  # again: it has it
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._place: Path | None = None
        self._given = False

    def __enter__(self) -> Alone:
        self.lock()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._given:
            self._release()

    def lock(self) -> None:
        """Take it, where the folder is there."""
        # With Spark Connect the driver, and perhaps the folder, is elsewhere.
        place = None if fcntl is None or is_remote() else _local(self._folder)
        if place is None or self._place is not None:
            return
        with _GUARD:
            if place not in _HELD:
                file = _locked(place, self._folder)
                if file is None:
                    return
                _HELD[place] = _Held(file)
            _HELD[place].queries += 1
            self._place = place

    def until_it_ends(self, query: StreamingQuery) -> None:
        """Keep it for as long as a query runs."""

        def wait() -> None:
            with contextlib.suppress(Exception):  # how it has ended is told to whom it concerns
                query.awaitTermination()
            self._release()

        if self._place is not None:
            self._given = True
            threading.Thread(target=wait, name="muntin: one query per checkpoint", daemon=True).start()

    def _release(self) -> None:
        if self._place is None:
            return
        with _GUARD:
            held = _HELD[self._place]
            held.queries -= 1
            if not held.queries:
                os.close(_HELD.pop(self._place).file)
            self._place = None


def _local(folder: str) -> Path | None:
    """The folder among this host's files, where it is there."""
    parts = urlsplit(folder)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        return None
    place = Path(unquote(parts.path) if parts.scheme else folder)
    return place.resolve() if place.is_dir() else None


def _locked(place: Path, folder: str) -> int | None:
    """The file, locked; None where files cannot be locked there, or not even be made: then Spark will say so."""
    try:
        file = os.open(place / _NAME, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise SpecError(
            f"another process runs a query on the checkpoint of {folder}: both would write the same batches. Stop it "
            f"first, or start with a new checkpoint."
        ) from None
    except OSError:
        os.close(file)
        return None
    return file
