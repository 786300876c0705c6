"""The cache that replicas share: entries in Redis. It may fail in any way; a request only takes longer then.

A value is an entry of four bytes and a signature of eight, made with a secret over release, key and entry. Garbage, and
values written without the secret, count as missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cuihop.errors import GraphUnavailable, InputError, reason_of
from cuihop_service.cache.local_cache import Entry, SharedStatistics
from cuihop_service.redis_pause import RedisPause

Result = TypeVar("Result")

_logger = logging.getLogger(__name__)

_SCHEMES = ("redis", "rediss", "unix")
_NAMESPACE = "cuihop:1"  # the number counts up when keys or values change their form
_DIGEST_PREFIX = 16
_KEY = re.compile(r"[ -~]{3,129}")
_SIGNATURE = 8
_VALUE = struct.Struct(f"<i{_SIGNATURE}s")
_CONNECTIONS = 256
_SLOW = 2  # an answer that comes in pieces may take longer than the timeout; this many times is too long


class RedisCache:
    """Entries of any number of releases in one Redis. Safe to share between threads.

    Calls are never tried again. After one that failed, or took twice the timeout, none are made for five seconds. Reads
    and writes pause separately, so a Redis that is full is still read. The password of the address is the key of the
    signatures: without one, damage is found but not malice.

    Args:
        address: ``redis://host:port/db``, ``rediss://…`` with TLS, or ``unix:///path``; further settings of redis-py
            may follow as a query, e.g. ``?ssl_ca_certs=/path``.
        timeout: seconds to wait for a connection, and for each piece of an answer.

    Attributes:
        address: without user and password.

    Raises:
        InputError: the address is not one.
    """

    def __init__(self, address: str, *, timeout: float = 0.1, clock: Callable[[], float] = time.monotonic) -> None:
        try:
            url = urlsplit(address)
            server = f"{url.hostname}:{url.port or 6379}" if url.scheme != "unix" else url.path
            if url.scheme not in _SCHEMES:
                raise ValueError
            self._client = redis.Redis.from_url(
                address,
                socket_timeout=timeout,
                socket_connect_timeout=timeout,
                retry=Retry(NoBackoff(), 0),
                protocol=2,
                driver_info=None,
                max_connections=_CONNECTIONS,
            )
        except ValueError:  # its text may show a part of the password
            raise InputError(
                "not the address of a Redis server",
                column="setting redis",
                expected=" or ".join(f"{scheme}://…" for scheme in _SCHEMES),
            ) from None
        self.address = f"{url.scheme}://{server}"
        self._timeout, self._clock = timeout, clock
        password = self._client.connection_pool.connection_kwargs.get("password") or ""
        self._secret = hashlib.blake2b(password.encode(), person=b"cuihop:1", digest_size=32).digest()
        self._reads = RedisPause(clock=clock)
        self._writes = RedisPause(clock=clock)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<RedisCache {self.address}>"

    def check(self) -> None:
        """Ask the server once for an answer: `GraphUnavailable` if there is none, or it refuses."""
        try:
            self._client.ping()
        except redis.exceptions.AuthenticationError:
            raise GraphUnavailable(f"{self.address}: Redis refuses the password; correct the setting redis") from None
        except Exception as error:  # whatever a server sends
            raise GraphUnavailable(
                f"{self.address}: Redis does not answer ({reason_of(error)}); start it, or correct the setting redis"
            ) from None

    @property
    def statistics(self) -> SharedStatistics:
        """Calls so far, and the state of the pauses."""
        with self._lock:
            counts = dict(self._counts)
        return SharedStatistics(**counts, reading=not self._reads.is_on, writing=not self._writes.is_on)

    def close(self) -> None:
        """Give the connections back. Harmless twice."""
        self._client.close()

    def entries(self, digest: str, keys: Sequence[str]) -> list[Entry | None]:
        """The entry of each key in the release of that digest; ``None`` for a missing or untrusted one."""
        entries: list[Entry | None] = [None] * len(keys)
        usable = [position for position, key in enumerate(keys) if _KEY.fullmatch(key)]
        prefix = _prefix(digest)
        names = [prefix + keys[position] for position in usable]
        values = self._answer(self._reads, lambda: self._read(names)) if names else None
        if values is not None:
            signatures = self._signatures(digest)
            refused = 0
            for position, value in zip(usable, values, strict=True):
                if value is not None:
                    entries[position] = entry = _entry(signatures, keys[position], value)
                    refused += entry is None
            self._count(reads=1, refused=refused)
        return entries

    def store(self, digest: str, entries: Mapping[str, Entry]) -> None:
        """Store entries of the release of that digest, if the server takes them."""
        if self._reads.is_on:
            self._count(held_back=1)
            return
        prefix = _prefix(digest)
        signatures = self._signatures(digest)
        values = {prefix + key: _value(signatures, key, entry) for key, entry in entries.items()}
        if self._answer(self._writes, lambda: self._client.mset(values)) is not None:
            self._count(writes=1)

    def _read(self, names: list[str]) -> list[object]:
        values: object = self._client.mget(names)
        if not isinstance(values, list) or len(values) != len(names):
            raise redis.InvalidResponse
        return values

    def _signatures(self, digest: str) -> hashlib.blake2b:
        return hashlib.blake2b(digest.encode(), key=self._secret, digest_size=_SIGNATURE)

    def _answer(self, pause: RedisPause, call: Callable[[], Result]) -> Result | None:
        """The answer of Redis; ``None`` without one, and during a pause."""
        if pause.is_on:
            self._count(held_back=1)
            return None
        began = self._clock()
        try:
            answer = call()
        except redis.exceptions.MaxConnectionsError:  # too many calls at once: the server itself may be well
            self._count(errors=1)
            return None
        except Exception as error:  # whatever a server sends, no request fails of it
            self._failed(pause, type(error).__name__)  # its text may repeat the values sent
            return None
        if self._clock() - began > _SLOW * self._timeout:
            self._failed(pause, "slow answer")
        elif pause.end():
            _logger.info("shared cache %s is in use again", self.address)
        return answer

    def _failed(self, pause: RedisPause, reason: str) -> None:
        self._count(errors=1)
        with contextlib.suppress(Exception):
            self._client.connection_pool.disconnect(inuse_connections=False)  # idle ones may be as dead
        if pause.begin():
            task = "reading from" if pause is self._reads else "writing to"
            _logger.warning("%s the shared cache %s pauses: %s", task, self.address, reason)

    def _count(self, **more: int) -> None:
        with self._lock:
            self._counts.update(more)


def check_redis(address: str) -> str:
    """The address of a Redis that answers, without user and password.

    Raises:
        GraphUnavailable: it does not answer within two seconds, or refuses. InputError: the address is not one.
    """
    cache = RedisCache(address, timeout=2.0)
    try:
        cache.check()
    finally:
        cache.close()
    return cache.address


def _prefix(digest: str) -> str:
    return f"{_NAMESPACE}:{digest[:_DIGEST_PREFIX]}:"


def _value(signatures: hashlib.blake2b, key: str, entry: Entry) -> bytes:
    signature = signatures.copy()
    signature.update(b"%s %d" % (key.encode(), entry))
    return _VALUE.pack(entry, signature.digest())


def _entry(signatures: hashlib.blake2b, key: str, value: object) -> Entry | None:
    """The entry that a value holds, if it was signed for that key."""
    if not isinstance(value, bytes) or len(value) != _VALUE.size:
        return None
    entry: Entry = _VALUE.unpack(value)[0]
    return entry if _value(signatures, key, entry) == value else None
