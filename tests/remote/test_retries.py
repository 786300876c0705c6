"""Repetition of requests after transient failures: pauses, deadline, Retry-After."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from cuihop.errors import CuihopError, GraphUnavailable, RateLimited
from cuihop.remote.failures import AttemptFailed, with_retries


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def failing(times: float, failed: Callable[[], AttemptFailed]) -> Callable[[], int]:
    count = itertools.count(1)

    def attempt() -> int:
        number = next(count)
        if number <= times:
            raise failed()
        return number

    return attempt


def transient(**options: object) -> AttemptFailed:
    return AttemptFailed(GraphUnavailable("not now"), retry=True, **options)  # type: ignore[arg-type]


def run(attempt: Callable[[], int], seconds: float, clock: Clock, *, opening: bool = False) -> int:
    return with_retries(attempt, seconds, opening=opening, clock=clock, sleep=clock.sleep)


def test_transient_failures_are_repeated_after_growing_pauses() -> None:
    clock = Clock()
    assert run(failing(8, transient), 60, clock) == 9
    bounds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert all(bound / 2 <= slept <= bound for slept, bound in zip(clock.slept, bounds, strict=True))


def test_pauses_vary() -> None:
    first, second = Clock(), Clock()
    for clock in (first, second):
        run(failing(3, transient), 60, clock)
    assert first.slept != second.slept


def test_a_permanent_failure_is_raised_at_once() -> None:
    clock, error = Clock(), CuihopError("never")
    with pytest.raises(CuihopError, match="never") as caught:
        run(failing(9, lambda: AttemptFailed(error)), 60, clock)
    assert caught.value is error
    assert clock.slept == []


def test_no_attempt_begins_after_the_retry_time() -> None:
    clock = Clock()
    with pytest.raises(GraphUnavailable, match="not now"):
        run(failing(float("inf"), transient), 3, clock)
    assert 1 < clock.now <= 3


def test_a_retry_time_of_zero_is_one_attempt() -> None:
    clock = Clock()
    with pytest.raises(GraphUnavailable):
        run(failing(1, transient), 0, clock)
    assert clock.slept == []


def test_the_pause_is_at_least_the_retry_after_of_the_service() -> None:
    clock = Clock()
    assert run(failing(1, lambda: transient(retry_after=7.0)), 60, clock) == 2
    assert 7 < clock.slept[0] < 8


def test_a_retry_after_beyond_the_retry_time_is_raised_at_once() -> None:
    clock = Clock()
    limited = AttemptFailed(RateLimited("too many", retry_after=90.0), retry=True, retry_after=90.0)
    with pytest.raises(RateLimited) as caught:
        run(failing(1, lambda: limited), 60, clock)
    assert (caught.value.retry_after, clock.slept) == (90.0, [])


@pytest.mark.parametrize("nonsense", [float("nan"), -5.0])
def test_an_invalid_retry_after_is_ignored(nonsense: float) -> None:
    clock = Clock()
    assert run(failing(1, lambda: transient(retry_after=nonsense)), 60, clock) == 2
    assert 0 < clock.slept[0] <= 0.1


def test_a_refused_connection_is_raised_at_once_when_the_graph_is_opened() -> None:
    clock = Clock()
    with pytest.raises(GraphUnavailable):
        run(failing(1, lambda: transient(connection=True)), 60, clock, opening=True)
    assert run(failing(1, lambda: transient(connection=True)), 60, clock) == 2
    assert run(failing(1, transient), 60, clock, opening=True) == 2
