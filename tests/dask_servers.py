"""A real Dask scheduler for tests, whose workers the tests start and kill.

Where Dask is missing the tests skip and say so; where ``CUIHOP_REQUIRE_DASK=1`` is set they fail instead.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuihop_tools.dask_servers import DaskServers

__all__ = ["dask_servers", "require_dask"]


def require_dask() -> None:
    """Skip or fail where Dask is missing."""
    if importlib.util.find_spec("distributed") is None:
        problem = "no Dask cluster can be started: the extra cluster is not installed"
        if os.environ.get("CUIHOP_REQUIRE_DASK") == "1":
            pytest.fail(problem)
        pytest.skip(problem)


@pytest.fixture
def dask_servers(tmp_path: Path) -> Iterator[DaskServers]:
    """A scheduler without workers."""
    require_dask()
    home = tmp_path / "dask"
    home.mkdir()
    with DaskServers(home) as servers:
        yield servers
