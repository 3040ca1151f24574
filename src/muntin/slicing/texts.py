"""Texts in cells and runs: their ranks in place of them (paper 1, Figure 4: no event need be kept for their sake).

A cell holds numbers of a fixed size, so a text stands in it as its rank among the texts of its column: ranks compare
as the texts do, and the compiled update needs to know nothing of them. New texts move the ranks of those after them;
then all ranks that are held are looked up in a table once. That costs nothing where the texts stay the same. Texts
that nothing holds any more are forgotten from time to time.

    texts    b   d         ->   a   b   c   d
    rank     0   1              0   1   2   3        a cell that held 1 (d) now holds 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.aggregates import Bound
from muntin.aggregates.ends import M4, First, Last
from muntin.aggregates.extremes import ArgMax, ArgMin, Max, MaxCount, Min, MinCount
from muntin.aggregates.runs import CountDistinct, HeavyHitters, Mode, NthSmallest
from muntin.aggregates.types import Placeholder
from muntin.slicing.codings import BoundedHitters, replaced, source_of
from muntin.slicing.values import Column, Interner

__all__ = ["Forgetting", "Texts", "coded", "text_fields"]

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# By exact type: what they do to texts is to compare and to choose, which ranks allow as well.
_CHOOSING = (Min, Max, MinCount, MaxCount, ArgMin, ArgMax, First, Last, M4)
_COUNTING = (Mode, NthSmallest, CountDistinct, HeavyHitters, BoundedHitters)

_NONE: Int64s = np.empty(0, np.int64)
_LEAST = 1_024  # texts of a column from which on it is worth looking for those that can go
_LARGE = 1 << 20  # and bytes of them
GROWTH = 2  # how many times as many there must be until it is worth looking again


def coded(bound: Bound) -> Bound:
    """The same aggregate over ranks where it takes texts; itself where it takes none or needs the texts as such.

    >>> import muntin as mt
    >>> coded(mt.min("city").bind([pa.string()])).output, coded(mt.concat("city").bind([pa.string()])).output
    (DataType(int64), DataType(string))
    """
    bound = replaced(bound)
    if type(bound.aggregate) not in _CHOOSING + _COUNTING or not any(map(pa.types.is_string, bound.types)):
        return bound
    return bound.aggregate.bind([pa.int64() if pa.types.is_string(type_) else type_ for type_ in bound.types])


def text_fields(bound: Bound) -> list[tuple[int, str]]:
    """Which fields of an aggregate's partial are texts, and of which column.

    >>> import muntin as mt
    >>> text_fields(mt.arg_max("city", by="speed").bind([pa.string(), pa.int64()]))
    [(3, 'city')]
    """
    fields = bound.aggregate.partial.values()
    named = [(i, field.column) for i, field in enumerate(fields) if isinstance(field, Placeholder)]
    return [(i, bound.aggregate.columns[at]) for i, at in named if pa.types.is_string(bound.types[at])]


class Codes(Protocol):
    """What holds codes of texts."""

    def live_codes(self, column: str, live: Bools) -> None:
        """Set `live[code]` for each code of a column that is held."""

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Code `c` of a column is `moved[c]` from now on, in the same order; -1: it is forgotten, it was not held."""


class Ordinals(Protocol):
    """What holds values as sorted integers."""

    def ordinals(self) -> list[Int64s]:
        """The values that are held."""

    def remap(self, places: Int64s) -> None:
        """Each value becomes another, in the same order."""


Holding = Callable[[int], list[npt.NDArray[Any]]]


