"""The Python processes that Spark has started for this one: daemons, and the workers that they fork."""

from __future__ import annotations

import os
from pathlib import Path

# Java's own words name the module too, as a setting; so by how it is started.
_STARTED = "\0-m\0muntin.spark.daemon\0"


def daemons() -> list[int]:
    """The daemons of workers."""
    started = _started()
    return [pid for pid, parent in started.items() if parent not in started]


def workers() -> list[int]:
    """The workers of all daemons."""
    started = _started()
    return [pid for pid, parent in started.items() if parent in started]


def _started() -> dict[int, int]:
    """Daemons and workers, which are forked from them and have their command line, with the parent of each."""
    parents: dict[int, int] = {}
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # After the name, which is in brackets and may have spaces: state, parent.
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if _STARTED in (entry / "cmdline").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended

    def ours(pid: int) -> bool:
        while pid and pid != os.getpid():
            pid = parents.get(pid, 0)
        return bool(pid)

    return {pid: parents[pid] for pid in found if ours(pid)}
