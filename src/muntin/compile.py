"""Aggregates as compiled kernels: their functions read from the declaration, kernels loaded from the cache.

A built-in aggregate's functions are copied as text into the generated module, so the module can be cached on disk. A
user's own are compiled as they are, once per process.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
import threading
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin import kernel_cache
from muntin.aggregates import VALUE, Bound
from muntin.aggregates.types import resolve, storage
from muntin.kernels import source
from muntin.kernels.source import Part

__all__ = ["Compiled", "compiled", "why_not"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

_LOCK = threading.RLock()
_FUNCTIONS = ("lift", "combine", "lower", "fails")
_SIMPLE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


class _Refused(Exception):
    """Why an aggregate is not compiled."""


class Recipe(NamedTuple):
    """What is needed to generate an aggregate's kernels."""

    part: Part
    used: tuple[int, ...]
    """Which of the columns lift reads; a count reads none."""
    given: dict[str, Any]
    """A user's own functions, to be put into generated modules."""


class Compiled:
    """One aggregate's functions over columns of partials, compiled on first use.

    >>> import muntin as mt
    >>> mean = compiled(mt.mean("x").bind([pa.float64()]))
    >>> sums, counts = mean.fold(np.array([0, 1]), np.array([2, 4]), [np.array([1.0, 2.0, 3.0, 4.0])])
    >>> sums.tolist(), counts.tolist()
    ([3.0, 9.0], [2, 3])
    >>> mean.lower([sums, counts])
    ([array([1.5, 3. ])], None)
    """

    def __init__(self, recipe: Recipe, identity: tuple[Any, ...] | None) -> None:
        self.slots = [np.dtype(slot) for slot in recipe.part.slots]
        self.identity = identity
        self._recipe = recipe
        self._outputs = [np.dtype(output) for output in recipe.part.outputs]
        self._fails = any(name == "fails" for name, _ in recipe.part.functions)
        self._kernels: dict[str, Any] = {}

    def fold(self, lo: Ints, hi: Ints, inputs: Sequence[Array]) -> list[Array]:
        """Events lifted and combined over each range, in order; an empty range gives the identity or zeros.

        Inputs are the columns of values, then time and order where the aggregate is timed.
        """
        columns = len(inputs) - (2 if self._recipe.part.timed else 0)
        used = [inputs[i] for i in self._recipe.used] + list(inputs[columns:])
        return self._ranged(source.fold, lo, hi, used)

    def merge(self, lo: Ints, hi: Ints, partials: Sequence[Array]) -> list[Array]:
        """Rows of partials combined over each range, in order."""
        return self._ranged(source.merge, lo, hi, partials)

    def gather_merge(self, lo: Ints, hi: Ints, index: Ints, partials: Sequence[Array]) -> list[Array]:
        """As `merge`, over the rows that an index names."""
        return self._ranged(source.gather_merge, lo, hi, [index, *partials])

    def lower(self, partials: Sequence[Array]) -> tuple[list[Array], npt.NDArray[np.bool_] | None]:
        """Columns of results (several where lower gives a tuple), and where the exact result does not fit."""
        rows = len(partials[0])
        results = [np.empty(rows, output) for output in self._outputs]
        failed = np.empty(rows, np.bool_) if self._fails else None
        self._call(source.lower, partials, results if failed is None else [*results, failed])
        return results, failed

    def _ranged(self, text: Callable[[Part], str], lo: Ints, hi: Ints, inputs: Sequence[Array]) -> list[Array]:
        results = [np.empty(len(lo), slot) for slot in self.slots]
        self._call(text, [lo, hi, *inputs], results)
        return results

    def _call(self, text: Callable[[Part], str], inputs: Sequence[Array], results: Sequence[Array]) -> None:
        kernel = self._kernels.get(text.__name__)
        if kernel is None:
            kernel = self._kernels[text.__name__] = loaded(text(self._recipe.part), self._recipe.given)
        run(kernel, inputs, results)


def run(kernel: Any, inputs: Sequence[Any], rest: Sequence[Any]) -> Any:
    """Call a kernel; inputs that are strided or unaligned, which Numba refuses, are copied."""
    try:
        return kernel(*inputs, *rest)
    except TypeError:
        odd = [isinstance(x, np.ndarray) and not (x.flags.c_contiguous and x.flags.aligned) for x in inputs]
        if not any(odd):  # raised inside, by a user's function: it must not run twice
            raise
        copied = [np.require(x, requirements=["C", "A"]) if copy else x for x, copy in zip(inputs, odd, strict=True)]
        return kernel(*copied, *rest)


