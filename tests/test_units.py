"""Lengths with units, and every mistake in them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import SpecError
from muntin.units import Length, Measure, duration, length, microseconds, show_duration


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("10 seconds", 10_000_000),
        ("1 second", 1_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("1h30m", 5_400_000_000),
        ("250 ms", 250_000),
        ("0.25 seconds", 250_000),
        ("1.5 days", 129_600_000_000),
        ("7 us", 7),
        ("7 µs", 7),
        ("2 weeks, 1 day", 1_296_000_000_000),
        ("90 min", 5_400_000_000),
        ("1 Hour", 3_600_000_000),
    ],
)
def test_durations(text: str, micros: int) -> None:
    assert length(text, "size") == Length(micros, Measure.TIME)


def test_other_lengths() -> None:
    assert length("100 rows", "size") == Length(100, Measure.ROWS)
    assert length("1 tuple", "every") == Length(1, Measure.ROWS)
    assert length(dt.timedelta(seconds=1.5), "size") == Length(1_500_000, Measure.TIME)
    assert length(np.timedelta64(3, "s"), "size") == Length(3_000_000, Measure.TIME)
    assert length(5, "size", on="odometer") == Length(5, Measure.COLUMN)
    assert length(5.0, "size", on="odometer") == Length(5, Measure.COLUMN)


@pytest.mark.parametrize(
    ("value", "on", "words"),
    [
        ("10 parsecs", None, ["parsecs", "10 parsecs", "seconds"]),
        ("ten seconds", None, ["ten seconds", "number and a unit"]),
        ("10", None, ["'10'", "unit"]),
        ("", None, ["empty"]),
        ("0 seconds", None, ["positive", "0 seconds"]),
        ("-5 seconds", None, ["positive", "-5 seconds"]),
        ("0 rows", None, ["positive", "0 rows"]),
        (dt.timedelta(0), None, ["positive"]),
        ("1 month", None, ["month", "fixed length", "your own"]),
        ("2 years", None, ["year", "fixed length"]),
        ("1 minute 5 rows", None, ["mixes time and rows"]),
        ("0.5 us", None, ["finer than a microsecond"]),
        ("0.5 rows", None, ["finer"]),
        (10, None, ["no unit", "on="]),
        (True, None, ["length", "True"]),
        (None, None, ["length", "None"]),
        (0.5, "odometer", ["whole number", "scale"]),
        (-1, "odometer", ["positive", "-1"]),
        (np.timedelta64("NaT"), None, ["not a time"]),
    ],
)
def test_mistakes_name_the_value_and_the_way_out(value: object, on: str | None, words: list[str]) -> None:
    with pytest.raises(SpecError) as caught:
        length(value, "size", on)
    for word in words:
        assert word in str(caught.value)


def test_duration_takes_zero_but_no_rows_and_no_negative() -> None:
    assert duration(0, "lateness") == 0
    assert duration("0 seconds", "lateness") == 0
    for wrong in ("5 rows", "-1 second", 5, None):
        with pytest.raises(SpecError, match="lateness"):
            duration(wrong, "lateness")


@given(st.integers(0, 10**18))
def test_a_duration_reads_back_as_it_is_shown(micros: int) -> None:
    assert duration(show_duration(micros), "x") == micros


def test_points_in_time() -> None:
    berlin = dt.timezone(dt.timedelta(hours=1))
    assert microseconds(dt.datetime(1970, 1, 1, 1, tzinfo=berlin), "w") == 0
    assert microseconds(dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), "w") == -1
    assert microseconds(np.datetime64("1970-01-01T00:00:01"), "w") == 1_000_000
    assert microseconds(np.int64(7), "w") == 7
    with pytest.raises(SpecError, match="datetime or int64"):
        microseconds("yesterday", "w")
