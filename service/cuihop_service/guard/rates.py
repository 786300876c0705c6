"""How often a caller may ask: counted in this process, and in a Redis that replicas share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from cachetools import LRUCache
from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from cuihop.errors import InputError, LimitExceeded, RateLimited
from cuihop_service.callers import Caller, Rate

__all__ = ["Bucket", "Rates", "SharedRates"]

_log = logging.getLogger("cuihop.guard")

_CALLERS = 10_000  # whose buckets are kept; who was forgotten begins with full ones
_REDIS_SECONDS = 0.1  # for one answer of Redis
_REDIS_PAUSE = 5.0  # after trouble with it
_SECONDS_OF_PAIRS = 60.0


class Bucket:
    """A token bucket: fills at a steady rate up to its size, and each question takes some out.

    Args:
        rate: a second.
        size: the most it holds.
        now: the present, in seconds.
    """

    __slots__ = ("_filled", "_level", "rate", "size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self.rate = rate
        self.size = size
        self._level = size
        self._filled = now

    def wait(self, cost: float, now: float) -> float:
        """Seconds until so much is in it; 0 for now."""
        if now > self._filled:
            self._level = min(self.size, self._level + (now - self._filled) * self.rate)
            self._filled = now
        return 0.0 if self._level >= cost else (cost - self._level) / self.rate

    def take(self, cost: float) -> None:
        """Take so much out."""
        self._level -= cost


class Rates:
    """The rates of all callers.

    Args:
        rate: of those who have none of their own.
        shared: counts for all replicas; None where there is only this process.
        clock: seconds that only grow, for tests.
    """

    def __init__(
        self, rate: Rate, shared: SharedRates | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._shared = shared
        self._clock = clock
        self._buckets: LRUCache[str, tuple[Rate, Bucket | None, Bucket | None]] = LRUCache(_CALLERS)

    @property
    def shared(self) -> bool:
        """Whether replicas count together, which takes its time."""
        return self._shared is not None

    def admit(self, caller: Caller, pairs: int) -> Awaitable[None] | None:
        """Count a question; to be awaited where replicas count together.

        Args:
            caller: who asks.
            pairs: in the question.

        Raises:
            RateLimited: there were too many; says when to ask again.
            LimitExceeded: more pairs than the caller may ask for in a whole minute.
        """
        rate = caller.rate or self._rate
        if rate.pairs is not None and pairs > rate.pairs:
            raise LimitExceeded(
                f"{pairs:,} pairs in one question; {caller.name!r} may ask for {rate.pairs:,} a minute: ask for fewer"
            )
        now = self._clock()
        kept = self._buckets.get(caller.name)
        if kept is None or kept[0] != rate:
            kept = self._buckets[caller.name] = (rate, *_buckets(rate, now))
        _, questions, paired = kept
        if questions is not None:
            wait = questions.wait(1.0, now)
            if wait:
                raise _too_many(caller, f"{rate.requests:g} requests a second", wait)
        if paired is not None:
            wait = paired.wait(pairs, now)
            if wait:
                raise _too_many(caller, f"{rate.pairs:,} pairs a minute", wait)
            paired.take(pairs)
        if questions is not None:
            questions.take(1.0)
        return None if self._shared is None else self._shared.admit(caller, rate, pairs)

    async def close(self) -> None:
        """Leave Redis."""
        if self._shared is not None:
            await self._shared.close()


class SharedRates:
    """Counts in Redis, over sliding windows, what all replicas were asked.

    Redis in trouble never fails a question: for some seconds each process then counts for itself alone.

    Args:
        address: of Redis, as in ``redis://:PASSWORD@host:6379/0``.

    Raises:
        InputError: not such an address.
    """

    def __init__(self, address: str) -> None:
        if urlsplit(address).scheme not in ("redis", "rediss"):
            raise InputError("not the address of a Redis", column="rates-redis", expected="redis:// or rediss://")
        self._storage = RedisStorage(
            f"async+{address}",
            implementation="redispy",
            key_prefix="cuihop:rates",
            socket_timeout=_REDIS_SECONDS,
            socket_connect_timeout=_REDIS_SECONDS,
        )
        self._limiter = SlidingWindowCounterRateLimiter(self._storage)
        self._resumes = 0.0

    async def admit(self, caller: Caller, rate: Rate, pairs: int) -> None:
        """Count a question that this process alone would admit.

        Raises:
            RateLimited: together the replicas were asked too much.
        """
        if time.monotonic() < self._resumes:
            return
        counted: list[tuple[RateLimitItem, int, str]] = []
        if rate.requests is not None:
            seconds = max(1, math.ceil(_burst(rate) / rate.requests))
            window = RateLimitItemPerSecond(max(1, int(rate.requests * seconds)), seconds, namespace="q")
            counted.append((window, 1, f"{rate.requests:g} requests a second"))
        if rate.pairs is not None:
            counted.append((RateLimitItemPerMinute(rate.pairs, namespace="p"), pairs, f"{rate.pairs:,} pairs a minute"))
        try:
            async with asyncio.timeout(_REDIS_SECONDS):
                for item, cost, told in counted:
                    if not await self._limiter.hit(item, caller.name, cost=cost):
                        wait = (await self._limiter.get_window_stats(item, caller.name)).reset_time - time.time()
                        raise _too_many(caller, told, max(0.05, wait))
        except RateLimited:
            raise
        except Exception as error:  # whatever Redis and its client can raise
            self._resumes = time.monotonic() + _REDIS_PAUSE
            _log.warning("Redis does not count (%s); for %g s this process counts alone", error, _REDIS_PAUSE)

    async def close(self) -> None:
        """Give the connections back."""
        with contextlib.suppress(Exception):
            await self._storage.bridge.get_connection().aclose()  # type: ignore[attr-defined]


def _burst(rate: Rate) -> float:
    return float(rate.burst if rate.burst is not None else max(1.0, rate.requests or 1.0))


def _buckets(rate: Rate, now: float) -> tuple[Bucket | None, Bucket | None]:
    questions = None if rate.requests is None else Bucket(rate.requests, _burst(rate), now)
    paired = None if rate.pairs is None else Bucket(rate.pairs / _SECONDS_OF_PAIRS, float(rate.pairs), now)
    return questions, paired


def _too_many(caller: Caller, allowed: str, wait: float) -> RateLimited:
    return RateLimited(f"{caller.name!r} may ask for {allowed}; ask again in {wait:.3g} s", retry_after=wait)
