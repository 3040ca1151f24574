"""What the algorithms of paper 4 cost: straight lines through times that were measured, in nanoseconds.

A group of workloads has some terms (values read, slides, windows, ...), and each algorithm a cost for each term. They
are fitted to times of the kernels that run, once on a machine, and kept beside the compiled kernels. Until a machine
was measured (`measured`: `explain` and the benchmark ask for it), the figures below hold: those of the machine that
this was written on. Only their ratios decide.
"""

from __future__ import annotations

import functools
import math
import operator
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.machine import keep, kept

__all__ = ["GROUPS", "PLAIN", "Lines", "lines", "measured", "ms", "predicted"]

Lines = Mapping[str, tuple[float, ...]]
"""For each algorithm, nanoseconds per term."""

PLAIN = ("values read", "slides", "windows", "heads", "windows of many slides")
_ONE = ("call", "slices", "windows")
_MANY = ("call", "rows of slices", "cells", "windows", "cells of windows")

GROUPS: dict[str, tuple[str, ...]] = {
    "min int": PLAIN,
    "min float": PLAIN,
    "sum int": PLAIN,
    "sum float": PLAIN,
    "mean int": PLAIN,
    "cells": _ONE,
    "cells of keys": _MANY,
}
"""The terms of each group: plain numbers (a maximum is as a minimum, a mean of floats as a sum), partials of slices."""

# Fitted on AMD EPYC with AVX2, by `python -m muntin.bench rolling --grid`.
SHIPPED: dict[str, Lines] = {
    "min int": {
        "rescan": (0.031, 0, 0.61, 0, 0),
        "blocks": (0.049, 0.63, 0.23, 1.9, 0.11),
        "two_stacks": (0.05, 1.08, 1.07, 0, 0),
        "subtract_on_evict": (0.051, 0.95, 0.65, 0, 0),
    },
    "min float": {
        "rescan": (0.071, 0, 0.63, 0, 0),
        "blocks": (0.128, 1.2, 0.57, 0, 0.16),
        "two_stacks": (0.121, 1.68, 1.29, 0, 0.16),
        "subtract_on_evict": (0.12, 1.92, 1.2, 0, 0.01),
    },
    "sum int": {
        "rescan": (0.044, 0, 0.63, 0, 0),
        "blocks": (0.052, 1.14, 0.44, 0.95, 0.31),
        "two_stacks": (0.05, 1.09, 0.88, 0, 0.15),
        "subtract_on_evict": (0.048, 0.87, 0.53, 0, 0.05),
    },
    "sum float": {
        "rescan": (0.078, 0, 0.56, 0, 0),
        "blocks": (0.148, 1.57, 0.61, 0, 0.32),
        "two_stacks": (0.143, 1.62, 1.5, 0, 0.61),
        "subtract_on_evict": (0.13, 1.65, 3.04, 0, 5.2),
    },
    "mean int": {
        "rescan": (0.07, 0, 0.55, 0, 0),
        "blocks": (0.078, 1.04, 0.51, 1.08, 0.19),
        "two_stacks": (0.074, 0.86, 1.59, 0, 0.39),
        "subtract_on_evict": (0.05, 0.89, 0.59, 0, 0.02),
    },
    "cells": {
        "rescan": (3100, 1.6, 3.1),
        "blocks": (4200, 1.5, 13.1),
        "subtract_on_evict": (3600, 1.4, 9.1),
    },
    "cells of keys": {
        "rescan": (3300, 10.5, 0.61, 21.6, 0.55),
        "blocks": (4500, 12, 0.81, 73.9, 2),
        "subtract_on_evict": (3300, 0.2, 2.3, 1.5, 6),
    },
}


def predicted(group: str, algorithm: str, terms: tuple[float, ...]) -> float:
    """The nanoseconds that an algorithm takes.

    >>> predicted("cells", "blocks", (1, 512, 4)) < predicted("cells", "rescan", (1, 4 * 512, 4))
    True
    """
    return math.fsum(map(operator.mul, lines(group)[algorithm], terms))


@functools.cache
def lines(group: str) -> Lines:
    """The costs of a group on this machine, as kept; where it was not measured yet, those of another."""
    found = kept("final_costs") or {}
    try:
        mine = {name: tuple(map(float, costs)) for name, costs in found[group].items()}
        if mine.keys() == SHIPPED[group].keys() and all(len(costs) == len(GROUPS[group]) for costs in mine.values()):
            return mine
    except (KeyError, TypeError, ValueError, AttributeError):
        pass  # not measured, or not what was written
    return SHIPPED[group]


def measured(group: str, anew: bool = False) -> Lines:
    """The costs of a group on this machine: as kept, else measured now and kept; `anew`: measured in any case.

    With compiled kernels it takes a quarter of a second, else a few.
    """
    if anew or group not in (kept("final_costs") or {}):
        found = fitted(group)
        keep("final_costs", (kept("final_costs") or {}) | {group: found})
        lines.cache_clear()
    return lines(group)


def ms(nanoseconds: float) -> str:
    """How long, for people.

    >>> ms(1_234_567), ms(4_321)
    ('1.23 ms', '4.32 µs')
    """
    return f"{nanoseconds / 1e6:.3g} ms" if nanoseconds >= 1e6 else f"{nanoseconds / 1e3:.3g} µs"


# -- measuring ---------------------------------------------------------------------------------------------------------

Point = tuple[str, tuple[float, ...], Callable[[], object]]
"""An algorithm, the terms of a workload, and its run."""


