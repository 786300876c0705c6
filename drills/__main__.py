"""Run the drills: cases made at random, in large numbers, each held against an oracle.

::

    python -m drills                             all of them at full size: hours
    python -m drills --only relations --seed 7   one, on other cases
    python -m drills --small                     a few cases of each, as in continuous integration; writes no file
    python -m drills --only relations --case 31  one case again, such as one that failed
    python -m drills --replay 2-N1               the tests of an entry of the track record

Each prints what it tried and what it found. A run of full size keeps that in ``drills/results``, and writes the table
of docs/reliability.md from it. The exit code is 1 if anything was wrong. A run that is interrupted keeps nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from drills.drill import DRILLS, Drill
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
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="the number of processors")
    parser.add_argument("--replay", metavar="ID", help="the tests of an entry of the track record")
    options = parser.parse_args()
    if options.replay:
        sys.exit(replay(options.replay))
    found = 0
    for drill in DRILLS:
        if options.only and drill.name not in options.only:
            continue
        count = options.cases or (drill.small if options.small else drill.full)
        numbers = range(count) if options.case is None else range(options.case, options.case + 1)
        chosen = Chosen(drill, options.seed, numbers, options.small)
        result, wrong = run(chosen, 1 if drill.alone else options.processes)
        found += wrong
        if not options.small and options.case is None and options.cases is None:
            RESULTS.mkdir(exist_ok=True)
            text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
            (RESULTS / f"{drill.name}.json").write_text(text, encoding="utf-8")
            write_page()
    sys.exit(1 if found else 0)


def run(chosen: Chosen, processes: int) -> tuple[dict[str, object], int]:
    """All cases of a drill: what is kept of them, and the number of those that found something wrong."""
    drill, begin = chosen.drill, time.monotonic()
    count, done, failed, measured = 0, 0, dict[int, list[str]](), dict[str, list[float]]()
    progress = _Progress(drill, len(chosen.numbers))
    for number, case in results(chosen, min(processes, len(chosen.numbers))):
        count, done = count + case.tried, done + 1
        for name, values in (case.measured or {}).items():
            measured.setdefault(name, []).extend(values)
        if case.wrong:
            failed[number] = case.wrong
            progress.failed(chosen.seed, number, case.wrong)
        progress.show(done, count)
    minutes = (time.monotonic() - begin) / 60
    progress.end(
        f"{drill.name}: {count:,} {drill.unit} in {done:,} cases, {minutes:.1f} min; {len(failed):,} cases failed"
    )
    spread = {name: _spread(values) for name, values in measured.items() if values}
    for name, found in spread.items():
        print(f"  {name}: {', '.join(f'{which} {value:g}' for which, value in found.items())}")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "command": f"python -m drills --only {drill.name} --seed {chosen.seed}",
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip()[:8],
        "count": count,
        "cases": done,
        "minutes": round(minutes, 1),
        **({"measured": spread} if spread else {}),
        "found": {str(number): wrong for number, wrong in sorted(failed.items())},
    }, len(failed)


def _spread(values: list[float]) -> dict[str, float]:
    """The number of the values, and how they are distributed."""
    ordered = sorted(values)
    at = {"median": 0.5, "99 %": 0.99, "most": 1.0}
    shares = {name: float(f"{ordered[int(share * (len(ordered) - 1))]:.3g}") for name, share in at.items()}
    return {"number": len(ordered), **shares}


class _Progress:
    """One line on a terminal; elsewhere a line a minute."""

    def __init__(self, drill: Drill, cases: int) -> None:
        self._drill, self._cases = drill, cases
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0 if self._terminal else 60)

    def show(self, done: int, count: int) -> None:
        if time.monotonic() >= self._next:
            end = "" if self._terminal else "\n"
            text = f"{self._drill.name}: {done:,} of {self._cases:,} cases, {count:,} {self._drill.unit}"
            print(f"\r\x1b[K{text}" if self._terminal else text, end=end, file=sys.stderr, flush=True)
            self._next = time.monotonic() + (0.2 if self._terminal else 60)

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
