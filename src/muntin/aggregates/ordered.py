"""Aggregates of the events in their order: collect, concat, n-th youngest, and any function of a window's rows."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.aggregates.base import Aggregate, Bound
from muntin.aggregates.runs import positive
from muntin.aggregates.types import VALUE, Placeholder, output_type, scalars
from muntin.errors import SpecError

__all__ = ["Collect", "Concat", "NthYoungest", "Process", "Rows"]


class Rows(Aggregate):
    """Base of the aggregates whose partial is the rows themselves, in order.

    >>> bound = Collect("x").bind([pa.int64()])
    >>> bound.combine(bound.lift(5), bound.lift(3))
    Partial(rows=((5,), (3,)))
    """

    partial = {"rows": tuple}
    identity = ((),)
    commutative, kind = False, "holistic"
    takes = "ordered"

    def lift(*values: Any) -> Any:
        return ((values,),)

    def combine(a: Any, b: Any) -> Any:
        return ((*a.rows, *b.rows),)


class Collect(Rows):
    """All values in order, as a list; of several columns as a list of structs.

    >>> import muntin as mt
    >>> mt.collect("speed")
    collect('speed')
    """

    name = "collect"

    def __init__(self, column: str, *columns: str) -> None:
        self._declare((column, *columns))

    def output(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """A list of values or of structs."""
        if len(types) == 1:
            return pa.list_(types[0])
        return pa.list_(pa.struct(list(zip(self.columns, types, strict=True))))

    def lower(self, p: Any) -> Any:
        """The rows as a list."""
        if len(self.columns) == 1:
            return [value for (value,) in p.rows]
        return [dict(zip(self.columns, row, strict=True)) for row in p.rows]

    def plain(self, values: Sequence[Any]) -> Any:
        """The values as they are."""
        if len(self.columns) == 1:
            return list(values)
        return [dict(zip(self.columns, row, strict=True)) for row in values]


class Concat(Rows):
    """All strings in order, joined.

    >>> import muntin as mt
    >>> mt.concat("word", sep=" ")
    concat('word', sep=' ')
    """

    name = "concat"
    takes, returns = "text", str

    def __init__(self, column: str, *, sep: str = "") -> None:
        if not isinstance(sep, str):
            raise SpecError(f"concat({column!r}, sep={sep!r}): sep is the text between two values, such as ', '.")
        self._declare((column,), sep=sep or None)
        self.sep = sep

    def lower(self, p: Any) -> Any:
        """The strings, joined."""
        return self.sep.join(text for (text,) in p.rows)

    def plain(self, values: Sequence[Any]) -> Any:
        """The strings, joined."""
        return self.sep.join(values)


class NthYoungest(Aggregate):
    """The n-th latest value: 1 is the last. Null where there are fewer than n.

    It carries the times of the n latest events, so the order in which events come does not matter.

    >>> import muntin as mt
    >>> mt.nth_youngest("speed", 2)
    nth_youngest('speed', n=2)
    """

    name = "nth_youngest"
    partial = {"latest": tuple}
    identity = ((),)
    commutative, kind, selective, timed = True, "holistic", True, True
    takes, returns = "ordered", VALUE

    def __init__(self, column: str, n: int) -> None:
        self._declare((column,), n=positive("nth_youngest", column, n))
        self.n = self.least = n

    def lift(value: Any, time: Any, order: Any) -> Any:
        return (((time, order, value),),)

    def combine(self, a: Any, b: Any) -> Any:
        """The n latest of both, in order; sorting is stable, so a's come before b's at equal times."""
        return (tuple(sorted((*a.latest, *b.latest), key=lambda event: event[:2])[-self.n :]),)

    def lower(self, p: Any) -> Any:
        """The oldest of the n latest."""
        return p.latest[-self.n][2]

    def plain(self, values: Sequence[Any]) -> Any:
        """Counted from the end."""
        return values[-self.n]


class Process(Rows):
    """Any Python function of a window's rows in order (paper 5's f_O), for what no partial can express.

    The function takes one NumPy array per column and returns a value of the type `returns`, or None. Rows in which
    one of the columns is null are left out. Times and dates come as NumPy datetimes, strings as objects.

    >>> import muntin as mt
    >>> import numpy as np
    >>> def steepest(height):
    ...     return np.abs(np.diff(height)).max() if len(height) > 1 else None
    >>> spec = mt.over("ts").window("all", mt.tumbling("1 minute"), climb=mt.process(steepest, "height"))
    >>> spec.apply({"ts": [1, 2, 3], "height": [5.0, 9.0, 6.0]}).column("climb").to_pylist()
    [4.0]
    """

    name = "process"

    def __init__(self, function: Callable[..., Any], column: str, *columns: str, returns: Any = float) -> None:
        if not callable(function):
            raise SpecError(f"process takes a function first, got {function!r}. Write mt.process(function, 'column').")
        self._declare((column, *columns), returns=None if returns is float else returns)
        self.function = function
        self._returns = returns
        self._result = None if isinstance(returns, Placeholder) else output_type(returns, [])
        self._types: tuple[pa.DataType, ...] = ()

    @functools.cached_property
    def _signature(self) -> tuple[object, ...]:
        return (type(self), self.columns, tuple(self.params.items()), self.function)

    def bind(self, types: Sequence[pa.DataType]) -> Bound:
        """A copy that knows the types, so that one spec serves frames of different types."""
        copied = copy.copy(self)
        copied._types, copied._result = tuple(types), self.output(types)
        return super(Process, copied).bind(types)

    def output(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """As declared by `returns`."""
        return output_type(self._returns, types)

    def lower(self, p: Any) -> Any:
        """What the function gives for the rows."""
        return self._call(list(p.rows))

    def plain(self, values: Sequence[Any]) -> Any:
        """What the function gives for the rows."""
        return self._call([(value,) for value in values] if len(self.columns) == 1 else list(values))

    def _call(self, rows: list[tuple[Any, ...]]) -> Any:
        arrays = [as_array(column, type_) for column, type_ in zip(zip(*rows, strict=True), self._types, strict=True)]
        result = self.function(*arrays)
        return as_scalar(result, self._result)

    def __repr__(self) -> str:
        shown = getattr(self.function, "__name__", repr(self.function))
        options = "" if self.params["returns"] is None else f", returns={self.params['returns']!r}"
        return f"process({shown}, {', '.join(map(repr, self.columns))}{options})"


def as_array(values: Sequence[Any], type_: pa.DataType) -> np.ndarray[Any, Any]:
    """Plain scalars as a NumPy array of a column's own type."""
    if pa.types.is_timestamp(type_):
        return np.array(values, np.int64).view(f"datetime64[{type_.unit}]")
    if pa.types.is_time(type_):
        return np.array(values, np.int64).view(f"timedelta64[{type_.unit}]")
    if pa.types.is_date32(type_):
        return np.array(values, np.int64).view("datetime64[D]")
    if pa.types.is_string(type_):
        return np.array(values, object)
    return np.array(values, type_.to_pandas_dtype())


def as_scalar(result: Any, type_: pa.DataType) -> Any:
    """What a function gave as a plain scalar; NumPy's and Python's dates and times as integers in their unit.

    >>> as_scalar(np.datetime64("1970-01-02"), pa.timestamp("s")), as_scalar(np.float64(1.5), pa.float64())
    (86400, 1.5)
    """
    if isinstance(result, np.datetime64 | np.timedelta64):
        unit = pa.duration(type_.unit) if pa.types.is_time(type_) else type_  # a time of day is one since midnight
        return scalars(pa.array(np.array([result])).cast(unit))[0]
    if isinstance(result, np.generic):
        return result.item()
    if result is not None and pa.types.is_temporal(type_):
        return scalars(pa.array([result], type_))[0]
    return result
