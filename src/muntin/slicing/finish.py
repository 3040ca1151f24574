"""From combined partials to result columns: `lower`, nulls where there are too few values, the result type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Aggregate, Bound
from muntin.aggregates.moments import IntegerSum
from muntin.aggregates.types import storage, typed
from muntin.compile import Compiled
from muntin.errors import FrameError, MuntinError
from muntin.fused import Fused
from muntin.slicing.slices import Partials
from muntin.slicing.texts import Texts
from muntin.slicing.values import dtype_of

__all__ = ["finished", "finished_all", "lowered_partials", "named_errors"]


class named_errors:
    """Where a value does not fit the declared type of a result, say of which."""

    __slots__ = ("_bound", "_name")

    def __init__(self, name: str, bound: Bound) -> None:
        self._name, self._bound = name, bound

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MuntinError):  # a sum that overflows says so itself
            return
        if isinstance(error, pa.ArrowInvalid | pa.ArrowTypeError | OverflowError):
            raise FrameError(
                f"a value of {self._name!r} is not of its type, {self._bound.output}: {error}. Declare another type."
            ) from error


_SAME = {("d", pa.float64().id), ("l", pa.int64().id)}  # the common ones, found without asking Arrow for more


def finished(fused: Fused, place: int, bound: Bound, functions: Compiled, partials: Partials) -> pa.Array:
    """The results of one aggregate of the fused update; null where it has fewer values than it needs."""
    counts = partials[fused.counts[place]]
    slots = [partials[slot] for slot in fused.places[place]]
    # Every window has an event: the count of rows, the first column, needs no look.
    if len(counts) and bound.aggregate.least < 2 and fused.counts[place] == 0:
        return lowered_partials(bound, functions, slots)
    if len(counts) and counts.min() >= bound.aggregate.least:
        return lowered_partials(bound, functions, slots)
    enough = counts >= bound.aggregate.least
    some = np.flatnonzero(enough)
    if not len(some):
        return pa.nulls(len(counts), bound.output)
    found = lowered_partials(bound, functions, [slot[some] for slot in slots])
    return found.take(pa.array(np.cumsum(enough) - 1, mask=~enough))


def finished_all(
    fused: Fused,
    fixed: dict[str, int],
    bounds: dict[str, Bound],
    compiled: list[Compiled],
    texts: Texts,
    partials: Partials,
) -> dict[str, pa.Array]:
    """The results of several aggregates of the fused update, by name and place among all of them."""
    found = {}
    for name, place in fixed.items():
        with named_errors(name, bounds[name]):
            values = finished(fused, place, bounds[name], compiled[place], partials)
        found[name] = texts.shown(bounds[name], values)
    return found


def lowered_partials(bound: Bound, functions: Compiled, partials: Partials) -> pa.Array:
    """What `lower` gives for each partial, settled, as a column of the result type."""
    aggregate = bound.aggregate
    results, fails = functions.lower(partials)
    if fails is not None and fails.any():
        for i in np.flatnonzero(fails).tolist():  # the exact value, for the message: the first one raises
            aggregate.settle(bound.lower(bound.partial(*[column[i].item() for column in partials])))
        return _as_type(results[0], bound.output, fails)
    if type(aggregate).settle not in (Aggregate.settle, IntegerSum.settle):
        plain = results[0].tolist() if len(results) == 1 else list(zip(*[r.tolist() for r in results], strict=True))
        return typed([aggregate.settle(value) for value in plain], bound.output)
    if pa.types.is_struct(bound.output):
        parts = [_as_type(part, field.type) for part, field in zip(results, bound.output, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(bound.output))
    return _as_type(results[0], bound.output)


def _alike(values: npt.NDArray[Any], type_: pa.DataType) -> bool:
    return values.dtype.kind in "if" and dtype_of(type_) == values.dtype


def _as_type(values: npt.NDArray[Any], type_: pa.DataType, null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers as an array of a type; an Arrow error where one does not fit."""
    if null is None and ((values.dtype.char, type_.id) in _SAME or _alike(values, type_)):
        return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
    array = pa.array(values, mask=null)
    return array if array.type == type_ else array.cast(storage(type_)).cast(type_)
