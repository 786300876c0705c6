"""Rates, in one process and in a real Redis that several share."""

from __future__ import annotations

import asyncio
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuihop.errors import InputError, LimitExceeded, RateLimited
from cuihop_service.cache import PairCounts
from cuihop_service.callers import Caller, Rate
from cuihop_service.graph_holder import GraphHolder
from cuihop_service.guard.configured_guard import ConfiguredGuard
from cuihop_service.guard.rates import Bucket, Rates, SharedRates
from cuihop_service.observe.observation import Observation
from cuihop_tools.neo4j_server import free_ports
from redis_server import NO_REDIS
from waiting import wait_for

if TYPE_CHECKING:
    import redis

READ = frozenset({"read"})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _answers(client: redis.Redis) -> bool:
    import redis

    try:
        client.ping()
    except redis.ConnectionError:
        return False
    return True


class Counter:
    """A Redis server for one test, with a password."""

    def __init__(self, folder: Path) -> None:
        password = secrets.token_hex(16)
        (port,) = free_ports(1)
        self.address = f"redis://:{password}@127.0.0.1:{port}/0"
        self._configuration = f'bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave ""\ndir {folder}\n'.encode()
        self.start()

    def start(self) -> None:
        import redis

        self.process = subprocess.Popen(["redis-server", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert self.process.stdin is not None
        with self.process.stdin as configuration:
            configuration.write(self._configuration)
        with redis.Redis.from_url(self.address) as client:
            wait_for(lambda: _answers(client))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def counter(tmp_path: Path) -> Iterator[Counter]:
    if shutil.which("redis-server") is None:
        pytest.skip(NO_REDIS)
    redis_counter = Counter(tmp_path)
    yield redis_counter
    redis_counter.stop()


@given(
    rate=st.floats(0.1, 1000),
    burst=st.integers(1, 100),
    gaps=st.lists(st.floats(0, 10), min_size=1, max_size=200),
)
def test_never_more_than_burst_and_rate_allow_and_never_less(rate: float, burst: int, gaps: list[float]) -> None:
    clock = Clock()
    rates = Rates(Rate(requests=rate, burst=burst), clock=clock)
    caller = Caller("x", READ)
    seconds = 0.0
    level = float(burst)  # the oracle: how many could be asked at once, kept exactly
    for gap in gaps:
        clock.now += gap
        level = min(burst, level + gap * rate)
        try:
            rates.admit(caller, 1)
            admitted = True
        except RateLimited as error:
            admitted, seconds = False, error.retry_after
        if abs(level - 1) > 1e-6:
            assert admitted == (level > 1)
        if not admitted:
            assert seconds == pytest.approx((1 - level) / rate, rel=1e-6, abs=1e-9)
        level -= admitted


def test_after_the_time_told_the_question_is_admitted() -> None:
    clock = Clock()
    rates = Rates(Rate(requests=3, pairs=100), clock=clock)
    caller = Caller("x", READ)
    for _ in range(50):
        try:
            rates.admit(caller, 60)
        except RateLimited as error:
            clock.now += error.retry_after + 1e-9
            rates.admit(caller, 60)
    assert 100 + clock.now * 100 / 60 + 1e-3 >= 50 * 60


def test_callers_do_not_share_and_a_rate_of_ones_own_counts() -> None:
    rates = Rates(Rate(requests=1, burst=1), clock=Clock())
    rates.admit(Caller("a", READ), 1)
    rates.admit(Caller("b", READ), 1)
    with pytest.raises(RateLimited):
        rates.admit(Caller("a", READ), 1)
    own = Caller("c", READ, Rate(requests=1, burst=5))
    for _ in range(5):
        rates.admit(own, 1)
    free = Rates(Rate(), clock=Clock())
    for _ in range(1000):
        free.admit(Caller("free", READ), 10**9)


def test_a_question_too_large_for_any_minute_is_not_told_to_come_again() -> None:
    with pytest.raises(LimitExceeded) as raised:
        Rates(Rate(pairs=10)).admit(Caller("a", READ), 11)
    assert not isinstance(raised.value, RateLimited)


def test_a_refused_question_costs_nothing() -> None:
    clock = Clock()
    rates = Rates(Rate(requests=1, burst=1, pairs=60), clock=clock)
    caller = Caller("a", READ)
    rates.admit(caller, 60)
    for _ in range(20):
        with pytest.raises(RateLimited):
            rates.admit(caller, 60)
    clock.now += 60.001
    rates.admit(caller, 60)


def test_time_that_goes_back_does_no_harm() -> None:
    bucket = Bucket(1.0, 1.0, 100.0)
    bucket.take(1.0)
    assert bucket.wait(1.0, 50.0) == 1.0
    assert bucket.wait(1.0, 101.0) == 0.0


async def admitted(rates: Rates, caller: Caller, pairs: int = 1) -> bool:
    try:
        waiting = rates.admit(caller, pairs)
        if waiting is not None:
            await waiting
    except RateLimited as error:
        return not error.retry_after > 0
    return True


def test_replicas_count_together(counter: Counter) -> None:
    async def ask() -> None:
        rate = Rate(requests=1, burst=60, pairs=1000)
        replicas = [Rates(rate, SharedRates(counter.address)) for _ in range(3)]
        caller = Caller("atlas", READ)
        found = [await admitted(replicas[i % 3], caller) for i in range(90)]
        assert 60 <= sum(found) <= 61  # a window may end meanwhile
        other = Caller("other", READ)
        found = [await admitted(replicas[i % 3], other, 300) for i in range(6)]
        assert sum(found) == 3
        for replica in replicas:
            await replica.close()

    asyncio.run(ask())


def test_the_buckets_in_redis_follow_the_same_law(counter: Counter) -> None:
    async def ask() -> None:
        shared, caller = SharedRates(counter.address), Caller("atlas", READ)
        rate = Rate(requests=0.5, burst=2, pairs=600)
        await shared.admit(caller, rate, 400)
        with pytest.raises(RateLimited) as too_many:  # refused for its pairs: no request is counted
            await shared.admit(caller, rate, 400)
        assert too_many.value.retry_after == pytest.approx(20, abs=1)
        await shared.admit(caller, rate, 1)
        with pytest.raises(RateLimited, match=r"0\.5 requests a second") as too_many:
            await shared.admit(caller, rate, 1)
        assert too_many.value.retry_after == pytest.approx(2, abs=0.5)
        await asyncio.sleep(too_many.value.retry_after + 0.01)
        await shared.admit(caller, rate, 1)
        await shared.close()

    asyncio.run(ask())


def test_redis_in_trouble_fails_no_question(counter: Counter, caplog: pytest.LogCaptureFixture) -> None:
    async def ask() -> None:
        rates = Rates(Rate(requests=0.01, burst=20), SharedRates(counter.address))
        caller = Caller("atlas", READ)
        assert await admitted(rates, caller)
        counter.stop()
        found = [await admitted(rates, caller) for _ in range(30)]
        assert found == [True] * 19 + [False] * 11  # the limit of this process goes on
        assert caplog.text.count("Redis is not answering") == 1
        await rates.close()

    asyncio.run(ask())


def test_a_redis_that_is_busy_for_a_moment_counts(counter: Counter, caplog: pytest.LogCaptureFixture) -> None:
    import redis

    async def ask() -> None:
        rates = Rates(Rate(requests=0.01, burst=2), SharedRates(counter.address))
        caller = Caller("atlas", READ)
        assert await admitted(rates, caller)
        with redis.Redis.from_url(counter.address) as client:
            client.client_pause(50)  # a tenth of the patience
        assert await admitted(rates, caller)
        other = Rates(Rate(requests=0.01, burst=2), SharedRates(counter.address))
        assert not await admitted(other, caller)  # a second process: the limit does not double
        await rates.close()
        await other.close()

    asyncio.run(ask())
    assert not caplog.text


def test_a_call_without_an_answer_is_made_once_more(counter: Counter, caplog: pytest.LogCaptureFixture) -> None:
    import redis

    async def ask() -> None:
        shared, caller = SharedRates(counter.address), Caller("atlas", READ)
        with redis.Redis.from_url(counter.address) as client:
            client.client_pause(700)  # longer than the patience of one call
        await shared.admit(caller, Rate(requests=10), 1)
        assert shared.calls == {"retried": 1, "counted": 1}
        await shared.close()

    asyncio.run(ask())
    assert not caplog.text


def test_the_metrics_count_the_calls_to_redis() -> None:
    async def ask() -> bytes:
        rates = Rates(Rate(requests=10), SharedRates("redis://127.0.0.1:9"))
        assert await admitted(rates, Caller("atlas", READ))
        assert await admitted(rates, Caller("atlas", READ))
        guard = ConfiguredGuard(rates=rates)
        return Observation(GraphHolder(), counts=PairCounts(), rates=guard.redis_calls).metrics.text()[0]

    text = asyncio.run(ask()).decode()
    numbers = dict(re.findall(r'^cuihop_rates_redis_calls_total\{outcome="(\w+)"\} (\S+)', text, re.M))
    assert numbers == {"counted": "0.0", "retried": "1.0", "failed": "1.0", "held_back": "1.0"}


def test_redis_that_hangs_holds_up_one_question_for_a_moment(
    counter: Counter, caplog: pytest.LogCaptureFixture
) -> None:
    async def ask() -> None:
        rates = Rates(Rate(requests=1000), SharedRates(counter.address))
        caller = Caller("atlas", READ)
        assert await admitted(rates, caller)
        counter.process.send_signal(signal.SIGSTOP)
        begun = time.perf_counter()
        for _ in range(50):
            assert await admitted(rates, caller)
        assert time.perf_counter() - begun < 10  # 50 waits of half a second would be 25
        assert "Redis is not answering (no answer within 0.5 s); limits are per process for now" in caplog.text
        counter.process.send_signal(signal.SIGCONT)
        await rates.close()

    asyncio.run(ask())


@pytest.mark.parametrize("address", ["http://x", "memory://", "", "redis"])
def test_only_a_redis_counts_for_replicas(address: str) -> None:
    with pytest.raises(InputError, match="Redis"):
        SharedRates(address)
