"""`python -m muntin.bench [NAME ...] [--rows N]`: the embedded engine, its stores, splits, compression."""

from __future__ import annotations

import argparse

from rich.console import Console
from rich.table import Table

from muntin.bench import compression, splits, store
from muntin.bench.engine import WORKLOADS, measure


def main() -> None:
    """Measure the workloads whose names contain a word given, or all, and show them beside the floor."""
    parser = argparse.ArgumentParser(prog="python -m muntin.bench")
    parser.add_argument("words", nargs="*", help="run only workloads whose names contain one of these")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slices", type=int, default=100_000, help="slices in a window, for the stores")
    parser.add_argument("--vehicles", type=float, default=0.5, help="new vehicles a second, about, for compression")
    given = parser.parse_args()
    console = Console()
    if not given.words or "compression" in given.words:
        compressed(console, given.vehicles)
        if given.words == ["compression"]:
            return
    if not given.words or "store" in given.words:
        stores(console, given.slices, given.rounds)
        if given.words == ["store"]:
            return
    if not given.words or "splits" in given.words:
        split_costs(console, min(given.rows, 1_000_000), given.rounds)
        if given.words == ["splits"]:
            return
    table = Table(title=f"{given.rows:,} rows; ratios to the floor of the same run, median of {given.rounds} rounds")
    for name in ("workload", "× floor", "at least", "M rows/s", "results/s", "state bytes"):
        table.add_column(name, justify="left" if name == "workload" else "right")
    for workload in WORKLOADS:
        if given.words and not any(word in workload.name for word in given.words):
            continue
        outcome = measure(workload, given.rows, given.rounds)
        shown = f"{outcome.ratio:.3f}"
        style = "green" if outcome.ratio >= workload.target else "red"
        cells = [f"{outcome.rows_per_second / 1e6:.1f}", f"{outcome.results_per_second:,.0f}", f"{outcome.state:,}"]
        table.add_row(workload.name, f"[{style}]{shown}[/]", f"{workload.target}", *cells)
        console.print(f"{workload.name}: {shown} × floor (at least {workload.target})")
    console.print(table)


def compressed(console: Console, vehicles: float) -> None:
    """Compressed kept events for several D beside none (paper 5)."""
    found = compression.measure(per_second=vehicles)
    table = Table(title="stops of vehicles over 3 hours, every minute; ratios to no compression in the same run")
    rates = [f"latency at {rate:g}" for rate in compression.RATES]
    for name in ("D", "memory", "at most", "kept", "throughput", "at least", *rates, "share", "compr.", "decompr."):
        table.add_column(name, justify="right")
    none = found[0]
    for part in found:
        most, least, _ = compression.BOUNDS.get(part.after, (1, 0, 0))
        state, speed = part.state / none.state, part.throughput / none.throughput
        cells = [
            f"[{'green' if state <= most else 'red'}]{state:.2f}[/]",
            f"{most:.2f}",
            f"{part.kept / none.kept:.2f}",
        ]
        cells += [f"[{'green' if speed >= least else 'red'}]{speed:.2f}[/]", f"{least:.2f}" if least else ""]
        cells += [f"{part.latency[rate] / none.latency[rate]:.2f}" for rate in compression.RATES]
        table.add_row(part.after, *cells, f"{part.share:.2f}", f"{part.compressions:,}", f"{part.decompressions:,}")
    console.print(table)
    console.print(
        f"without compression: {none.throughput:,.0f} rows/s, {none.state:,.0f} bytes, {none.results:,} results"
    )


def split_costs(console: Console, rows: int, rounds: int) -> None:
    """Overlapping windows over kept events with cached slices and without."""
    table = Table(title=f"{rows:,} rows or two batches; seconds of the processor, median of {rounds} rounds")
    for name in ("windows", "plain, M rows/s", "cached, M rows/s", "×", "slice size", "splits", "ns/split", "ns/event"):
        table.add_column(name, justify="left" if name == "windows" else "right")
    for case in splits.CASES:
        found = splits.measure(case, max(rows, min(3 * case.size, 3 * rows)), rounds)
        ratio = found.cached / found.plain
        size = "-" if found.size is None else f"{found.size:,}"
        cost = [f"{found.splits:,}", f"{found.per_split:,.0f}", f"{found.per_event:.2f}"] if found.splits else ["-"] * 3
        speed = [f"{found.plain / 1e6:.2f}", f"{found.cached / 1e6:.2f}", f"{ratio:.2f}"]
        table.add_row(case.name, *speed, size, *cost)
        console.print(f"{case.name}: {ratio:.2f} × without cached slices")
    console.print(table)


def stores(console: Console, slices: int, rounds: int) -> None:
    """The lazy and the eager store beside each other."""
    table = Table(title=f"one window over {slices:,} slices, median of {rounds} windows")
    for name in ("aggregate", "store", "answer, µs", "advance, µs", "× lazy", "at most", "state bytes"):
        table.add_column(name, justify="left" if name in ("aggregate", "store") else "right")
    for name in store.AGGREGATES:
        lazy, eager = store.measure(name, slices, rounds)
        for answer in (lazy, eager):
            ratio, target = answer.alone / lazy.alone, 0.1 if name == "sum" and answer is eager else None
            style = "green" if target is None or ratio <= target else "red"
            cells = [f"{answer.alone * 1e6:,.1f}", f"{answer.whole * 1e6:,.1f}", f"[{style}]{ratio:.3f}[/]"]
            table.add_row(name, answer.store, *cells, "" if target is None else f"{target}", f"{answer.state:,}")
        console.print(f"{name} over {slices:,} slices: eager takes {eager.alone / lazy.alone:.3f} of lazy's time")
    console.print(table)


if __name__ == "__main__":
    main()
