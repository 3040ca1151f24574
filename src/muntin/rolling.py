"""`mt.rolling`: the kernels of paper 4 as a function over arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates import Aggregate, Bound
from muntin.aggregates.counting import Count
from muntin.errors import FrameError, SpecError, UnsupportedAggregate
from muntin.final import Choice, Shape, check, chosen_for_cells, chosen_for_values, refuse_without_inverse
from muntin.final_costs import measured
from muntin.rolling_frames import Frame, regular, timed
from muntin.slicing.values import Column, Interner, dtype_of, read
from muntin.units import Measure, length

if TYPE_CHECKING:
    from muntin.kernels.final.lane_text import Op

__all__ = ["rolling"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SMALL = ("int8", "int16", "uint8", "uint16")


def rolling(
    values: Any,
    *,
    window: Any,
    every: Any = None,
    agg: Any,
    times: Any = None,
    align: Any = 0,
    out: Array | None = None,
    final: str = "auto",
    explain: bool = False,
) -> Any:
    """An aggregate over sliding windows of an array: one value per complete window.

    `window` and `every` are numbers of values (`every` is 1 unless given), so there are
    `(len(values) - window) // every + 1` results. With `times`, which must not go back, they are durations
    (`"64 seconds"`) or microseconds, `every` is the window's length unless given, windows start at
    `k * every + align`, and the result is a pair: the starts of all windows that lie wholly between the first and the
    last time, and their values.

    `agg` is an aggregate (`mt.min`), one with parameters (`mt.quantile("x", 0.9)`; its column's name does not matter),
    or your own. NumPy in, NumPy out; Arrow in, Arrow out. `out` takes the results of a NumPy call without allocating.

    Nulls (Arrow's, and those of a masked array) take their place in a window and are skipped; a window with too few
    values is null: a masked array in NumPy. NaN is a value, by Spark's rules: larger than any number, and it spreads
    through sums and means of the windows that hold it, and of no other.

    `final` is `"auto"`, `"blocks"`, `"two_stacks"`, `"subtract_on_evict"`, `"rescan"` or `"daba"`; results are the
    same but for the last digits of floats. `explain=True` gives the choice and its reason instead of results.

    >>> import muntin as mt, numpy as np
    >>> mt.rolling(np.array([8, 2, 1, 5, 0, 7, 9, 3, 6]), window=4, agg=mt.min)
    array([1, 0, 0, 0, 0, 3])
    >>> mt.rolling(np.arange(10.0), window=4, every=3, agg=mt.mean)
    array([1.5, 4.5, 7.5])
    >>> mt.rolling(np.arange(3.0), times=np.array([0, 1_500_000, 2_999_999]), window="2 seconds", every="1 second",
    ...            agg=mt.sum)
    (array([      0, 1000000]), array([1., 3.]))
    """
    check(final)
    column, arrow = _column(values)
    bound = _bound(agg, column.type)
    size, step = _lengths(window, every, times)
    count = len(column.values)
    frame = regular(count, size, step) if times is None else timed(times, count, size, step, align)
    choice = _choice(bound, column, frame, final, explain)
    if explain:
        return f"{choice.final}: {choice.why}."
    if out is not None:
        _check_out(out, frame, bound, arrow)
    found = _computed(bound, column, frame, choice.final, out, arrow)
    return found if frame.starts is None else (frame.starts, found)


# -- what is given -----------------------------------------------------------------------------------------------------


def _column(values: Any) -> tuple[Column, bool]:
    """The values as a column, and whether they are Arrow's."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        chunked = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        dtype = dtype_of(chunked.type)
        if dtype is None:
            interner = Interner(chunked.type)
            return Column(chunked.type, interner.encode(chunked), _valid(chunked), interner), True
        numbers, valid = read(chunked, dtype)
        return Column(chunked.type, numbers, valid, None), True
    array = np.asanyarray(values)
    if array.ndim != 1:
        raise FrameError(f"rolling takes one column of values, got an array of shape {array.shape}. Take one axis.")
    valid = None
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array)
        array = array.filled(array.dtype.type(0)) if mask.any() else array.data
        valid = ~mask if mask.any() else None
    array = np.ascontiguousarray(array)
    try:
        type_ = pa.from_numpy_dtype(array.dtype)
        dtype = dtype_of(type_)
    except pa.ArrowNotImplementedError:
        dtype = None
    if dtype is None:
        raise FrameError(f"rolling takes numbers, times or an Arrow array, got values of type {array.dtype}.")
    return Column(type_, array if array.dtype == dtype else array.view(dtype), valid, None), False


def _valid(column: pa.ChunkedArray) -> Mask | None:
    return column.is_valid().to_numpy() if column.null_count else None


def _bound(agg: Any, type_: pa.DataType) -> Bound:
    if isinstance(agg, type) and issubclass(agg, Aggregate):
        try:
            agg = agg("values")
        except TypeError as error:
            raise SpecError(
                f"agg={agg.__name__} takes parameters ({error}). Give them: agg=mt.quantile('x', 0.9), for instance."
            ) from None
    if not isinstance(agg, Aggregate):
        raise SpecError(f"agg={agg!r} is no aggregate. Use mt.min, mt.sum and so on, or a subclass of mt.Aggregate.")
    if len(agg.columns) > 1:
        raise SpecError(f"{agg!r} takes {len(agg.columns)} columns, but rolling has one. Use spec.apply for it.")
    return agg.bind([type_] * len(agg.columns))


def _lengths(window: Any, every: Any, times: Any) -> tuple[int, int]:
    found: list[int] = []
    for given, what in ((window, "window"), (every, "every")):
        if given is None:
            found.append(found[0] if times is not None else 1)
            continue
        if isinstance(given, bool) or not isinstance(given, int | np.integer):
            parsed = length(given, what)
            if (parsed.measure is Measure.TIME) != (times is not None):
                raise SpecError(
                    f"{what}={given!r} is measured in time, so rolling needs times=."
                    if times is None
                    else f"{what}={given!r} is no duration, but times= is given."
                )
            found.append(parsed.amount)
        else:
            found.append(int(given))
        if found[-1] < 1:
            raise SpecError(f"rolling({what}={given!r}): it must be at least 1.")
    return found[0], found[1]


# -- how ---------------------------------------------------------------------------------------------------------------


def _choice(bound: Bound, column: Column, frame: Frame, final: str, measure: bool) -> Choice:
    from muntin.compile import compiled, inverse_of, why_not
    from muntin.rolling_lanes import group_of, op_for

    aggregate = bound.aggregate
    if type(aggregate) is Count:
        return Choice("none", "windows are counted without looking at values")
    partial = column.interner is None and not aggregate.timed and compiled(bound) is not None
    if not partial:
        if final != "auto":
            reason = why_not(bound) or ("it needs times and order" if aggregate.timed else "its values are no numbers")
            raise UnsupportedAggregate(
                f"{aggregate.name!r} has no partial that kernels combine ({reason}), so there is no choice.\n"
                f"Leave out final={final!r}."
            )
        return Choice("values", "each window is computed from its values: the aggregate has no partial of fixed size")
    op = op_for(bound, _widened(column.values), frame.window)
    if final != "auto":
        if op is None or not aggregate.selective:  # a minimum is scanned again when it leaves
            refuse_without_inverse(aggregate, final)
        return Choice(final, "as asked for")
    shape = Shape(len(column.values), frame.count, frame.window, frame.every, frame.moments is not None)
    group = "cells" if op is None else group_of(op)
    if measure:
        measured(group)
    if op is None:
        return chosen_for_cells(shape, aggregate.commutative and inverse_of(bound) is not None)
    return chosen_for_values(shape, group, aggregate.selective)


def _widened(values: Array) -> Array:
    return values.astype(np.int32) if values.dtype.name in _SMALL else values


def _check_out(out: Any, frame: Frame, bound: Bound, arrow: bool) -> None:
    dtype = dtype_of(bound.output)
    if arrow or dtype is None:
        raise SpecError("out= takes the results of NumPy values only. Leave it out.")
    right = isinstance(out, np.ndarray) and out.shape == (frame.count,) and out.itemsize == dtype.itemsize
    if not right or out.dtype.kind not in (dtype.kind, "mM"[dtype.kind != "i" :]):
        shown = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise SpecError(f"out= is {shown}, but the results are {dtype} ({frame.count},).")


# -- results -----------------------------------------------------------------------------------------------------------


def _computed(bound: Bound, column: Column, frame: Frame, final: str, out: Array | None, arrow: bool) -> Any:
    from muntin.rolling_lanes import op_for

    if not frame.count:
        return _given_back(pa.nulls(0, bound.output), None, arrow)
    if final == "none":
        counts = _counts(column, frame)
        return _given_back(pa.array(counts, pa.int64()), out, arrow)
    values = _widened(column.values)
    op = op_for(bound, values, frame.window) if final not in ("values", "daba") else None
    if op is not None:
        return _by_lanes(bound, op, values, column.valid, frame, final, out, arrow)
    lo, hi = frame.ranges()
    if final == "values":
        from muntin.slicing.ranges import evaluate

        place = np.arange(len(column.values))
        return _given_back(evaluate(bound, [column], place, None, lo, hi), out, arrow)
    from muntin.rolling_cells import over_cells

    cuts, a, b = frame.pieces()
    values = column.values
    if column.valid is not None:
        cuts, values = _before(column.valid)[cuts], values[column.valid]
    return _given_back(over_cells(bound, values, cuts, a, b, final), out, arrow)


def _before(valid: Mask) -> Ints:
    """How many values there are before each place."""
    before = np.zeros(len(valid) + 1, np.int64)
    np.cumsum(valid, out=before[1:])
    return before


def _counts(column: Column, frame: Frame) -> Ints:
    """How many values each window has."""
    if column.valid is None and frame.moments is None:
        return np.full(frame.count, frame.window)
    lo, hi = frame.ranges()
    if column.valid is not None:
        before = _before(column.valid)
        lo, hi = before[lo], before[hi]
    return hi - lo


def _by_lanes(
    bound: Bound, op: Op, values: Array, valid: Mask | None, frame: Frame, final: str, out: Array | None, arrow: bool
) -> Any:
    from muntin.rolling_lanes import aligned, filled, over_values
    from muntin.rolling_timed import over_times

    if valid is not None:
        values = filled(op, values, valid)
    dtype = dtype_of(bound.output)
    assert dtype is not None
    direct = out is not None and out.flags.c_contiguous and out.dtype.name == op.wide
    found = out if direct and out is not None else aligned(frame.count, op.wide, values)
    empty = None
    if frame.moments is not None:
        empty = over_times(op, values, None if valid is None else _before(valid), frame, final, found)
    else:
        divides = op.name == "mean" and valid is not None
        over_values(op._replace(name="sum") if divides else op, values, frame.window, frame.every, final, found)
        if valid is not None:
            counts = _counts(Column(bound.types[0], values, valid, None), frame)
            if divides:
                with np.errstate(all="ignore"):
                    np.divide(found, counts, out=found)
            empty = None if counts.all() else counts == 0
    found = found if found.dtype == dtype else found.astype(dtype)
    if arrow:
        from muntin.slicing.values import to_arrow

        return to_arrow(found, None if empty is None else ~empty, bound.output)
    shown = found.view(bound.output.to_pandas_dtype()) if pa.types.is_temporal(bound.output) else found
    if out is not None and found is not out:
        out[:] = shown
        shown = out
    return _masked(shown, empty)


def _masked(values: Array, empty: Mask | None) -> Array:
    return values if empty is None or not empty.any() else np.ma.masked_array(values, empty)


def _given_back(found: pa.Array, out: Array | None, arrow: bool) -> Any:
    """A column of results as it was asked for."""
    if arrow:
        return found
    dtype = dtype_of(found.type)
    if dtype is None:
        return found.to_numpy(zero_copy_only=False)
    numbers, valid = read(pa.chunked_array([found]), dtype)
    shown = numbers.view(found.type.to_pandas_dtype()) if pa.types.is_temporal(found.type) else numbers
    if out is not None:
        out[:] = shown
        shown = out
    return _masked(shown, None if valid is None else ~valid)
