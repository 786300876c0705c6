"""When a question is asked again, and for how long."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from cuihop.errors import CuihopError, GraphUnavailable, RateLimited
from cuihop.remote.problems import Failed
from cuihop.remote.retries import answered


class Clock:
    """Time that passes while somebody sleeps, and one second for each attempt."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def failing(times: float, failed: Callable[[], Failed]) -> Callable[[], int]:
    count = itertools.count(1)

    def attempt() -> int:
        number = next(count)
        if number <= times:
            raise failed()
        return number

    return attempt


def passing(**options: object) -> Failed:
    return Failed(GraphUnavailable("not now"), retry=True, **options)  # type: ignore[arg-type]


def ask(attempt: Callable[[], int], seconds: float, clock: Clock, *, opening: bool = False) -> int:
    return answered(attempt, seconds, opening=opening, clock=clock, sleep=clock.sleep)


def test_what_passes_is_asked_again_after_pauses_that_grow() -> None:
    clock = Clock()
    assert ask(failing(8, passing), 60, clock) == 9
    bounds = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert all(bound / 2 <= slept <= bound for slept, bound in zip(clock.slept, bounds, strict=True))


def test_pauses_vary() -> None:
    first, second = Clock(), Clock()
    for clock in (first, second):
        ask(failing(3, passing), 60, clock)
    assert first.slept != second.slept


def test_what_does_not_pass_is_told_at_once() -> None:
    clock, error = Clock(), CuihopError("never")
    with pytest.raises(CuihopError, match="never") as told:
        ask(failing(9, lambda: Failed(error)), 60, clock)
    assert told.value is error
    assert clock.slept == []


def test_the_time_allowed_is_kept() -> None:
    clock = Clock()
    with pytest.raises(GraphUnavailable, match="not now"):
        ask(failing(float("inf"), passing), 3, clock)
    assert 1 < clock.now <= 3


def test_no_time_is_no_second_attempt() -> None:
    clock = Clock()
    with pytest.raises(GraphUnavailable):
        ask(failing(1, passing), 0, clock)
    assert clock.slept == []


def test_the_service_says_how_long_to_wait() -> None:
    clock = Clock()
    assert ask(failing(1, lambda: passing(retry_after=7.0)), 60, clock) == 2
    assert 7 < clock.slept[0] < 8


def test_a_wait_beyond_the_time_allowed_is_told_at_once() -> None:
    clock = Clock()
    limited = Failed(RateLimited("too many", retry_after=90.0), retry=True, retry_after=90.0)
    with pytest.raises(RateLimited) as told:
        ask(failing(1, lambda: limited), 60, clock)
    assert (told.value.retry_after, clock.slept) == (90.0, [])


@pytest.mark.parametrize("nonsense", [float("nan"), -5.0])
def test_a_wait_that_is_none_is_no_reason_to_fail(nonsense: float) -> None:
    clock = Clock()
    assert ask(failing(1, lambda: passing(retry_after=nonsense)), 60, clock) == 2
    assert 0 < clock.slept[0] <= 0.1


def test_an_address_where_nobody_listens_is_told_at_once_when_it_is_opened() -> None:
    clock = Clock()
    with pytest.raises(GraphUnavailable):
        ask(failing(1, lambda: passing(connection=True)), 60, clock, opening=True)
    assert ask(failing(1, lambda: passing(connection=True)), 60, clock) == 2
    assert ask(failing(1, passing), 60, clock, opening=True) == 2
