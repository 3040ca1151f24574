"""The update of all fixed-size aggregates of all sliced queries in one pass, and merges of what it keeps.

Partials are columns indexed by cell. Aggregates with equal partials share them: `stddev("x")` and `var("x")` are one,
and the `n` of a mean is the count that is kept anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Bound
from muntin.aggregates.counting import Count
from muntin.aggregates.moments import GeometricMean, Mean, Var
from muntin.compile import Recipe, inverse_of, loaded, recipe_of, run, why_not
from muntin.errors import UnsupportedAggregate
from muntin.final import refuse_without_inverse
from muntin.kernels import source_cover, source_pieces, source_tree
from muntin.kernels import source_fused as source
from muntin.kernels import source_merge as merging
from muntin.kernels.source_plan import Group, Plan

__all__ = ["Fused", "Taken", "Values", "fused"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
LATEST, EARLIEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min

# Whose field n always equals the number of values, by their lift.
_COUNTED = {Mean.lift: 1, GeometricMean.lift: 1, Var.lift: 0}


class Values(Protocol):
    """A column of a batch."""

    values: Array
    valid: npt.NDArray[np.bool_] | None


class Taken(NamedTuple):
    """How far an update of one key came."""

    stop: int
    """The first row that lies in no slice; the number of rows where all were taken."""
    cur: int
    """The newest slice with an event."""
    newest: int
    """The largest time."""
    lowest: int
    """The first slice that changed."""
    late: Ints
    """Rows earlier than `suspect`; valid until the next call."""


def fused(bounds: Sequence[Bound], nullable: Iterable[str] | None = None, *, spans: bool = True) -> Fused:
    """Cells for some aggregates, each of them compiled (`muntin.compile.compiled`).

    Only columns that are named `nullable` may have nulls, by default all: a count of valid values each. Batches
    without nulls run kernels that read no masks. Without `spans` first and last are not kept: only sessions need them.

    >>> import muntin as mt, pyarrow as pa
    >>> cells = fused([mt.count().bind([]), mt.mean("x").bind([pa.float64()])], nullable=[])
    >>> [slot.name for slot in cells.slots], cells.places, cells.counts
    (['int64', 'int64', 'int64', 'float64'], [(0,), (3, 0)], [0, 0])
    """
    return Fused(bounds, nullable, spans)


class Fused:
    """Columns of cells: n, first, last, counts of valid values, then the fields of partials."""

    slots: list[np.dtype[Any]]
    places: list[tuple[int, ...]]
    """For each aggregate the columns of its partial."""
    counts: list[int]
    """For each aggregate the column with the number of its values."""

    def __init__(self, bounds: Sequence[Bound], nullable: Iterable[str] | None, spans: bool) -> None:
        self._bounds, self._spans = tuple(bounds), spans
        named = dict.fromkeys(column for bound in bounds for column in bound.aggregate.columns)
        self.nullable = tuple(named) if nullable is None else tuple(name for name in named if name in set(nullable))
        self.columns: list[str] = []
        """The columns whose values are read."""
        self._given: dict[str, Any] = {}
        self._lay_out()
        self._kernels: dict[object, Any] = {}
        self._late = np.empty(0, np.int64)
        self._true = np.ones(0, np.bool_)
        self._grid: tuple[Ints, int, npt.NDArray[np.int32], int] | None = None

    def _lay_out(self) -> None:
        counts: dict[tuple[int, ...], int] = {(): 0}
        groups: dict[object, tuple[int, Group]] = {}
        types: list[str] = []
        found: list[tuple[int, int | None]] = []
        for bound in self._bounds:
            columns = bound.aggregate.columns
            recipe = self._recipe(bound)
            if recipe is None:
                raise UnsupportedAggregate(f"{bound.aggregate!r} is not compiled: {why_not(bound)}.")
            masks = tuple(i for i, name in enumerate(self.nullable) if name in columns)
            count = counts.setdefault(masks, len(counts))
            if isinstance(bound.aggregate, Count):
                found.append((count, None))
                continue
            key = (bound.aggregate.lift, bound.aggregate.combine, recipe.part.slots, recipe.part.inputs, columns)
            if key not in groups:
                groups[key] = len(groups), self._group(len(groups), bound, recipe, count, types)
            found.append((count, groups[key][0]))
        plan = [group for _, group in groups.values()]
        self._plan = Plan(tuple(plan), tuple(types), len(self.nullable), tuple(list(counts)[1:]), self._spans)
        self.slots = [np.dtype(np.int64)] * (2 + len(counts))
        where = []
        for group in plan:
            place = []
            for i, slot in enumerate(group.part.slots):
                place.append(_column(group.counter) if i == group.counted else len(self.slots))
                self.slots += [] if i == group.counted else [np.dtype(slot)]
            where.append(tuple(place))
        self.counts = [_column(count) for count, _ in found]
        self.places = [(_column(count),) if k is None else where[k] for count, k in found]

    def _recipe(self, bound: Bound) -> Recipe | None:
        return recipe_of(bound)

    def _group(self, k: int, bound: Bound, recipe: Recipe, count: int, types: list[str]) -> Group:
        columns = []
        for i, dtype in zip(recipe.used, recipe.part.inputs, strict=True):
            name = bound.aggregate.columns[i]
            if name not in self.columns:
                self.columns.append(name)
                types.append(dtype)
            columns.append(self.columns.index(name))
        self._given |= {f"{name[:-1]}{k}": thing for name, thing in recipe.given.items()}
        return Group(recipe.part, tuple(columns), count, _COUNTED.get(bound.aggregate.lift))

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The aggregates."""
        return self._bounds

    # -- state -----------------------------------------------------------------------------------------------------

    def new(self, cells: int) -> list[Array]:
        """Columns of empty cells."""
        columns = [np.zeros(cells, slot) for slot in self.slots]
        if self._spans:
            columns[1].fill(LATEST)
            columns[2].fill(EARLIEST)
        return columns

    # -- events ----------------------------------------------------------------------------------------------------

    def update_cells(
        self, state: Sequence[Array], cells: Ints, time: Ints, order: Ints | None, columns: Mapping[str, Values]
    ) -> None:
        """Each row into its cell; -1: into none."""
        events, ordered, masked = self._events(time, order, columns)
        run(self._kernel(source.update_cells, ordered, masked), [cells, *events], state)

    def update_ranges(
        self, state: Sequence[Array], lo: Ints, hi: Ints, stride: int, time: Ints, order: Ints | None,
        columns: Mapping[str, Values],
    ) -> None:  # fmt: skip
        """Each row into the cells from lo to hi, `stride` apart."""
        events, ordered, masked = self._events(time, order, columns)
        run(self._kernel(source.update_ranges, ordered, masked), [lo, hi, stride, *events], state)

    def update_keyed(
        self, state: Sequence[Array], starts: Ints, top: int, time: Ints, order: Ints | None,
        columns: Mapping[str, Values], key: Ints, stride: int, head: int,
    ) -> None:  # fmt: skip
        """Rows of many keys into slices that meet; key k in slice s is cell `(head + s) * stride + k`."""
        events, ordered, masked = self._events(time, order, columns)
        tab, shift = self._slots_of(starts, top)
        inputs = [head, stride, top, shift, starts, tab, key, *events]
        run(self._kernel(source.update_keyed, ordered, masked), inputs, state)

    def update_one(
        self,
        state: Sequence[Array],
        starts: Ints,
        top: int,
        time: Ints,
        order: Ints | None,
        columns: Mapping[str, Values],
        *,
        head: int = 0,
        cur: int = 0,
        first_open: int = 0,
        suspect: int = EARLIEST,
        i0: int = 0,
    ) -> Taken:
        """Rows of one key from i0 on into slices, given by their starts and the end of the last one.

        Slice s is cell `head + s`; `cur` is the newest slice with an event, at least `first_open`. Rows in slices
        before `first_open` are left out. Rows before `suspect` are named as perhaps late.
        """
        events, ordered, masked = self._events(time, order, columns)
        tab, shift = self._slots_of(starts, top)
        if suspect > EARLIEST and len(self._late) < len(time):
            self._late = np.empty(len(time), np.int64)
        info = np.array((cur, EARLIEST, LATEST, 0))
        inputs = [i0, head, first_open, suspect, top, int(starts[0]), shift, starts, tab, *events]
        stop = run(self._kernel(source.update_one, ordered, masked), inputs, [self._late, info, *state])
        cur, newest, lowest, late = info.tolist()
        return Taken(stop, cur, newest, lowest, self._late[:late])

    def _events(self, time: Ints, order: Ints | None, columns: Mapping[str, Values]) -> tuple[list[Array], bool, bool]:
        ordered = order is not None and self._plan.timed
        events: list[Array] = [time, order] if ordered and order is not None else [time]
        events += [columns[name].values for name in self.columns]
        masks = [columns[name].valid for name in self.nullable]
        if all(mask is None for mask in masks):
            return events, ordered, False
        if len(self._true) < len(time):
            self._true = np.ones(len(time), np.bool_)
        events += [self._true[: len(time)] if mask is None else mask for mask in masks]
        return events, ordered, True

    def grid(self, starts: Ints, top: int) -> tuple[npt.NDArray[np.int32], int, int]:
        """A grid over slices that meet: `tab`, `top` and `shift`, as the kernels take them."""
        tab, shift = self._slots_of(starts, top)
        return tab, top, shift

    def _slots_of(self, starts: Ints, top: int) -> tuple[npt.NDArray[np.int32], int]:
        """A grid over the slices, half as wide as a slice is on average: the slice of a time, give or take a few."""
        if self._grid is None or self._grid[0] is not starts or self._grid[1] != top:
            span = top - int(starts[0])
            shift = max((span // (2 * len(starts))).bit_length() - 1, 0)
            tab = np.empty((span >> shift) + 2, np.int32)
            run(self._kernel(lambda plan: source.GRID, name="grid"), [starts, shift], [tab])
            self._grid = starts, top, tab, shift
        return self._grid[2], self._grid[3]

    # -- cells -----------------------------------------------------------------------------------------------------

    def merge_ranges(self, lo: Ints, hi: Ints, state: Sequence[Array]) -> list[Array]:
        """Cells lo to hi, in order, as one, for each range."""
        results = self.blank(len(lo))
        run(self._kernel(merging.merge_ranges), [lo, hi, *state], results)
        return results

    def call(self, text: Callable[[Plan], str], inputs: Sequence[Any], rest: Sequence[Array]) -> None:
        """Call a kernel that is generated from the plan of the cells."""
        run(self._kernel(text), inputs, rest)

    @functools.cached_property
    def exact(self) -> bool:
        """Whether partials are exact, so that the way in which they are combined never shows."""
        fields = [slot for group in self._plan.groups for slot in group.part.slots]
        selects = [bound.aggregate.selective for bound in self._bounds]
        return all("int" in slot for slot in fields) or all(selects)

    def refuse_without_inverse(self) -> None:
        """Refuse where what leaves a window cannot be subtracted."""
        for bound in self._bounds:
            refuse_without_inverse(bound.aggregate, "subtract_on_evict")

    @functools.cached_property
    def inverse(self) -> Fused:
        """The same cells with `invert` in their kernels."""
        return Inverse(self._bounds, self.nullable, self._spans)

    def blank(self, rows: int) -> list[Array]:
        """Columns of cells that a kernel is about to write."""
        found: list[Array] = [np.empty(rows, slot) for slot in self.slots]
        if not self._spans:  # the kernels write all other columns
            found[1], found[2] = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        return found

    def merge_gather(self, lo: Ints, hi: Ints, index: Ints, state: Sequence[Array]) -> list[Array]:
        """Cells index[lo] to index[hi], in order, as one, for each range."""
        results = self.blank(len(lo))
        run(self._kernel(merging.merge_gather), [lo, hi, index, *state], results)
        return results

    def merge_into(self, rows: Ints, items: Ints, count: int, state: Sequence[Array]) -> list[Array]:
        """A table of `count` cells: cell items[c] goes into row rows[c] of it, one after the other."""
        results = self.new(count)
        run(self._kernel(source_cover.merge_into), [rows, items, *state], results)
        return results

    def cover(
        self, row: Ints, lo: Ints, hi: Ints, items: Ints, rows: int, wide: int, state: Sequence[Array]
    ) -> list[Array]:
        """A table of `rows` times 2 * wide cells: cell items[c] over the places lo[c] to hi[c] of its row.

        `wide` is a power of two; place p of row r is cell `(2 * r + 1) * wide + p`.
        """
        results = self.new(2 * wide * rows)
        run(self._kernel(source_cover.cover_stretches), [row, lo, hi, items, rows, wide, *state], results)
        return results

    def cover_twice(
        self, row: Ints, lo: Ints, hi: Ints, items: Ints, rows: int, width: int, levels: int, state: Sequence[Array]
    ) -> list[Array]:
        """As `cover`, of selective aggregates: an event may count twice. Place p of row r is cell `r * width + p`.

        No stretch has 2 ** levels places or more.
        """
        results = self.new(levels * width * rows)
        run(self._kernel(source_cover.cover_twice), [row, lo, hi, items, rows, width, levels, *state], results)
        return [column[: rows * width] for column in results]

    def merge_headed(
        self, key: Ints, headed: Ints, lo: Ints, hi: Ints, index: Ints, heads: Sequence[Array], state: Sequence[Array]
    ) -> list[Array]:
        """As `merge_gather`, with `heads[key]` before the cells where `headed` is 1."""
        results = self.blank(len(lo))
        run(self._kernel(merging.merge_headed), [key, headed, lo, hi, index, *heads, *state], results)
        return results

    def merge_dense(
        self, a: Ints, b: Ints, stride: int, state: Sequence[Array], keys: int | None = None
    ) -> list[Array]:
        """For each range of slices a to b the cells of keys 0 to `keys` as one; row `range * keys + key`.

        Cell `slice * stride + key` is one key in one slice.
        """
        keys = stride if keys is None else keys
        results = self.blank(len(a) * keys)
        run(self._kernel(merging.merge_dense), [a, b, stride, keys, *state], results)
        return results

    def merge_tree(
        self,
        a: Ints,
        b: Ints,
        bounds: tuple[int, int, int],
        stride: int,
        keys: int,
        tree: tuple[Ints, Ints, npt.NDArray[np.bool_]],
        state: Sequence[Array],
        blocks: Sequence[Array],
    ) -> list[Array]:
        """Ranges of slice rows a to b over a tree of blocks (`muntin.slicing.tree`); row `range * keys + key`.

        `bounds` are the running numbers between which blocks that changed are combined where no ranges are given, and
        the number of row 0.
        """
        results = self.blank(len(a) * keys)
        if stride == 1:
            run(self._kernel(source_tree.tree_one), [a, b, *bounds, *tree, *state, *blocks], results)
        else:
            inputs = [a, b, *bounds, stride, keys, *tree, *state, *blocks]
            run(self._kernel(source_tree.tree_dense), inputs, results)
        return results

    def pieces(
        self, ranges: Sequence[Array], level: int, time: Ints, order: Ints | None, columns: Mapping[str, Values],
        slices: Sequence[Array], levels: Sequence[Array],
    ) -> Callable[[], list[Array]]:  # fmt: skip
        """A call that folds rows over ranges, with the slices of a level in them (`muntin.slicing.pieces`)."""
        events, ordered, masked = self._events(time, order, columns)
        kernel = self._kernel(source_pieces.fold_pieces, ordered, masked)
        results = self.blank(len(ranges[0]))

        def fold() -> list[Array]:
            run(kernel, [*ranges, level, *events, *slices], [*levels, *results])
            return results

        return fold

    def _kernel(self, text: Callable[..., str], *variant: bool, name: str | None = None) -> Any:
        key = (name or text.__name__, *variant)
        kernel = self._kernels.get(key)
        if kernel is None:
            given = {} if name else self._given
            kernel = self._kernels[key] = loaded(text(self._plan, *variant), given)
        return kernel


class Inverse(Fused):
    """Cells whose partials can be taken out of one another again."""

    def _recipe(self, bound: Bound) -> Recipe | None:
        return inverse_of(bound, exact=False)


def _column(count: int) -> int:
    return count + 2 if count else 0
