"""What a worker has loaded is kept out of its garbage collections.

Spark reuses Python workers, and its daemon collects garbage after every task. Each collection walks all that is
loaded: Numba, Arrow, pandas and compiled kernels are several hundred thousand objects, so that the six workers of two
cores collected for longer than they worked. Loaded modules are no garbage; Python can be told so.
"""

from __future__ import annotations

import gc

__all__ = ["settle"]

_MOST = 50_000  # objects that a collection may walk: about 5 ms


def settle() -> None:
    """At the end of a task: where much is alive that collections would walk again and again, they skip it from now on.

    What is garbage by then is collected before, so nothing leaks. Objects that are skipped are freed as ever when
    nothing refers to them; only cycles among them are not found.

    >>> settle()
    >>> gc.get_freeze_count() > 0 or len(gc.get_objects()) <= 50_000
    True
    """
    if len(gc.get_objects()) > _MOST:
        gc.collect()
        gc.freeze()
