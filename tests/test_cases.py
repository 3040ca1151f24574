"""Small streams with the windows that they must give, worked out by hand and agreed with an independent system.

Each case is drawn: `x` is an event at its place in the order of time, `~` one that arrives late. Times are
microseconds; the number behind a window is its sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

import muntin as mt


class Band(mt.ContextFreeWindow):
    """One fixed window [18, 28): a user's own context-free window."""

    def next_edge(self, time: int) -> int:
        return 18 if time < 18 else 28 if time < 28 else mt.windows.NEVER

    def trigger(self, previous: int, current: int) -> list[tuple[int, int]]:
        return [(18, 28)] if previous < 28 <= current else []


@dataclass
class Case:
    name: str
    windows: dict[str, Any]
    stream: list[tuple[int, int] | int]
    """Pairs of time and value in the order of arrival; a bare number is a watermark."""
    time: dict[tuple[int, int], int] = field(default_factory=dict)
    rows: dict[tuple[int, int], int] = field(default_factory=dict)


T10 = {"T10": mt.tumbling("10 us")}
S10_5 = {"S10,5": mt.sliding("10 us", every="5 us")}
S10_3 = {"S10,3": mt.sliding("10 us", every="3 us")}
G10 = {"G10": mt.session("10 us")}
C3 = {"C3": mt.tumbling("3 rows")}
P0 = {"P0": mt.punctuated("mark")}

