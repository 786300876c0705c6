"""Programs that a run of tests has started end with it, however it ends: after Ctrl-C no server stays alive.

A process of the tests may be killed while its servers run: pytest-xdist does so after Ctrl-C. Then a second process,
which waits for its end, kills what carries its mark in the environment. Linux only; elsewhere nothing is done.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
from contextlib import suppress
from pathlib import Path
from select import poll

__all__ = ["kill_programs_at_the_end"]

_MARK = "STARTED_BY_TESTS"


def kill_programs_at_the_end() -> None:
    """Have every program that this process starts from now on killed when it has ended."""
    if not hasattr(os, "pidfd_open"):
        return
    os.environ[_MARK] = secrets.token_hex(16)
    command = [sys.executable, "-IS", __file__, str(os.getpid())]
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
    os.posix_spawn(sys.executable, command, os.environ, file_actions=silent, setsid=True)


def _wait_and_kill(parent: int, mark: bytes) -> None:
    with suppress(ProcessLookupError):
        poller = poll()
        poller.register(os.pidfd_open(parent))
        poller.poll()
    while left := [pid for pid in _processes(mark) if pid != os.getpid()]:  # one may have started another meanwhile
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _processes(mark: bytes) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended, or is another user's
            if mark in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


if __name__ == "__main__":
    _wait_and_kill(int(sys.argv[1]), f"{_MARK}={os.environ[_MARK]}".encode())
