"""How much the tests of reliability do: little in `make test`, the figures of the promise in `make soak`.

`MUNTIN_SOAK=1` asks for the long runs; `MUNTIN_SOAK=0.1` for a tenth of them, `10` for ten times as much.
`MUNTIN_SEED` draws other logs: `make soak` takes a new one each time, and prints it.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

SOAK = float(os.environ.get("MUNTIN_SOAK") or 0)
SEED = int(os.environ.get("MUNTIN_SEED") or 0)


def sized(short: int, long: int) -> int:
    """So many in `make test`, and so many in `make soak`."""
    return max(short, round(long * SOAK)) if SOAK else short


def seeds(short: int, long: int) -> list[int]:
    """Seeds for so many runs."""
    return [SEED * 1_000_003 + i for i in range(sized(short, long))]


def examples(count: int, **more: Any) -> settings:
    """So many examples in `make test`, the same in every run; ten times as many in `make soak`, new ones each time."""
    return settings(max_examples=max(count, round(10 * count * SOAK)), **more)
