"""ranx without compilation, which takes a minute for examples of a few documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cuihop.adapters.ranx import imported_ranx, interpreted

__all__ = ["ranx"]


@pytest.fixture
def ranx() -> Iterator[Any]:
    """The package, whose functions run as Python."""
    with interpreted():
        yield imported_ranx()
