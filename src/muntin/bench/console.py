"""Where benchmarks print: a terminal as wide as it is, anything else wide enough for their tables."""

from __future__ import annotations

import os

from rich.console import Console

__all__ = ["console"]

_WIDE = 200  # rich takes 80 for a file, in which a table of fourteen columns has none that can be read


def console() -> Console:
    """A console.

    >>> console().width >= 80
    True
    """
    found = Console()
    return found if found.is_terminal or "COLUMNS" in os.environ else Console(width=_WIDE)
