"""The choice of the aggregate store: what may be asked for, and what `auto` goes by (paper 1, Table 1)."""

from __future__ import annotations

from muntin.errors import SpecError, nearest

__all__ = ["STORES", "asked_for"]

STORES = ("auto", "lazy", "eager")
LATENCIES = ("low", None)

# What `auto` goes by. Measured with a sum, 8 to 4,096 slices in a window, 1 to 1,000 windows in a report and 1 to 1,000
# keys: to combine a cell took 1 to 1.5 ns; the tree combines about 32 cells for a window and key, however long the
# window is, and takes 14 µs more for its calls. Slices per window alone do not decide: with 512 of them and one key the
# loop took 6.5 µs for one window and the tree 20, for 100 windows 83 and 31.
PER_WINDOW = 32
WORTH = 10_000  # cells saved in a report from which on the tree is quicker


def asked_for(store: str, latency: str | None) -> str:
    """The store that some arguments ask for.

    >>> asked_for("auto", "low")
    'eager'
    """
    if store not in STORES:
        raise SpecError(f"store={store!r} is unknown. {nearest(str(store), STORES)}")
    if latency not in LATENCIES:
        raise SpecError(f"latency={latency!r} is neither 'low' nor None.")
    if latency is None:
        return store
    if store == "lazy":
        raise SpecError("store='lazy' combines windows when they are due, so latency='low' cannot be had with it.")
    return "eager"


def tree_pays(slices: int, windows: int, keys: int) -> bool:
    """Whether a tree over slices is quicker than the slices alone, for a report over so many slices in all windows.

    >>> tree_pays(512, 1, keys=1), tree_pays(51_200, 100, keys=1), tree_pays(512, 1, keys=1_000)
    (False, True, True)
    """
    return (slices - PER_WINDOW * windows) * keys >= WORTH


def explained(corrected: bool, longest: float | None) -> str:
    """What `store="auto"` does for windows of so many slices (None: unknown), and why.

    >>> explained(False, 12)
    'Store: lazy, since no window has more than about 12 slices; a tree pays from 32 on.'
    """
    if corrected:
        return (
            "Store: eager, a tree over slices: windows may be corrected, and are then always combined in the same way."
        )
    if longest is not None and longest <= PER_WINDOW:
        many = "1 slice" if longest <= 1 else f"about {longest:.4g} slices"
        return f"Store: lazy, since no window has more than {many}; a tree pays from {PER_WINDOW} on."
    many = "a number of slices that only it knows" if longest is None else f"up to about {longest:.4g} slices"
    return (
        f"Store: lazy or eager, report by report: a window has {many}; a tree over them is used where it saves "
        f"{WORTH:,} combined cells (slices × keys) or more. latency='low' asks for it always."
    )
