"""One question, asked by every technique of paper 1: the same answers, at other prices.

Run it with `python examples/techniques.py`; each `# %%` is a cell.
"""

# %% Twenty windows over a stream in order.
from __future__ import annotations

import sys
import time

import muntin as mt
from muntin.bench.data import football
from muntin.bench.engine import tumbling
from muntin.bench.measuring import batches_of

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
batches = batches_of(football(ROWS, seed=1), 16_384)
spec = tumbling(20, mt.over("ts"), total=mt.sum("value"))


# %% Rows per second, bytes of state, and how many windows came.
def run(engine: str) -> tuple[float, int, int]:
    """Push all batches, and end."""
    running = spec.engine(engine=engine)
    started = time.perf_counter()
    windows = sum(running.push(batch).num_rows for batch in batches)
    seconds, held = time.perf_counter() - started, running.nbytes
    return ROWS / seconds, held, windows + running.flush().num_rows


found = {}
for engine in ("slicing", "pairs", "cutty", "panes", "aggregate_buckets", "tuple_buffer", "aggregate_tree"):
    run(engine)  # compiles
    rate, held, found[engine] = run(engine)
    print(f"{engine:>17}: {rate / 1e6:6.1f} M rows/s, {held:>10,} bytes of state, {found[engine]:,} windows")

# %% All give the same windows.
assert len(set(found.values())) == 1

# %% What does not apply is refused, with the reason.
try:
    mt.over("ts", disorder="1 second").window("w", mt.tumbling("1 second"), n=mt.count()).engine(engine="cutty")
except mt.SpecError as error:
    print(error)
