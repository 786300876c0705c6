"""Memory: the budget of a computation, the memory that is left, and errors raised before work that needs more."""

from __future__ import annotations

import re
from pathlib import Path

from cuihop.errors import InputError, LimitExceeded

DEFAULT_MEMORY = "2GB"

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]I?|)B?", re.IGNORECASE)
_EXPECTED = "a number of bytes, or a text such as 2GB, 500MB or 1.5GiB"


_MEMINFO = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")


class MemoryBudget:
    """An allowance of memory, in bytes, that the parts of a computation take from.

    It accounts for arrays of known size before they are allocated; the operating system enforces nothing.
    """

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed
        self._taken: dict[str, int] = {}

    @classmethod
    def of(cls, memory: int | str) -> MemoryBudget:
        """Parse a number of bytes, or a text such as ``2GB`` (10⁹ bytes each) or ``2GiB`` (2³⁰); refuses anything else.

        >>> MemoryBudget.of("1.5 GB").allowed
        1500000000
        """
        allowed = 0
        if isinstance(memory, int) and not isinstance(memory, bool):
            allowed = memory
        elif isinstance(memory, str) and (match := _AMOUNT.fullmatch(memory.strip())):
            allowed = round(float(match[1]) * _UNITS[match[2].upper()])
        if allowed < 1:
            raise InputError("not an amount of memory", column="memory", found=repr(memory), expected=_EXPECTED)
        return cls(allowed)

    def copy(self) -> MemoryBudget:
        """A copy of the account, for a part of the computation whose memory is released at its end."""
        budget = MemoryBudget(self.allowed)
        budget._taken.update(self._taken)
        return budget

    @property
    def left(self) -> int:
        """Bytes not yet taken."""
        return self.allowed - sum(self._taken.values())

    def take(self, what: str, size: int) -> None:
        """Take bytes for ``what``, a plural noun; a `LimitExceeded` if they are too many says how much would do."""
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


def available_memory() -> int | None:
    """Bytes that this process may still take: of the machine, or of its container; ``None`` where nothing says it."""
    limits = []
    if (free := _fields(_MEMINFO).get("MemAvailable:")) is not None:
        limits.append(free * 1024)
    try:
        most = (_CONTAINER / "memory.max").read_text(encoding="ascii").strip()
        used = int((_CONTAINER / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        most = "max"
    if most.isdecimal():
        stat = _fields(_CONTAINER / "memory.stat")
        cached = stat.get("inactive_file", 0) + stat.get("active_file", 0)  # given back when memory is needed
        limits.append(max(0, int(most) - used + cached))
    return min(limits, default=None)


def check_memory(needed: int, task: str, hint: str) -> None:
    """Refuse a task, a noun, that needs more bytes than are available; the hint is a sentence."""
    left = available_memory()
    if left is not None and needed > left:
        raise LimitExceeded(
            f"not enough memory for {task}: at least {_readable(needed)} are needed, and {_readable(left)} are "
            f"available. {hint}"
        )


def _fields(path: Path) -> dict[str, int]:
    """Name and number of each line; empty where the file cannot be read."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    lines_of_words = (line.split() for line in lines)
    return {words[0]: int(words[1]) for words in lines_of_words if len(words) > 1 and words[1].isdecimal()}


def _readable(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
