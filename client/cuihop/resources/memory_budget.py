"""Memory budget of a computation, and the error where it is too small."""

from __future__ import annotations

import re

from cuihop.errors import InputError, LimitExceeded

DEFAULT_MEMORY = "2GB"

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]I?|)B?", re.IGNORECASE)
_EXPECTED = "a number of bytes, or a text such as 2GB, 500MB or 1.5GiB"


class MemoryBudget:
    """An allowance of memory that the parts of a computation take from.

    It accounts for arrays of known size before they are allocated; the operating system enforces nothing.

    Args:
        allowed: bytes.
    """

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self._taken: dict[str, int] = {}

    @classmethod
    def of(cls, memory: int | str) -> MemoryBudget:
        """Parse a number of bytes, or a text such as ``2GB`` (10⁹ bytes each) or ``2GiB`` (2³⁰).

        Raises:
            InputError: it is neither, or below one byte.

        >>> MemoryBudget.of("1.5 GB").allowed
        1500000000
        """
        allowed = 0
        if isinstance(memory, int) and not isinstance(memory, bool):
            allowed = memory
        elif isinstance(memory, str) and (found := _AMOUNT.fullmatch(memory.strip())):
            allowed = round(float(found[1]) * _UNITS[found[2].upper()])
        if allowed < 1:
            raise InputError("not an amount of memory", column="memory", found=repr(memory), expected=_EXPECTED)
        return cls(allowed)

    def copy(self) -> MemoryBudget:
        """A copy of the account, for a part of the computation whose memory is released at its end."""
        found = MemoryBudget(self.allowed)
        found._taken.update(self._taken)
        return found

    @property
    def left(self) -> int:
        """Bytes not yet taken."""
        return self.allowed - sum(self._taken.values())

    def take(self, what: str, size: int) -> None:
        """Take memory from the budget.

        Args:
            what: plural noun, for the message.
            size: bytes.

        Raises:
            LimitExceeded: the budget does not suffice; the message says how much would.
        """
        self._taken[what] = self._taken.get(what, 0) + size
        if self.left >= 0:
            return
        needed = sum(self._taken.values())
        largest = max(self._taken, key=self._taken.__getitem__)
        enough = _as_text(_rounded_up(needed + needed // 2))  # later parts need memory too
        raise LimitExceeded(
            f"not enough memory is allowed: at least {_as_text(needed)} are needed, {_as_text(self._taken[largest])} "
            f"of it for {largest}, and {_as_text(self.allowed)} are allowed. Try memory={enough!r} (--memory {enough})."
        )


def _rounded_up(size: int) -> int:
    """Round up to two leading digits."""
    step = int(10 ** max(0, len(str(size)) - 2))
    return (size // step + 1) * step


def _as_text(size: int) -> str:
    for unit, symbol in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g}{symbol}"
    return f"{size}B"
