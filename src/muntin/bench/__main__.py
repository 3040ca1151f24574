"""`python -m muntin.bench [NAME ...] [--rows N]`: the engine, its stores, splits, panes, spans, compression."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from muntin.bench import (
    compression,
    finals,
    panes,
    panes_holistic,
    rolling,
    spans,
    spans_spark,
    splits,
    store,
    tails,
)
from muntin.bench.console import console as wide_console
from muntin.bench.engine import WORKLOADS, measure
from muntin.costs import measured


def main(given_words: Sequence[str] | None = None) -> None:
    """Measure the workloads whose names contain a word given, or all, and show them beside the floor."""
    parser = argparse.ArgumentParser(prog="python -m muntin.bench")
    parser.add_argument("words", nargs="*", help="run only workloads whose names contain one of these")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slices", type=int, default=100_000, help="slices in a window, for the stores")
    parser.add_argument("--data", help="the folder of the Google cluster sample, for windows in time")
    parser.add_argument("--vehicles", type=float, default=0.5, help="new vehicles a second, about, for compression")
    parser.add_argument("--grid", action="store_true", help="of rolling only auto beside every fixed choice")
    given = parser.parse_args(given_words)
    console = wide_console()
    if not given.words or "compression" in given.words:
        compressed(console, given.vehicles)
        if given.words == ["compression"]:
            return
    if not given.words or "rolling" in given.words:
        rows = given.rows if given.rows != 10_000_000 else 20_000_000
        if not given.grid:
            rolled(console, rows, given.rounds, given.data)
        final_choices(console, rows // 4, given.data)
        if given.words == ["rolling"]:
            return
    if not given.words or "store" in given.words:
        stores(console, given.slices, given.rounds)
        if given.words == ["store"]:
            return
    if not given.words or "spans" in given.words:
        span_techniques(console, min(given.rows, 2_000_000), given.rounds)
        if given.words == ["spans"]:
            return
    if "spans-sweeps" in given.words:
        span_sweeps(console, min(given.rows, 200_000), given.rounds)
        return
    if "spans-spark" in given.words:
        spans_spark.report(console)
        return
    if not given.words or "splits" in given.words:
        split_costs(console, min(given.rows, 1_000_000), given.rounds)
        if given.words == ["splits"]:
            return
    if not given.words or "panes-fig3" in given.words:
        figure_3(console, given.rounds)
        if given.words == ["panes-fig3"]:
            return
    if not given.words or "panes-holistic" in given.words:
        holistic(console, min(given.rows, 200_000), given.rounds)
        if given.words == ["panes-holistic"]:
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
    shown = ("D", "memory", "at most", "bytes/event", "throughput", "at least", *rates)
    for name in (*shown, "share", "compr.", "decompr."):
        table.add_column(name, justify="right")
    none = found[0]
    for part in found:
        most, least, _ = compression.BOUNDS.get(part.after, (1, 0, 0))
        state, speed = part.state / none.state, part.throughput / none.throughput
        if part is none:  # the knob costs nothing where it is not turned
            least, speed = 0.95, speed * part.throughput / found[1].throughput
        cells = [
            f"[{'green' if state <= most else 'red'}]{state:.2f}[/]",
            f"{most:.2f}",
            f"{part.state / part.events:.1f}",
        ]
        cells += [f"[{'green' if speed >= least else 'red'}]{speed:.2f}[/]", f"{least:.2f}" if least else ""]
        cells += [f"{part.latency[rate] / none.latency[rate]:.2f}" for rate in compression.RATES]
        table.add_row(part.after, *cells, f"{part.share:.2f}", f"{part.compressions:,}", f"{part.decompressions:,}")
    console.print(table)
    console.print(
        f"none is beside off, an engine that cannot compress: {none.throughput:,.0f} rows/s, {none.state:,.0f} bytes, "
        f"of which kept events are "
        f"{none.kept:,.0f}, {none.results:,} results"
    )


def figure_3(console: Console, rounds: int) -> None:
    """Paper 2, Figure 3: the time with panes over the time without, measured and predicted."""
    k = measured()
    shown = f"a = {k.a:.2f}, b = {k.b:.2f}, c = {k.c:.2f}, a' = {k.a_window:.2f}"
    shown += f", out = {k.out:.2f}, out' = {k.out_window:.2f} ns"
    table = Table(title=f"Time with panes / without, measured (predicted); {5 * rounds} rounds; {shown}")
    table.add_column("tuples/pane", justify="right")
    for count in panes.PANES:
        table.add_column(f"{count} panes", justify="right")
    wrong = 0
    for groups in (1, 10):
        for tuples in (tuples for tuples in panes.TUPLES if tuples >= groups):
            found = [panes.measure(k, tuples, count, groups, rounds=5 * rounds) for count in panes.PANES]
            wrong += sum((ratio.measured < 1) != (ratio.predicted < 1) for ratio in found)
            cells = [f"{ratio.measured:.2f} ({ratio.predicted:.2f})" for ratio in found]
            table.add_row(f"{tuples}" if groups == 1 else f"{tuples}, {groups} groups", *cells)
    console.print(table)
    console.print(f"whether panes pay is predicted wrong in {wrong} cells")


def holistic(console: Console, rows: int, rounds: int) -> None:
    """Paper 2, section 3.3.2: sliding heavy hitters and sketches without panes, with them, and differentially."""
    table = Table(title=f"M tuples/s, {rows:,} tuples, 1,000 in a pane, median of {rounds} rounds")
    for name in ("aggregate", "panes in a window", "without", "with panes", "×", "differential", "×"):
        table.add_column(name, justify="left" if name == "aggregate" else "right")
    for name in panes_holistic.AGGREGATES:
        for count in panes_holistic.PANES:
            found = panes_holistic.measure(name, count, rows, rounds=rounds)
            last = ["-", "-"]
            if found.differential is not None:
                last = [f"{found.differential:.2f}", f"{found.differential / found.without:.2f}"]
            ratio = f"{found.panes / found.without:.2f}"
            table.add_row(name, str(count), f"{found.without:.2f}", f"{found.panes:.2f}", ratio, *last)
    console.print(table)


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


def span_techniques(console: Console, rows: int, rounds: int) -> None:
    """Events with a duration: what is chosen beside what paper 3 compares with, and beside fixed heights."""
    table = Table(title=f"{rows:,} events, median of {rounds} rounds: M events/s, and how many times as fast auto is")
    others = [f"× {name}" for name in ("single", *spans.BASELINES)]
    for name in ("events and windows", "auto, M/s", *others, "best height", "× best height", "multi × best height"):
        table.add_column(name, justify="left" if name == "events and windows" else "right")
    made = {length: spans.synthetic(length, rows) for length in {cell.length for cell in spans.CELLS}}
    for cell in spans.CELLS:
        speed = spans.techniques(cell, made[cell.length], rounds)
        fixed = spans.heights(cell, made[cell.length].slice(0, rows // 2), max(rounds, 7))
        auto, multi = fixed.pop("auto"), fixed.pop("multi")
        best = max(fixed, key=lambda height: fixed[height])
        ratios = [speed["auto"] / speed[name] for name in ("single", *spans.BASELINES)]
        shown = [f"{speed['auto'] / 1e6:.1f}", *(f"{ratio:.2f}" for ratio in ratios)]
        shown += [best, f"{auto / fixed[best]:.2f}", f"{multi / fixed[best]:.2f}"]
        table.add_row(cell.name, *shown)
        console.print(f"{cell.name}: {' '.join(shown)}")
    contenders = {"auto": (spans.flights_spec(), "auto"), "single": (spans.flights_spec("single"), "auto")}
    contenders |= {name: (spans.flights_spec(), name) for name in spans.BASELINES}
    speed = spans.measure(contenders, spans.flights(rows * 3 // 2), rounds)
    shown = [f"{speed['auto'] / 1e6:.1f}", *(f"{speed['auto'] / speed[n]:.2f}" for n in ("single", *spans.BASELINES))]
    table.add_row("flights of 2013, 15 minutes every 5", *shown)
    console.print(table)
    span_sweeps(console, rows // 10, rounds)


def span_sweeps(console: Console, rows: int, rounds: int) -> None:
    """Where sweeping should be at its best: what is chosen beside it."""
    table = Table(title=f"up to {rows:,} events or windows, median of {rounds} rounds: how many times as fast auto is")
    for name in ("events and windows", "auto, M/s", "× multi", "× sweeping"):
        table.add_column(name, justify="left" if name == "events and windows" else "right")
    for cell in spans.SPARSE:
        speed = spans.sparse(cell, rows, rounds)
        ratios = [f"{speed['auto'] / speed[name]:.2f}" for name in ("multi", "sweeping")]
        table.add_row(cell.name, f"{speed['auto'] / 1e6:.2f}", *ratios)
    console.print(table)


def rolled(console: Console, rows: int, rounds: int, data: str | None) -> None:
    """`mt.rolling` beside other libraries, and the tail of latency."""
    table = Table(title=f"{rows:,} values; how many times as fast as others, median of {rounds} rounds")
    for name in ("windows", "M values/s", "times as fast (at least)"):
        table.add_column(name, justify="left" if name == "windows" else "right")
    cases = [*(rolling.speed(row, rows, rounds) for row in rolling.ROWS)]
    cases += [rolling.timed(agg, every, rows, rounds, data) for agg in ("min", "mean") for every in (1, 8, 64)]
    for case in cases:
        style = "green" if case.met else "red"
        shown = ", ".join(f"{name} {ratio:.2f} ({case.least[name]})" for name, ratio in case.ratios.items())
        table.add_row(case.name, f"{case.millions:,.0f}", f"[{style}]{shown}[/]")
    console.print(table)
    for agg, dtype in (("min", "int32"), ("min", "float64"), ("sum", "float64"), ("mean", "int32")):
        flat = rolling.flatness(agg, dtype, rows, rounds)
        shown = ", ".join(f"{size:,}: {ratio:.2f}" for size, ratio in flat.items())
        console.print(f"{dtype} {agg}, slide 1: time per value relative to a window of 1,024 (at most 2): {shown}")
    for final in ("two_stacks", "daba"):
        found = tails.tail(final, 100_000, 300_000)
        shown = ", ".join(f"{name} {nanoseconds:,.0f}" for name, nanoseconds in found.items())
        console.print(f"{final}: one step of a window of 100,000 values, ns: {shown}")


def final_choices(console: Console, rows: int, data: str | None) -> None:
    """`final="auto"` beside every fixed choice: arrays of so many values, slices of several keys, rows windows."""
    points = []
    for point in finals.grid(rows, 7, data):
        points.append(point)
        shown = f"[{'green' if point.ratio <= finals.MOST else 'red'}]{point.ratio:.2f}[/]"
        took = "" if point.chosen is None else f" ({point.chosen})"
        console.print(f"auto{took}, {point.name}: {shown} of the time of {point.best} (at most {finals.MOST})")
    for what, of in ("arrays", [p for p in points if p.chosen]), ("engines", [p for p in points if not p.chosen]):
        beyond = [point for point in of if point.ratio > finals.MOST]
        same = sum(point.chosen == point.best for point in beyond)
        worst = max((point.ratio for point in of), default=0)
        noise = f"; {same} of the others are of the best itself" if same else ""
        within = f"{len(of) - len(beyond)} of {len(of)} points within {finals.MOST}"
        console.print(f"auto, {what}: {within}, the worst {worst:.2f}{noise}")


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
