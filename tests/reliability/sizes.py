"""How much the tests of reliability do: little in `make test`, the figures of the promise in `make soak`.

`MUNTIN_SOAK=1` asks for the long runs; `MUNTIN_SOAK=0.1` for a tenth of them, `10` for ten times as much.
`MUNTIN_SEED` draws other logs: `make soak` takes a new one each time, and prints it.
"""

from __future__ import annotations

import os

SOAK = float(os.environ.get("MUNTIN_SOAK") or 0)
SEED = int(os.environ.get("MUNTIN_SEED") or 0)


def sized(short: int, long: int) -> int:
    """So many in `make test`, and so many in `make soak`."""
    return max(short, round(long * SOAK)) if SOAK else short


def seeds(short: int, long: int) -> list[int]:
    """Seeds for so many runs."""
    return [SEED * 1_000_003 + i for i in range(sized(short, long))]
