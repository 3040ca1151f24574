"""What `explain` says of `compress`, `memory` and `target`: what is compressed, when, and what is not (paper 5)."""

from __future__ import annotations

from muntin.compression import Compression
from muntin.layout import Layout
from muntin.slicing.plan import is_bare, is_rows, is_sliced, way
from muntin.spec import Query, Spec
from muntin.units import show_duration

__all__ = ["compression_lines"]


def compression_lines(spec: Spec, rule: Compression, kept: list[Query], bound: Layout | None) -> list[str]:
    """The lines for a spec; `kept` are its queries that keep events where they can be compressed.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.tumbling(10, on="km"), n=mt.count()).compress(0)
    >>> print(compression_lines(spec, spec.compression, [], None)[0].partition(",")[0])
    Compressed: the slices of a key along another column
    """
    cells, sorted_values = _in_slices(spec, bound)
    rows = [query for query in spec.queries if is_rows(query.window)]
    along = [query for query in spec.queries if getattr(query.window, "on", None) is not None and query not in kept]
    if rule.moves:
        when = "when the budget or the service level asks for it (D is moved; engine.explain() says where it is)"
    elif not rule.after:
        when = "at the end of every step (D = 0)"
    else:
        when = f"when it got none for {show_duration(rule.after)} of event time (D)"
    codec = "lz4, or zstd where that is much smaller" if rule.given is None else str(rule.given)
    lines = []
    if kept:
        lines.append(
            f"Compressed: the kept events of a key, {when}, many keys at a time in columns, with {codec}. An event "
            f"opens them again; a window that is due reads them, and leaves them compressed."
        )
    if rows:
        lines.append(f"Compressed: the events and slices of a key in windows in rows, {when}, with {codec}.")
    if along:
        lines.append(f"Compressed: the slices of a key along another column, {when}, with {codec}.")
    there = [name for name, some in (("cells", cells), ("sorted values", sorted_values)) if some]
    if there:
        lines.append(
            f"Compressed: the {' and '.join(there)} of a slice, of all keys together, {when}, with {codec}. A window "
            f"that is due reads those of all its slices (with store='eager' the tree stands over what is open)."
        )
    opened = [query.name for query in kept if not is_sliced(query.window)]
    if opened:
        lines.append(
            f"Warning: the windows of {', '.join(opened)} are found among the events of all keys, so each step opens "
            f"all of them, and compresses them again after."
        )
    if rule.lossy is not None:
        lines.append("Values may be off by as much as lossy= states once they have been compressed.")
    return lines


def _in_slices(spec: Spec, bound: Layout | None) -> tuple[bool, bool]:
    """Whether slices hold cells that say something, and sorted values."""
    if bound is None:
        return False, False
    sliced = [query for query in bound.queries if is_sliced(query.window)]
    ways = {way(a, spec.time is None) for query in sliced for a in query.aggregates.values()}
    bare = is_bare(sliced, bool(spec.by), spec.time is None)
    return bool(sliced) and not bare, "runs" in ways
