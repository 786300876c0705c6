"""The number of examples that a property is tried on: a fifth of them in the inner loop, `make test-quick`."""

from __future__ import annotations

import os

__all__ = ["QUICK", "examples"]

QUICK = "CUIHOP_QUICK_TESTS"
"""Environment variable, set in the inner loop."""


def examples(count: int) -> int:
    """The number of examples, or a fifth of it."""
    return max(5, count // 5) if os.environ.get(QUICK) else count
