"""Nothing that comes in is run: no pickle, eval, exec or shell in the source, no text of a user within code."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import muntin as mt
from muntin.pipeline import load
from muntin.spark.sinks import sink
from tests.conftest import ROOT
from tests.reliability.sizes import SOAK
from tests.test_fences import FILES, SOURCE, tops
from tests.test_pipeline import GOOD

RUNS = {"eval", "exec", "compile", "__import__", "breakpoint"}
"""Names that run text."""
LOADS = {"loads", "load", "Unpickler", "read_pickle", "to_pickle", "allow_pickle", "cloudpickle"}
SHELLS = {"system", "popen", "spawnl", "spawnv", "execv", "execl", "execvp", "Popen", "check_output", "shell"}
MODULES = {
    "pickle",
    "cloudpickle",
    "dill",
    "marshal",
    "shelve",
    "subprocess",
    "pty",
    "code",
    "codeop",
    "runpy",
    "ctypes",
}


def at(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FILES, ids=at)
def test_the_source_runs_no_text_and_starts_no_process(path: Path) -> None:
    # A result file of a benchmark names the commit, which git is asked for: a fixed command without a shell.
    assert not tops(path) & MODULES - ({"subprocess"} if at(path) == "bench/results.py" else set())
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                assert called.id not in RUNS | SHELLS, ast.unparse(node)
            if isinstance(called, ast.Attribute):
                assert called.attr not in SHELLS, ast.unparse(node)
                whose = ast.unparse(called.value)
                if called.attr in LOADS and whose in ("np", "numpy", "pickle", "yaml", "torch", "joblib"):
                    pytest.fail(ast.unparse(node))
            assert not any(word.arg in ("shell", "allow_pickle") for word in node.keywords), ast.unparse(node)


FENCED = [path for path in FILES if at(path).split("/")[0] in ("state", "spark", "sql") or path.name == "pipeline.py"]


@pytest.mark.parametrize("path", FENCED, ids=at)
def test_states_streams_and_queries_load_no_code(path: Path) -> None:
    """What reads stored or given bytes and text imports no module by a name that it was given."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name, given = ast.unparse(node.func), ast.unparse(node)
            assert name not in {"__import__", "types.FunctionType", "types.CodeType"}, given
            assert not name.endswith("import_module") or given.startswith("importlib.import_module(f'muntin."), given


def test_text_for_spark_is_made_in_one_place_and_of_known_parts() -> None:
    """`spark.sql` with a text that is put together: the name of the sink's table, a number, and quoted columns.

    And expressions of a query, written by sqlglot from a tree of the few kinds of terms that `sql` takes.
    """
    made: dict[str, list[list[str]]] = {}
    for path in FILES:
        if at(path).startswith("bench/"):  # texts of its own, over data of its own
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            if node.func.attr in ("sql", "expr", "selectExpr") and not isinstance(node.args[0], ast.Constant):
                parts = [ast.unparse(n.value) for n in ast.walk(node.args[0]) if isinstance(n, ast.FormattedValue)]
                made.setdefault(at(path), []).append(parts)
    assert made == {"spark/rows.py": [[]], "spark/sinks.py": [["self.name", "added"], ["self.name", "batch_id"]]}


@pytest.mark.parametrize(
    "aggregate",
    [
        """['__import__("os").system("touch bad")']""",
        """['sum', '__import__("os").system("touch bad")', {by = "x"}]""",
        """['process', 'open("bad", "w").write']""",
        """['sum.__globals__']""",
        """'sum("x") or open("bad", "w")'""",
    ],
)
def test_text_of_a_pipeline_file_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aggregate: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((mt.MuntinError, TypeError)):
        load(GOOD.replace('["count"]', aggregate), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["t; DROP TABLE u", "t PARTITION (batch_id='1') SELECT 1 --", "`t` u", "a b", "t--", "a..b"]
)
def test_the_name_of_a_table_is_a_name(name: str) -> None:
    with pytest.raises(mt.SpecError, match="no name of a table"):
        sink(name, "results")


@pytest.mark.parametrize("name", ["t", "db.windows", "cat.db.t_1", "`odd name`.`a``b`"])
def test_names_of_tables(name: str) -> None:
    assert sink(name, "results").name == name


NAMES = ["a'; DROP TABLE t; --", "a`b", 'a"b', "$(touch bad)", "a;b", "../up", "a\nb", "{x}", "%s"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_only_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Columns, windows and results may be called anything."""
    monkeypatch.chdir(tmp_path)
    spec = mt.over(f"ts {name}", by=f"key {name}").window(
        name, mt.tumbling("1 s"), **{f"n {name}": mt.sum(f"x {name}")}
    )
    frame = pa.table({f"ts {name}": [1, 2], f"key {name}": ["a", name], f"x {name}": [3, 4]})
    found = spec.apply(frame)
    assert found[f"n {name}"].to_pylist() == [3, 4]
    assert found["query"].to_pylist() == [name] * 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM t [WATTR ts RANGE 1 MINUTE]; DROP TABLE t",
        "SELECT __import__('os') FROM t [WATTR ts RANGE 1 MINUTE]",
        "SELECT count(*) FROM read_parquet('/etc/passwd') [WATTR ts RANGE 1 MINUTE]",
    ],
)
def test_sql_is_read_and_not_run(query: str) -> None:
    with pytest.raises(mt.SqlError):
        mt.sql(query, t={"ts": [1]})


@pytest.mark.soak
@pytest.mark.skipif(not SOAK, reason="asks the network: in `make soak` only")
def test_no_known_weakness_in_what_is_installed() -> None:
    """`pip-audit` of the pinned packages; each exception is explained here."""
    explained: dict[str, str] = {}
    pinned = ROOT / "constraints.txt"
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-r", str(pinned)]
    command += [part for known in explained for part in ("--ignore-vuln", known)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if "No module named" in done.stderr:
        pytest.skip("NOT RUN: pip-audit is not installed")
    packages = sum("==" in line and not line.startswith("#") for line in pinned.read_text().splitlines())
    if done.stdout.count("could not be audited") >= packages - 5 or "ConnectionError" in done.stderr:
        pytest.skip("NOT RUN: pip-audit has not reached its database")
    assert done.returncode == 0, done.stdout + done.stderr
