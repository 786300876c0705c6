"""The comparison with recorded ratios finds cuihop twice as slow beside its peer, and nothing on a busy machine."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from types import ModuleType

import pytest

from shared_data import ROOT


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("peers")


class Processor:
    """Does nothing, and takes the next of some seconds for it."""

    def __init__(self, seconds: Iterable[float]) -> None:
        self.seconds = iter(seconds)
        self.now = 0.0

    def work(self) -> None:
        self.now += next(self.seconds)

    def clock(self) -> float:
        return self.now


def failures(peers: ModuleType, ours: Iterable[float], theirs: Iterable[float], recorded: float | None) -> list[str]:
    """The failures of a task that takes these times, of which the first is not measured."""
    mine, other = Processor(ours), Processor(theirs)
    task = peers.Task("a task", "peer", mine.work, other.work, 0.5, (mine.clock, other.clock))
    found = peers.compare(iter([task]), recorded and {("a task", "peer"): recorded}, peers.Measurement())
    return [*found.values()]


def test_a_task_that_takes_as_long_as_recorded_passes(peers: ModuleType) -> None:
    assert failures(peers, repeat(1.0), repeat(2.0), 4.0) == []
    assert failures(peers, repeat(1.4), repeat(2.0), 4.0) == []
    assert failures(peers, repeat(0.1), repeat(2.0), 4.0) == []


def test_a_task_that_takes_twice_as_long_fails(peers: ModuleType) -> None:
    [found] = failures(peers, repeat(2.0), repeat(2.0), 4.0)
    assert found == "a task: peer takes 2.00 times as long as cuihop, recorded are 4.00"


def test_a_busy_machine_gets_more_rounds(peers: ModuleType) -> None:
    busy = chain(repeat(3.0, peers.ROUNDS + 4), repeat(1.0))
    assert failures(peers, busy, repeat(2.0), 4.0) == []
    # Nor does a peer that is slowed in the first rounds hide a loss.
    slowed = chain(repeat(2.9, 1 + peers.ROUNDS), repeat(2.0))
    assert len(failures(peers, repeat(2.0), slowed, 4.0)) == 1


def test_a_task_without_a_recorded_ratio_fails(peers: ModuleType, tmp_path: Path) -> None:
    assert failures(peers, repeat(1.0), repeat(2.0), None) == []
    work = Processor(repeat(1.0))
    task = peers.Task("a new task", "peer", work.work, work.work, clocks=(work.clock, work.clock))
    found = peers.compare(iter([task]), {("a task", "peer"): 1.0}, peers.Measurement())
    assert "nothing is recorded" in found["a new task"]


@pytest.mark.parametrize("slow_times", [1, 3])
def test_a_task_that_seems_slower_is_measured_again_after_the_others(
    slow_times: int, peers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Processor(repeat(1.0))
    begun = []

    def part(folder: Path, stack: object) -> Iterator[object]:
        begun.append(folder)
        ours = Processor(repeat(3.0 if len(begun) <= slow_times else 1.0))
        yield peers.Task("slow", "peer", ours.work, clocks.work, clocks=(ours.clock, clocks.clock))
        yield peers.Task("as before", "peer", clocks.work, clocks.work, clocks=(clocks.clock, clocks.clock))

    record = tmp_path / "peers.json"
    figure = {"subject": "peer", "ratio to ours": 1.0}
    record.write_text(json.dumps({"figures": [{"question": which, **figure} for which in ("slow", "as before")]}))
    monkeypatch.setattr(peers, "PARTS", {"part": part})
    monkeypatch.setattr(sys, "argv", ["peers.py", "--against", str(record)])
    if slow_times < peers.TIMES_COMPARED:
        peers.main()
    else:
        with pytest.raises(SystemExit, match=r"slow: peer takes 0\.33 times as long as cuihop, recorded are 1\.00"):
            peers.main()
    assert len(begun) == min(slow_times + 1, peers.TIMES_COMPARED)


def test_twice_the_work_of_the_processor_is_found(peers: ModuleType) -> None:
    def work() -> None:
        sum(range(200_000))

    def twice() -> None:
        work()
        work()

    recorded = {("a task", "peer"): 1.0}
    for ours, expected in ((work, 0), (twice, 1)):
        found = peers.compare(iter([peers.Task("a task", "peer", ours, work)]), recorded, peers.Measurement())
        assert len(found) == expected


def test_what_a_run_keeps_is_what_the_next_is_compared_with(
    peers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "peers.json"

    def run(ours: float, *arguments: str) -> None:
        def tasks(folder: Path, stack: object) -> object:
            mine, other = Processor(repeat(ours)), Processor(repeat(2.0))
            yield peers.Task("a task", "peer", mine.work, other.work, clocks=(mine.clock, other.clock))

        monkeypatch.setattr(peers, "PARTS", {"made": tasks})
        monkeypatch.setattr(sys, "argv", ["peers.py", *arguments])
        peers.main()

    run(1.0, "--json", str(file))
    assert peers.recorded_ratios(file) == {("a task", "peer"): 2.0}
    assert {"command", "machine", "versions"} <= json.loads(file.read_text()).keys()
    run(1.2, "--against", str(file))
    with pytest.raises(SystemExit, match=r"1\.00 times as long as cuihop, recorded are 2\.00"):
        run(2.0, "--against", str(file))
    assert capsys.readouterr().out.count("a task") == 2 + peers.TIMES_COMPARED
    elsewhere = tmp_path / "peers_of_another_machine.json"
    run(1.6, "--json", str(elsewhere))
    run(2.0, "--against", str(file), str(elsewhere))  # there, cuihop is not that far ahead of its peer
