"""The costs that `final="auto"` goes by: fitted, kept for the machine, and read back only where they are whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from muntin import final_costs, machine
from muntin.final import Shape, chosen_for_cells, chosen_for_slices, chosen_for_values
from muntin.final_costs import GROUPS, SHIPPED, fitted, lines, measured


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(machine, "folder", lambda: tmp_path)
    monkeypatch.setattr(final_costs, "lines", lines)
    lines.cache_clear()
    yield tmp_path
    lines.cache_clear()


def test_a_machine_is_measured_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines("cells") == SHIPPED["cells"]
    mine = {name: tuple(2 * cost for cost in costs) for name, costs in SHIPPED["cells"].items()}
    calls: list[str] = []
    monkeypatch.setattr(final_costs, "fitted", lambda group: calls.append(group) or mine)
    assert measured("cells") == lines("cells") == mine
    lines.cache_clear()
    assert measured("cells") == mine
    assert calls == ["cells"]
    measured("cells", anew=True)
    assert calls == ["cells"] * 2
    assert lines("min int") == SHIPPED["min int"]  # the others are still to be measured
    tree = json.loads((folder / "final_costs.json").read_text())
    for wrong in ({**tree, "cells": {"rescan": [1]}}, {**tree, "cells": 3}, {**tree, "machine": "another"}):
        (folder / "final_costs.json").write_text(json.dumps(wrong))
        lines.cache_clear()
        assert lines("cells") == SHIPPED["cells"]


def test_a_line_through_times_gives_its_costs_back() -> None:
    terms = np.array([[1, 10, 3], [1, 500, 2], [1, 40, 90], [1, 7, 8], [1, 300, 300]])
    assert final_costs._line(terms, terms @ [100, 2, 5]) == pytest.approx((100, 2, 5), rel=1e-6)
    assert min(final_costs._line(terms, np.abs(terms @ [100, 2, -1]))) >= 0


def test_fitted_costs_are_those_of_the_group() -> None:
    found = fitted("cells", rounds=2)
    assert found.keys() == SHIPPED["cells"].keys()
    assert all(len(costs) == len(GROUPS["cells"]) and min(costs) >= 0 for costs in found.values())
    # Whatever the machine: to rescan costs something for each slice.
    assert found["rescan"][1] > 0


def test_choices_go_by_costs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys count: each saves, and the call is the same."""
    assert chosen_for_slices(4 * 64, 4, 67) == "rescan"
    assert chosen_for_slices(4 * 64, 4, 67, keys=100) == "blocks"
    assert chosen_for_values(Shape(10_000, 9_000, 1_000, 1), "sum int", False).final == "blocks"
    assert "subtract_on_evict" not in chosen_for_values(Shape(10_000, 9_000, 1_000, 1), "min int", True).why
    dear = {name: tuple(100 * cost for cost in costs) for name, costs in SHIPPED["sum int"].items()}
    monkeypatch.setitem(SHIPPED, "sum int", dear | {"subtract_on_evict": SHIPPED["sum int"]["subtract_on_evict"]})
    lines.cache_clear()
    assert chosen_for_values(Shape(10_000, 9_000, 1_000, 1), "sum int", False).final == "subtract_on_evict"
    assert chosen_for_cells(Shape(1_000, 901, 100, 1), True).final == "subtract_on_evict"
