"""Several observers as one."""

from __future__ import annotations

from collections.abc import Sequence

from cuihop_service.front import Asked, Finished, Observer

__all__ = ["Together"]


class Together:
    """Tells each observer; of a question's end in reverse order, so that the first one surrounds the others.

    Args:
        observers: from the outermost to the innermost.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)
        self._inwards_out = tuple(reversed(self._observers))

    def started(self, asked: Asked) -> list[object]:
        """See `Observer`."""
        return [observer.started(asked) for observer in self._observers]

    def finished(self, finished: Finished, token: list[object]) -> None:
        """See `Observer`."""
        for observer in self._inwards_out:
            observer.finished(finished, token.pop())

    def waiting(self, running: int, waiting: int) -> None:
        """See `Observer`."""
        for observer in self._observers:
            observer.waiting(running, waiting)
