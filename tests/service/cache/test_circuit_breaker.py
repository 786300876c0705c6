"""The circuit breaker, with a clock that the test moves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from cuihop_service.cache.circuit_breaker import CircuitBreaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def made() -> tuple[CircuitBreaker, Clock]:
    clock = Clock()
    return CircuitBreaker(first_pause=1, longest_pause=5, clock=clock), clock


def admitted(breaker: CircuitBreaker) -> int:
    ticket = breaker.admission()
    assert ticket is not None
    return ticket


def test_all_calls_go_through_until_one_fails() -> None:
    breaker, _ = made()
    for _ in range(3):
        assert not breaker.succeeded(admitted(breaker))
    assert breaker.failed(admitted(breaker))
    assert breaker.is_open
    assert breaker.admission() is None


def test_after_the_pause_one_call_tries_and_its_success_ends_the_pause() -> None:
    breaker, clock = made()
    breaker.failed(admitted(breaker))
    clock.now += 0.9
    assert breaker.admission() is None
    clock.now += 0.1
    trial = admitted(breaker)
    assert breaker.admission() is None
    assert breaker.succeeded(trial)
    assert not breaker.is_open
    admitted(breaker)


def test_pauses_double_up_to_the_longest() -> None:
    breaker, clock = made()
    breaker.failed(admitted(breaker))
    for pause in (1, 2, 4, 5, 5):
        clock.now += pause - 0.01
        assert breaker.admission() is None
        clock.now += 0.01
        breaker.failed(admitted(breaker))


def test_of_calls_that_fail_together_one_counts() -> None:
    breaker, clock = made()
    tickets = [admitted(breaker) for _ in range(10)]
    assert [breaker.failed(ticket) for ticket in tickets] == [True] + [False] * 9
    clock.now += 1
    admitted(breaker)


def test_a_late_success_does_not_end_the_pause() -> None:
    breaker, _ = made()
    late, failing = admitted(breaker), admitted(breaker)
    breaker.failed(failing)
    assert not breaker.succeeded(late)
    assert breaker.is_open


def test_a_trial_that_never_comes_back_does_not_close_the_way_for_ever() -> None:
    breaker, clock = made()
    breaker.failed(admitted(breaker))
    clock.now += 1
    admitted(breaker)
    clock.now += 1
    admitted(breaker)


def test_of_many_threads_one_tries() -> None:
    breaker, clock = made()
    breaker.failed(admitted(breaker))
    clock.now += 1
    with ThreadPoolExecutor(16) as pool:
        tickets = list(pool.map(lambda _: breaker.admission(), range(64)))
    assert len([ticket for ticket in tickets if ticket is not None]) == 1
