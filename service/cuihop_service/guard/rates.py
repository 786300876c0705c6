"""Rates of callers: token buckets in this process, and the same buckets in a Redis that replicas share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from cachetools import LRUCache

from cuihop.errors import InputError, LimitExceeded, RateLimited, reason_of
from cuihop_service.callers import Caller, Rate
from cuihop_service.redis_pause import RedisPause

_log = logging.getLogger("cuihop.guard")

_CALLERS = 10_000  # with buckets in memory; a forgotten caller begins with full ones
_REDIS_SECONDS = 0.5  # for one answer of Redis, with all that this event loop does before it reads the answer
_SECONDS_OF_PAIRS = 60.0

_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local levels = {}
for index, key in ipairs(KEYS) do
  local rate, size, cost = tonumber(ARGV[3 * index - 2]), tonumber(ARGV[3 * index - 1]), tonumber(ARGV[3 * index])
  local bucket = redis.call('HMGET', key, 'level', 'filled')
  local gone = math.max(0, now - tonumber(bucket[2] or now))
  local level = math.min(size, tonumber(bucket[1] or size) + gone * rate)
  if level < cost then
    return {index, string.format('%.17g', (cost - level) / rate)}
  end
  levels[index] = level - cost
end
for index, key in ipairs(KEYS) do
  redis.call('HSET', key, 'level', string.format('%.17g', levels[index]), 'filled', string.format('%.6f', now))
  redis.call('EXPIRE', key, math.ceil(ARGV[3 * index - 1] / ARGV[3 * index - 2]) + 1)
end
return {0, '0'}
"""
"""`Bucket` in Redis, by its clock: takes from all buckets or from none. Arguments: rate, size and cost of each.

Returns the index of the bucket that lacks tokens, from 1, and the seconds until it has them; 0 for none.
"""


class Bucket:
    """A token bucket: it fills at a steady rate, in tokens a second, up to its size, and each request takes tokens."""

    __slots__ = ("_filled", "_level", "rate", "size")

    def __init__(self, rate: float, size: float, now: float) -> None:
        self.rate = rate
        self.size = size
        self._level = size
        self._filled = now

    def wait(self, cost: float, now: float) -> float:
        """Seconds until it holds this many tokens; 0 for now."""
        if now > self._filled:
            self._level = min(self.size, self._level + (now - self._filled) * self.rate)
            self._filled = now
        return 0.0 if self._level >= cost else (cost - self._level) / self.rate

    def take(self, cost: float) -> None:
        """Take this many tokens."""
        self._level -= cost


class Rates:
    """The rates of all callers, ``rate`` for those without one of their own; ``shared`` counts for all replicas."""

    def __init__(
        self, rate: Rate, shared: SharedRates | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._shared = shared
        self.redis_calls = Counter[str]() if shared is None else shared.calls
        self._clock = clock
        self._buckets: LRUCache[str, tuple[Rate, dict[str, Bucket]]] = LRUCache(_CALLERS)

    @property
    def shared(self) -> bool:
        """True where replicas count together, which needs a call to Redis."""
        return self._shared is not None

    def admit(self, caller: Caller, pairs: int) -> Awaitable[None] | None:
        """Count a request: `RateLimited` or `LimitExceeded` for too many. Awaited if replicas count together."""
        rate = caller.rate or self._rate
        if rate.pairs is not None and pairs > rate.pairs:
            raise LimitExceeded(
                f"{pairs:,} pairs in one request; {caller.name!r} may ask for {rate.pairs:,} a minute: ask for fewer"
            )
        now = self._clock()
        buckets = self._buckets.get(caller.name)
        if buckets is None or buckets[0] != rate:
            sizes = _sizes(rate)
            buckets = self._buckets[caller.name] = rate, {kind: Bucket(*size, now) for kind, size in sizes.items()}
        costs = {"requests": 1.0, "pairs": pairs}
        for kind, bucket in buckets[1].items():
            if wait := bucket.wait(costs[kind], now):
                raise _too_many(kind, caller, rate, wait)
        for kind, bucket in buckets[1].items():
            bucket.take(costs[kind])
        return None if self._shared is None else self._shared.admit(caller, rate, pairs)

    async def close(self) -> None:
        """Close the connections to Redis."""
        if self._shared is not None:
            await self._shared.close()


class SharedRates:
    """The buckets of all callers in Redis (``redis://`` or ``rediss://``), for all replicas.

    A call without an answer is made once more. Trouble with Redis never fails a request: for some seconds each process
    then counts alone.

    Attributes:
        calls: their number by outcome: counted, retried, failed, held_back.
    """

    def __init__(self, address: str) -> None:
        if urlsplit(address).scheme not in ("redis", "rediss"):
            raise InputError("not the address of a Redis", column="setting redis", expected="redis:// or rediss://")
        from redis.asyncio import Redis  # takes long to import
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        self._client = Redis.from_url(
            address,
            socket_timeout=_REDIS_SECONDS,
            socket_connect_timeout=_REDIS_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            driver_info=None,
        )
        self._take = self._client.register_script(_TAKE)
        self._pause = RedisPause()
        self.calls = Counter[str]()

    async def admit(self, caller: Caller, rate: Rate, pairs: int) -> None:
        """Count a request that this process admits: `RateLimited` if all replicas together do not."""
        sizes = _sizes(rate)
        if not sizes:
            return
        if self._pause.is_on:
            self.calls["held_back"] += 1
            return
        keys = [f"cuihop:rates:{{{caller.name}}}:{kind}" for kind in sizes]
        costs = {"requests": 1.0, "pairs": float(pairs)}
        numbers = [repr(number) for kind, size in sizes.items() for number in (*size, costs[kind])]
        for last in (False, True):
            try:
                async with asyncio.timeout(_REDIS_SECONDS):
                    bucket, wait = await self._take(keys, numbers)
                break
            except Exception as error:  # whatever Redis and its client can raise
                self.calls["failed" if last else "retried"] += 1
                if last and self._pause.begin():
                    slow = isinstance(error, TimeoutError)
                    cause = f"no answer within {_REDIS_SECONDS:g} s" if slow else reason_of(error)
                    _log.warning("Redis is not answering (%s); limits are per process for now", cause)
                if last:
                    return
        self.calls["counted"] += 1
        if self._pause.end():
            _log.info("Redis answers again")
        if bucket:
            raise _too_many(list(sizes)[bucket - 1], caller, rate, float(wait))

    async def close(self) -> None:
        """Close the connections."""
        with contextlib.suppress(Exception):
            await self._client.aclose()


def _sizes(rate: Rate) -> dict[str, tuple[float, float]]:
    """Tokens a second and size of each bucket of a caller, by its kind."""
    sizes = {}
    if rate.requests is not None:
        sizes["requests"] = rate.requests, float(max(1.0, rate.requests) if rate.burst is None else rate.burst)
    if rate.pairs is not None:
        sizes["pairs"] = rate.pairs / _SECONDS_OF_PAIRS, float(rate.pairs)
    return sizes


def _too_many(kind: str, caller: Caller, rate: Rate, wait: float) -> RateLimited:
    allowed = f"{rate.requests:g} requests a second" if kind == "requests" else f"{rate.pairs:,} pairs a minute"
    return RateLimited(f"{caller.name!r} may ask for {allowed}; ask again in {wait:.3g} s", retry_after=wait)
