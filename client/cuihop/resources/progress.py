"""Progress of a long computation."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[int, int], None]
"""Called with the queries done so far and all queries, from the calling thread."""
