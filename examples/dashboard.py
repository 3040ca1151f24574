"""A live dashboard: M4 at several zoom levels from one pass over a stream (paper 1, section 6.4).

M4 keeps of every window the first, the last, the smallest and the largest value: a line chart with a window for each
pixel looks the same as one of all values. Run it with `python examples/dashboard.py`; each `# %%` is a cell.
"""

# %% A stream: positions of a ball, one in five out of order by up to two seconds.
from __future__ import annotations

import sys

import muntin as mt
from muntin.bench.data import football
from muntin.bench.measuring import batches_of

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 600_000
readings = football(ROWS, rate=2_000, share=0.2, seed=1)

# %% One query for each zoom level; they share slices, so that a reading is aggregated once.
LEVELS = ("100 ms", "1 second", "10 seconds", "1 minute")
spec = mt.over("ts", disorder="2 seconds")
for level in LEVELS:
    spec = spec.window(level, mt.tumbling(level), line=mt.m4("value"))

# %% Readings come in batches; what is complete is there at once.
engine = spec.engine()
points = dict.fromkeys(LEVELS, 0)
for batch in [*batches_of(readings, 8_192), None]:
    due = engine.flush() if batch is None else engine.push(batch)
    for name in due["query"].to_pylist():
        points[name] += 4

# %% How much less there is to draw.
for level, count in points.items():
    print(f"{level:>10}: {count:,} points instead of {ROWS:,}")
print(engine.late().num_rows, "readings came too late")
