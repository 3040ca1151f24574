"""Generated kernels on disk: written once, compiled once, loaded by every later process.

A module is named by a hash of its text, the versions and the processor, so a file never changes its meaning. Writers
replace files whole. What is damaged is thrown away and compiled again; without a folder kernels live in memory.
The folder holds code that is run, so it must belong to the user and to no one else.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import platform
import stat
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["folder", "load", "load_in_memory"]

_LOCK = threading.RLock()
# One time for every copy of a file: Numba's index holds the time of the source that it was made from, and two
# processes that write the same source at once must not spoil each other's.
_WRITTEN = 1_577_836_800


def folder() -> Path | None:
    """Where kernels are kept: MUNTIN_CACHE_DIR, or `muntin` in the user's cache folder; None where neither is safe."""
    chosen = os.environ.get("MUNTIN_CACHE_DIR")
    if chosen:
        return _private(Path(chosen))
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = os.path.expanduser("~")
    if os.path.isabs(base):
        return _private(Path(base) / "muntin")
    return _private(Path(home) / ".cache" / "muntin") if os.path.isabs(home) else None


def _private(path: Path) -> Path | None:
    """The folder, made where it is missing, if only its owner can write to it and that is this user."""
    try:
        path = path.absolute()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return None
    return path if os.access(path, os.W_OK | os.X_OK) else None


def load(source: str) -> Any:
    """The module of a source text, compiled now or by an earlier process."""
    name = f"muntin_kernel_{_key(source)}"
    with _LOCK:
        if name in sys.modules:
            return sys.modules[name]
        place = folder()
        for _ in range(2 if place else 0):
            assert place is not None
            try:
                return _from_file(name, place, source)
            except Exception:  # unreadable, or damaged: Numba raises whatever the damage leads to
                _remove(name, place)
        return load_in_memory(source, {}, name)


def load_in_memory(source: str, given: Mapping[str, Any], name: str = "muntin_kernel") -> Any:
    """The module of a source text, with some names given from outside; kept by no one."""
    with _LOCK:
        loader = _TextLoader(source.replace("cache=True", "cache=False"))
        module = types.ModuleType(name)
        module.__dict__.update(given)
        with _quiet(), _uncollected():
            loader.exec_module(module)
        return module


@functools.cache
def _stamp() -> str:
    from muntin import __version__
    from muntin.kernels.probe import stamp

    return "\0".join((__version__, sys.version, platform.machine(), *stamp()))


def _key(source: str) -> str:
    return hashlib.sha256(f"{_stamp()}\0{source}".encode()).hexdigest()[:32]


def _from_file(name: str, place: Path, source: str) -> Any:
    path = place / f"{name}.py"
    if _read(path) != source.encode():
        _write(path, source.encode())
    if not _sound(name, place):
        _remove(name, place)
    spec = importlib.util.spec_from_file_location(name, path, loader=_FileLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: what Numba loads from its cache imports its module by name
    try:
        with _quiet(), _uncollected():
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    _seal(name, place)
    return module


def _quiet() -> warnings.catch_warnings[None]:
    """Numba warns of casts that the text makes on purpose."""
    return warnings.catch_warnings(action="ignore")


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Numba makes a great many objects that live until it is done: looking for garbage takes a fifth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes) -> None:
    """Put a whole file in place at once."""
    handle, made = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.utime(made, (_WRITTEN, _WRITTEN))
        os.replace(made, path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


# -- what Numba wrote --------------------------------------------------------------------------------------------------


def _compiled(name: str, place: Path) -> list[Path]:
    return sorted(path for path in (place / "__pycache__").glob(f"{name}.*") if path.suffix in (".nbi", ".nbc"))


def _digest(files: list[Path]) -> bytes:
    return "\n".join(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files).encode()


def _sound(name: str, place: Path) -> bool:
    """Whether Numba's files are those that were sealed. It runs them unseen, so a flipped bit would be machine code."""
    files = _compiled(name, place)
    return not files or _read(place / f"{name}.sum") == _digest(files)


def _seal(name: str, place: Path) -> None:
    path = place / f"{name}.sum"
    try:
        files = _compiled(name, place)
        digest = _digest(files)
        if files and _read(path) != digest:
            _write(path, digest)
    except OSError:  # another process is at it: it will seal what it wrote
        return


def _remove(name: str, place: Path) -> None:
    """Throw away what Numba wrote. The source stays: another process may be reading it, and it is compared anyway."""
    for path in (place / f"{name}.sum", *_compiled(name, place)):
        try:
            path.unlink(missing_ok=True)
        except OSError:
            continue


# -- loaders -----------------------------------------------------------------------------------------------------------


class _FileLoader(importlib.machinery.SourceFileLoader):
    """Reads the source itself, never bytecode, which may be damaged as well."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        code: types.CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _TextLoader(importlib.abc.InspectLoader):
    """Loads a module from text in memory."""

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source
