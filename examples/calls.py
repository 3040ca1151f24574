"""Calls as spans: how many are on at once, from records that come when a call ends (paper 3).

Run it with `python examples/calls.py`; each `# %%` is a cell.
"""

# %% Records of calls, in the order in which they come: some a minute after the call has ended.
from __future__ import annotations

import sys

import muntin as mt
from muntin.bench.data import calls
from muntin.bench.measuring import batches_of

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
records = calls(COUNT, rate=5.0, cells=20, seed=1)
longest = max(end - start for start, end in zip(*records.select(["start", "end"]).to_pydict().values(), strict=True))
print(f"{COUNT:,} calls, the longest of {longest / 60e6:.0f} minutes")

# %% A call counts in every window that it touches. A window waits for those that are still on: two hours at most.
over = mt.over(span=("start", "end"), disorder="1 minute", postpone="2 hours 1 minute")
spec = over.window("load", mt.sliding("5 minutes", every="1 minute"), on=mt.concurrent(), cost=mt.sum("cost"))

# %% In batches, as records come.
engine = spec.engine()
windows = []
for batch in [*batches_of(records, 4_096), None]:
    due = engine.flush() if batch is None else engine.push(batch)
    windows += [(row["window"]["start"], row["on"]["peak"]) for row in due.to_pylist()]
busiest, most = max(windows, key=lambda window: window[1])
print(f"{most:,} calls at once at most, in the 5 minutes from {busiest:%H:%M} on")
print(engine.late().num_rows, "records came too late")

# %% The records of a finished day are a table: the same windows, in one call.
whole = spec.apply(records).to_pylist()
print("the same windows:", sorted(windows) == sorted((row["window"]["start"], row["on"]["peak"]) for row in whole))

# %% Why it is fast: what the spec will do, and why.
print(spec.explain())
