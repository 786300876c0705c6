"""The supervisor of the workers, with small functions as workers: no failure of one ends it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import urllib3

from cuihop_service import supervisor
from cuihop_service.addresses import Addresses, bound_socket, reserved_port
from cuihop_service.observe.metrics_folder import FOLDER_VARIABLE
from cuihop_service.settings import read_settings
from cuihop_service.supervisor import Workers
from example_graph import example_graph
from waiting import wait_for

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # that of pytest

Run = Callable[..., Workers]


def answers(*handed: Any) -> None:
    with handed[-1] as report:
        report.send(Addresses(1, 2, False))
    signal.pause()


def killed(*handed: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once(*handed: Any) -> None:
    try:
        Path("killed").mkdir()
    except FileExistsError:
        answers(*handed)
    else:
        killed()


def killed_once_ready(*handed: Any) -> None:
    with handed[-1] as report:
        report.send(Addresses(1, 2, False))
    killed()


def refuses(*handed: Any) -> None:
    sys.exit(5)


def notes_a_hangup(*handed: Any) -> None:
    signal.signal(signal.SIGHUP, lambda *_: Path("hung up").touch())
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    with handed[-1] as report:
        report.send(Addresses(1, 2, False))
    while True:
        signal.pause()


def answers_with_signals_blocked(*handed: Any) -> None:
    if signal.pthread_sigmask(signal.SIG_BLOCK, []) >= {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}:
        answers(*handed)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Workers that call a function; at the end they are killed."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:

        def workers_of(
            work: Callable[..., None], number: int = 1, on_ready: Callable[[Addresses], None] = lambda addresses: None
        ) -> Workers:
            monkeypatch.setattr(supervisor, "_work", work)
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
    workers = run(answers, 2)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))  # standard streams alone
    try:
        assert workers.look() is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert caplog.text.count("a worker could not be started: [Errno 24] Too many open files; another starts in") == 2
    wait_for(lambda: ready(workers))


def test_a_signal_waits_until_the_worker_handles_it(run: Run) -> None:
    workers = run(answers_with_signals_blocked)
    wait_for(lambda: ready(workers))
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []), "the supervisor gets its own signals"


@pytest.mark.parametrize(("work", "orderly"), [(notes_a_hangup, True), (answers, False)])
def test_a_stop_says_if_a_worker_had_to_be_killed(
    run: Run, monkeypatch: pytest.MonkeyPatch, work: Callable[..., None], orderly: bool
) -> None:
    monkeypatch.setattr(supervisor, "_PATIENCE_SECONDS", 60.0 if orderly else 0.0)
    workers = run(work)
    wait_for(lambda: ready(workers))
    assert workers.stop(0.0, 0.0) is orderly


def test_a_signal_for_ready_workers_comes_to_one_that_is_ready_and_later_to_another(run: Run) -> None:
    workers, noted = run(notes_a_hangup), Path("hung up")
    assert workers.look() is None  # it begins
    for _ in range(2):
        workers.send(signal.SIGHUP, ready=True)
        wait_for(lambda: ready(workers) and noted.exists())
        noted.unlink()


@pytest.mark.slow
def test_a_worker_that_is_no_fork_answers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_PROCESSES", multiprocessing.get_context("spawn"))
    example_graph().save(tmp_path / "g.cuihop")
    settings = read_settings({"graph": str(tmp_path / "g.cuihop"), "mcp": False, "index_folder": str(tmp_path)}, None)
    announced: list[Addresses] = []
    with closing(reserved_port(settings.host, 0)) as held, closing(bound_socket(settings.host, 0)) as http:
        workers = Workers(settings, http, held.getsockname()[1], announced.append)
        try:
            wait_for(lambda: ready(workers), 180)
            address = f"http://{settings.host}:{announced[0].http_port}"
            answer = urllib3.request("GET", f"{address}/v1/distance?a=C0006121&b=C0018670", retries=False, timeout=300)
            assert answer.json()["hops"] == 3
        finally:
            orderly = workers.stop(0.0, 10.0)
    assert orderly


def test_a_death_before_the_first_worker_is_ready_ends_no_other(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    announced: list[Addresses] = []
    workers = run(killed_once, 3, announced.append)
    wait_for(lambda: ready(workers))
    assert announced == [Addresses(1, 2, False)]
    assert caplog.text.count("a worker ended with code -9 (SIGKILL); another starts in 0.2 s") == 1


def test_a_worker_that_dies_soon_after_it_is_ready_is_started_ever_later(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    workers = run(killed_once_ready)
    wait_for(lambda: workers.look() is None and "(SIGKILL); another starts in 0.4 s" in caplog.text)


@pytest.mark.parametrize("number", [1, 2])
def test_when_no_worker_can_start_the_service_ends_and_says_why(
    run: Run, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    workers = run(killed, number)
    wait_for(lambda: workers.look() == 1)
    ends = caplog.text.count("a worker ended with code -9 (SIGKILL)")
    assert ends == 3 if number == 1 else ends >= 6
    assert "no worker can start: each was tried 3 times" in caplog.text


def test_a_worker_that_refuses_the_settings_ends_the_service_with_its_code(run: Run) -> None:
    workers = run(refuses, 2)
    wait_for(lambda: workers.look() == 5)


def test_metrics_that_cannot_be_kept_end_nothing(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    workers = run(answers, 2)
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

    workers = run(answers, 1, closed)
    wait_for(lambda: ready(workers))
    assert "the addresses could not be announced" in caplog.text


def test_the_pause_after_years_of_deaths_is_half_a_minute(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    workers = run(killed, 1)
    workers._announced = True
    workers._workers[0].deaths = 5_000
    wait_for(lambda: workers.look() is None and "another starts in 30.0 s" in caplog.text)
