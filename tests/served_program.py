"""The program `cuihop serve`, in processes of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import urllib3

from waiting import wait_for, watched

_LINES = 40  # of a log, in the message of a test that fails


@dataclass(eq=False)
class Program:
    """A running `cuihop serve`."""

    process: subprocess.Popen[str]
    log: Path
    http: str = ""
    grpc: str = ""

    def answer(self, path: str) -> bytes:
        """Body of the answer to a GET request; without one, the test fails with the log."""
        try:
            with urllib3.PoolManager(retries=False, timeout=300) as pool:
                return pool.request("GET", f"http://{self.http}{path}").data
        except urllib3.exceptions.HTTPError as error:
            self.fail(f"GET {path}: {error}")

    def get(self, path: str) -> Any:
        return json.loads(self.answer(path))

    def health(self) -> tuple[int, dict[str, Any]]:
        """Status and fields of the answer of the worker that a new connection reaches."""
        address = f"http://{self.http}/health/ready"
        answer = urllib3.request("GET", address, retries=False, headers={"Connection": "close"}, timeout=300)
        return answer.status, json.loads(answer.data)

    def hops(self) -> int | None:
        answer: int | None = self.get("/v1/distance?a=C0006121&b=C0018670")["hops"]
        return answer

    def ready_workers(self) -> int:
        """Number of workers that report to be ready."""
        number = re.search(r'^cuihop_workers\{state="ready"\} (\d+)', self.answer("/metrics").decode(), re.MULTILINE)
        return 0 if number is None else int(number[1])

    def workers(self) -> list[int]:
        """Process numbers of the workers."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.expect_end()
        self.process.send_signal(number)
        return self.process.wait(60)

    def kill(self) -> None:
        """End the supervisor at once, not its workers."""
        self.expect_end()
        self.process.kill()
        self.process.wait(30)

    def expect_end(self) -> None:
        """Let the program end while a test waits."""
        if self in watched:
            watched.remove(self)

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def fail(self, problem: str) -> NoReturn:
        """Fail the test with the exit code and the end of the log."""
        code = self.process.poll()
        state = "runs" if code is None else f"has ended with code {code}"
        lines = self.log.read_text(errors="replace").splitlines()[-_LINES:]
        pytest.fail("\n".join([f"{problem}; the program {state}. The end of its log:", *lines]), pytrace=True)


@contextmanager
def started(
    store: Path | str, folder: Path, *arguments: str, limit: Callable[[], None] | None = None, **environment: str
) -> Iterator[Program]:
    """The program, from a snapshot or the address of another store, until the block ends. It may not answer yet.

    Args:
        store: a path, or an address.
        folder: of the log.
        limit: called in the new process before the program.
    """
    log = folder / "log"
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CUIHOP_")}
    clean["CUIHOP_MCP"] = "false"  # the tools for agents take as long to import as all else
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "cuihop", "serve", "--graph", str(store),
             "--http-port", "0", "--grpc-port", "0", *arguments],
            stdout=out, stderr=subprocess.STDOUT, text=True, env=clean | environment,
            preexec_fn=limit,  # noqa: PLW1509
        )  # fmt: skip
    running = Program(process, log)
    watched.append(running)
    try:
        yield running
    finally:
        running.expect_end()
        if process.poll() is None:
            process.kill()
        process.wait(30)


@contextmanager
def program(
    store: Path | str, folder: Path, *arguments: str, limit: Callable[[], None] | None = None, **environment: str
) -> Iterator[Program]:
    """The program as of `started`, once it answers."""
    with started(store, folder, *arguments, limit=limit, **environment) as running:
        pattern = re.compile(r"serving https?://(\S+) and grpcs?://(\S+)")
        wait_for(lambda: pattern.search(running.log.read_text()) is not None, 180)
        addresses = pattern.search(running.log.read_text())
        assert addresses is not None
        running.http, running.grpc = addresses[1], addresses[2]
        yield running