def fitted(group: str, rounds: int = 7) -> dict[str, tuple[float, ...]]:
    """The costs of a group from times measured now: the least of some rounds, each of all workloads."""
    points = list(_plain(*group.split()) if GROUPS[group] is PLAIN else _cells(group == "cells of keys"))
    for _, _, run in points:
        run()
    taken = [[_seconds(run) for _, _, run in points] for _ in range(rounds)]
    least = [min(column) * 1e9 for column in zip(*taken, strict=True)]
    found = {}
    for algorithm in dict.fromkeys(name for name, _, _ in points):
        rows = [(terms, took) for (name, terms, _), took in zip(points, least, strict=True) if name == algorithm]
        found[algorithm] = _line(np.array([terms for terms, _ in rows]), np.array([took for _, took in rows]))
    return found


def _line(terms: npt.NDArray[np.float64], took: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """Costs, none below 0, that come nearest to all times, as a share of each."""
    shares, on = terms / took[:, None], [i for i in range(terms.shape[1]) if terms[:, i].any()]
    while True:
        found = np.linalg.lstsq(shares[:, on], np.ones(len(took)), rcond=None)[0]
        if (found >= 0).all():
            break
        on.pop(int(np.argmin(found)))
    costs = np.zeros(terms.shape[1])
    costs[on] = found
    return tuple(round(float(cost), 4) for cost in costs)


def _seconds(run: Callable[[], object], least: float = 1e-4) -> float:
    """How long one run takes, by as many as take long enough to be measured; what other processes do is left out."""
    started = time.thread_time()
    count = 0
    while count == 0 or time.thread_time() - started < least:
        run()
        count += 1
    return (time.thread_time() - started) / count


# What is kept of the slides of a window leaves the nearest cache: a window of 16,384 values took 1.3 to 1.6 times as
# long as one of 1,024, and a longer one no more.
_MANY_SLIDES = 4_096
# Beyond the caches of a core: within them a rescan of two slides took 0.93 of the time of a subtraction, whose values
# are read once, and over 5 million values 1.2 to 1.3.
_VALUES = 1 << 21
_SHAPES = (
    (8, 1),
    (64, 1),
    (1024, 1),
    (16_384, 1),
    (64, 8),
    (1024, 8),
    (1024, 64),
    (2048, 512),
    (24, 12),
    (4096, 2048),
    (1000, 64),
    (999, 512),
)


def _plain(name: str, kind: str) -> Iterator[Point]:
    """Windows over a column of plain numbers."""
    from muntin.kernels.final.lane_text import Op
    from muntin.rolling_lanes import over_values

    source = "int32" if kind == "int" else "float64"
    op = Op(name, source, source if name == "min" else "int64" if (name, kind) == ("sum", "int") else "float64")
    values = np.random.default_rng(5).integers(0, 1 << 20, _VALUES).astype(source)
    for window, every in _SHAPES:
        out = np.empty((len(values) - window) // every + 1, op.wide)
        for final in ("rescan", "blocks", "two_stacks", "subtract_on_evict"):
            # Without heads slides are cut further, which is more of the same terms.
            if (final != "rescan" or window <= 4 * every) and (final == "blocks" or window % every == 0):
                terms = plain_terms(final, len(values), len(out), window / every, every == 1, window % every > 0)
                yield final, terms, functools.partial(over_values, op, values, window, every, final, out)


def plain_terms(final: str, values: int, windows: int, slides: float, single: bool, head: bool) -> tuple[float, ...]:
    """The terms of windows over plain numbers, of so many slides each; `single`: a slide is one value.

    `head`: a window ends within a slide, and in blocks the head of that slide is kept beside it.
    """
    if final == "rescan":
        return values / max(windows + slides - 1, 1) * slides * windows, 0, windows, 0, 0
    heads, many = windows if head and final == "blocks" else 0, windows if slides > _MANY_SLIDES else 0
    return (0, 0, windows, 0, many) if single else (values, windows + slides, windows, heads, many)


def _cells(many: bool) -> Iterator[Point]:
    """Windows over partials of slices: a mean."""
    import pyarrow as pa

    from muntin.aggregates.moments import Mean
    from muntin.fifo import slid
    from muntin.fused import fused

    cells = fused([Mean("x").bind([pa.float64()])], spans=False)
    one = ((1, 4, 1), (1, 4, 256), (1, 64, 32), (1, 512, 4), (1, 512, 128), (1, 64, 1 << 14))  # the last: over an array
    all_keys = ((10, 4, 4), (10, 64, 32), (100, 16, 4), (100, 64, 32), (1000, 4, 4), (1000, 32, 16), (30, 16, 128))
    for keys, slices, windows in all_keys if many else one:
        rows = slices + windows
        state = [np.ones(rows * keys, slot) for slot in cells.slots]
        a = np.arange(windows)
        for final in SHIPPED["cells"]:
            terms = cell_terms(final, slices * windows, rows - 1, windows, keys)
            if final == "rescan":
                yield final, terms, functools.partial(rescanned, cells, a, a + slices, state, keys, keys)
            else:
                yield final, terms, functools.partial(slid, cells, final, a, a + slices, state, keys, keys)


def cell_terms(final: str, slices: float, span: float, windows: int, keys: int = 1) -> tuple[float, ...]:
    """The terms of windows over slices: `slices` in all windows together, `span` that hold them."""
    combined = slices if final == "rescan" else span
    if keys == 1:
        return 1, combined, windows
    return 1, combined, combined * keys, windows, windows * keys


def rescanned(cells: Any, a: Any, b: Any, state: Any, stride: int, keys: int) -> Any:
    """Windows over slices, each from all its slices."""
    return cells.merge_dense(a, b, stride, state, keys) if stride > 1 else cells.merge_ranges(a, b, state)