class Texts:
    """The text columns of aggregates in cells and runs: ranks on the way in, texts on the way out.

    >>> import muntin as mt
    >>> words = Interner()
    >>> texts = Texts([mt.max("city").bind([pa.string()])], {"city": words})
    >>> city = Column(pa.string(), words.encode(pa.chunked_array([["Ulm", "Bonn"]])), None, words)
    >>> texts.meet()
    >>> ranks = texts.ranked({"city": city})["city"].values
    >>> ranks.tolist(), texts.shown(mt.max("city").bind([pa.int64()]), pa.array(ranks)).to_pylist()
    ([1, 0], ['Ulm', 'Bonn'])
    """

    def __init__(self, bounds: Iterable[Bound], interners: Mapping[str, Interner]) -> None:
        self._originals = {over.aggregate: bound for bound in bounds if (over := coded(bound)) is not bound}
        named = [
            name
            for bound in self._originals.values()
            for name, type_ in zip(bound.aggregate.columns, bound.types, strict=True)
            if pa.types.is_string(type_)
        ]
        self._words = {name: interners[name] for name in named}
        # The codes of each column in the order of their texts, as of the ranks that are held.
        self._order = {name: np.empty(0, np.int64) for name in named}
        self._cells: list[tuple[int, str]] = []
        self._column: Holding = lambda at: []
        self._runs: dict[str, list[Ordinals]] = {}

    @property
    def columns(self) -> list[str]:
        """The columns that stand as ranks."""
        return list(self._words)

    def watch(self, places: Iterable[tuple[Bound, Sequence[int]]], column: Holding) -> None:
        """Who holds ranks in cells: the columns of each aggregate's partial, and the arrays that such a column has."""
        found = {(at[i], name) for bound, at in places for i, name in self._text_fields(bound)}
        self._cells, self._column = sorted(found), column

    def watch_runs(self, name: str, runs: Ordinals) -> None:
        """Who holds ranks of a column as sorted runs."""
        if (column := source_of(name)) in self._words:
            self._runs.setdefault(column, []).append(runs)

    def _text_fields(self, bound: Bound) -> list[tuple[int, str]]:
        original = self._originals.get(bound.aggregate)
        return [] if original is None else text_fields(original)

    # -- on the way in -----------------------------------------------------------------------------------------------

    def meet(self) -> None:
        """Take in texts that are new; what is held follows where ranks move."""
        for name, words in self._words.items():
            before = self._order[name]
            if len(before) == len(words):
                continue
            self._order[name] = words.order()
            places = words.ranks()[before]
            if len(before) and places[-1] != len(before) - 1:  # else all that is new comes after all that was there
                self._remap(name, places)

    def _remap(self, name: str, places: Int64s) -> None:
        for held in self._held(name):
            held[...] = places[held]
        for runs in self._runs.get(name, []):
            runs.remap(places)

    def _held(self, name: str) -> list[npt.NDArray[Any]]:
        return [held for at, column in self._cells if column == name for held in self._column(at)]

    def ranked(self, columns: Mapping[str, Column]) -> Mapping[str, Column]:
        """Columns of a batch with the ranks of texts in place of their codes."""
        if not self._words:
            return columns
        found = dict(columns)
        for name, words in self._words.items():
            column = columns[name]
            # Without any text yet all values are null, and stand as 0.
            values = words.ranks()[column.values] if len(words) else column.values
            found[name] = Column(pa.int64(), values, column.valid)
        return found

    # -- from place to place -----------------------------------------------------------------------------------------

    def from_ranks(self, name: str, ranks: Int64s, null: int) -> pa.Array | None:
        """The texts of ranks in runs of a column; None where its values are no ranks."""
        if (column := source_of(name)) not in self._words:
            return None
        valid = ranks != null
        if not valid.any():
            return pa.nulls(len(ranks), pa.string())
        return self._words[column].decode(self._order[column][np.where(valid, ranks, 0)], valid)

    def to_ranks(self, name: str, texts: pa.ChunkedArray, null: int) -> Int64s | None:
        """The way back from `from_ranks`; what is held follows where texts are new."""
        if (column := source_of(name)) not in self._words:
            return None
        words = self._words[column]
        codes = words.encode(texts)
        self.meet()
        ranks = words.ranks()[codes] if len(words) else codes
        return np.where(np.asarray(texts.is_valid()), ranks, null)

    # -- on the way out ----------------------------------------------------------------------------------------------

    def shown(self, bound: Bound, found: pa.Array) -> pa.Array:
        """Results of an aggregate over ranks as they are over texts; those of any other aggregate as they are."""
        original = self._originals.get(bound.aggregate) if self._originals else None
        if original is None or found.type == original.output:
            return found
        return self._decoded(found, original.output, original.aggregate.columns[0])

    def _decoded(self, found: pa.Array, type_: pa.DataType, name: str) -> pa.Array:
        if pa.types.is_string(type_):
            if found.null_count == len(found):
                return pa.nulls(len(found), type_)
            valid = None if not found.null_count else np.asarray(found.is_valid())
            codes = self._order[name][np.asarray(found.fill_null(0))]
            return self._words[name].decode(codes, valid)
        if pa.types.is_struct(type_):
            parts = [self._decoded(pc.struct_field(found, i), field.type, name) for i, field in enumerate(type_)]
            return pa.StructArray.from_arrays(parts, fields=list(type_), mask=found.is_null())
        if pa.types.is_list(type_):
            sizes = np.asarray(pc.fill_null(pc.list_value_length(found), 0))
            offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
            values = self._decoded(found.flatten(), type_.value_type, name)
            return pa.ListArray.from_arrays(offsets, values, type=type_, mask=found.is_null())
        return found

    # -- letting go --------------------------------------------------------------------------------------------------

    def live_codes(self, column: str, live: Bools) -> None:
        """Mark the texts of a column that are held."""
        order = self._order.get(column, _NONE)
        if len(order):
            runs = [part for runs in self._runs.get(column, []) for part in runs.ordinals()]
            for ranks in (*self._held(column), *runs):
                live[order[ranks]] = True

    def renumber_codes(self, column: str, moved: Int64s) -> None:
        """Take over new codes of a column; ranks follow, since texts have gone."""
        order = self._order.get(column, _NONE)
        if len(order):
            codes = moved[order]
            stay = codes >= 0
            self._order[column] = codes[stay]
            self._remap(column, np.maximum(np.cumsum(stay) - 1, 0))


