"""One Spark session for all tests; under xdist they all go to one worker (`--dist loadgroup`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples in every run, so that a change is judged by what it changes; `make soak` draws new ones.
# No deadlines: on a busy machine, or where a kernel is compiled first, an example takes as long as it takes.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile("new" if os.environ.get("MUNTIN_SOAK") else "same")

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


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
