"""The workers behind one pair of ports: started, restarted when one dies, and stopped together."""

from __future__ import annotations

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

__all__ = ["supervise", "worker_main"]

_log = logging.getLogger("cuihop.service")

_PATIENCE_SECONDS = 10.0
_SLOWEST_RESTART = 30.0


@dataclass
class _Worker:
    """A process, and the number of its early deaths."""

    process: subprocess.Popen[bytes]
    started: float
    deaths: int = 0
    ready: bool = False
    next_start: float = 0.0


def supervise(settings: ServiceSettings, http: socket.socket, on_ready: Callable[[Addresses], None]) -> int:
    """Run the workers until SIGTERM or SIGINT, and return the exit code.

    Args:
        settings: of the service.
        http: the listening socket.
        on_ready: called when the first worker answers.
    """
    held = reserved_port(settings.host, settings.grpc_port)
    port = held.getsockname()[1]
    given = settings.model_dump(mode="json") | _revealed(settings)
    handed = json.dumps({"settings": given, "http": http.fileno(), "grpc_port": port}).encode()
    over = threading.Event()
    announced = threading.Event()

    def start() -> _Worker:
        # The settings go through a pipe: a list of processes does not show them.
        process = subprocess.Popen(
            [sys.executable, "-c", "from cuihop_service.supervisor import worker_main; worker_main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[http.fileno()],
        )
        worker = _Worker(process, time.monotonic())
        if process.stdin is not None:
            process.stdin.write(handed)
            process.stdin.close()

        def listen() -> None:
            line = process.stdout.readline() if process.stdout is not None else b""
            if line:
                worker.ready = True
                if not announced.is_set():
                    announced.set()
                    on_ready(Addresses(**json.loads(line)))

        threading.Thread(target=listen, daemon=True).start()
        return worker

    def stop(number: int, frame: object) -> None:
        if over.is_set():
            for worker in workers:
                _send(worker, signal.SIGTERM)
        over.set()

    def pass_on(number: int, frame: object) -> None:
        for worker in workers:
            _send(worker, signal.SIGHUP)

    accounts = MetricsFolder()
    workers: list[_Worker] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    signal.signal(signal.SIGHUP, pass_on)
    workers += [start() for _ in range(settings.workers)]
    code = 0
    while not over.wait(0.1):
        for place, worker in enumerate(workers):
            ended = worker.process.poll()
            if ended is None:
                continue
            now = time.monotonic()
            if not worker.ready and not announced.is_set():
                code = ended if ended > 0 else 1
                over.set()  # not even the first start worked: the reason has been printed
                break
            if not worker.next_start:
                young = now - worker.started < _PATIENCE_SECONDS
                worker.deaths = worker.deaths + 1 if young else 0
                pause = min(_SLOWEST_RESTART, 0.1 * 2**worker.deaths)
                worker.next_start = now + pause
                accounts.forget(worker.process.pid)
                _log.error("a worker ended with code %d; another starts in %.1f s", ended, pause)
            if now >= worker.next_start:
                workers[place] = start()
                workers[place].deaths = worker.deaths
    for worker in workers:
        _send(worker, signal.SIGTERM)
    closing = time.monotonic() + settings.drain_delay
    while time.monotonic() < closing and any(worker.process.poll() is None for worker in workers):
        time.sleep(0.05)
    http.close()  # else the system would go on taking connections for it, which nobody answers
    deadline = time.monotonic() + settings.drain_seconds + _PATIENCE_SECONDS
    for worker in workers:
        try:
            worker.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            code = code or 1
    held.close()
    accounts.remove()
    return code


def _revealed(settings: ServiceSettings) -> dict[str, str]:
    """The secrets among the settings, in plain text, for the worker alone."""
    return {name: value.get_secret_value() for name, value in settings if isinstance(value, SecretStr)}


def _send(worker: _Worker, number: int) -> None:
    if worker.process.poll() is None:
        worker.process.send_signal(number)


def worker_main() -> None:
    """The program of a worker: its settings come through standard input."""
    from cuihop.cli.exit_codes import exit_code
    from cuihop.cli.output import print_error
    from cuihop_service.observe.logs import configure_logs
    from cuihop_service.worker import run_worker

    handed = json.load(sys.stdin)
    settings = ServiceSettings(**handed["settings"])  # all of them, so the environment has no effect
    configure_logs(settings.log_format, limits=settings.address_limits)
    warnings.showwarning = lambda message, *_: _log.warning("%s", message)  # of damage: see `cuihop.errors`
    hold_folder()
    parent = os.getppid()
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    http = socket.socket(fileno=handed["http"])

    def report(addresses: Addresses) -> None:
        print(json.dumps(asdict(addresses)), flush=True)

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
