"""The workers behind one pair of ports: started, restarted when one dies, and stopped together."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass

from pydantic import SecretStr

from cuihop.errors import CuihopError
from cuihop_service.addresses import Addresses, reserved_port
from cuihop_service.observe.metrics_folder import MetricsFolder, hold_folder
from cuihop_service.settings import ServiceSettings

_log = logging.getLogger("cuihop.service")

_WORKER = [sys.executable, "-c", "from cuihop_service.supervisor import worker_main; worker_main()"]
_PATIENCE_SECONDS = 10.0
_SLOWEST_RESTART = 30.0
_ATTEMPTS = 3  # of each worker, before the first one is ready


@dataclass(eq=False)
class _Worker:
    """One of the workers; when it dies, another process takes over.

    Attributes:
        process: None while there is none.
        report: where the process writes its addresses once it answers; None afterwards.
        ready: True once it has.
        pending: a signal for it, sent once it is ready.
        started: time of the start of the process.
        next_start: time of the next one.
        deaths: early deaths in a row; a start that failed counts as one.
    """

    process: subprocess.Popen[bytes] | None = None
    report: int | None = None
    ready: bool = False
    pending: int | None = None
    started: float = 0.0
    next_start: float = 0.0
    deaths: int = 0

    def send(self, number: int) -> None:
        """Send a signal, if there is a process."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)


class Workers:
    """The processes of the workers. The failure of one, and of the records of it, is logged and ends no other."""

    def __init__(
        self, settings: ServiceSettings, http: socket.socket, grpc_port: int, on_ready: Callable[[Addresses], None]
    ) -> None:
        secrets = {name: value.get_secret_value() for name, value in settings if isinstance(value, SecretStr)}
        values = settings.model_dump(mode="json") | secrets
        self._http = http
        self._handed = {"settings": values, "http": http.fileno(), "grpc_port": grpc_port, "supervisor": os.getpid()}
        self._on_ready = on_ready
        self._announced = False
        self._metrics = MetricsFolder()
        self._workers = [_Worker() for _ in range(settings.workers)]

    def look(self) -> int | None:
        """Start what has to be started. Returns an exit code where no worker can start, otherwise None."""
        for worker in self._workers:
            try:
                code = self._look_at(worker)
            except Exception:  # the next look may fare better
                _log.exception("the look at a worker failed")
            else:
                if code is not None:
                    return code
        if not self._announced and all(worker.deaths >= _ATTEMPTS for worker in self._workers):
            _log.error("no worker can start: each was tried %d times; see the lines before this one", _ATTEMPTS)
            return 1
        return None

    def _look_at(self, worker: _Worker) -> int | None:
        if worker.process is None:
            if time.monotonic() >= worker.next_start:
                self._start(worker)
            return None
        ended = worker.process.poll()
        self._read_report(worker, ended is not None)
        if ended is None:
            return None
        if ended > 1 and not self._announced:
            return ended  # its settings are refused, and the reason has been printed
        early = not worker.ready or time.monotonic() - worker.started < _PATIENCE_SECONDS
        process, worker.process, worker.ready = worker.process.pid, None, False
        self._pause(worker, f"a worker ended with code {ended}{_signal_name(ended)}", early)
        self._metrics.forget(process)
        return None

    def _start(self, worker: _Worker) -> None:
        worker.started = time.monotonic()
        try:
            worker.report, writing = os.pipe()
            try:
                os.set_blocking(worker.report, False)
                # The settings go through a pipe: a list of processes does not show them.
                process = subprocess.Popen(  # noqa: S603 - this program
                    _WORKER, stdin=subprocess.PIPE, pass_fds=[self._http.fileno(), writing]
                )
            finally:
                os.close(writing)
        except Exception as error:  # no descriptor, process or memory left: later there may be
            self._close_report(worker)
            self._pause(worker, f"a worker could not be started: {error}", True)
            return
        worker.process = process
        if process.stdin is not None:
            with contextlib.suppress(OSError), process.stdin as pipe:  # it may have ended already
                pipe.write(json.dumps(self._handed | {"report": writing}).encode())

    def _pause(self, worker: _Worker, problem: str, early: bool) -> None:
        worker.deaths = worker.deaths + 1 if early else 0
        pause = min(_SLOWEST_RESTART, 0.1 * 2 ** min(worker.deaths, 16))
        worker.next_start = time.monotonic() + pause
        _log.error("%s; another starts in %.1f s", problem, pause)

    def _read_report(self, worker: _Worker, ended: bool) -> None:
        """Note that the worker answers, if it has reported so."""
        if worker.report is None:
            return
        try:
            line = os.read(worker.report, 4096)
        except BlockingIOError:
            return
        if not line and not ended:
            return
        self._close_report(worker)
        worker.ready = bool(line)
        if worker.ready and worker.pending is not None:
            worker.send(worker.pending)
            worker.pending = None
        if line and not self._announced:
            self._announced = True
            try:
                self._on_ready(Addresses(**json.loads(line)))
            except Exception:
                _log.exception("the addresses could not be announced")

    def _close_report(self, worker: _Worker) -> None:
        if worker.report is not None:
            os.close(worker.report)
            worker.report = None

    def send(self, number: int, *, ready: bool = False) -> None:
        """Send a signal to all workers: at once, or to each when it is ready, since it may not handle it before."""
        for worker in self._workers:
            if worker.ready or not ready:
                worker.send(number)
            else:
                worker.pending = number

    def stop(self, drain_delay: float, drain_seconds: float) -> bool:
        """End all workers. False where one had to be killed."""
        self.send(signal.SIGTERM)
        processes = [worker.process for worker in self._workers if worker.process is not None]
        closing = time.monotonic() + drain_delay
        while time.monotonic() < closing and any(process.poll() is None for process in processes):
            time.sleep(0.05)
        self._http.close()  # else the system would continue to take connections for it, which nobody answers
        deadline = time.monotonic() + drain_seconds + _PATIENCE_SECONDS
        orderly = True
        for process in processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                orderly = False
        for worker in self._workers:
            self._close_report(worker)
        self._metrics.remove()
        return orderly


