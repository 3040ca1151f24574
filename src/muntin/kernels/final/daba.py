"""DABA: worst-case constant time for each value (Tangwongsan, Hirzel and Schneider 2017; paper 4, section 5).

Two-stacks flips all values at once. Here every insertion and every eviction does its share of the next flip, so no
step takes longer than another. A ring of values and one of aggregates; f <= l <= r <= a <= b <= e are running numbers:

    f ... l    aggregates of the value and all after it up to b
    l ... r    aggregates up to r: what was the front before the flip
    r ... a    aggregates from r on: what was the back before the flip
    a ... b    aggregates up to b, made step by step
    b ... e    aggregates from b on: the back
"""

from __future__ import annotations

from muntin.kernels.final.two_stacks import CELL, RING, anew, fifo_args, per_key
from muntin.kernels.source import Lines, indented, module
from muntin.kernels.source_merge import begun, ended, one_more
from muntin.kernels.source_plan import Plan

__all__ = ["daba"]


def _at(number: str) -> str:
    return f"(({number}) & mask) * keys + key"


def _step(plan: Plan) -> Lines:
    """The share of a flip that follows each insertion and each eviction."""
    shrink = [*begun(plan), *one_more(plan, _at("ml"), "agg_"), "if mr != ma:"]
    shrink += [*indented(one_more(plan, _at("ma - 1"), "agg_")), "if ma != mb:"]
    shrink += [*indented(one_more(plan, _at("ma"), "agg_")), *ended(plan, "agg_", _at("ml"))]
    grow = [*begun(plan), *one_more(plan, _at("ma - 1"), "ring_"), "if ma != mb:"]
    grow += [*indented(one_more(plan, _at("ma"), "agg_")), *ended(plan, "agg_", _at("ma - 1"))]
    # Both read what the other writes where l and a meet, so the order is that of the paper: l first.
    both = [*per_key(*shrink), *per_key(*grow), "ml += 1", "ma -= 1"]
    lines = ["if ml == mb:", "    ml, ma, mb = mf, me, me"]
    lines += ["if ml == mr:", "    ml, mr, ma = ml + 1, mr + 1, ma + 1", "else:", *indented(both)]
    return ["if mf == mb:", "    ml, mr, ma, mb = me, me, me, me", "else:", *indented(lines)]


def daba(plan: Plan) -> str:
    """Insert up to b, evict up to a, report: for each window in turn. `meta` is f, l, r, a, b and e."""
    insert = [*begun(plan), *one_more(plan, CELL), *ended(plan, "ring_", RING)]
    insert += [*begun(plan), "if me != mb:", *indented(one_more(plan, _at("me - 1"), "agg_"))]
    insert += [*one_more(plan, RING, "ring_"), *ended(plan, "agg_", RING)]
    report = [*begun(plan), "if mf != mb:", *indented(one_more(plan, _at("mf"), "agg_"))]
    report += ["if mb != me:", *indented(one_more(plan, _at("me - 1"), "agg_")), *ended(plan, "out_", "i * keys + key")]
    names = ("mf", "ml", "mr", "ma", "mb", "me")
    window = anew("mf", "me", [f"{' = '.join(names)} = a[i]"])
    window += ["for p in range(me, b[i]):", *indented([*per_key(*insert), "me += 1", *_step(plan)])]
    window += ["while mf < a[i]:", *indented(["mf += 1", *_step(plan)]), *per_key(*report)]
    load = [f"{name} = meta[{k}]" for k, name in enumerate(names)]
    save = [f"meta[{k}] = {name}" for k, name in enumerate(names)]
    body = [*load, "for i in range(len(a)):", *indented(window), *save]
    return module(plan.parts, fifo_args(plan, "ring_", "agg_"), body)
