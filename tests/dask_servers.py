"""A real Dask scheduler for tests, whose workers the tests start and kill.

If Dask is missing, its tests are skipped.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuihop_tools.dask_servers import DaskServers

__all__ = ["dask_servers", "require_dask"]


def require_dask() -> None:
    """Skip the test if Dask is missing."""
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("Dask not found: install the extra cluster")


@pytest.fixture
def dask_servers(tmp_path: Path) -> Iterator[DaskServers]:
    """A scheduler without workers."""
    require_dask()
    home = tmp_path / "dask"
    home.mkdir()
    with DaskServers(home) as servers:
        yield servers