def supervise(settings: ServiceSettings, http: socket.socket, on_ready: Callable[[Addresses], None]) -> int:
    """Run the workers until SIGTERM or SIGINT, and return the exit code."""
    held = reserved_port(settings.host, settings.grpc_port)
    workers = Workers(settings, http, held.getsockname()[1], on_ready)
    over = threading.Event()

    def stop(number: int, frame: object) -> None:
        if over.is_set():
            workers.send(signal.SIGTERM)
        over.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    signal.signal(signal.SIGHUP, lambda number, frame: workers.send(signal.SIGHUP, ready=True))
    code = workers.look()
    while code is None and not over.wait(0.1):
        code = workers.look()
    orderly = workers.stop(settings.drain_delay, settings.drain_seconds)
    held.close()
    return code or int(not orderly)


def _signal_name(code: int) -> str:
    """The signal that ended a process, by its exit code; nothing where it ended by itself."""
    try:
        return f" ({signal.Signals(-code).name})" if code < 0 else ""
    except ValueError:
        return ""


def worker_main() -> None:
    """The program of a worker: its settings come through standard input."""
    from cuihop.cli import exit_code
    from cuihop.cli.output import print_error
    from cuihop_service.observe.logs import configure_logs
    from cuihop_service.worker import run_worker

    handed = json.load(sys.stdin)
    settings = ServiceSettings(**handed["settings"])  # all of them, so the environment has no effect
    configure_logs(settings.log_format, limits=settings.address_limits)
    warnings.showwarning = lambda message, *_: _log.warning("%s", message)  # of damage: see `cuihop.errors`
    hold_folder()
    threading.Thread(target=_follow, args=(handed["supervisor"],), daemon=True).start()
    http = socket.socket(fileno=handed["http"])

    def report(addresses: Addresses) -> None:
        with contextlib.suppress(OSError):  # the supervisor has gone: see `_follow`
            os.write(handed["report"], json.dumps(asdict(addresses)).encode())
            os.close(handed["report"])

    try:
        run_worker(settings, http, handed["grpc_port"], report)
    except CuihopError as error:
        print_error(str(error))
        raise SystemExit(exit_code(error)) from None


def _follow(parent: int) -> None:
    """End when the supervisor has gone, for whatever reason."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)
