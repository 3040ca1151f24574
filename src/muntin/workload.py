"""The decision trees of paper 1, Figures 4, 5 and 6: what a workload makes necessary.

Each answer comes from the order of the stream, the class and measure of the window, and the algebra of the
aggregates, and each comes with its reason, which `explain` prints.
"""

from __future__ import annotations

from dataclasses import dataclass

from muntin.spec import Query, Spec
from muntin.units import Measure
from muntin.windows import ContextAwareWindow, WindowClass

__all__ = [
    "Characteristics",
    "Decision",
    "Workload",
    "characteristics",
    "keep_events",
    "removal",
    "splits",
    "workload",
]


@dataclass(frozen=True)
class Characteristics:
    """The workload characteristics of paper 1, section 4, of one query.

    >>> import muntin as mt
    >>> spec = mt.over("ts").window("w", mt.session("1 second"), n=mt.count())
    >>> characteristics(spec, spec.queries[0]).session
    True
    """

    in_order: bool
    window_class: WindowClass
    session: bool
    rows: bool
    commutative: bool
    invertible: bool

    @property
    def context_free(self) -> bool:
        """Whether all edges are known in advance."""
        return self.window_class is WindowClass.CONTEXT_FREE

    @property
    def forward_context_aware(self) -> bool:
        """Whether edges depend on later events; a session counts apart, since it never needs its events again."""
        return self.window_class is WindowClass.FORWARD_CONTEXT_AWARE and not self.session


@dataclass(frozen=True)
class Decision:
    """An answer and the reason for it.

    >>> bool(Decision("no", "The stream is in order."))
    False
    """

    answer: str
    reason: str

    def __bool__(self) -> bool:
        return self.answer != "no"


def characteristics(spec: Spec, query: Query) -> Characteristics:
    """The characteristics of a query within its spec."""
    window = query.window
    return Characteristics(
        in_order=spec.in_order,
        window_class=window.window_class,
        session=window.mergeable,
        rows=window.measure is Measure.ROWS,
        commutative=all(aggregate.commutative for _, aggregate in query.aggregates),
        invertible=all(aggregate.invertible for _, aggregate in query.aggregates),
    )


def keep_events(c: Characteristics) -> Decision:
    """Figure 4: which workload characteristics require storing individual events?

    >>> c = Characteristics(False, WindowClass.CONTEXT_FREE, False, True, True, True)
    >>> keep_events(c).answer
    'yes'
    """
    if c.in_order:
        if c.forward_context_aware:
            return Decision("yes", "The window is forward context aware: later events decide where it starts.")
        return Decision("no", "The stream is in order and the window is not forward context aware.")
    if not c.commutative:
        return Decision("yes", "Out of order, an aggregate that is not commutative is recomputed from its events.")
    if not c.context_free and not c.session:
        return Decision("yes", "Out of order, the window is neither context free nor a session: its edges may move.")
    if c.rows:
        return Decision("yes", "Out of order, an event shifts the positions of all later rows.")
    return Decision("no", "The aggregates are commutative, and no event moves an edge or a position.")


def splits(c: Characteristics) -> Decision:
    """Figure 5: are splits of slices required?

    >>> c = Characteristics(False, WindowClass.FORWARD_CONTEXT_FREE, False, False, True, True)
    >>> splits(c).answer
    'yes'
    """
    if c.in_order:
        if c.forward_context_aware:
            return Decision("yes", "The window is forward context aware: edges appear inside slices already made.")
        return Decision("no", "The stream is in order and the window is not forward context aware.")
    if c.session:
        return Decision("no", "Sessions only merge, extend or start in a gap.")
    if c.context_free:
        return Decision("no", "The edges are known in advance.")
    return Decision("yes", "Out of order, an event may bring an edge into a slice already made.")


def removal(c: Characteristics) -> Decision:
    """Figure 6: how are events removed from slices?

    >>> c = Characteristics(False, WindowClass.CONTEXT_FREE, False, True, True, False)
    >>> removal(c).answer
    'recompute'
    """
    if c.in_order or not c.rows:
        return Decision("no", "Events are removed only from rows windows out of order.")
    newest = "Not at all where it falls into the newest slice."
    if c.invertible:
        return Decision(
            "invert",
            f"An event that comes late shifts the last of each later slice; invert takes it out. {newest}",
        )
    return Decision(
        "recompute",
        f"An event that comes late shifts the last of each later slice; without invert it is recomputed. {newest}",
    )


@dataclass(frozen=True)
class Workload:
    """The three answers for one query.

    >>> import muntin as mt
    >>> spec = mt.over("ts", disorder="1 second").window("w", mt.tumbling("5 rows"), top=mt.max("x"))
    >>> workload(spec, spec.queries[0]).removal.answer
    'recompute'
    """

    keep_events: Decision
    splits: Decision
    removal: Decision


def workload(spec: Spec, query: Query) -> Workload:
    """What a query makes necessary within its spec."""
    c = characteristics(spec, query)
    kept = keep_events(c)
    if isinstance(query.window, ContextAwareWindow) and not kept:
        kept = Decision("yes", "A context-aware window of your own sees the events of its key.")
    return Workload(kept, splits(c), removal(c))
