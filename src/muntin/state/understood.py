"""What a tree that is not what was expected leads to, as one error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muntin.errors import MuntinError, StateCorrupt

__all__ = ["understood"]

# What reading a tree of another shape raises. Not MemoryError, and not what has nothing to do with the tree.
_SHAPE = (LookupError, TypeError, ValueError, AttributeError, AssertionError, ArithmeticError)


@contextmanager
def understood() -> Iterator[None]:
    """Within it, a state that was read whole and yet is of another shape is `StateCorrupt`.

    >>> with understood():
    ...     {"watermark": 3}["newest"]
    Traceback (most recent call last):
    ...
    muntin.errors.StateCorrupt: the state is not one that this version of Muntin writes: KeyError('newest'). Restore \
it with the version that wrote it, or from another snapshot.
    """
    try:
        yield
    except MuntinError:
        raise
    except _SHAPE as error:
        raise StateCorrupt(
            f"the state is not one that this version of Muntin writes: {error!r}. Restore it with the version that "
            f"wrote it, or from another snapshot."
        ) from error
