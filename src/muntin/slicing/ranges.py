"""Aggregates over ranges of kept events: many ranges at once, however much they overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates import Bound
from muntin.aggregates.counting import Count
from muntin.aggregates.ends import M4, First, Last
from muntin.aggregates.extremes import ArgMax, ArgMin, Max, MaxCount, Min, MinCount
from muntin.aggregates.ordered import Collect, Concat, NthYoungest, Process, as_array, as_scalar
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Median, Mode, NthSmallest, Quantile
from muntin.aggregates.sketches import ApproxCountDistinct, ApproxQuantile
from muntin.aggregates.types import scalars, typed
from muntin.errors import FrameError
from muntin.slicing.codings import sketched
from muntin.slicing.ranges_fold import Ints, Ranges, folded, lowered, spread
from muntin.slicing.ranges_runs import from_runs
from muntin.slicing.values import Column

__all__ = ["evaluate", "special"]

_MOST = 2**31 - 1  # a list array counts its values in 32 bits


def evaluate(
    bound: Bound,
    columns: list[Column],
    time: Ints,
    order: Ints | None,
    lo: Ints,
    hi: Ints,
    take: Ints | None = None,
) -> pa.Array:
    """One aggregate over the events lo[i] to hi[i] of each range, as a column of type `bound.output`.

    `columns` are the aggregate's, in its order; events are in their order within a range. With `take`, range i
    holds the events take[lo[i]:hi[i]]. A value that does not fit the declared type of a user's own aggregate raises
    an Arrow error, as only the caller knows the name of the result.

    >>> import muntin as mt
    >>> speed = Column(pa.float64(), np.array([5.0, 9.0, 7.0]), None, None)
    >>> time, lo, hi = np.arange(3), np.array([0, 1, 2]), np.array([2, 3, 2])
    >>> evaluate(mt.last("speed").bind([pa.float64()]), [speed], time, None, lo, hi).to_pylist()
    [9.0, 7.0, None]
    """
    aggregate = bound.aggregate
    if type(aggregate) is Count and all(column.valid is None for column in columns):
        return pa.array(hi - lo, pa.int64())
    ranges = _present(_gathered(columns, time, order, lo, hi, take, aggregate.timed))
    enough = ranges.hi - ranges.lo >= aggregate.least
    if not enough.any():
        return pa.nulls(len(lo), bound.output)
    every = bool(enough.all())
    if not every:
        ranges = Ranges(ranges.columns, ranges.time, ranges.order, ranges.lo[enough], ranges.hi[enough])
    # By exact type: a subclass of a built-in may mean something else and is folded by its own functions.
    found = _KINDS.get(type(aggregate), _own)(bound, ranges)
    if every:
        return found
    return found.take(pa.array(np.cumsum(enough) - 1, mask=~enough))


# -- which events ------------------------------------------------------------------------------------------------


def _gathered(
    columns: list[Column], time: Ints, order: Ints | None, lo: Ints, hi: Ints, take: Ints | None, timed: bool
) -> Ranges:
    """The ranges over no more events than needed: a step may ask for a few windows of a large store."""
    counts = hi - lo
    some = counts > 0
    if not some.any():
        none = np.zeros(0, np.int64)
        nowhere = np.zeros(len(lo), np.int64)
        return Ranges([_taken(column, none) for column in columns], none if timed else None, None, nowhere, nowhere)
    first, end, total = int(lo[some].min()), int(hi[some].max()), int(counts.sum())
    index: Ints | slice
    if total * 2 < end - first:
        index, offsets = spread(lo, counts)
        lo, hi = offsets[:-1], offsets[1:]
    else:
        # where a range is empty its bounds may lie outside of what is taken
        lo, hi = np.where(some, lo - first, 0), np.where(some, hi - first, 0)
        index = slice(first, end)
    if take is not None:
        index = take[index]
    return Ranges(
        [_taken(column, index) for column in columns],
        time[index] if timed else None,
        order[index] if timed and order is not None else None,
        lo,
        hi,
    )


def _taken(column: Column, index: Ints | slice) -> Column:
    valid = None if column.valid is None else column.valid[index]
    return Column(column.type, column.values[index], valid, column.interner)


def _present(ranges: Ranges) -> Ranges:
    """The same ranges without the events in which one of the columns is null."""
    masks = [column.valid for column in ranges.columns if column.valid is not None]
    if not masks:
        return ranges
    valid = masks[0] if len(masks) == 1 else np.logical_and.reduce(masks)
    columns = [Column(column.type, column.values, None, column.interner) for column in ranges.columns]
    time, order, lo, hi = ranges.time, ranges.order, ranges.lo, ranges.hi
    if not valid.all():
        before = np.zeros(len(valid) + 1, np.int64)
        np.cumsum(valid, out=before[1:])
        kept = np.flatnonzero(valid)
        columns = [_taken(column, kept) for column in columns]
        lo, hi = before[lo], before[hi]
        time = None if time is None else time[kept]
        order = None if order is None else order[kept]
    return Ranges(columns, time, order, lo, hi)


# -- one function per kind: ranges with enough values in, one result each out ----------------------------------------


def _count(bound: Bound, ranges: Ranges) -> pa.Array:
    return pa.array(ranges.hi - ranges.lo, pa.int64())


def _first(bound: Bound, ranges: Ranges) -> pa.Array:
    return _taken(ranges.columns[0], ranges.lo).to_arrow()


def _last(bound: Bound, ranges: Ranges) -> pa.Array:
    return _taken(ranges.columns[0], ranges.hi - 1).to_arrow()


def _nth_youngest(bound: Bound, ranges: Ranges) -> pa.Array:
    aggregate: Any = bound.aggregate
    return _taken(ranges.columns[0], ranges.hi - aggregate.n).to_arrow()


def _extreme(bound: Bound, ranges: Ranges) -> pa.Array:
    """Smallest, largest and how often; strings by their ranks."""
    column = ranges.columns[0]
    numbers, values = _sortable(column)
    on_numbers = bound if numbers is column else bound.aggregate.bind([numbers.type])
    result = folded(on_numbers, Ranges([numbers], ranges.time, ranges.order, ranges.lo, ranges.hi))
    if type(bound.aggregate) in (MinCount, MaxCount):
        return pa.array(result, pa.int64())
    found = np.asarray(result, numbers.values.dtype)
    return Column(column.type, found if values is None else values[found], None, column.interner).to_arrow()


def _arg(bound: Bound, ranges: Ranges) -> pa.Array:
    """What goes with the smallest or largest: which event it is, then its value of whatever type."""
    value, by = ranges.columns
    numbers, _ = _sortable(by)
    events = Column(pa.int64(), np.arange(len(by.values)), None, None)
    on_numbers = bound.aggregate.bind([pa.int64(), numbers.type])
    found = folded(on_numbers, Ranges([events, numbers], ranges.time, ranges.order, ranges.lo, ranges.hi))
    return _taken(value, np.asarray(found, np.int64)).to_arrow()


def _m4(bound: Bound, ranges: Ranges) -> pa.Array:
    name = bound.aggregate.columns[0]
    parts = [
        _extreme(Min(name).bind(bound.types), ranges),
        _extreme(Max(name).bind(bound.types), ranges),
        _first(bound, ranges),
        _last(bound, ranges),
    ]
    return pa.StructArray.from_arrays(parts, fields=list(bound.output))


def _sortable(column: Column) -> tuple[Column, npt.NDArray[Any] | None]:
    """A column of numbers with the same order, and the way back; None where the values are themselves numbers."""
    if column.interner is None:
        return column, None
    ranks = column.interner.ranks()
    codes = np.empty(len(ranks), np.int64)
    codes[ranks] = np.arange(len(ranks))
    return Column(pa.int64(), ranks[column.values].astype(np.int64, copy=False), None, None), codes


def _runs(bound: Bound, ranges: Ranges) -> pa.Array:
    """Of the sorted values: median, quantile, mode, n-th smallest, distinct values, heavy hitters."""
    column = ranges.columns[0]
    numbers, values = _sortable(column)

    def back(found: npt.NDArray[Any]) -> pa.Array:
        return Column(column.type, found if values is None else values[found], None, column.interner).to_arrow()

    return from_runs(bound, numbers.values, values is not None, ranges.lo, ranges.hi, back)


def _sketched(bound: Bound, ranges: Ranges) -> pa.Array:
    """An approximate aggregate, as the exact one over coded values that stands for it."""
    over, column = sketched(bound, ranges.columns[0])
    return _runs(over, replace(ranges, columns=[column]))


def _collect(bound: Bound, ranges: Ranges) -> pa.Array:
    counts = ranges.hi - ranges.lo
    total = int(counts.sum())
    if total > _MOST:
        raise FrameError(
            f"{bound.aggregate!r} has {total} values in the windows of one step, more than the {_MOST} of a list "
            f"column. Push smaller batches or use smaller windows."
        )
    index: Ints | slice
    if np.array_equal(ranges.lo[1:], ranges.hi[:-1]):
        # one after the other, as tumbling windows of one key are
        index = slice(int(ranges.lo[0]), int(ranges.hi[-1]))
        offsets = np.append(ranges.lo, ranges.hi[-1]) - ranges.lo[0]
    else:
        index, offsets = spread(ranges.lo, counts)
    # a copy also of a slice: an array shares the memory of its column, which the store may write to later
    taken = [_taken(column, index) for column in ranges.columns]
    parts = [Column(column.type, column.values.copy(), None, column.interner).to_arrow() for column in taken]
    if type(bound.aggregate) is Concat:
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), parts[0])
        aggregate: Any = bound.aggregate
        return pc.binary_join(lists, aggregate.sep)
    values = parts[0]
    if len(parts) > 1:
        values = pa.StructArray.from_arrays(parts, fields=list(bound.output.value_type))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=bound.output)


def _process(bound: Bound, ranges: Ranges) -> pa.Array:
    """A user's function, called once per range."""
    aggregate: Any = bound.aggregate
    listed: list[Any] = [c.values if c.interner is None else scalars(c.to_arrow()) for c in ranges.columns]
    arrays = [as_array(values, type_) for values, type_ in zip(listed, bound.types, strict=True)]
    results = []
    for start, end in zip(ranges.lo.tolist(), ranges.hi.tolist(), strict=True):
        # a copy: the function may write to its arrays, and ranges overlap
        result = aggregate.function(*[array[start:end].copy() for array in arrays])
        results.append(aggregate.settle(as_scalar(result, bound.output)))
    return typed(results, bound.output)


def _own(bound: Bound, ranges: Ranges) -> pa.Array:
    """Any aggregate by its own functions."""
    return lowered(bound, ranges)


_KINDS: dict[type, Callable[[Bound, Ranges], pa.Array]] = {
    Count: _count,
    First: _first,
    Last: _last,
    NthYoungest: _nth_youngest,
    M4: _m4,
    **dict.fromkeys((Min, Max, MinCount, MaxCount), _extreme),
    **dict.fromkeys((ArgMin, ArgMax), _arg),
    **dict.fromkeys((Median, Quantile, Mode, NthSmallest, CountDistinct, HeavyHitters), _runs),
    **dict.fromkeys((ApproxQuantile, ApproxCountDistinct), _sketched),
    **dict.fromkeys((Collect, Concat), _collect),
    Process: _process,
}


def special(bound: Bound) -> bool:
    """Whether there is a way of its own for an aggregate, rather than its own functions.

    >>> import muntin as mt
    >>> special(mt.last("x").bind([pa.int64()])), special(mt.sum("x").bind([pa.int64()]))
    (True, False)
    """
    return type(bound.aggregate) in _KINDS
