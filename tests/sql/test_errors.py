"""What is wrong with a query is said with its place, the nearest known name, and the way out."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

import muntin as mt

W = "FROM bids [WATTR ts RANGE 1 MINUTE]"
# The query with the wrong part between « and », and what is said of it.
WRONG = {
    f"SELECT «maxx»(price) {W}": "unknown function 'maxx'. Did you mean 'max'?",
    "SELECT max(price) FROM bids [«WATR» ts RANGE 1 MINUTE]": "unknown clause 'WATR'. Did you mean 'WATTR'?",
    "SELECT max(x) FROM bids GROUP BY item [«WATR» ts RANGE 1 MINUTE]": "unknown clause 'WATR'. Did you mean 'WATTR'?",
    "SELECT max(price) FROM bids [WATTR ts RANGE «1 PARSEC»]": "unknown unit 'PARSEC'",
    "SELECT max(price) FROM bids [WATTR ts «RANGE»]": "RANGE takes a length",
    "SELECT max(price) FROM bids [WATTR ts RANGE «0 SECONDS»]": "size must be positive",
    "SELECT max(price) FROM bids «[»WATTR ts RANGE 1 MINUTE": "this bracket is never closed",
    "SELECT max(price) FROM bids [WATTR «ts SLIDE 1 MINUTE»]": "no RANGE and no SESSION GAP",
    "SELECT max(price) FROM bids [WATTR ts RANGE 1 s RANGE «2 s»]": "RANGE is given twice",
    "SELECT max(price) FROM bids [RANGE «1 s»]": "no window names the column of times",
    "SELECT max(price) FROM «bids»": "this query has no window",
    f"SELECT max(price) {W} WITH «DISORDR» 2 SECONDS": "unknown clause 'DISORDR'. Did you mean 'DISORDER'?",
    f"SELECT max(price) {W} HAVING «max(price) > 3»": "HAVING is valid SQL that Muntin does not have. Filter",
    f"SELECT max(price) {W} ORDER BY «price»": "ORDER BY is valid SQL that Muntin does not have",
    f"SELECT max(price) {W} LIMIT «3»": "LIMIT is valid SQL that Muntin does not have",
    "SELECT max(price) FROM a JOIN «b ON a.x = b.x»": "JOIN is valid SQL that Muntin does not have",
    f"SELECT «max(price») - min(price) {W}": "the aggregate max stands within an expression",
    f"SELECT max(price) {W} WHERE «max(price») > 3": "the aggregate max stands within an expression",
    f"SELECT «price» {W}": "'price' is neither aggregated nor in GROUP BY",
    f"SELECT «max(price) OVER (PARTITION BY a») {W}": "OVER is valid SQL that Muntin does not have",
    f"SELECT «count(*) FILTER (WHERE price > 3») {W}": "FILTER is valid SQL that Muntin does not have",
    f"SELECT «sum»(DISTINCT price) {W}": "sum(DISTINCT ...) is valid SQL that Muntin does not have",
    f"SELECT «quantile»(price) {W}": "missing 1 required positional argument: 'share'",
    f"SELECT «quantile(price, 2») {W}": "a quantile lies in [0, 1]",
    f"SELECT max(price) {W} WHERE «sqr»(price) > 0": "unknown function 'sqr'. Did you mean 'sqrt'?",
    f"SELECT max(price) {W} WHERE «regexp_like(a, 'b'»)": "'regexp_like' is valid SQL that Muntin does not have",
    f"SELECT max(price) {W} WHERE floor(«price, 2») > 0": "valid SQL that Muntin does not have: it knows no 'decimals'",
    f"SELECT max(price) {W} WHERE TRY_CAST(«price» AS INT) > 0": "'try_cast' is valid SQL that Muntin does not have",
    f"SELECT max(price) {W} WHERE «other.price» > 0": "'other' is no frame of this query",
    f"SELECT count(*) {W} GROUP BY CUBE(«a»)": "valid SQL that Muntin does not have",
    "SELECT max(price «FROM» bids [WATTR ts RANGE 1 MINUTE]": "this is not SQL as Muntin reads it",
    "SELECT max(x) FROM «tumbl»(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE)": "Did you mean 'TUMBLE'?",
    "SELECT max(x) FROM «HOP»(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY window_start, window_end": (
        "HOP lacks SIZE"
    ),
    "SELECT max(x) FROM «TUMBLE(TABLE bids, DESCRIPTOR(ts»), INTERVAL '1' MINUTE)": "GROUP BY names the window",
    "SELECT max(x) FROM bids [WATTR ts RANGE 1 s AS a] [WATTR «tt» RANGE 1 s AS b]": "share one time",
}


@pytest.mark.parametrize("marked", WRONG, ids=range(len(WRONG)))
def test_errors_point_at_the_place(marked: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(mt.SqlError) as caught:
        mt.sql(text)
    message, place, line, mark = str(caught.value).rsplit("\n", 3)
    assert WRONG[marked] in message
    assert place == f"line 1, column {start + 1}:"
    assert line == f"  {text}"
    assert mark == "  " + " " * start + "^" * (end - start)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"SELECT DISTINCT max(price) {W}", "SELECT DISTINCT is valid SQL that Muntin does not have"),
        (f"WITH a AS (SELECT 1) SELECT max(price) {W}", "a common table expression"),
        (f"SELECT max(price) {W} UNION SELECT 1", "UNION is valid SQL that Muntin does not have"),
        ("INSERT INTO a SELECT 1", "INSERT is valid SQL that Muntin does not have"),
        (f"SELECT max(price) AS a, min(price) AS a {W}", "two columns are named 'a'"),
        (f"SELECT * {W}", "SELECT * is valid SQL"),
        ("SELECT 'abc", "this is not SQL as Muntin reads it"),
        ("", "give one SELECT"),
        (f"SELECT max(price) {W}; SELECT 1", "2 statements"),
        ("SELECT max(x) FROM (SELECT 1)", "a query over another query"),
        (f"SELECT max(price) AS revision {W}", "reserved"),
    ],
)
def test_what_there_is_not_is_said(text: str, told: str) -> None:
    with pytest.raises(mt.SqlError, match=re.escape(told)):
        mt.sql(text)


BIDS = pa.table({"ts": [0, 1], "item": ["a", "b"], "price": [5, 7]})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT max(pric) FROM bids [WATTR ts RANGE 1 MINUTE]", "bids has no column 'pric'. Did you mean 'price'?"),
        ("SELECT max(price) FROM bids [WATTR tss RANGE 1 MINUTE]", "bids has no column 'tss'. Did you mean 'ts'?"),
        (f"SELECT max(price) {W} WHERE itm = 'a'", "bids has no column 'itm'. Did you mean 'item'?"),
        (f"SELECT max(price) {W} GROUP BY itm", "bids has no column 'itm'. Did you mean 'item'?"),
        ("SELECT max(price) FROM bid [WATTR ts RANGE 1 MINUTE]", "no frame is named 'bid'. Did you mean 'bids'?"),
    ],
)
def test_columns_and_frames_are_looked_up_with_their_place(text: str, told: str) -> None:
    with pytest.raises(mt.SqlError, match=re.escape(told)) as caught:
        mt.sql(text, bids=BIDS)
    assert "line 1, column" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT DISTINCT max(price) FROM bids [WATTR ts RANGE 1 MINUTE]", "SELECT DISTINCT is valid SQL"),
        ("SELECT max(price) FROM bids JOIN b ON bids.x = b.x [WATTR ts RANGE 1 MINUTE]", "JOIN is valid SQL"),
    ],
)
def test_key_words_that_have_no_meaning_here_are_shown(text: str, told: str) -> None:
    with pytest.raises(mt.SqlError, match=told) as caught:
        mt.sql(text, bids=BIDS)
    word = told.split(" is ")[0].split()[-1]
    shown, mark = str(caught.value).splitlines()[-2:]
    assert shown[mark.index("^") :].startswith(word)
    assert mark.count("^") == len(word)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("price / (price - 5) > 1", "divides by zero. Write NULLIF"),
        ("price + 9223372036854775807 > 0", "overflow"),
        ("item > 3", "string and int32 do not go together"),
        ("price", "a condition is true or false"),
        ("length(price) > 1", "takes texts"),
    ],
)
def test_values_that_do_not_fit_are_an_error(where: str, told: str) -> None:
    with pytest.raises(mt.FrameError, match=re.escape(told)):
        mt.sql(f"SELECT max(price) {W} WHERE {where}", bids=BIDS)


def test_a_column_that_is_there_is_not_computed_over() -> None:
    with pytest.raises(mt.FrameError, match="has a column 'item' already"):
        mt.sql(f"SELECT upper(item) AS item, count(*) {W} GROUP BY upper(item)", bids=BIDS)
    with pytest.raises(mt.SqlError, match="beside it"):
        mt.sql(f"SELECT count(*) {W}", bids=BIDS, more=BIDS)
