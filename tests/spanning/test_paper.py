"""The worked examples of paper 3: a maximum of 63, a count of 54 over single-level slices and of 91 over three levels.

time    0    5    10   15   20   25   30   35
ended   |  8 | 19 | 15 | 18 | 14 | 12 | 16 |
goes on | 25 | 18 | 12 | 14 | 11 | 19 | 16 |
event                   16 [--------------) 34
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import muntin as mt
from muntin.fused import Fused, fused
from muntin.slicing.batch import Column
from muntin.slicing.slicer import Slicer
from muntin.spanning.edges import Edges
from muntin.spanning.heights import best
from muntin.spanning.levels import Levels

FIVE = mt.sliding("15 us", every="5 us")  # minutes in the paper
MAXIMA = [20, 63, 19, 33, 12, 47, 14]
ENDED, GOING = [8, 19, 15, 18, 14, 12, 16], [25, 18, 12, 14, 11, 19, 16]

# Slices from 50 on, by level: what ended and what goes on.
THREE = {
    1: ([5, 3, 6, 5, 5, 5], [6, 5, 9, 7, 4, 5]),
    2: ([5, 7, 4, 3, 5, 4], [2, 4, 5, 4, 4, 3]),
    3: ([4, 5, 5, 4, 4, 5], [3, 6, 7, 3, 7, 6]),
}


def state(cells: Fused, from_time: int, slices: int, filled: dict[tuple[int, int, int], tuple[int, ...]]) -> Levels:
    """Levels in a given state: (slice, level, part) to the number of events, and the fields of the partial."""
    edges = Edges(Slicer([FIVE]))
    edges.cover(from_time, from_time + 5 * slices - 1)
    levels = Levels(cells, edges)
    columns = cells.new(len(filled))
    for row, values in enumerate(filled.values()):
        for place, value in zip((0, *range(3, len(columns))), values, strict=True):
            columns[place][row] = value
    names = [(2 * (at + edges.base) + part, level) for at, level, part in filled]
    ends, places = (np.array(side, np.int64) for side in zip(*names, strict=True))
    levels.load({"edges": edges.dump(), "ends": ends, "places": places, "cells": columns})
    return levels


def window(levels: Levels, start: int, end: int) -> list[Any]:
    a, b = np.searchsorted(levels.edges.edges, [start, end])
    which, _, partials = levels.merged(np.array([a]), np.array([b]))
    assert which.tolist() == [0]
    return partials


def put(levels: Levels, start: int, end: int, height: int, **values: int) -> None:
    columns = {name: Column(pa.int64(), np.array([value]), None) for name, value in values.items()}
    levels.take(np.array([start]), np.array([end]), None, None, columns, height)


def found(levels: Levels) -> dict[tuple[int, int, int], int]:
    """(slice, level, part) to the number of events."""
    some = slice(0, levels.count)
    names = zip(levels._ends[some].tolist(), levels._places[some].tolist(), levels.columns[0][some], strict=True)
    return {(end // 2 - levels.edges.base, place, end % 2): int(n) for end, place, n in names}


def test_the_maximum_is_63() -> None:
    cells = fused([mt.max("x").bind([pa.int64()])], nullable=[], spans=False)
    levels = state(cells, 0, 7, {(i, 1, 0): (1, top) for i, top in enumerate(MAXIMA)})
    put(levels, 16, 34, 1, x=18)
    assert window(levels, 0, 15)[3].tolist() == [63]
    assert window(levels, 20, 35)[3].tolist() == [47]
    assert window(levels, 30, 35)[3].tolist() == [18]


def test_the_count_over_single_level_slices_is_54() -> None:
    cells = fused([mt.count().bind([])], spans=False)
    filled = {(i, 1, part): (n,) for part, row in enumerate((ENDED, GOING)) for i, n in enumerate(row)}
    levels = state(cells, 0, 7, filled)
    put(levels, 16, 34, 1)
    now = found(levels)
    assert [now[i, 1, 0] for i in range(7)] == [8, 19, 15, 18, 14, 12, 17]
    assert [now[i, 1, 1] for i in range(7)] == [25, 18, 12, 15, 12, 20, 16]
    assert window(levels, 0, 15)[0].tolist() == [54]


def test_the_count_over_three_levels_is_91() -> None:
    cells = fused([mt.count().bind([])], spans=False)
    filled = {
        (i, level, part): (n,)
        for level, rows in THREE.items()
        for part, row in enumerate(rows)
        for i, n in enumerate(row)
    }
    levels = state(cells, 50, 6, filled)
    put(levels, 61, 79, 3)
    now = found(levels)
    assert (now[5, 3, 0], now[2, 1, 1]) == (6, 10)  # and nothing else has changed
    assert sum(now.values()) == sum(n for (n,) in filled.values()) + 2
    assert window(levels, 50, 65)[0].tolist() == [91]


def by_table_3(printed: bool) -> int:
    """The window [50, 65) by plain combinations of Table 3, as printed or with its condition mended."""
    levels = {level: ([*ended], [*going]) for level, (ended, going) in THREE.items()}
    levels[3][0][5] += 1
    levels[1][1][2] += 1
    ended, going, high = 0, 0, 55
    for i in range(6):
        for level, (phi, psi) in levels.items():
            b_low, b_high = 50 + 5 * (i + 1 - level), 55 + 5 * i
            if b_low >= 65 or b_high <= 50:
                continue
            alone = high > b_high if printed else high == b_low
            ended += phi[i]
            going = psi[i] if alone else going + psi[i]
            if high == b_low and b_high <= 65:
                high = b_high
    return ended + going


def test_table_3_as_printed_counts_twice() -> None:
    assert (by_table_3(printed=True), by_table_3(printed=False)) == (117, 91)


@pytest.mark.parametrize(("length", "height"), [(500, 7), (5_000, 15)])
def test_the_best_heights_are_those_of_the_paper(length: int, height: int) -> None:
    """Windows of 50 steps of 100, an event per chronon: section 6.3, among heights as the paper tries them."""
    assert best([length // 100 + 1], 100, 50, (1, 2, 3, 5, 7, 10, 15, 20)) == height
