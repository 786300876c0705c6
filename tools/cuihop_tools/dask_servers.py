"""A Dask scheduler and workers that can be killed: processes on the loopback interface, on free ports."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path


class DaskServers:
    """A scheduler and its workers, each of one thread. All end with the block.

    Args:
        home: the folder of their logs and of ``scheduler.json``. protocol: ``tcp`` or ``tls``.
        settings: environment of all processes, such as certificates.

    Attributes:
        workers: their processes, or those of their nannies. killed: the processes that `kill_one` ended.
    """

    def __init__(self, home: Path, protocol: str = "tcp", settings: Mapping[str, str] | None = None) -> None:
        self.home, self._protocol = home, protocol
        self._environment = {**os.environ, **(settings or {}), "OMP_NUM_THREADS": "1"}
        self.scheduler_file = home / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.killed: set[int] = set()
        self.scheduler: subprocess.Popen[bytes] | None = None
        self._settings: Mapping[str, str] | None = None

    @property
    def address(self) -> str:
        """Address of the scheduler, when it is there."""
        return str(json.loads(self.scheduler_file.read_text())["address"])

    def start_scheduler(self) -> None:
        """Start it, and wait until its file is there."""
        self.scheduler = self._started(
            "scheduler", "--host", f"{self._protocol}://127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0",
            "--scheduler-file", str(self.scheduler_file),
        )  # fmt: skip
        for _ in range(1200):
            with contextlib.suppress(OSError, ValueError):
                if self.address:
                    return
            if self.scheduler.poll() is not None:
                raise RuntimeError((self.home / "log").read_text(encoding="utf-8"))
            time.sleep(0.05)
        raise TimeoutError("the scheduler did not start within a minute")

    def start_worker(self, *options: str, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start one, with a nanny unless ``--no-nanny`` is among the options; not waited for."""
        self._settings = settings
        worker = self._started(
            "worker", self.address, "--nthreads", "1", "--memory-limit", "0", "--host", "127.0.0.1",
            "--dashboard-address", "127.0.0.1:0", "--local-directory", str(self.home), *options, settings=settings,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def kill_one(self, chosen_by: random.Random) -> bool:
        """Kill a process that computes; a worker without a nanny, which would start it again, is replaced.

        Returns:
            False where none runs at the moment.
        """
        running = [(worker, pid) for worker in self.workers for pid in _computing(worker) if pid not in self.killed]
        if not running:
            return False
        worker, pid = chosen_by.choice(running)
        os.kill(pid, signal.SIGKILL)
        self.killed.add(pid)
        if pid == worker.pid:
            worker.wait()
            self.workers.remove(worker)
            self.start_worker("--no-nanny", settings=self._settings)
        return True

    def _started(self, *arguments: str, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        with (self.home / "log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 – Dask, with arguments of the tests
                [sys.executable, "-m", "dask", *arguments], stdout=log, stderr=log, start_new_session=True,
                env={**self._environment, **(settings or {})}, cwd=self.home,
            )  # fmt: skip

    def __enter__(self) -> DaskServers:
        self.start_scheduler()
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.workers, *([] if self.scheduler is None else [self.scheduler])]:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _computing(worker: subprocess.Popen[bytes]) -> list[int]:
    """The process that computes: of a nanny, its child."""
    if worker.poll() is not None:
        return []
    if b"--no-nanny" in _command(worker.pid):
        return [worker.pid]
    return [pid for pid in _descendants(worker.pid) if b"spawn_main" in _command(pid)]


def _descendants(pid: int) -> list[int]:
    try:
        children = list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []
    return [*children, *(other for child in children for other in _descendants(child))]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
