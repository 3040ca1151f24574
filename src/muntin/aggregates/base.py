"""What an aggregate is: a declaration of `lift`, `combine`, `lower` and perhaps `invert` (paper 1, section 5.4.1).

The functions are plain functions of scalars: a partial comes in with its fields as attributes and goes out as a
tuple, so that an engine can keep partials as columns and compile the functions into its update.
"""

from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pyarrow as pa

from muntin.aggregates.types import FieldType, Slot, describe, output_type, resolve, resolve_identity
from muntin.errors import FrameError, SpecError, UnsupportedAggregate

__all__ = ["Aggregate", "Bound"]

Kind = Literal["distributive", "algebraic", "holistic"]
_FUNCTIONS = ("lift", "combine", "invert", "lower", "plain", "fails")


class Aggregate:
    """An aggregate, and the base class of a user's own.

    Declare a `partial` (field names and types), the functions and the properties; give the columns when you use it.

    >>> import muntin as mt
    >>> class Range(mt.Aggregate):
    ...     "Largest less smallest."
    ...     partial = {"low": float, "high": float}
    ...     identity = (float("inf"), float("-inf"))
    ...     commutative, kind = True, "algebraic"
    ...     def lift(value): return value, value
    ...     def combine(a, b): return min(a.low, b.low), max(a.high, b.high)
    ...     def lower(p): return p.high - p.low
    >>> spec = mt.over("ts").window("all", mt.tumbling("1 minute"), spread=Range("speed"))
    >>> spec.apply({"ts": [1, 2, 3], "speed": [5.0, 9.0, 7.0]}).column("spread").to_pylist()
    [4.0]
    """

    partial: ClassVar[dict[str, FieldType]]
    """Names and types of the fields; `VALUE` stands for the type of the first column."""
    identity: ClassVar[Any] = None
    """The partial of no events: combining with it changes nothing."""
    commutative: ClassVar[bool] = True
    """Whether the order of events does not matter (paper 1, section 4.2)."""
    kind: ClassVar[Kind] = "algebraic"
    """Distributive, algebraic or holistic (paper 1, section 4.2)."""
    selective: ClassVar[bool] = False
    """Whether it keeps one event in its original form rather than accumulating all (paper 3, section 2.3)."""
    timed: ClassVar[bool] = False
    """Whether `lift` takes the event's time and order after its values."""
    of_spans: ClassVar[bool] = False
    """Whether it is about the durations of events and the bounds of the window: then it is not made of partials."""
    version: ClassVar[int] = 1
    """Raise it when the meaning of the partial changes: stored state of another version is refused."""
    takes: ClassVar[str] = "number"
    """Which types of values it takes: number, ordered, text or any."""
    returns: ClassVar[FieldType] = float
    """The type of what `lower` gives; `VALUE` stands for the type of the first column."""
    least: int = 1
    """With fewer values than this the result is null."""
    name: ClassVar[str]

    # Typed as Any: a declaration writes them as plain functions of scalars, without self.
    lift: Any
    combine: Any
    lower: Any
    invert: Any = None
    plain: Any = None
    """The result straight from all values in order, without partials: what the reference uses where it is given."""
    fails: Any = None
    """Whether the exact result of a partial does not fit the result type."""

    columns: tuple[str, ...]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        for function in _FUNCTIONS:
            found = cls.__dict__.get(function)
            # Plain functions without self stay plain functions when reached through an instance.
            if inspect.isfunction(found) and next(iter(inspect.signature(found).parameters), None) != "self":
                setattr(cls, function, staticmethod(found))

    def __init__(self, *columns: str, **params: Any) -> None:
        """The columns it takes, and parameters by name, which become attributes."""
        self._declare(columns, **params)
        for name, value in params.items():
            setattr(self, name, value)

    def _declare(self, columns: Iterable[object], **params: object) -> None:
        self.columns = tuple(self._column(column) for column in columns)
        self.params = params
        for needed in ("partial", "lift", "combine", "lower"):
            if not hasattr(self, needed):
                raise UnsupportedAggregate(
                    f"{self.name} declares no {needed!r}. An aggregate needs partial, lift, combine and lower."
                )
        given = [*self.columns, *(("time", "order") if self.timed else ())]
        try:
            inspect.signature(self.lift).bind(*given)
        except TypeError:
            raise SpecError(
                f"{self!r}: its lift takes {inspect.signature(self.lift)}, but it is given {len(given)} "
                f"({', '.join(given) or 'none'}). Name as many columns as lift takes."
            ) from None
        if self.kind not in ("distributive", "algebraic", "holistic"):
            raise UnsupportedAggregate(
                f"{self.name}: kind={self.kind!r} is none of 'distributive', 'algebraic' and 'holistic'."
            )

    def _column(self, column: object) -> str:
        if not isinstance(column, str):
            raise SpecError(
                f"{self.name} takes names of columns, got {column!r}. Compute an expression as a column first, "
                f"then name it."
            )
        return column

    # -- properties that follow from the declaration -------------------------------------------------------------

    @property
    def invertible(self) -> bool:
        """Whether an event can be taken out again (paper 1, section 4.2)."""
        return self.invert is not None

    @property
    def differential(self) -> str:
        """Paper 2, section 3.2.2: full-differential, pseudo-differential or neither."""
        if not self.invertible:
            return "not differential"
        return "pseudo-differential" if self.kind == "holistic" else "full-differential"

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties by the names that the papers use.

        >>> import muntin as mt
        >>> mt.max("speed").properties
        ('distributive', 'commutative', 'not invertible', 'selective', 'not differential')
        """
        return (
            self.kind,
            "commutative" if self.commutative else "not commutative",
            "invertible" if self.invertible else "not invertible",
            "selective" if self.selective else "cumulative",
            self.differential,
        )

    # -- values --------------------------------------------------------------------------------------------------

    def bind(self, types: Sequence[pa.DataType]) -> Bound:
        """The declaration for columns of these types; a clear error where it cannot take them."""
        for column, type_ in zip(self.columns, types, strict=True):
            self._check(column, type_)
        fields = {name: resolve(field, types) for name, field in self.partial.items()}
        return Bound(self, tuple(types), fields, resolve_identity(self.identity, types), self.output(types))

    def output(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """The type of the result for columns of these types."""
        return output_type(self.returns, types)

    def _check(self, column: str, type_: pa.DataType) -> None:
        problem = describe(self.takes, type_)
        if problem:
            raise FrameError(f"{self.name}({column!r}): the column has type {type_}, {problem}")

    def settle(self, value: Any) -> Any:
        """A last look at a result; raises, or makes it null, where it does not fit its type."""
        return value

    # -- as a value of its own: comparable, printable --------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (self is other or self._signature == other._signature)

    def __hash__(self) -> int:
        return hash(self._signature)

    @functools.cached_property
    def _signature(self) -> tuple[object, ...]:
        return (type(self), self.columns, tuple(self.params.items()))

    def __repr__(self) -> str:
        shown = [repr(column) for column in self.columns]
        shown += [f"{name}={value!r}" for name, value in self.params.items() if value is not None]
        return f"{self.name}({', '.join(shown)})"


@dataclass(frozen=True)
class Bound:
    """An aggregate for columns of known types: concrete fields, identity and result type.

    >>> import muntin as mt
    >>> bound = mt.mean("speed").bind([pa.float64()])
    >>> bound.lower(bound.combine(bound.lift(1.0), bound.lift(2.0)))
    1.5
    """

    aggregate: Aggregate
    types: tuple[pa.DataType, ...]
    fields: dict[str, Slot]
    identity_fields: tuple[Any, ...] | None
    output: pa.DataType

    @functools.cached_property
    def partial(self) -> Callable[..., Any]:
        """The named tuple of its partials."""
        made: Callable[..., Any] = namedtuple("Partial", list(self.fields))  # type: ignore[misc]
        return made

    def _wrap(self, fields: Any) -> Any:
        return self.partial(*fields) if isinstance(fields, tuple) else self.partial(fields)

    @property
    def identity(self) -> Any:
        """The partial of no events; None where the type has none (strings)."""
        return None if self.identity_fields is None else self.partial(*self.identity_fields)

    def lift(self, *values: Any) -> Any:
        """One event as a partial."""
        return self._wrap(self.aggregate.lift(*values))

    def combine(self, a: Any, b: Any) -> Any:
        """Two partials as one; a's events come before b's."""
        return self._wrap(self.aggregate.combine(a, b))

    def invert(self, a: Any, b: Any) -> Any:
        """Partial a without partial b."""
        if self.aggregate.invert is None:
            raise UnsupportedAggregate(
                f"{self.aggregate.name!r} has no invert, so values cannot be taken out of a partial. Recompute it "
                f"from the values that stay."
            )
        return self._wrap(self.aggregate.invert(a, b))

    def lower(self, partial: Any) -> Any:
        """The result of a partial, as a plain Python value."""
        return self.aggregate.lower(partial)
