"""What Numba makes of a user's functions, and which machine and versions a compiled kernel is good for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.registry import cpu_target

__all__ = ["NotCompiled", "jitted", "result", "stamp"]


class NotCompiled(Exception):
    """Numba cannot compile a function, or it gives something that does not fit."""


def stamp() -> tuple[str, ...]:
    """Versions of what compiles, and the name and the features of the processor that it compiles for."""
    return numba.__version__, np.__version__, *map(str, cpu_target.target_context.codegen().magic_tuple())


def jitted(function: Callable[..., Any]) -> Any:
    """A function of scalars, to be called from a kernel."""
    return numba.njit(error_model="numpy")(function)


def result(
    function: Any, partial: Callable[..., Any], arguments: Sequence[Sequence[str] | str]
) -> tuple[bool, tuple[str, ...]]:
    """Compile a function: whether it gives a tuple, and the types of what it gives.

    An argument is a scalar, given as its type, or a partial, given as the types of its fields.
    """
    given = [_type(argument) if isinstance(argument, str) else _partial(partial, argument) for argument in arguments]
    try:
        function.compile(tuple(given))
    except Exception as error:  # Numba raises more than its own errors where it meets what it does not know
        raise NotCompiled(_first_line(str(error))) from error
    found = function.nopython_signatures[-1].return_type
    several = isinstance(found, types.BaseTuple)
    kinds = tuple(_name(kind) for kind in (found.types if several else (found,)))
    return several, kinds


def _first_line(message: str) -> str:
    """What went wrong, without where in Numba it did."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Failed in nopython mode")]
    return (told or lines or ["no reason given"])[0]


def _type(name: str) -> Any:
    return types.boolean if name == "bool" else getattr(types, name)


def _partial(partial: Callable[..., Any], fields: Sequence[str]) -> Any:
    return numba.typeof(partial(*(np.dtype(field).type(0) for field in fields)))  # type: ignore[no-untyped-call]


def _name(kind: Any) -> str:
    if isinstance(kind, types.Boolean | types.BooleanLiteral):
        return "bool"
    if isinstance(kind, types.Integer | types.Float):
        # a literal 1 has a type of its own
        return str(types.unliteral(kind))  # type: ignore[no-untyped-call]
    raise NotCompiled(f"it gives {kind}, which is no number")
