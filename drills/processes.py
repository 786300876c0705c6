"""Cases, run in several processes."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from drills.drill import Case, Drill, Found, Setting

__all__ = ["Chosen", "results"]


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


def results(chosen: Chosen, processes: int) -> Iterator[tuple[int, Found]]:
    """Each case as it ends."""
    if processes <= 1:
        _begin(chosen.drill, chosen.small)
        with _Process.stack:
            for number in chosen.numbers:
                yield from _try(chosen.drill, chosen.seed, [number])
        return
    size = max(1, min(50, len(chosen.numbers) // (4 * processes)))
    parts = [chosen.numbers[at : at + size] for at in range(0, len(chosen.numbers), size)]
    start = (chosen.drill, chosen.small)
    with ProcessPoolExecutor(processes, get_context("spawn"), initializer=_begin, initargs=start) as pool:
        futures = [pool.submit(_try, chosen.drill, chosen.seed, part) for part in parts]
        for future in as_completed(futures):
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
