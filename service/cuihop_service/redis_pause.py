"""A pause after trouble with Redis: for some seconds no call is made, and its user does without."""

from __future__ import annotations

import time
from collections.abc import Callable


class RedisPause:
    """Time without calls after one that failed. Safe to share between threads."""

    def __init__(self, seconds: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._ends = 0.0
        self._failed = False

    @property
    def is_on(self) -> bool:
        """True while no call should be made."""
        return self._failed and self._clock() < self._ends

    def begin(self) -> bool:
        """Note a failed call. True where the last one had succeeded: worth a line in the log."""
        first, self._failed, self._ends = not self._failed, True, self._clock() + self.seconds
        return first

    def end(self) -> bool:
        """Note a successful call. True where the last one had failed. A call from before the pause does not end it."""
        if not self._failed or self.is_on:
            return False
        self._failed = False
        return True
