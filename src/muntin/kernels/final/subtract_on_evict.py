"""Subtract-on-evict: what enters is combined, what leaves is taken out again (paper 4, section 2.2).

Integers come back exactly. A float does not, so it must not run on for ever:

* sums of values are compensated (Neumaier), NaN and the infinities are counted apart, and every `FRESH` windows a sum
  starts afresh from its values. Its error is at most 2 eps |sum| + 4 FRESH eps² max |x| · window: 1e16 that enters and
  leaves leaves nothing behind (eps is 2 ** -53);
* a partial of an aggregate of one's own starts afresh after every `refresh` windows, and at once where it is not
  finite; its error is that of so many `invert` and `combine` of the largest partial in between.

A minimum has no inverse: where the one that leaves is the minimum, the window is scanned again.
"""

from __future__ import annotations

from muntin.kernels.final.lane_text import FINISH, Op, column, lane_module, number, written
from muntin.kernels.source import Lines, indented, inverted, loaded, module, reads, scalar
from muntin.kernels.source_merge import begun, ended, over
from muntin.kernels.source_plan import Plan, columns_of, count_of, registers, state_of, with_count

__all__ = ["FRESH", "subtract_cells", "subtract_on_evict"]

FRESH = 4096

_INTEGERS = """    w = window
    total = np.int64(0)
    for j in range(w):
        total += np.int64(x[j])
    put(out, u(0), np.{wide}(total), by, inverse)
    for i in range(u(1), u(len(out))):
        total += np.int64(x[i + w - u(1)]) - np.int64(x[i - u(1)])
        put(out, i, np.{wide}(total), by, inverse)
"""
_FLOATS = """    w, fresh = window, u(0)
    total, low, nans, ups, downs = 0.0, 0.0, 0, 0, 0
    for i in range(u(len(out))):
        if i == fresh:
            total, low, nans, ups, downs = 0.0, 0.0, 0, 0, 0
            for j in range(i, i + w):
                total, low, nans, ups, downs = moved(np.float64(x[j]), 1, total, low, nans, ups, downs)
            fresh = i + u({fresh})
        else:
            total, low, nans, ups, downs = moved(np.float64(x[i + w - u(1)]), 1, total, low, nans, ups, downs)
            total, low, nans, ups, downs = moved(np.float64(x[i - u(1)]), -1, total, low, nans, ups, downs)
        found = total + low
        if nans > 0 or (ups > 0 and downs > 0):
            found = np.nan
        elif ups > 0 or downs > 0:
            found = np.inf if ups > 0 else -np.inf
        elif not np.isfinite(found):
            found = reduced(x, i, i + w)
            fresh = i + u(1)
        put(out, i, found, by, inverse)
"""
_MOVED = """
@njit(**INNER)
def moved(value, sign, total, low, nans, ups, downs):
    if not np.isfinite(value):
        if value != value:
            nans += sign
        elif value > 0.0:
            ups += sign
        else:
            downs += sign
        return total, low, nans, ups, downs
    if sign < 0:
        value = -value
    found = total + value
    if abs(total) >= abs(value):
        low += (total - found) + value
    else:
        low += (value - found) + total
    return found, low, nans, ups, downs

"""
_SELECTS = """    w = window
    best = reduced(x, u(0), w)
    out[0] = best
    odd = best == np.inf
    for i in range(u(1), u(len(out))):
        gone, new = one(x, i - u(1)), one(x, i + w - u(1))
        if gone == best and gone != new:
            best = reduced(x, i, i + w)
        else:
            best = combine(best, new)
        out[i] = best
        odd |= best == np.inf
    if odd:
        for i in range(u(len(out))):
            settle(x, out, i, i, i + w, mark, False)
"""


def subtract_on_evict(op: Op) -> str:
    """Windows of `window` values, one with every value."""
    args = [column("x", op.source), written("out", op.wide), number("window"), *FINISH]
    if op.name in ("min", "max"):
        return lane_module(op, args, _SELECTS)
    if op.source.startswith("int"):
        return lane_module(op, args, _INTEGERS.format(wide=op.wide))
    return lane_module(op, args, _FLOATS.format(fresh=FRESH), _MOVED)


def subtract_cells(plan: Plan) -> str:
    """Rows a to b of cells as one, for each window and key; the parts have an `invert`.

    Starts afresh every `refresh` windows, 0: never.
    """
    args = [reads("a", "int64"), reads("b", "int64"), scalar("stride"), scalar("keys"), scalar("refresh")]
    args += [*state_of(plan, "", reads), *state_of(plan, "out_")]
    at = "j * stride + key"
    fresh = [*begun(plan), *over(plan, "a[i]", "b[i]", at=at), "age = 0"]
    # Entering first: so a partial is not emptied in between, and then begun anew.
    move = [*over(plan, "end", "b[i]", at=at), "for j in range(lo, a[i]):", *indented(_taken_out(plan, at)), "age += 1"]
    wrong = " or ".join(
        f"not math.isfinite({name})"
        for k, group in enumerate(plan.groups)
        for name, slot in zip(registers("a", k, group), group.part.slots, strict=True)
        if slot.startswith("float")
    )
    begin = "if a[i] >= end or a[i] < lo or b[i] < end or (refresh > 0 and age >= refresh):"
    step = [begin, *indented(fresh), "else:", *indented(move)]
    if wrong:
        step += [f"    if {wrong}:", *indented(indented(fresh))]
    step += ["lo, end = a[i], b[i]", *ended(plan, "out_", "i * keys + key")]
    each = ["lo, end, age = 0, 0, 0", *begun(plan), "for i in range(len(a)):", *indented(step)]
    return module(plan.parts, args, ["for key in range(keys):", *indented(each)])


def _taken_out(plan: Plan, at: str) -> Lines:
    lines = [f"row = {at}", "w0 = n[row]"]
    for count in range(len(plan.counts) + 1):
        inner = []
        for k, group in with_count(plan, count):
            a, b = registers("a", k, group), registers("b", k, group)
            inner += [*loaded(group.part, columns_of(k, group), "row", b), *inverted(k, group.part, a, b, a)]
        inner.append(f"v{count} -= w{count}")
        read = [f"w{count} = {count_of(count)}[row]"] if count else []
        lines += [*read, f"if w{count} != 0:", *indented(inner)]
    return lines
