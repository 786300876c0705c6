"""The supervisor of the workers, with small programs as workers: no failure of one ends it."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from cuihop_service import supervisor
from cuihop_service.addresses import Addresses
from cuihop_service.observe.metrics_folder import FOLDER_VARIABLE
from cuihop_service.settings import read_settings
from cuihop_service.supervisor import Workers
from waiting import wait_for

ANSWERS = """
    handed = json.load(sys.stdin)
    os.write(handed["report"], json.dumps({"http_port": 1, "grpc_port": 2, "tls": False}).encode())
    os.close(handed["report"])
    signal.pause()
"""
KILLED_ONCE = """
    try:
        os.mkdir("killed")
    except FileExistsError:
        pass
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED = "os.kill(os.getpid(), signal.SIGKILL)"

Run = Callable[..., Workers]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Workers of a program; at the end they are killed."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:

        def workers_of(
            program: str, number: int = 1, on_ready: Callable[[Addresses], None] = lambda addresses: None
        ) -> Workers:
            code = "import json, os, signal, sys\n" + textwrap.dedent(program)
            monkeypatch.setattr(supervisor, "_WORKER", [sys.executable, "-S", "-c", code])
            http = stack.enter_context(closing(socket.socket()))
            workers = Workers(read_settings({"graph": "g.cuihop", "workers": number}, None), http, 1, on_ready)
            stack.callback(workers.stop, 0.0, 0.0)
            stack.callback(workers.send, signal.SIGKILL)
            return workers

        yield workers_of


def ready(workers: Workers) -> bool:
    """True once all are ready, after one more look."""
    assert workers.look() is None
    return all(worker.ready for worker in workers._workers)


def test_a_worker_that_cannot_be_started_is_tried_again(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    workers = run(ANSWERS, 2)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))  # standard streams alone
    try:
        assert workers.look() is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert caplog.text.count("a worker could not be started: [Errno 24] Too many open files; another starts in") == 2
    wait_for(lambda: ready(workers))


def test_a_worker_that_is_dead_before_its_settings_arrive_is_replaced(run: Run) -> None:
    workers = run(KILLED_ONCE + ANSWERS, 1)
    workers._handed["padding"] = "x" * 1_000_000  # more than a pipe holds: written only while the worker reads
    wait_for(lambda: ready(workers))


def test_a_death_before_the_first_worker_is_ready_ends_no_other(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    announced: list[Addresses] = []
    workers = run(KILLED_ONCE + ANSWERS, 3, announced.append)
    wait_for(lambda: ready(workers))
    assert announced == [Addresses(1, 2, False)]
    assert caplog.text.count("a worker ended with code -9 (SIGKILL); another starts in 0.2 s") == 1


def test_when_no_worker_can_start_the_service_ends_and_says_why(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    workers = run(KILLED, 2)
    wait_for(lambda: workers.look() == 1)
    assert caplog.text.count("a worker ended with code -9 (SIGKILL)") >= 6
    assert "no worker can start: each was tried 3 times" in caplog.text


def test_a_worker_that_refuses_the_settings_ends_the_service_with_its_code(run: Run) -> None:
    workers = run("sys.exit(5)", 2)
    wait_for(lambda: workers.look() == 5)


def test_metrics_that_cannot_be_kept_end_nothing(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    workers = run(ANSWERS, 2)
    wait_for(lambda: ready(workers))
    killed = [worker.process for worker in workers._workers]
    folder = Path(os.environ[FOLDER_VARIABLE])
    for process, content in zip(killed, (b"", b"\x01"), strict=True):
        assert process is not None
        (folder / f"counter_{process.pid}.db").write_bytes(content)
    workers.send(signal.SIGKILL)
    wait_for(lambda: ready(workers) and not {worker.process for worker in workers._workers} & {*killed})
    assert "cannot be read" in caplog.text
    (folder / "lock").unlink()
    (folder / "lock").mkdir()
    workers.send(signal.SIGKILL)
    wait_for(lambda: ready(workers) and "stay in files of their own" in caplog.text)


def test_an_announcement_that_fails_ends_nothing(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def closed(addresses: Addresses) -> None:
        raise BrokenPipeError

    workers = run(ANSWERS, 1, closed)
    wait_for(lambda: ready(workers))
    assert "the addresses could not be announced" in caplog.text


def test_the_pause_after_years_of_deaths_is_half_a_minute(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    workers = run(KILLED, 1)
    workers._announced = True
    workers._workers[0].deaths = 5_000
    wait_for(lambda: workers.look() is None and "another starts in 30.0 s" in caplog.text)
