"""ranx without compilation, which takes a minute for examples of a few documents."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numba
import pytest

__all__ = ["ranx"]


@pytest.fixture
def ranx() -> Iterator[Any]:
    """The package, whose functions run as Python. They are defined and called while numba compiles nothing new."""
    with mock.patch.object(numba.config, "DISABLE_JIT", True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies, when it is imported
        yield importlib.import_module("ranx")