class Forgetting:
    """Forgets the texts of a column that nothing holds any more, whenever they may have become half of all.

    >>> words = Interner()
    >>> codes = words.encode(pa.chunked_array([["Ulm", "Bonn", "Kiel"]]))
    >>> class Store:
    ...     def live_codes(self, column, live): live[codes[[0, 2]]] = True
    ...     def renumber_codes(self, column, moved): print(column, moved.tolist())
    >>> Forgetting({"city": words}, least=2).step([Store()])
    city [0, -1, 1]
    >>> words.decode(np.arange(2)).to_pylist()
    ['Ulm', 'Kiel']
    """

    def __init__(self, interners: Mapping[str, Interner], least: int | None = None) -> None:
        self._interners, self._least = interners, _LEAST if least is None else least
        self._limits = dict.fromkeys(interners, self._least)
        self._gone = dict.fromkeys(interners, 0)

    def step(self, holders: Sequence[Codes], gone: int = 0, held: int = 0) -> None:
        """Look whether there are many texts, and who holds which of them.

        `gone` and `held` are how many slices and events were let go so far and are held: where as many have gone as
        are held, it is worth looking at fewer texts, at few that are long, and where nothing is held at any.
        """
        for name, words in self._interners.items():
            if not len(words):  # nulls have a code, and there is nothing to forget
                continue
            some = len(words) > self._least or words.nbytes > _LARGE or held == 0
            turned = some and gone - self._gone[name] >= max(held, 1)
            if len(words) <= self._limits[name] and not turned:
                continue
            live = np.zeros(len(words), np.bool_)
            for holder in holders:
                holder.live_codes(name, live)
            if not live.all():
                words.retain(np.flatnonzero(live))
                for holder in holders:
                    holder.renumber_codes(name, np.where(live, np.cumsum(live) - 1, -1))
            self._limits[name], self._gone[name] = max(self._least, GROWTH * len(words)), gone
