"""Pipelines in TOML: what they declare, and what is wrong with those that declare nothing."""

from __future__ import annotations

import importlib.resources
from pathlib import Path

import pytest

import muntin as mt
from muntin.pipeline import load

GOOD = """
[source]
format = "parquet"
path = "in"
options = { maxFilesPerTrigger = "1" }
[over]
time = "ts"
by = "key"
disorder = "2 seconds"
[[window]]
name = "a"
sliding = "1 hour"
every = "10 minutes"
aggregates = { p95 = ["quantile", "x", 0.95], top = ["arg_max", "s", { by = "x" }] }
[[window]]
name = "b"
session = 5
on = "m"
aggregates = { n = ["count"] }
[results]
table = "windows"
[late]
path = "s3://bucket/late"
format = "json"
[run]
checkpoint = "state"
trigger = { availableNow = true }
flush = true
"""


def test_a_pipeline_says_what_code_would() -> None:
    found = load(GOOD, Path("/data"))
    assert found.spec == (
        mt.over("ts", by="key", disorder="2 seconds")
        .window("a", mt.sliding("1 hour", every="10 minutes"), p95=mt.quantile("x", 0.95), top=mt.arg_max("s", by="x"))
        .window("b", mt.session(5, on="m"), n=mt.count())
    )
    assert found.results == "windows"
    assert found.late == ("s3://bucket/late", "json")
    assert found.source == {"format": "parquet", "path": "/data/in", "options": {"maxFilesPerTrigger": "1"}}
    assert found.run == {"checkpoint": "/data/state", "trigger": {"availableNow": True}, "flush": True}


def test_the_demonstration_is_one() -> None:
    found = load(importlib.resources.files("muntin").joinpath("demo.toml").read_text(), Path("/x"))
    assert [query.name for query in found.spec.queries] == ["hour", "day", "night", "last hundred"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("[over]", "[ower]", "'ower', which means nothing there. Did you mean 'over'"),
        ('sliding = "1 hour"', 'slidding = "1 hour"', "is of no type"),
        ('["count"]', '["cuont"]', "no aggregate is named 'cuont'. Did you mean 'count'"),
        ('["count"]', '"count"', "is no aggregate"),
        ('checkpoint = "state"', "", "no checkpoint"),
        ('table = "windows"', "", "needs a path"),
        ('every = "10 minutes"', 'evry = "10 minutes"', "Did you mean 'every'"),
        ("[source]", "[source", "no TOML"),
        ('time = "ts"', 'time = "ts"\nkeys = "a"', "'keys', which means nothing there"),
    ],
)
def test_what_is_wrong_is_named(before: str, after: str, message: str) -> None:
    with pytest.raises(mt.SpecError, match=message.replace("[", r"\[").replace(".", r"\.")):
        load(GOOD.replace(before, after), Path("/data"))
