"""Result files: what was measured, on which machine, with which versions of what, at which commit."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import platform
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

from muntin.bench.figure import Figure, Point, Run

__all__ = ["machine", "read", "result", "versions", "write"]

PACKAGES = ("muntin", "numpy", "numba", "pyarrow", "pandas", "polars", "bottleneck", "duckdb", "pyspark")


def machine() -> dict[str, Any]:
    """The machine: processor, cores, memory, system.

    >>> sorted(machine())
    ['cores', 'memory_gb', 'processor', 'system']
    """
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.uname().system} {platform.machine()}",
    }


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    if told.is_file():
        for line in told.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that are there.

    >>> "numpy" in versions()
    True
    """
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit of the source, with a mark where files differ from it; None outside of a repository."""
    here = Path(__file__).parent
    try:
        asked = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
        said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip() or None


def result(figure: Figure, run: Run, seconds: float) -> dict[str, Any]:
    """All that a result file holds."""
    return {
        **figure.described(),
        "size": "quick" if run.quick else "full",
        "seed": run.seed,
        "rounds": run.rounds,
        "seconds": round(seconds, 1),
        "finished": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "commit": commit(),
        "data": sorted(set(run.sources)) or ["generated"],
        "seen": figure.read(run),
        "points": [asdict(point) for point in run.points],
    }


def write(found: dict[str, Any], folder: Path) -> Path:
    """Write a result file; gives where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['figure']}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    """Read a result file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def points(found: dict[str, Any]) -> list[Point]:
    """The measurements of a result file."""
    return [Point(**point) for point in found["points"]]
