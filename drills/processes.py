"""Cases, run in several processes."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from drills.drill import Case, Drill, Found, Setting

__all__ = ["Chosen", "results"]

_CASES_AT_ONCE = 10
_SECONDS_AT_ONCE = 10.0
"""A process hands over the cases that it has run for so long: a drill that is ended loses no others."""


class Chosen(NamedTuple):
    """A drill, and the cases of it to run."""

    drill: Drill
    seed: int
    numbers: range
    small: bool


class _Process:
    """State of a process that runs cases."""

    stack = ExitStack()
    case: Case


def results(chosen: Chosen, processes: int, enough: Callable[[], bool] = lambda: False) -> Iterator[tuple[int, Found]]:
    """Each case as it ends, until there was ``enough``: then those that were begun end, and no other is begun."""
    if processes <= 1:
        _begin(chosen.drill, chosen.small)
        with _Process.stack:
            for number in chosen.numbers:
                yield from _try(chosen.drill, chosen.seed, [number], 0.0)
                if enough():
                    break
        return
    size = max(1, min(_CASES_AT_ONCE, len(chosen.numbers) // (4 * processes)))
    parts = deque(chosen.numbers[at : at + size] for at in range(0, len(chosen.numbers), size))
    start = (chosen.drill, chosen.small)
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin, initargs=start) as pool:
        begun: dict[Future[list[tuple[int, Found]]], range] = {}

        def begin() -> None:
            part = parts.popleft()
            begun[pool.submit(_try, chosen.drill, chosen.seed, part, _SECONDS_AT_ONCE)] = part

        for _ in range(min(processes, len(parts))):
            begin()
        while begun:
            for future in wait(begun, return_when=FIRST_COMPLETED).done:
                part, found = begun.pop(future), future.result()
                if left := part[len(found) :]:
                    parts.appendleft(left)
                if parts and not enough():
                    begin()
                yield from found


def _begin(drill: Drill, small: bool) -> None:
    _Process.stack = ExitStack()
    Finalize(None, _Process.stack.close, exitpriority=0)  # in a process of the pool, too: servers end with it
    folder = Path(_Process.stack.enter_context(TemporaryDirectory(prefix="cuihop-drill-")))
    _Process.case = _Process.stack.enter_context(drill.cases(Setting(folder, small)))


def _try(drill: Drill, seed: int, numbers: Sequence[int], seconds: float) -> list[tuple[int, Found]]:
    """The first cases of these, as many as were begun within some seconds, and one at least."""
    found, begun = list[tuple[int, Found]](), time.monotonic()
    for number in numbers:
        if found and time.monotonic() > begun + seconds:
            break
        try:
            found.append((number, _Process.case(drill.random(seed, number))))
        except (Exception, pytest.fail.Exception):
            found.append((number, Found(0, [traceback.format_exc()])))
    return found
