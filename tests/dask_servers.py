"""A real Dask scheduler and real workers for tests: processes on the loopback interface, on free ports.

Where Dask is missing the tests skip and say so; where ``CUIHOP_REQUIRE_DASK=1`` is set they fail instead.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

__all__ = ["DaskServers", "dask_servers", "require_dask"]


def require_dask() -> None:
    """Skip or fail where Dask is missing."""
    if importlib.util.find_spec("distributed") is None:
        problem = "no Dask cluster can be started: the extra cluster is not installed"
        if os.environ.get("CUIHOP_REQUIRE_DASK") == "1":
            pytest.fail(problem)
        pytest.skip(problem)


class DaskServers:
    """A scheduler and its workers, each of one thread. All end with the block.

    Args:
        home: the folder of their logs and of ``scheduler.json``. protocol: ``tcp`` or ``tls``.
        settings: environment of all processes, such as certificates.

    Attributes:
        workers: the processes of the workers, ended ones too.
    """

    def __init__(self, home: Path, protocol: str = "tcp", settings: Mapping[str, str] | None = None) -> None:
        self.home, self._protocol = home, protocol
        self._environment = {**os.environ, **(settings or {}), "OMP_NUM_THREADS": "1"}
        self.scheduler_file = home / "scheduler.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.scheduler: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Of the scheduler, when it is there."""
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
            assert self.scheduler.poll() is None, (self.home / "log").read_text()
            time.sleep(0.05)
        raise AssertionError("the scheduler did not start within a minute")

    def start_worker(self, *options: str, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start one, with a nanny unless ``--no-nanny`` is among the options; not waited for."""
        worker = self._started(
            "worker", self.address, "--nthreads", "1", "--memory-limit", "0", "--host", "127.0.0.1",
            "--dashboard-address", "127.0.0.1:0", "--local-directory", str(self.home), *options, settings=settings,
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def pids_of_workers(self) -> list[int]:
        """The processes that compute now: of a nanny, its child."""
        found = []
        for worker in self.workers:
            if worker.poll() is None:
                found += [pid for pid in _descendants(worker.pid) if b"spawn_main" in _command(pid)] or (
                    [] if b"--no-nanny" not in _command(worker.pid) else [worker.pid]
                )
        return found

    def _started(self, *arguments: str, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        with (self.home / "log").open("ab") as log:
            return subprocess.Popen(
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


@pytest.fixture
def dask_servers(tmp_path: Path) -> Iterator[DaskServers]:
    """A scheduler without workers."""
    require_dask()
    home = tmp_path / "dask"
    home.mkdir()
    with DaskServers(home) as servers:
        yield servers
