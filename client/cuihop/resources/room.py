"""Memory that is left, and the error where work would need more: raised before the work."""

from __future__ import annotations

from pathlib import Path

from cuihop.errors import LimitExceeded

_MEMINFO = Path("/proc/meminfo")
_CONTAINER = Path("/sys/fs/cgroup")


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


def check_memory(needed: int, work: str, advice: str) -> None:
    """Refuse work for which the memory does not suffice.

    Args:
        needed: bytes, at least.
        work: noun, for the message.
        advice: a sentence.

    Raises:
        LimitExceeded: less memory is available.
    """
    left = available_memory()
    if left is not None and needed > left:
        raise LimitExceeded(
            f"not enough memory for {work}: at least {_as_text(needed)} are needed, and {_as_text(left)} are "
            f"available. {advice}"
        )


def _fields(path: Path) -> dict[str, int]:
    """Name and number of each line; empty where the file cannot be read."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    parts = (line.split() for line in lines)
    return {part[0]: int(part[1]) for part in parts if len(part) > 1 and part[1].isdecimal()}


def _as_text(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
