"""The pause after trouble with Redis, with a clock that the test moves."""

from __future__ import annotations

from cuihop_service.redis_pause import RedisPause


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_calls_are_made_until_one_fails() -> None:
    clock = Clock()
    pause = RedisPause(5.0, clock)
    assert not pause.is_on
    assert not pause.end()
    assert pause.begin()
    assert pause.is_on
    clock.now += 4.99
    assert pause.is_on
    clock.now += 0.01
    assert not pause.is_on


def test_a_success_after_the_pause_ends_the_trouble_and_a_late_one_does_not() -> None:
    clock = Clock()
    pause = RedisPause(5.0, clock)
    pause.begin()
    assert not pause.end()  # of a call from before the failure
    assert pause.is_on
    clock.now += 5
    assert pause.end()
    assert not pause.end()
    assert pause.begin()


def test_trouble_that_goes_on_is_reported_once() -> None:
    clock = Clock()
    pause = RedisPause(5.0, clock)
    assert [pause.begin() for _ in range(3)] == [True, False, False]
    clock.now += 5
    assert not pause.begin()
    assert pause.is_on
