"""Sliding windows over plain numbers by minimum, maximum, sum and mean: the vectorised kernels of paper 4."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from muntin.aggregates import Bound
from muntin.aggregates.extremes import Max, Min
from muntin.aggregates.moments import IntegerSum, Mean, Sum
from muntin.kernels.final.lane_text import Op

__all__ = ["aligned", "group_of", "op_for", "over_values", "pane_slider", "ranged", "slider"]

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Slide = Callable[[Array, Array, Array], None]
"""Windows over a column, with heads of slides or none, into an array."""

_NAMES: dict[type, str] = {Min: "min", Max: "max", Sum: "sum", IntegerSum: "sum", Mean: "mean"}
_SOURCES = ("int32", "int64", "float32", "float64")


def op_for(bound: Bound, values: Array, most: int) -> Op | None:
    """The operation over plain numbers that an aggregate is; None where there is none, or it could overflow.

    `most` is how many values a window may have.

    >>> import muntin as mt, pyarrow as pa
    >>> op_for(mt.sum("x").bind([pa.int32()]), np.arange(3, dtype=np.int32), 2)
    Op(name='sum', source='int32', wide='int64')
    """
    name, source = _NAMES.get(type(bound.aggregate)), values.dtype.name
    if name is None or source not in _SOURCES:
        return None
    if name in ("min", "max"):
        return Op(name, source, source)
    if name == "mean" or source.startswith("float"):
        return Op(name, source, "float64")
    if source == "int64":
        from muntin.kernels.columns import magnitude

        if (magnitude(values) + 1) * most > 2**63 - 1:
            return None
    return Op(name, source, "int64")


def group_of(op: Op) -> str:
    """The group of workloads that its costs are measured in.

    >>> group_of(Op("max", "float32", "float32"))
    'min float'
    """
    kind = "float" if op.source.startswith("float") else "int"
    name = "sum" if (op.name, kind) == ("mean", "float") else op.name
    return f"{'min' if name == 'max' else name} {kind}"


def aligned(count: int, dtype: str, beside: Array) -> Array:
    """Room for results, half a page away from the values: where both lie alike in their pages, loads wait for stores.

    Measured with a window of 1,024 values: 0.29 instead of 1.2 billion per second where they lie alike.
    """
    size = np.dtype(dtype).itemsize
    raw = np.empty(count * size + 4096, np.uint8)
    at = (beside.ctypes.data + 2048 - raw.ctypes.data) % 4096 // 64 * 64
    return raw[at : at + count * size].view(dtype)


@functools.cache
def _kernel(algorithm: str, op: Op, *flags: bool) -> Any:
    from muntin import kernel_cache
    from muntin.kernels.final import blocks, rescan, slides, subtract_on_evict, two_stacks_column

    texts: dict[str, Any] = {
        "blocks": blocks.blocks,
        "regular": rescan.regular,
        "ranges": rescan.ranges,
        "slides": slides.slides,
        "subtract_on_evict": subtract_on_evict.subtract_on_evict,
        "two_stacks": two_stacks_column.two_stacks_column,
    }
    return kernel_cache.load(texts[algorithm](op, *flags)).kernel


def _marks() -> npt.NDArray[np.uint64]:
    return np.zeros(2, np.uint64)


def _room(op: Op) -> Array:
    """Eight vectors."""
    return np.empty(64, op.wide)


def _finish(count: int) -> tuple[Any, ...]:
    """Marks, what a mean is divided by, and the inverse where that is exact: for powers of two."""
    return _marks(), float(count), 1.0 / count if count and count & (count - 1) == 0 else 0.0


def over_values(op: Op, values: Array, window: int, every: int, final: str, out: Array, encoded: bool = False) -> None:
    """Write the results of all complete windows of so many values.

    >>> out = np.empty(3, np.int32)
    >>> over_values(Op("min", "int32", "int32"), np.array([8, 2, 1, 5, 0], np.int32), 3, 1, "blocks", out)
    >>> out.tolist()
    [1, 1, 0]
    """
    if final == "rescan" or window <= every:  # then windows share nothing, whatever the algorithm
        _kernel("regular", op)(values, out, window, every, _room(op), *_finish(window))
        return
    if final == "subtract_on_evict" and op.name == "mean" and op.source.startswith("int"):
        # Integers come back exactly; only the result is a float.
        stage = Op("sum", op.source, "int64")
    else:
        stage = op
    if every == 1:
        on_values = op._replace(source=values.dtype.name)
        slider(on_values, window, window, final, encoded=encoded)(values, _none(op), out)
        return
    # In parts, so that slides stay in the cache: for the whole column their memory took longer than their values.
    part = min(max(PART, 16 * (window // every)), len(out))
    slides = _Slides(op, stage, window, every, final, part, encoded)
    for first in range(0, len(out), part):
        some = out[first : first + part]
        slides.run(values[first * every : (first + len(some) - 1) * every + window], some)


PART = 16_384


class _Slides:
    """Windows from pre-aggregated slides, part by part: what a part needs is made once.

    Made anew for each of 150 parts, 20 million values took 7 to 9 % longer (1,024 every 8; every 64 it did not show).
    """

    def __init__(self, op: Op, stage: Op, window: int, every: int, final: str, part: int, encoded: bool) -> None:
        # Only blocks take the heads of slides, for the others a slide is cut so that none is needed.
        self._step = every if final == "blocks" else math.gcd(window, every)
        self._cuts = every // self._step
        self._panes, self._head = divmod(window, self._step)
        headed = self._head > 0
        self._slides = np.empty((part - 1) * self._cuts + self._panes, stage.wide)
        self._heads = np.empty(part if headed else 0, stage.wide)
        self._whole = np.empty((part - 1) * self._cuts + 1 if self._cuts > 1 else 0, op.wide)
        self._rooms = _room(stage), _room(stage)
        self._slice = _kernel("slides", stage)
        on_slides = op._replace(source=stage.wide)
        self._slide = slider(on_slides, self._panes, window, final, headed, encoded)

    def run(self, values: Array, out: Array) -> None:
        """The windows of some values."""
        count = (len(out) - 1) * self._cuts
        slides, heads = self._slides[: count + self._panes], self._heads[: len(out)]
        first = self._panes if self._head else 0
        self._slice(values, slides, heads, self._step, self._head, first, *self._rooms, _marks(), _marks())
        if self._cuts == 1:
            self._slide(slides, heads, out)
            return
        whole = self._whole[: count + 1]
        self._slide(slides, heads, whole)
        out[:] = whole[:: self._cuts]


def _none(op: Op) -> Array:
    return np.empty(0, op.wide)


def slider(op: Op, window: int, count: int, final: str, headed: bool = False, encoded: bool = False) -> Slide:
    """Windows over a column, one with each value, and heads beside it; `count` is how many values each has.

    >>> out = np.empty(2, np.int32)
    >>> slider(Op("max", "int32", "int32"), 2, 2, "two_stacks")(np.array([3, 1, 2], np.int32), out, out)
    >>> out.tolist()
    [3, 2]
    """
    _, *finish = _finish(count)
    if final == "subtract_on_evict":
        kernel = _kernel(final, op)
        return lambda column, heads, out: kernel(column, out, window, _marks(), *finish)
    if final == "two_stacks":
        kernel = _kernel(final, op, encoded)
        room = (np.empty(window, op.wide), np.empty(window if encoded else 0, np.int64))
        return lambda column, heads, out: kernel(column, out, window, *room, _marks(), *finish)
    kernel, ring = _kernel("blocks", op, headed), np.empty(window + 8, op.wide)
    return lambda column, heads, out: kernel(column, heads, out, window, ring, _marks(), *finish)


def ranged(op: Op, values: Array, lo: Ints, hi: Ints, out: Array | None = None) -> Array:
    """The values lo to hi of each range as one: their sum for a mean."""
    out = np.empty(len(lo), op.wide) if out is None else out
    _kernel("ranges", op)(values, out, lo, hi, _empty(op), _marks())
    return out


def pane_slider(op: Op, headed: bool, window: int, final: str) -> Slide:
    """Windows of so many slides, one with each, and of the head of the next where there are heads; a sum for a mean."""
    plain = Op("sum" if op.name == "mean" else op.name, op.wide, op.wide)
    return slider(plain, window, 1, final, headed)


def _empty(op: Op) -> Any:
    """What changes nothing."""
    if op.name in ("sum", "mean"):
        return 0
    if op.wide.startswith("float"):
        return math.nan if op.name == "min" else -math.inf
    limits = np.iinfo(op.wide)
    return limits.max if op.name == "min" else limits.min


def filled(op: Op, values: Array, valid: npt.NDArray[np.bool_]) -> Array:
    """The values with what changes nothing where there are none."""
    return np.where(valid, values, values.dtype.type(_empty(op._replace(wide=op.source))))
