"""Cases, run in several processes."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from drills.drill import Case, Drill, Found, Setting

__all__ = ["Chosen", "results"]

_CASES_AT_ONCE = 10


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
                yield from _try(chosen.drill, chosen.seed, [number])
                if enough():
                    break
        return
    size = max(1, min(_CASES_AT_ONCE, len(chosen.numbers) // (4 * processes)))
    parts = iter([chosen.numbers[at : at + size] for at in range(0, len(chosen.numbers), size)])
    start = (chosen.drill, chosen.small)
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin, initargs=start) as pool:
        begun = {pool.submit(_try, chosen.drill, chosen.seed, part) for part in islice(parts, processes)}
        while begun:
            ended, begun = wait(begun, return_when=FIRST_COMPLETED)
            for part in [] if enough() else islice(parts, len(ended)):
                begun.add(pool.submit(_try, chosen.drill, chosen.seed, part))
            for future in ended:
                yield from future.result()


def _begin(drill: Drill, small: bool) -> None:
    _Process.stack = ExitStack()
    folder = Path(_Process.stack.enter_context(TemporaryDirectory(prefix="cuihop-drill-")))
    _Process.case = _Process.stack.enter_context(drill.cases(Setting(folder, small)))


def _try(drill: Drill, seed: int, numbers: Sequence[int]) -> list[tuple[int, Found]]:
    found = []
    for number in numbers:
        try:
            found.append((number, _Process.case(drill.random(seed, number))))
        except (Exception, pytest.fail.Exception):
            found.append((number, Found(0, [traceback.format_exc()])))
    return found
