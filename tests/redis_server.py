"""A real Redis server for tests: on the loopback interface, on a free port, with a password.

If Redis is missing, its tests are skipped.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pytest

from cuihop_tools.neo4j_server import free_ports
from waiting import wait_for

if TYPE_CHECKING:
    import redis

    from cuihop_service.cache.redis_cache import RedisCache

__all__ = ["NO_REDIS", "PATIENT", "RedisServer", "killable_redis", "new_redis", "redis_server", "shared_cache"]

PATIENT = 30.0
"""Seconds that a cache of a test waits for Redis: its own, a tenth of a second, are too few on a busy machine."""

NO_REDIS = "Redis not found: install Debian's package redis-server"


class RedisServer:
    """A server that keeps nothing on disk. Start it, or use it as a context.

    Args:
        home: the folder of its log and of its socket.
        settings: further lines of ``redis.conf``.

    Attributes:
        address: with the password. The port stays the same over restarts.
    """

    def __init__(self, home: Path, *settings: str) -> None:
        self.home = home
        self.socket_path = Path(os.path.relpath(home / "redis.sock"))  # a socket's path may not be long
        self.password = secrets.token_hex(24)
        (self.port,) = free_ports(1)
        self.address = f"redis://:{self.password}@127.0.0.1:{self.port}/0"
        self._settings = [
            "bind 127.0.0.1",
            f"port {self.port}",
            f"unixsocket {self.socket_path}",
            f"requirepass {self.password}",
            'save ""',
            f"logfile {home / 'log'}",
            *settings,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def client(self) -> redis.Redis:
        """A plain client, for what a test wants to see or to spoil."""
        import redis

        return redis.Redis.from_url(self.address)

    def start(self) -> None:
        """Start, and wait until it answers."""
        assert self._process is None
        self._process = subprocess.Popen(["redis-server", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert self._process.stdin is not None
        with self._process.stdin as configuration:  # not in the arguments: these are seen by all users
            configuration.write("\n".join([*self._settings, ""]).encode())
        with self.client() as client:
            wait_for(lambda: self._answers(client))

    def _answers(self, client: redis.Redis) -> bool:
        import redis

        assert self._process is not None
        assert self._process.poll() is None, (self.home / "log").read_text()
        try:
            client.ping()
        except redis.ConnectionError:
            return False
        return True

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        self._signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()
        self._process = None

    def freeze(self) -> None:
        """It keeps its connections, and answers nothing any more."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It answers again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.kill()


def new_redis(factory: pytest.TempPathFactory, *settings: str) -> RedisServer:
    """A server of its own for a test, not yet started."""
    if shutil.which("redis-server") is None:
        pytest.skip(NO_REDIS)
    return RedisServer(factory.mktemp("redis"), *settings)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The session's server."""
    with new_redis(tmp_path_factory) as server:
        yield server


@pytest.fixture
def killable_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A running server that a test may kill, start again and freeze."""
    with new_redis(tmp_path_factory) as server:
        yield server


def shared_cache(address: str, **settings: Any) -> RedisCache:
    """A cache in Redis, whose client is imported here: most processes of the tests need none."""
    from cuihop_service.cache.redis_cache import RedisCache

    return RedisCache(address, **settings)
