"""The examples run, at a small size; the one on Spark has its own test (`tests/spark/test_nexmark.py`)."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dashboard", ["1 minute: 4 points instead of 20,000", "0 readings came too late"]),
        ("calls", ["calls at once at most", "the same windows: True", "0 records came too late"]),
        ("techniques", ["aggregate_tree:", "windows", "cannot be told to be before one"]),
    ],
)
def test_an_example_runs(
    name: str, said: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "20000"])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert all(part in printed for part in said)


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"calls", "dashboard", "techniques", "nexmark"}