_here: dict[object, Any] = {}


def loaded(text: str, given: dict[str, Any]) -> Any:
    """The kernel of a module: from the cache, or with a user's functions compiled for this process."""
    if not given:
        return kernel_cache.load(text).kernel
    key = (text, tuple(sorted(given.items(), key=lambda item: item[0])))
    with _LOCK:
        if key not in _here:
            _here[key] = kernel_cache.load_in_memory(text, given).kernel
        return _here[key]


# -- reading a declaration ---------------------------------------------------------------------------------------------

_known: dict[tuple[object, ...], Compiled | str] = {}
_inverses: dict[object, Recipe | None] = {}


def compiled(bound: Bound) -> Compiled | None:
    """The aggregate's kernels; None where it has to run in Python (`why_not` says why)."""
    found = _lookup(bound)
    return found if isinstance(found, Compiled) else None


def why_not(bound: Bound) -> str | None:
    """Why an aggregate is not compiled; None where it is.

    >>> import muntin as mt
    >>> why_not(mt.collect("x").bind([pa.int64()]))
    "its field 'rows' has no fixed size"
    """
    found = _lookup(bound)
    return None if isinstance(found, Compiled) else found


def recipe_of(bound: Bound) -> Recipe | None:
    """What fused kernels need of an aggregate; None where it is not compiled."""
    found = compiled(bound)
    return None if found is None else found._recipe


def inverse_of(bound: Bound, exact: bool = True) -> Recipe | None:
    """What fused kernels need to take values out of a partial again; None where they cannot, or not exactly.

    Only integers come back exactly: a float sum keeps what rounding, an infinity or a NaN did to it. Without `exact`
    floats are let through as well.

    >>> import muntin as mt
    >>> inverse_of(mt.sum("x").bind([pa.float64()])) is None
    True
    """
    recipe = recipe_of(bound)
    if recipe is None or bound.aggregate.invert is None:
        return None
    if exact and not all("int" in slot for slot in recipe.part.slots):
        return None
    key = (_key(bound), bound.aggregate.invert)
    with _LOCK:
        if key not in _inverses:
            try:
                _inverses[key] = _read(bound, (*_FUNCTIONS, "invert"))
            except _Refused:
                _inverses[key] = None
        return _inverses[key]


def _key(bound: Bound) -> tuple[object, ...]:
    functions = [getattr(bound.aggregate, name, None) for name in _FUNCTIONS]
    return (*functions, tuple(bound.fields.items()), bound.types, bound.output, bound.aggregate.timed)


def _lookup(bound: Bound) -> Compiled | str:
    key = _key(bound)
    with _LOCK:
        if key not in _known:
            try:
                _known[key] = Compiled(_read(bound), bound.identity_fields)
            except _Refused as reason:
                _known[key] = str(reason)
        return _known[key]


def _read(bound: Bound, wanted: Sequence[str] = _FUNCTIONS) -> Recipe:
    aggregate = bound.aggregate
    for name, slot in bound.fields.items():
        if slot.name not in _SIMPLE:
            raise _Refused(f"its field {name!r} has no fixed size")
    functions = {name: getattr(aggregate, name) for name in wanted}
    functions = {name: function for name, function in functions.items() if function is not None}
    for name, function in functions.items():
        if not inspect.isfunction(function):
            raise _Refused(f"its {name} takes self")
    outputs = _outputs(bound.output)
    identity = None if bound.identity_fields is None else tuple(map(_literal, bound.identity_fields))
    part = Part(
        fields=tuple(bound.fields),
        slots=tuple(slot.name for slot in bound.fields.values()),
        inputs=(),
        timed=aggregate.timed,
        functions=(),
        constants=(),
        tuples=(),
        outputs=outputs,
        identity=identity,
    )
    built_in = type(aggregate).__module__.startswith("muntin.aggregates.")
    return _copied(part, bound, functions) if built_in else _probed(part, bound, functions)


def _outputs(type_: pa.DataType) -> tuple[str, ...]:
    fields = [field.type for field in type_] if pa.types.is_struct(type_) else [type_]
    names = tuple(resolve(VALUE, [storage(field)]).name for field in fields)
    if any(name not in _SIMPLE for name in names):
        raise _Refused(f"its result, {type_}, has no fixed size")
    return names


