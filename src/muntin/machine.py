"""What was measured once on this machine, kept beside the compiled kernels."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from muntin.kernel_cache import folder

__all__ = ["keep", "kept", "kept_once"]

_FORMAT = 2
Numbers = TypeVar("Numbers", bound=Any)


def kept(name: str) -> dict[str, Any] | None:
    """What was kept under a name; None where nothing was, or on another machine.

    >>> kept("what was never kept") is None
    True
    """
    place = folder()
    if place is None:
        return None
    try:
        tree = json.loads((place / f"{name}.json").read_text())
        known = (tree.pop("format"), tree.pop("machine")) == (_FORMAT, _machine())
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None  # none yet, or not what was written: measured anew
    return tree if known else None


def keep(name: str, tree: dict[str, Any]) -> None:
    """Keep something under a name, where kernels are kept at all."""
    place = folder()
    if place is not None:
        (place / f"{name}.json").write_text(json.dumps({"format": _FORMAT, "machine": _machine(), **tree}))


def kept_once(name: str, type_: Callable[..., Numbers], measure: Callable[[], Numbers]) -> Numbers:
    """Numbers under a name, as a dataclass of floats: as kept, else measured now and kept."""
    try:
        return type_(**{field: float(value) for field, value in (kept(name) or {}).items()})
    except (TypeError, ValueError):  # none yet, or not what was written
        found = measure()
        keep(name, asdict(found))
        return found


def _machine() -> str:
    """Which machine it is: a folder may be seen from several."""
    return f"{platform.node()} {platform.machine()} {platform.processor()}"
