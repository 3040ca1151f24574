"""The cache of kernels: a second process compiles nothing, several at once do not disturb each other, damage heals."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from muntin import kernel_cache
from tests.reliability.sizes import seeds

SCRIPT = """
import numpy as np, pyarrow as pa, muntin as mt
from muntin.compile import compiled
mean = compiled(mt.mean("x").bind([pa.float64()]))
partials = mean.fold(np.array([0]), np.array([4]), [np.arange(4.0)])
stats = mean._kernels["fold"].stats
print(partials[0][0], partials[1][0], sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
COMPILED, LOADED = "6.0 4 0 1", "6.0 4 1 0"

# To start Python and load Numba takes a second: one process has done so, and a child of it runs the script.
FORKING = f"""
import os, sys, traceback
import numba, numpy, pyarrow, muntin.compile
for folder in sys.stdin:
    child = os.fork()
    if not child:
        os.environ["MUNTIN_CACHE_DIR"] = folder.rstrip("\\n")
        try:
            exec({SCRIPT!r})
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(0)
    print(f"ended {{os.waitpid(child, 0)[1]}}", flush=True)
"""


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}


def start(folder: Path) -> subprocess.Popen[str]:
    given = environment() | {"MUNTIN_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", SCRIPT]
    return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Path], str]]:
    """What the script prints in a process that has compiled nothing yet."""
    command = [sys.executable, "-c", FORKING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment(), text=True, **pipes) as process:  # type: ignore[call-overload]

        def told(folder: Path) -> str:
            process.stdin.write(f"{folder}\n")
            process.stdin.flush()
            lines = [process.stdout.readline()]
            while lines[-1] and not lines[-1].startswith("ended"):
                lines.append(process.stdout.readline())
            assert lines[-1] == "ended 0\n", lines
            return "".join(lines[:-1]).strip()

        yield told
        process.stdin.close()


Run = Callable[[Path], str]


@pytest.fixture(scope="module")
def filled(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache") / "new" / "muntin"
    assert run(folder) == COMPILED
    return folder


def test_a_second_process_loads(run: Run, filled: Path) -> None:
    assert stat.S_IMODE(filled.stat().st_mode) == 0o700
    assert not list(filled.glob("*.tmp"))
    assert run(filled) == LOADED
    alone = start(filled)
    assert alone.communicate(timeout=120)[0].strip() == LOADED


def test_four_processes_at_once(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "muntin"
    processes = [start(folder) for _ in range(4)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert out.startswith("6.0 4 ")
    run(folder)  # two that finished at the same moment may have left a seal that does not fit
    assert run(folder) == LOADED


@pytest.mark.parametrize("seed", seeds(1, 20))
def test_a_first_compile_that_is_killed_leaves_nothing_that_hurts(run: Run, tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "muntin"
    process = start(folder)
    while not list(folder.glob("*.py")) and process.poll() is None:
        time.sleep(0.002)
    # From when the source lies there, over what Numba writes, to the end.
    time.sleep(random.Random(seed).uniform(0, 1.0))
    process.kill()
    process.communicate()
    assert run(folder) in (COMPILED, LOADED)
    assert run(folder) == LOADED


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


def remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    ("damage", "suffix"),
    [
        (truncate, ".nbc"), (flip, ".nbc"), (remove, ".nbc"),
        (empty, ".nbi"), (flip, ".nbi"),
        (truncate, ".sum"), (remove, ".sum"),
        (empty, ".py"), (flip, ".py"), (remove, ".py"),
    ],
    ids=lambda part: part if isinstance(part, str) else part.__name__,
)  # fmt: skip
def test_damage_heals(run: Run, filled: Path, damage: Callable[[Path], None], suffix: str) -> None:
    (found,) = [path for path in filled.rglob("muntin_kernel_*") if path.suffix == suffix]
    damage(found)
    assert run(filled) in (COMPILED, LOADED)
    assert run(filled) == LOADED


def test_a_folder_that_others_can_write_to_is_not_used(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("MUNTIN_CACHE_DIR", str(tmp_path))
    assert kernel_cache.folder() is None
    assert run(tmp_path) == COMPILED
    assert not list(tmp_path.iterdir())


def test_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUNTIN_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert kernel_cache.folder() == tmp_path / "xdg" / "muntin"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert kernel_cache.folder() == tmp_path / "home" / ".cache" / "muntin"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MUNTIN_CACHE_DIR", str(tmp_path / "file"))
    assert kernel_cache.folder() is None
