"""The program `cuihop serve`, in processes of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3


@dataclass
class Program:
    """A running `cuihop serve`."""

    process: subprocess.Popen[str]
    log: Path
    http: str
    grpc: str

    def get(self, path: str) -> Any:
        pool = urllib3.PoolManager(retries=False, timeout=20)
        return json.loads(pool.request("GET", f"http://{self.http}{path}").data)

    def hops(self) -> int | None:
        answer: int | None = self.get("/v1/distance?a=C0006121&b=C0018670")["hops"]
        return answer

    def ready_workers(self) -> int:
        """Number of workers that report to be ready."""
        pool = urllib3.PoolManager(retries=False, timeout=20)
        metrics = pool.request("GET", f"http://{self.http}/metrics").data.decode()
        found = re.search(r'^cuihop_workers\{state="ready"\} (\d+)', metrics, re.MULTILINE)
        return 0 if found is None else int(found[1])

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


def wait_for(true: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def program(store: Path | str, folder: Path, *arguments: str, **environment: str) -> Iterator[Program]:
    """The program, from a snapshot or the address of another store, until the block ends."""
    log = folder / "log"
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CUIHOP_")}
    address = store if isinstance(store, str) else f"snapshot:{store}"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "cuihop", "serve", "--store", address,
             "--http-port", "0", "--grpc-port", "0", *arguments],
            stdout=out, stderr=subprocess.STDOUT, text=True, env=clean | environment,
        )  # fmt: skip
    try:
        pattern = re.compile(r"serving http://(\S+) and grpc://(\S+)")
        wait_for(lambda: pattern.search(log.read_text()) is not None or process.poll() is not None, 180)
        found = pattern.search(log.read_text())
        assert found is not None, log.read_text()
        yield Program(process, log, found[1], found[2])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
