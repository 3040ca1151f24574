"""How long single steps of a sliding window take: two-stacks, which flips, beside DABA, which does not.

The steps run and are timed within one compiled loop, by the processor's counter: a call from Python takes longer than
most steps. The same steps run several times, and of each the shortest counts, so that what the system did meanwhile is
left out and what the algorithm does remains.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

import muntin as mt
from muntin.fifo import Fifo
from muntin.fused import fused

__all__ = ["steps", "tail"]


def _read_counter(context: Any) -> Any:
    """The processor's counter."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, inner = ir.FunctionType(ir.IntType(64), []), "llvm.readcyclecounter"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, inner), [])  # type: ignore[no-untyped-call]

    return types.int64(), generate


_ticks: Any = intrinsic(_read_counter)


@njit(types.int64(), error_model="numpy")
def _now():  # type: ignore[no-untyped-def]
    return _ticks()


def _loop(kernel: Any) -> Any:
    @njit(error_model="numpy")
    def run(a, b, taken, mask, *rest):  # type: ignore[no-untyped-def]
        for i in range(len(a)):
            before = _ticks()
            kernel(a[i : i + 1], b[i : i + 1], 0, 1, 1, mask, *rest)
            taken[i] = min(taken[i], _ticks() - before)

    return run


def steps(final: str, window: int, count: int, rounds: int = 5) -> npt.NDArray[np.float64]:
    """The nanoseconds of each step: one value in, one out, a minimum."""
    cells = fused([mt.min("x").bind([pa.float64()])], nullable=[], spans=False)
    state = [np.ones(window + count, slot) for slot in cells.slots]
    state[-1][:] = np.random.default_rng(7).random(window + count)
    a = np.arange(1, count + 1)
    taken = np.full(count, np.iinfo(np.int64).max)
    run = _loop(Fifo(cells, final).kernel)
    began = 0, 0
    for i in range(rounds + 1):
        fifo = Fifo(cells, final)
        fifo.windows(np.zeros(1, np.int64), np.array([window]), 0, state)
        inputs, rest = fifo.arguments(window + 1, state, cells.blank(1))
        run(a if i else a[:0], a + window, taken, *inputs, *rest)
        if not i:  # that was to compile
            began = _now(), time.perf_counter_ns()
    ticks, nanoseconds = _now() - began[0], time.perf_counter_ns() - began[1]
    found: npt.NDArray[np.float64] = taken * (nanoseconds / ticks)
    return found


def tail(final: str, window: int, count: int, rounds: int = 5) -> dict[str, float]:
    """Some shares of the steps take no longer than so many nanoseconds."""
    taken = steps(final, window, count, rounds)
    names = {"median": 50, "99 %": 99, "99.9 %": 99.9, "most": 100}
    return {name: float(np.percentile(taken, share)) for name, share in names.items()}