CASES = [
    #        0        10        20        30        40        50
    # events  x                x|        x|        x|        x|
    # T10    [---1----)[---2----)[---3----)[---4----)[---5----)
    Case(
        "tumbling in order",
        T10,
        [(1, 1), (19, 2), (29, 3), (39, 4), (49, 5), 22, 55],
        {(0, 10): 1, (10, 20): 2, (20, 30): 3, (30, 40): 4, (40, 50): 5},
    ),
    #        0        10        20        30        40        50
    # events xx                 x         x         x
    # T10    [---3----)  none   [---3----)[---4----)[---5----)
    Case(
        "tumbling, events on the edges",
        T10,
        [(0, 1), (0, 2), (20, 3), (30, 4), (40, 5), 22, 55],
        {(0, 10): 3, (20, 30): 3, (30, 40): 4, (40, 50): 5},
    ),
    #        0        10        20        30        40        50
    # events  x                 ~  ~ ~    x              x
    # T10    [---1----)  none   [---3----)[---1----)[---1----)
    Case(
        "tumbling out of order",
        T10,
        [(1, 1), (30, 1), (20, 1), (23, 1), (25, 1), (45, 1), 22, 55],
        {(0, 10): 1, (20, 30): 3, (30, 40): 1, (40, 50): 1},
    ),
    #       -5   0    5    10   15   20   25   30   35   40   45   50   55
    # events      x                x|        x|        x|        x|
    # S10,5 [----1----)         [---2----)[---3----)[---4----)[---5----)
    #            [----1----)[----2---)[---3----)[---4----)[---5----)
    Case(
        "sliding 10 every 5",
        S10_5,
        [(1, 1), (19, 2), (29, 3), (39, 4), (49, 5), 22, 55],
        {
            (-5, 5): 1,
            (0, 10): 1,
            (10, 20): 2,
            (15, 25): 2,
            (20, 30): 3,
            (25, 35): 3,
            (30, 40): 4,
            (35, 45): 4,
            (40, 50): 5,
            (45, 55): 5,
        },
    ),
    #       -6 -3  0  3  6  9  12 15 18 21 24 27 30 33 36
    # events        x        xxxxxxx   x  xxxx     x     x     (2 at 21, 3 at 29, 4 at 36, else 1)
    # S10,3 [---1----)
    #          [---1----)  a start every 3; windows reach over three starts and a bit
    Case(
        "sliding 10 every 3",
        S10_3,
        [(1, 1), (9, 1), (10, 1), (11, 1), (12, 1), (13, 1), (14, 1), (15, 1), (19, 1)]  # noqa: RUF005
        + [(21, 2), (22, 1), (23, 1), (24, 1), (29, 3), (36, 4), 22, 55],
        {
            (-6, 4): 1,
            (-3, 7): 1,
            (0, 10): 2,
            (3, 13): 4,
            (6, 16): 7,
            (9, 19): 7,
            (12, 22): 7,
            (15, 25): 7,
            (18, 28): 6,
            (21, 31): 8,
            (24, 34): 4,
            (27, 37): 7,
            (30, 40): 4,
            (33, 43): 4,
            (36, 46): 4,
        },
    ),
    #       -5   0    5    10   15   20   25   30   35   40   45   50   55
    # events      x                   ~  ~ ~    x              x
    # S10,5 [----1----)         [---2----)[---2----)      [---1----)
    #            [----1----)         [---3----)[---1----)      [---1----)
    Case(
        "sliding out of order",
        S10_5,
        [(1, 1), (30, 1), (20, 1), (23, 1), (25, 1), (45, 1), 22, 55],
        {
            (-5, 5): 1,
            (0, 10): 1,
            (15, 25): 2,
            (20, 30): 3,
            (25, 35): 2,
            (30, 40): 1,
            (40, 50): 1,
            (45, 55): 1,
        },
    ),
    #        0        10        20        30        40        50        60
    # events  x                x   x       x                 x
    # G10     [---1----)       [---------9----------)        [---5----)
    Case(
        "sessions in order",
        G10,
        [(1, 1), (19, 2), (23, 3), (31, 4), (49, 5), 22, 55, 80],
        {(1, 11): 1, (19, 41): 9, (49, 59): 5},
    ),
    #        0        10        20        30        40
    # events  x       x  ~  x              x
    # G10     [----------4------------)    [----1----)
    Case(
        "a late event falls into a session",
        G10,
        [(1, 1), (9, 1), (15, 1), (30, 1), (12, 1), 50],
        {(1, 25): 4, (30, 40): 1},
    ),
    #        0        10        20        30        40
    # events  x       xx                ~  x
    # G10     [--------3---------)      [------2-----)
    Case(
        "a late event extends a session to the left",
        G10,
        [(1, 1), (9, 1), (10, 1), (30, 1), (27, 1), 22, 50],
        {(1, 20): 3, (27, 40): 2},
    ),
    #        0        10        20        30        40        50        60
    # events        x       ~     ~        x                    x
    # G10           [---------------4---------------)           [----1----)
    Case(
        "two late events join two sessions",
        G10,
        [(7, 1), (30, 1), (51, 1), (15, 1), (21, 1), 70],
        {(7, 40): 4, (51, 61): 1},
    ),
    #        0        10        20        30        40        50        60
    # events        x       ~      x              ~             x
    # G10           [-------3---------------)     [----1----)   [----1----)
    # T40    [-------------------4------------------)
    Case(
        "sessions beside tumbling windows, out of order",
        G10 | {"T40": mt.tumbling("40 us")},
        [(7, 1), (22, 1), (51, 1), (15, 1), (37, 1), 70],
        {(7, 32): 3, (37, 47): 1, (51, 61): 1, (0, 40): 4},
    ),
    # time      1  19 29 39 49 50 51
    # position  0  1  2  3  4  5  6
    # C3        [---3--) [---6--)  only full windows exist
    Case(
        "rows in order",
        C3,
        [(1, 1), (19, 1), (29, 1), (39, 2), (49, 2), (50, 2), (51, 1), 55],
        rows={(0, 3): 3, (3, 6): 6},
    ),
    # time      1  10~ 19 29 39 50 51
    # position  0  1   2  3  4  5  6    the late event takes position 1 and shifts all later ones
    # C3        [---4---) [---5--)
    Case(
        "a late event shifts rows",
        C3,
        [(1, 1), (19, 1), (29, 1), (39, 2), (10, 2), (50, 2), (51, 1), 55],
        rows={(0, 3): 4, (3, 6): 5},
    ),
    #        0        10        20        30        40        50
    # events  x       !x       x   x      !x                 x !  x
    # P0      [---1---)[---------6--------)[--------9----------)
    Case(
        "punctuations in order",
        P0,
        [(1, 1), (10, 0), (10, 1), (19, 2), (23, 3), (30, 0), (30, 4), (49, 5), (51, 0), (54, 6), 31, 55],
        {(1, 10): 1, (10, 30): 6, (30, 51): 9},
    ),
    #        0        10        20        30        40        50
    # events  x       !        xx  x      ~! x x     x        x !
    # P0      [---1---)[--------7---------)[---------11---------)
    Case(
        "a punctuation comes late",
        P0,
        [(1, 1), (10, 0), (19, 2), (20, 2), (23, 3), (32, 4), (34, 1), (40, 1), (30, 0), (49, 5), (51, 0), 31, 55],
        {(1, 10): 1, (10, 30): 7, (30, 51): 11},
    ),
    #        0        10       18 20      28  30        40
    # events xx                   x           x         x
    # F18,10                   [----3------)
    Case(
        "a user's own fixed window",
        {"F18,10": Band()},
        [(0, 1), (0, 2), (20, 3), (30, 4), (40, 5), 22, 55],
        {(18, 28): 3},
    ),
]


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, engine: str) -> None:
    spec = mt.over("ts")
    for name, window in case.windows.items():
        spec = spec.window(name, window, total=mt.sum("value"))
    running = spec.engine(watermark="manual", engine=engine)
    tables, batch = [], []
    for item in case.stream:
        if isinstance(item, tuple):
            batch.append({"ts": item[0], "value": item[1], "mark": item[1] == 0})
        else:
            if batch:
                tables.append(running.push(pa.Table.from_pylist(batch)))
            tables.append(running.advance(item))
            batch = []
    reported = [row for table in tables for row in table.to_pylist()]
    by_time = {bounds(row["window"]): row["total"] for row in reported if row["rows"] is None}
    by_rows = {(row["rows"]["start"], row["rows"]["end"]): row["total"] for row in reported if row["rows"]}
    assert (by_time, by_rows) == (case.time, case.rows)
    assert {row["revision"] for row in reported} == {0}
    assert len(reported) == len(by_time) + len(by_rows)
    assert running.late().num_rows == 0


def bounds(window: dict[str, Any]) -> tuple[int, int]:
    """The bounds of a window in microseconds."""
    return tuple(int(pa.scalar(window[edge], pa.timestamp("us")).value) for edge in ("start", "end"))  # type: ignore[return-value]
