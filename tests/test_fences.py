"""Fences: who may import what, no unsafe calls, no print, and a quick import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import muntin

SOURCE = Path(muntin.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return found


def tops(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_keep_to_their_side_of_the_fence(path: Path) -> None:
    folder = path.relative_to(SOURCE).parts[0]
    if folder != "spark":
        assert "pyspark" not in tops(path), "only spark/ imports pyspark"
    if folder == "kernels":
        allowed = {"numpy", "numba", "math", "__future__", "muntin", "collections", "typing"}
        assert tops(path) <= allowed
        assert all(name.startswith("muntin.kernels") for name in imports(path) if name.startswith("muntin"))
    if folder == "slicing":
        assert not tops(path) & {"pandas", "polars", "os", "pathlib", "io", "tempfile", "shutil"}
    assert not tops(path) & {"pandas", "polars"}, "no frame library is a dependency of the core"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_unsafe_and_nothing_printed(path: Path) -> None:
    assert not tops(path) & {"pickle", "cloudpickle", "marshal", "shelve"}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec"}
            if path.name != "cli.py":
                assert node.func.id != "print"
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"_jvm", "_jdf", "sparkContext", "rdd"}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("muntin", ("numba", "pyspark", "pandas", "polars", "matplotlib")),
        # Spark starts a process for each query that loads this one, only to see which state variables there are.
        ("muntin.spark.processor", ("numba", "pandas", "polars", "matplotlib")),
    ],
)
def test_import_is_light(module: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*[module for module in {heavy} if module in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_no_module_takes_the_place_of_a_name_of_its_package() -> None:
    code = "import muntin.spark as s, muntin.spark.start; print(*[callable(getattr(s, n)) for n in s.__all__])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["True"] * 4


def test_every_public_name_has_a_docstring_with_an_example() -> None:
    for name in muntin.__all__:
        thing = getattr(muntin, name)
        if name in {"VALUE", "reference", "windows"}:
            continue
        assert thing.__doc__, name
        assert ">>>" in thing.__doc__, name