def _inputs(bound: Bound, used: Sequence[int]) -> tuple[str, ...]:
    names = tuple(resolve(VALUE, [bound.types[i]]).name for i in used)
    for i, name in zip(used, names, strict=True):
        if name not in _SIMPLE:
            raise _Refused(f"values of type {bound.types[i]} have no fixed size")
    return names


def _literal(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"
    return repr(value.item() if isinstance(value, np.generic) else value)


# -- built-in: copied as text ------------------------------------------------------------------------------------------


def _copied(part: Part, bound: Bound, functions: dict[str, Any]) -> Recipe:
    texts, constants, tuples = [], [], []
    used: tuple[int, ...] = tuple(range(len(bound.types)))
    for name, function in functions.items():
        tree = _tree(function)
        if name == "lift" and tree.args.vararg is not None:  # lift(*values) of a count: it reads none of them
            used, tree.args.vararg = (), None
        tree.name = name
        texts.append((name, ast.unparse(ast.fix_missing_locations(tree))))
        constants += _constants(function)
        if any(isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) for node in ast.walk(tree)):
            tuples.append(name)
    part = part._replace(
        inputs=_inputs(bound, used), functions=tuple(texts), constants=tuple(constants), tuples=tuple(tuples)
    )
    return Recipe(part, used, {})


def _tree(function: Any) -> ast.FunctionDef:
    """The function's syntax without annotations, which name types that a kernel does not know."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.returns, tree.decorator_list = None, []
    given = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
    for arg in (*given, *filter(None, [tree.args.vararg, tree.args.kwarg])):
        arg.annotation = None
    return tree


def _constants(function: Any) -> list[str]:
    """Lines for the globals that a built-in function uses: numbers; `math` and `np` are always there."""
    found = {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}
    return [f"{name} = {_literal(value)}" for name, value in found.items() if isinstance(value, int | float)]


# -- a user's own: compiled as they are --------------------------------------------------------------------------------


def _probed(part: Part, bound: Bound, functions: dict[str, Any]) -> Recipe:
    from muntin.kernels import probe

    used = tuple(range(len(bound.types)))
    part = part._replace(inputs=_inputs(bound, used), functions=tuple((name, "") for name in functions))
    partial: Any = namedtuple("Partial", part.fields)  # type: ignore[misc]
    fields = tuple(map(source.wide, part.slots))
    values = ["int64" if name == "bool" else source.wide(name) for name in part.inputs]
    values += ["int64", "int64"] if part.timed else []
    wanted: dict[str, tuple[Sequence[Sequence[str] | str], Sequence[str]]] = {
        "lift": (values, part.slots),
        "combine": ([fields, fields], part.slots),
        "invert": ([fields, fields], part.slots),
        "lower": ([fields], part.outputs),
        "fails": ([fields], ("bool",)),
    }
    given: dict[str, Any] = {"P0": partial}
    tuples = []
    for name, function in functions.items():
        given[f"{name}0"] = made = probe.jitted(function)
        try:
            several, kinds = probe.result(made, partial, wanted[name][0])
        except probe.NotCompiled as error:
            raise _Refused(f"Numba does not compile its {name}: {error}") from error
        tuples += [name] if several else []
        _check(name, kinds, wanted[name][1])
        if name == "lower":
            part = part._replace(outputs=tuple(map(_unwrapped, kinds, part.outputs)))
    return Recipe(part._replace(tuples=tuple(tuples)), used, given)


def _unwrapped(kind: str, declared: str) -> str:
    """The type in which a result leaves the kernel: an integer as it is, so that one that does not fit is seen."""
    return kind if "int" in kind and "int" in declared else declared


def _check(name: str, kinds: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse what a conversion would change: Python keeps 1.5 in a field that was declared an integer."""
    if len(kinds) != len(wanted):
        raise _Refused(f"its {name} gives {len(kinds)} values, not {len(wanted)}")
    for kind, type_ in zip(kinds, wanted, strict=True):
        fraction = kind.startswith("float") and not type_.startswith("float")
        truth = name == "lower" and (kind == "bool") != (type_ == "bool")
        if fraction or truth:
            raise _Refused(f"its {name} gives {kind} where {type_} is declared")
