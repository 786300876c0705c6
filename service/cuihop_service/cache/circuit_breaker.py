"""A circuit breaker: whoever does not answer is left alone for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["CircuitBreaker"]


class CircuitBreaker:
    """Lets calls through until one fails; then one now and then, until one succeeds.

    The pauses double from the first to the longest. Of many calls that fail together, one counts. Safe to share between
    threads.

    Args:
        first_pause, longest_pause: seconds.
        clock: seconds, never going back.
    """

    def __init__(
        self, *, first_pause: float = 0.5, longest_pause: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first = first_pause
        self._longest = longest_pause
        self._clock = clock
        self._lock = threading.Lock()
        self._round = 0  # calls of one round know the same of the other side
        self._pause = 0.0
        self._until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether calls are being held back."""
        return self._pause > 0

    def admission(self) -> int | None:
        """A ticket for one call, to be handed in with what became of it; ``None``: do not call."""
        if not self._pause:
            return self._round
        with self._lock:
            now = self._clock()
            if now < self._until:
                return None
            self._until = now + self._pause  # one call tries; the others go on being held back
            return self._round

    def succeeded(self, ticket: int) -> bool:
        """The call was answered. Says whether this ends a pause."""
        if not self._pause:
            return False
        with self._lock:
            if ticket != self._round or not self._pause:
                return False
            self._pause = 0.0
            self._round += 1
            return True

    def failed(self, ticket: int) -> bool:
        """The call was not answered. Says whether this begins a pause, or a longer one."""
        with self._lock:
            if ticket != self._round:
                return False
            self._round += 1
            self._pause = min(2 * self._pause, self._longest) if self._pause else self._first
            self._until = self._clock() + self._pause
            return True
