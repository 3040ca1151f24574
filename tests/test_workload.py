"""The decision trees of paper 1, Figures 4, 5 and 6, as a table over all combinations of characteristics."""

from __future__ import annotations

from itertools import product

import pytest

import muntin as mt
from muntin.windows import WindowClass
from muntin.workload import Characteristics, characteristics, keep_events, removal, splits, workload

CF, FCF, FCA = WindowClass
KINDS = {"context free": (CF, False), "forward context free": (FCF, False), "forward context aware": (FCA, False),
         "session": (FCA, True)}  # fmt: skip

# kind, order -> events kept with commutative aggregates and no rows; splits
TABLE = {
    ("context free", "in order"): ("no", "no"),
    ("forward context free", "in order"): ("no", "no"),
    ("forward context aware", "in order"): ("yes", "yes"),
    ("session", "in order"): ("no", "no"),
    ("context free", "out of order"): ("no", "no"),
    ("forward context free", "out of order"): ("yes", "yes"),
    ("forward context aware", "out of order"): ("yes", "yes"),
    ("session", "out of order"): ("no", "no"),
}


@pytest.mark.parametrize(
    ("kind", "order", "rows", "commutative", "invertible"),
    list(product(KINDS, ["in order", "out of order"], [False, True], [True, False], [True, False])),
)
def test_figures_4_5_and_6(kind: str, order: str, rows: bool, commutative: bool, invertible: bool) -> None:
    window_class, session = KINDS[kind]
    c = Characteristics(order == "in order", window_class, session, rows, commutative, invertible)
    kept, split = TABLE[kind, order]
    if order == "out of order" and (rows or not commutative):
        kept = "yes"
    assert keep_events(c).answer == kept
    assert splits(c).answer == split
    if rows and order == "out of order":
        assert removal(c).answer == ("invert" if invertible else "recompute")
    else:
        assert removal(c).answer == "no"
    assert all(decision.reason.endswith(".") for decision in (keep_events(c), splits(c), removal(c)))


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (mt.tumbling("1 second"), (CF, False, False)),
        (mt.sliding("2 seconds", every="1 second"), (CF, False, False)),
        (mt.cumulative("2 seconds", every="1 second"), (CF, False, False)),
        (mt.tumbling(5, on="odometer"), (CF, False, False)),
        (mt.tumbling("5 rows"), (CF, False, True)),
        (mt.sliding("10 rows", every="5 seconds"), (FCA, False, True)),
        (mt.sliding("5 seconds", every="1 row"), (FCA, False, True)),
        (mt.session("1 second"), (FCA, True, False)),
        (mt.punctuated("mark"), (FCF, False, False)),
        (mt.frame("fast"), (FCF, False, False)),
    ],
    ids=repr,
)
def test_characteristics_of_each_window(window: mt.windows.Window, expected: tuple[WindowClass, bool, bool]) -> None:
    spec = mt.over("ts", disorder="1 second").window("w", window, n=mt.count(), text=mt.concat("s"))
    c = characteristics(spec, spec.queries[0])
    assert (c.window_class, c.session, c.rows) == expected
    assert not c.in_order
    assert not c.commutative
    assert not c.invertible


def test_answers_for_a_query_follow_its_aggregates() -> None:
    spec = mt.over("ts", lateness="1 second").window("w", mt.tumbling("5 rows"), total=mt.sum("x"))
    assert workload(spec, spec.queries[0]).removal.answer == "invert"
    spec = mt.over("ts", lateness="1 second").window("w", mt.tumbling("5 rows"), total=mt.sum("x"), top=mt.max("x"))
    assert workload(spec, spec.queries[0]).removal.answer == "recompute"
