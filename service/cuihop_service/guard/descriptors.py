"""The share of the file descriptors that connections may take, with a reserve for everything else."""

from __future__ import annotations

import resource
from pathlib import Path

from cuihop.errors import InputError

__all__ = ["connections_each"]

_MOST_DESCRIPTORS = 65_536  # a system may allow a thousand million
_MOST_CONNECTIONS = 8_192  # on one port
_RESERVE = 128  # files, pipes, the database, Redis, the identity provider
_PORTS = 2


def connections_each(wanted: int | None) -> int:
    """The connections that each of the two ports may hold, so that neither takes a descriptor from the other.

    The process' limit is raised as far as the system lets it.

    Args:
        wanted: how many are configured; None for as many as there is room for, at most 8,192.

    Raises:
        InputError: there are too few descriptors for that.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (_MOST_DESCRIPTORS if limit == resource.RLIM_INFINITY else limit for limit in (soft, hard))
    raised = max(soft, min(hard, _MOST_DESCRIPTORS))
    if raised > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    room = (raised - _used() - _RESERVE) // _PORTS
    if room < (wanted or 8):
        raise InputError(
            "too few file descriptors for the connections",
            column="connections",
            found=f"{raised:,} descriptors",
            expected=f"{_PORTS * (wanted or 8) + _used() + _RESERVE:,} at least",
            advice="Raise the limit (ulimit -n, or LimitNOFILE in systemd), or lower the setting connections.",
        )
    return min(room, _MOST_CONNECTIONS) if wanted is None else wanted


def _used() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())
