"""The order of releases between the replicas of a service: when each became the active one.

Every answer of a service carries the activation of its release, and a request may carry the newest that its caller has
seen: a replica that is behind catches up, or refuses. So nobody gets an older release after a newer one.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Self

ACTIVATION_HEADER = "x-release-activation"
"""Header of HTTP and key of gRPC's metadata, in requests and in answers."""

PATTERN = "([0-9]{1,18}|[1-8][0-9]{18})-([0-9a-f]{16})"
"""Regular expression of its content."""

_DIGITS = 16
_TEXT = re.compile(PATTERN)


@dataclass(frozen=True, slots=True)
class Activation:
    """One activation of a release.

    Attributes:
        number: nanoseconds since 1970; a later activation has a larger one, also that of a release which was active
            before.
        digest: the first 16 digits of the release's.
    """

    number: int
    digest: str

    @classmethod
    def of(cls, number: int, digest: str) -> Self:
        """The activation of the release with this digest."""
        return cls(number, digest[:_DIGITS])

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """The activation that a header names; None for any other text.

        >>> str(Activation.parsed("1763874000000000000-9d9b3233636c4a1f"))
        '1763874000000000000-9d9b3233636c4a1f'
        >>> Activation.parsed("1763874000000000000") is None
        True
        """
        match = _TEXT.fullmatch(text)
        return None if match is None else cls(int(match[1]), match[2])

    def __str__(self) -> str:
        return f"{self.number}-{self.digest}"

    def is_after(self, other: Activation) -> bool:
        """True where this is a later activation, of another release.

        >>> Activation(2, "b").is_after(Activation(1, "a")), Activation(2, "a").is_after(Activation(1, "a"))
        (True, False)
        """
        return self.number > other.number and self.digest != other.digest


class NewestSeen:
    """The newest activation that a connection has seen. Safe to share between threads."""

    def __init__(self, first: Activation | None = None) -> None:
        self._lock = threading.Lock()
        self.activation = first

    def headers(self) -> dict[str, str]:
        """The header of a request; nothing before the first answer."""
        return {} if self.activation is None else {ACTIVATION_HEADER: str(self.activation)}

    def note(self, text: str | bytes | None) -> None:
        """Note the header of an answer. One that is missing or malformed, as of an earlier version, has no effect."""
        activation = Activation.parsed(text) if isinstance(text, str) else None
        if activation is not None:
            with self._lock:
                if self.activation is None or activation.number > self.activation.number:
                    self.activation = activation
