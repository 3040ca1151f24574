"""The reference: a plain recomputation that defines every result. Slow on purpose, and easy to check by reading.

`run(spec, steps)` takes steps of (batch, watermark) and gives what every engine must give for them, row for row,
late rows included.
"""

from muntin.reference.engine import Reference, Run, run

__all__ = ["Reference", "Run", "run"]
