"""The workers behind one pair of ports: started, restarted when one dies, and stopped together."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from cuihop.errors import CuihopError
from cuihop_service.addresses import Addresses, reserved_port
from cuihop_service.observe.metrics_folder import MetricsFolder, hold_folder
from cuihop_service.settings import ServiceSettings

_log = logging.getLogger("cuihop.service")

_PROCESSES: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
"""How a worker comes into being. A fork has all that the supervisor has imported; elsewhere than on Linux, libraries of
the system do not survive one."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PATIENCE_SECONDS = 10.0
_SLOWEST_RESTART = 30.0
_ATTEMPTS = 3  # of each worker, before the first one is ready


@dataclass(eq=False)
class _Worker:
    """One of the workers; when it dies, another process takes over.

    Attributes:
        process: None while there is none.
        report: where the process sends its addresses once it answers; None afterwards.
        ready: True once it has.
        pending: a signal for it, sent once it is ready.
        started: time of the start of the process.
        next_start: time of the next one.
        deaths: early deaths in a row; a start that failed counts as one.
    """

    process: BaseProcess | None = None
    report: Connection | None = None
    ready: bool = False
    pending: int | None = None
    started: float = 0.0
    next_start: float = 0.0
    deaths: int = 0

    def send(self, number: int) -> None:
        """Send a signal, if there is a process."""
        if self.process is not None and self.process.pid is not None and self.process.exitcode is None:
            os.kill(self.process.pid, number)


class Workers:
    """The processes of the workers. The failure of one, and of the records of it, is logged and ends no other."""

    def __init__(
        self, settings: ServiceSettings, http: socket.socket, grpc_port: int, on_ready: Callable[[Addresses], None]
    ) -> None:
        self._http = http
        self._handed = dict(settings), http, grpc_port, os.getpid()
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
        ended = worker.process.exitcode
        self._read_report(worker)
        if ended is None:
            return None
        if ended > 1 and not self._announced:
            return ended  # its settings are refused, and the reason has been printed
        early = not worker.ready or time.monotonic() - worker.started < _PATIENCE_SECONDS
        process, worker.process, worker.ready = worker.process.pid, None, False
        self._pause(worker, f"a worker ended with code {ended}{_signal_name(ended)}", early)
        if process is not None:
            self._metrics.forget(process)
        return None

    def _start(self, worker: _Worker) -> None:
        worker.started = time.monotonic()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # until the worker handles them itself
        try:
            worker.report, report = _PROCESSES.Pipe(duplex=False)
            with report:
                process = _PROCESSES.Process(target=_work, args=(*self._handed, report), daemon=True)
                process.start()
            worker.process = process
        except Exception as error:  # no descriptor, process or memory left: later there may be
            self._close_report(worker)
            self._pause(worker, f"a worker could not be started: {error}", True)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _pause(self, worker: _Worker, problem: str, early: bool) -> None:
        worker.deaths = worker.deaths + 1 if early else 0
        pause = min(_SLOWEST_RESTART, 0.1 * 2 ** min(worker.deaths, 16))
        worker.next_start = time.monotonic() + pause
        _log.error("%s; another starts in %.1f s", problem, pause)

    def _read_report(self, worker: _Worker) -> None:
        """Note that the worker answers, if it has reported so."""
        if worker.report is None or not worker.report.poll():
            return
        addresses: Addresses | None = None
        with contextlib.suppress(EOFError, OSError):  # it has ended before
            addresses = worker.report.recv()
        self._close_report(worker)
        worker.ready = addresses is not None
        if worker.ready and worker.pending is not None:
            worker.send(worker.pending)
            worker.pending = None
        if addresses is not None and not self._announced:
            self._announced = True
            try:
                self._on_ready(addresses)
            except Exception:
                _log.exception("the addresses could not be announced")

    def _close_report(self, worker: _Worker) -> None:
        if worker.report is not None:
            worker.report.close()
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
        while time.monotonic() < closing and any(process.exitcode is None for process in processes):
            time.sleep(0.05)
        self._http.close()  # else the system would continue to take connections for it, which nobody answers
        deadline = time.monotonic() + drain_seconds + _PATIENCE_SECONDS
        orderly = True
        for process in processes:
            process.join(max(0.1, deadline - time.monotonic()))
            if process.exitcode is None:
                process.kill()
                process.join()
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
    if _PROCESSES.get_start_method() == "fork":
        from cuihop_service.worker import prepare

        prepare(settings)
    code = None if over.is_set() else workers.look()
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


def _work(values: dict[str, Any], http: socket.socket, grpc_port: int, supervisor: int, report: Connection) -> None:
    """The program of a worker."""
    for number in _SIGNALS:  # those of the supervisor are not the worker's
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    from cuihop.cli import exit_code
    from cuihop.cli.output import print_error
    from cuihop_service.observe.logs import configure_logs
    from cuihop_service.worker import prepare, run_worker

    settings = ServiceSettings(**values)  # all of them, so the environment has no effect
    configure_logs(settings.log_format, limits=settings.address_limits)
    warnings.showwarning = lambda message, *_: _log.warning("%s", message)  # of damage: see `cuihop.errors`
    hold_folder()
    threading.Thread(target=_follow, args=(supervisor,), daemon=True).start()
    prepare(settings)

    def send_addresses(addresses: Addresses) -> None:
        with contextlib.suppress(OSError), report:  # the supervisor has gone: see `_follow`
            report.send(addresses)

    try:
        run_worker(settings, http, grpc_port, send_addresses)
    except CuihopError as error:
        print_error(str(error))
        raise SystemExit(exit_code(error)) from None


def _follow(parent: int) -> None:
    """End when the supervisor has gone, for whatever reason."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)
