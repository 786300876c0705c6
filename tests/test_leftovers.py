"""The end of a run of tests: no program that it has started outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import wait_for

RUN = """
import os, subprocess, sys, threading
from leftovers import kill_programs_at_the_end
kill_programs_at_the_end()
pids = []
def start():
    pids.append(subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL).pid)
start()
thread = threading.Thread(target=start)
thread.start()
thread.join()
print(*pids, flush=True)
input()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux only")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_programs_end_with_the_process_that_started_them_and_no_others(number: signal.Signals) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        command = [sys.executable, "-c", RUN]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        pipe = subprocess.PIPE
        run = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        with run:
            assert run.stdout is not None
            programs = [Path(f"/proc/{pid}") for pid in run.stdout.readline().split()]
            assert len(programs) == 2
            os.kill(int(programs[0].name), signal.SIGSTOP)  # as a test freezes a server
            assert all(map(is_alive, programs))
            run.send_signal(number)
        wait_for(lambda: not any(map(is_alive, programs)))
        assert other.poll() is None
        other.kill()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux only")
def test_the_end_of_this_run_is_waited_for() -> None:
    ending = f"leftovers.py\0{os.getpid()}\0".encode()
    assert any(command.endswith(ending) for command in map(command_line, Path("/proc").glob("[0-9]*")))


def command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def is_alive(process: Path) -> bool:
    """False for one that has ended, though nobody has waited for it."""
    try:
        return ") Z " not in (process / "stat").read_text()
    except OSError:
        return False
