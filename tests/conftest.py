"""One Spark session for all tests; under xdist they all go to one worker (`OneSession`)."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# The same examples in every run, so that a change is judged by what it changes; `make soak` draws new ones.
# No deadlines: on a busy machine, or where a kernel is compiled first, an example takes as long as it takes.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
# Numba and Hypothesis make many objects that live, so garbage is looked for seldom (the gain was not measured).
gc.set_threshold(50_000, 20, 50)
settings.load_profile("new" if os.environ.get("MUNTIN_SOAK") else "same")

# Every Java that tests start lives for seconds or few minutes: to optimise its code takes more than that gains. Some
# small queries took 13 s of its time instead of 31.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    # The longest first, so that no worker is left alone with it at the end.
    items.sort(key=lambda item: (scope_of(item.nodeid) != "spark", not item.nodeid.startswith("tests/spark/")))


# By path: of a test the scheduler knows no more. xdist's own groups do not work with pytest 9.2.
ALONE = ("test_bucket", "test_change.py", "test_connect")


def scope_of(nodeid: str) -> str:
    """Tests of one scope go to one worker: those that share the Spark session, and those of a file.

    Tests of a file mostly need the same kernels. Two workers in one file would each compile them.
    """
    shared = nodeid.startswith("tests/spark/") and not any(name in nodeid for name in ALONE)
    return "spark" if shared or nodeid.endswith("[docs/spark.md]") else nodeid.partition("::")[0]


Tally = Callable[..., None]


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Tally:
    """Counts what a test has done; `make soak` prints the sums and the seed."""
    return lambda **counts: record_property("tally", counts)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not os.environ.get("MUNTIN_SOAK"):
        return
    terminalreporter.section(f"soak: MUNTIN_SOAK={os.environ['MUNTIN_SOAK']}, seed {os.environ.get('MUNTIN_SEED', 0)}")
    sums: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, counts in getattr(report, "user_properties", ()):
                if name == "tally":
                    sums.setdefault(report.nodeid.split("[")[0], Counter()).update(counts)
    for test, counts in sums.items():
        terminalreporter.line(f"{test}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()))


class OneSession(LoadScopeScheduling):
    """Tests that share the Spark session go to one worker, and first; the others run beside them, file by file."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSession:
    config.option.loadscopereorder = False  # in the order in which they were collected, not by how many they are
    return OneSession(config, log)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session for the whole run: starting one takes seconds."""
    import muntin.spark

    # Python workers must find the classes of the tests, wherever the session was started.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    warehouse = tmp_path_factory.mktemp("warehouse")
    session = muntin.spark.session("muntin tests", cores=2, partitions=2, spark__sql__warehouse__dir=str(warehouse))
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
