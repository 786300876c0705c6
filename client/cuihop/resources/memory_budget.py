"""How much memory a piece of work may take, and what is said where that is too little."""

from __future__ import annotations

import re

from cuihop.errors import InputError, LimitExceeded

__all__ = ["DEFAULT_MEMORY", "MemoryBudget"]

DEFAULT_MEMORY = "2GB"

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]I?|)B?", re.IGNORECASE)
_EXPECTED = "a number of bytes, or a text such as 2GB, 500MB or 1.5GiB"


class MemoryBudget:
    """An allowance that parts of a piece of work take from.

    It is an account kept beforehand, of arrays whose sizes are known, not a limit that the operating system enforces.

    Args:
        allowed: bytes.
    """

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self._taken: dict[str, int] = {}

    @classmethod
    def of(cls, memory: int | str) -> MemoryBudget:
        """From bytes, or a text such as ``2GB`` (10⁹ bytes each) or ``2GiB`` (2³⁰).

        Raises:
            InputError: it is neither, or nothing.

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
        """The account as it stands, for a part of the work whose memory is given back when it ends."""
        found = MemoryBudget(self.allowed)
        found._taken.update(self._taken)
        return found

    @property
    def left(self) -> int:
        """Bytes that nothing has taken yet."""
        return self.allowed - sum(self._taken.values())

    def take(self, what: str, size: int) -> None:
        """Count something in.

        Args:
            what: plural noun, for the message.
            size: bytes.

        Raises:
            LimitExceeded: with it, there is not enough; says what would be.
        """
        self._taken[what] = self._taken.get(what, 0) + size
        if self.left >= 0:
            return
        needed = sum(self._taken.values())
        largest = max(self._taken, key=self._taken.__getitem__)
        enough = _told(_rounded_up(needed + needed // 2))  # parts that come later need some too
        raise LimitExceeded(
            f"not enough memory is allowed: at least {_told(needed)} are needed, {_told(self._taken[largest])} of it "
            f"for {largest}, and {_told(self.allowed)} are allowed. Try memory={enough!r} (--memory {enough})."
        )


def _rounded_up(size: int) -> int:
    """A little more, with two leading digits."""
    step = int(10 ** max(0, len(str(size)) - 2))
    return (size // step + 1) * step


def _told(size: int) -> str:
    for unit, symbol in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g}{symbol}"
    return f"{size}B"
