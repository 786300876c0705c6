"""Run the drills: cases made at random, in large numbers, each held against an oracle.

::

    python -m drills                             all of them at full size: hours
    python -m drills --only relations --seed 7   one, on other cases
    python -m drills --small                     a few cases of each, as in continuous integration; writes no file
    python -m drills --only relations --case 31  one case again, such as one that failed
    python -m drills --minutes 20                each for 20 minutes, or what is left of it
    python -m drills --replay 2-N1               the tests of an entry of the track record

Each prints what it tried and what it found. A run of full size keeps that in ``drills/results``, each minute and at its
end, and writes the table of docs/reliability.md from it. After one that was interrupted, or had its ``--minutes``, the
next goes on with the first case that was not kept. The exit code is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from drills.drill import DRILLS, Drill, Found
from drills.page import defects, write_page
from drills.processes import Chosen, results

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "drills" / "results"
_MOST_SHOWN = 10


def main() -> None:
    """Choose drills, run them, and keep what they found."""
    parser = argparse.ArgumentParser(
        prog="python -m drills", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=[drill.name for drill in DRILLS], help="this drill")
    parser.add_argument("--small", action="store_true", help="a few cases of each")
    parser.add_argument("--seed", type=int, default=1, help="other cases for another seed (1)")
    parser.add_argument("--cases", type=int, help="number of cases of each")
    parser.add_argument("--case", type=int, help="only the case of this number, from 0")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of each drill, then no other case is begun")
    parser.add_argument("--from-start", action="store_true", help="from the first case on, whatever was kept")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="the number of processors")
    parser.add_argument("--replay", metavar="ID", help="the tests of an entry of the track record")
    options = parser.parse_args()
    if options.replay:
        sys.exit(replay(options.replay))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # with all that was started
    found = 0
    for drill in DRILLS:
        if options.only and drill.name not in options.only:
            continue
        file = None
        if options.small or options.case is not None or options.cases is not None:
            count = options.cases or (drill.small if options.small else drill.full)
            numbers = range(count) if options.case is None else range(options.case, options.case + 1)
        else:
            file = ResultFile(drill, options.seed, from_start=options.from_start)
            numbers = range(file.cases, drill.full)
        chosen = Chosen(drill, options.seed, numbers, options.small)
        found += run(chosen, 1 if drill.alone else options.processes, options.minutes, file)
    sys.exit(1 if found else 0)


def run(chosen: Chosen, processes: int, minutes: float = math.inf, file: ResultFile | None = None) -> int:
    """Cases of a drill: the number of those that found something wrong."""
    drill, begin = chosen.drill, time.monotonic()
    this = Run()
    processor = _processor_minutes()
    progress = _Progress(drill, chosen.numbers)
    waiting = dict[int, Found]()

    def taken() -> float:
        return (time.monotonic() - begin) / 60

    try:
        ended = results(chosen, min(processes, len(chosen.numbers)), lambda: taken() >= minutes)
        for number, case in ended:
            if case.wrong:
                progress.failed(chosen.seed, number, case.wrong)
            waiting[number] = case
            while (first := chosen.numbers.start + this.cases) in waiting:  # no gap: the next run goes on after it
                this.add(first, waiting.pop(first))
            if progress.show(this) and file is not None:
                file.write(this, taken())
    finally:
        if file is not None:
            file.write(this, taken(), _processor_minutes() - processor)
            write_page()
    progress.end(
        f"{drill.name}: {this.count:,} {drill.unit} in {this.cases:,} cases, {taken():.1f} min; "
        f"{len(this.wrong):,} cases failed"
    )
    for name, found in this.measured().items():
        print(f"  {name}: {', '.join(f'{which} {value:g}' for which, value in found.items())}")
    return len(this.wrong)


def _processor_minutes() -> float:
    """Time of the processors in this process, and in those that it or they have begun and that have ended."""
    times = os.times()
    return (times.user + times.system + times.children_user + times.children_system) / 60


class Run:
    """The findings of a run, by the numbers of its cases."""

    def __init__(self) -> None:
        self.count, self.cases = 0, 0
        self.wrong = dict[int, list[str]]()
        self._values = dict[str, list[float]]()

    def add(self, number: int, case: Found) -> None:
        """Count one more case."""
        self.count, self.cases = self.count + case.tried, self.cases + 1
        if case.wrong:
            self.wrong[number] = case.wrong
        for name, values in (case.measured or {}).items():
            self._values.setdefault(name, []).extend(values)

    def measured(self) -> dict[str, dict[str, float]]:
        """The spread of the numbers, by what was measured."""
        return {name: _spread(values) for name, values in self._values.items() if values}


class ResultFile:
    """The runs of a drill in ``drills/results``: those of one seed, of which each goes on where the last one ended.

    Once all cases have been tried, the next run begins with the first; so does one with another seed.
    """

    def __init__(self, drill: Drill, seed: int, *, from_start: bool) -> None:
        self._file = RESULTS / f"{drill.name}.json"
        self._seed = seed
        before = json.loads(self._file.read_text("utf-8")) if self._file.exists() and not from_start else {}
        runs = before.get("runs", []) if before.get("seed") == seed else []
        if sum(run["cases"] for run in runs) >= drill.full:
            runs = []
        self._runs: list[dict[str, object]] = runs
        self.cases: int = sum(run["cases"] for run in runs)

    def write(self, run: Run, minutes: float, processor_minutes: float | None = None) -> None:
        """Keep the runs before and this one, unless it has tried no case.

        The time of processors is known at the end of its processes, and not on the way.
        """
        if not run.cases:
            return
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
        last = {
            "date": datetime.now(UTC).date().isoformat(),
            "commit": commit.stdout.strip()[:8],
            "count": run.count,
            "cases": run.cases,
            "minutes": round(minutes, 1),
            "processor_minutes": None if processor_minutes is None else round(processor_minutes, 1),
            "measured": run.measured(),
            "found": {str(number): list(map(_without_folders, wrong)) for number, wrong in run.wrong.items()},
        }
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps({"seed": self._seed, "runs": [*self._runs, last]}, indent=1, ensure_ascii=False) + "\n"
        self._file.write_text(text, encoding="utf-8")


def _without_folders(text: str) -> str:
    """The text without the folders of this machine: the file is published."""
    return text.replace(str(ROOT), "…").replace(sys.base_prefix, "…")


def _spread(values: list[float]) -> dict[str, float]:
    """The number of the values, and how they are distributed."""
    ordered = sorted(values)
    at = {"median": 0.5, "99 %": 0.99, "most": 1.0}
    shares = {name: float(f"{ordered[int(share * (len(ordered) - 1))]:.3g}") for name, share in at.items()}
    return {"number": len(ordered), **shares}


class _Progress:
    """One line on a terminal; elsewhere a line a minute."""

    def __init__(self, drill: Drill, numbers: range) -> None:
        self._drill, self._numbers = drill, numbers
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0 if self._terminal else 60)

    def show(self, run: Run) -> bool:
        """Print how far it is if that is due: then true."""
        if time.monotonic() < self._next:
            return False
        end = "" if self._terminal else "\n"
        case = f"case {self._numbers.start + run.cases:,} of {self._numbers.stop:,}"
        text = f"{self._drill.name}: {case}, {run.count:,} {self._drill.unit}"
        print(f"\r\x1b[K{text}" if self._terminal else text, end=end, file=sys.stderr, flush=True)
        self._next = time.monotonic() + (1 if self._terminal else 60)
        return True

    def failed(self, seed: int, number: int, wrong: list[str]) -> None:
        """Print the faults of a case, and the command that runs it again."""
        self._clear()
        print(f"python -m drills --only {self._drill.name} --seed {seed} --case {number}", file=sys.stderr)
        for sentence in wrong[:_MOST_SHOWN]:
            print(f"  {sentence}", file=sys.stderr, flush=True)

    def end(self, text: str) -> None:
        self._clear()
        print(text, flush=True)

    def _clear(self) -> None:
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr)


def replay(identifier: str) -> int:
    """Run the tests of an entry of the track record: the exit code of pytest."""
    entries = {defect["id"]: defect for defect in defects()}
    if identifier not in entries:
        print(f"no entry {identifier} in drills/record.toml; there are {', '.join(entries)}", file=sys.stderr)
        return 2
    tests = entries[identifier].get("replay", [])
    if not tests:
        print(f"{identifier} has no test: {entries[identifier]['what']}", file=sys.stderr)
        return 2
    print(f"{identifier}: {entries[identifier]['what']}", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", *tests], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    main()
