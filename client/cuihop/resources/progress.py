"""Progress of a long computation."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Callback with the number of finished items and of all items, called in the calling thread."""

StepProgress = Callable[[str, int, int], None]
"""Callback with the current step or file, the amount done and the total, called in the calling thread."""
