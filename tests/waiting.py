"""Waiting for what has to happen: no test sleeps for a time and hopes that it has happened by then."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import NoReturn, Protocol

import pytest

__all__ = ["Watched", "wait_for", "wait_until_still", "watched"]


class Watched(Protocol):
    """A program that has to run while a test waits."""

    def has_ended(self) -> bool:
        """True once it has."""

    def fail(self, problem: str) -> NoReturn:
        """Fail the test, with the end of its log."""


watched: list[Watched] = []
"""Programs that no test has ended."""


def wait_for(true: Callable[[], object], seconds: float = 300.0) -> float:
    """Seconds until it is so. The test fails, with the logs, after that time, or once a program has ended by itself.

    Args:
        true: asked fifty times a second.
        seconds: far more than it takes on a busy machine; a test that passes does not wait for them.
    """
    begun = time.monotonic()
    while not true():
        problem = ""
        if time.monotonic() - begun >= seconds:
            problem = f"not within {seconds:g} s: {_text(true)}"
        for program in reversed(watched):  # that of the test before those of its module
            if problem or program.has_ended():
                program.fail(problem or f"ended during {_text(true)}")
        if problem:
            pytest.fail(problem)
        time.sleep(0.02)
    return time.monotonic() - begun


def wait_until_still(number: Callable[[], int]) -> int:
    """A number that grows, once it has been the same for half a second.

    For a test that passes, too, where the machine was busy and it would have grown on.
    """
    seen, times = number(), 0
    while times < 25:
        time.sleep(0.02)
        now = number()
        seen, times = now, times + 1 if now == seen else 0
    return seen


def _text(condition: Callable[[], object]) -> str:
    """The source of a condition."""
    try:
        return " ".join(inspect.getsource(condition).split())
    except OSError:
        return repr(condition)
